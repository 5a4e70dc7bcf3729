// SPDX-License-Identifier: Apache-2.0
// Builds the page: node build.mjs CORE.WASM [OUT]. One HTML file that holds everything, as index.html for a server and as assay.html
// to keep on a disk: the same bytes. The policy names its script and style by hash and lets nothing else run, load or connect.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const [wasm = path.join(here, '../build/wasm/bindings/wasm/core.wasm'), out = path.join(here, 'dist')] = process.argv.slice(2);

const options = {
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome123', 'firefox125', 'safari17.5'],
  legalComments: 'inline',
  write: false,
  logLevel: 'warning',
};

/** import text from 'inline:x.ts': the bundled script as a text. */
const inline = {
  name: 'inline',
  setup(build) {
    build.onResolve({ filter: /^inline:/ }, ({ path: name }) => ({ path: path.join(here, 'src', name.slice(7)), namespace: 'inline' }));
    build.onLoad({ filter: /.*/, namespace: 'inline' }, async ({ path: file }) => {
      const result = await esbuild.build({ ...options, entryPoints: [file] });
      return { contents: result.outputFiles[0].text, loader: 'text', watchFiles: [file] };
    });
  },
};

const script = (await esbuild.build({ ...options, entryPoints: [path.join(here, 'src/main.ts')], plugins: [inline] })).outputFiles[0].text.trim();
const style = (await esbuild.build({ ...options, format: undefined, entryPoints: [path.join(here, 'src/styles.css')] })).outputFiles[0].text.trim();
const packed = (file) => (fs.existsSync(file) ? zlib.gzipSync(fs.readFileSync(file), { level: 9 }) : Buffer.alloc(0));
const core = packed(wasm);
const deferred = packed(wasm.replace(/\.wasm$/, '.deferred.wasm')); // there is none where the core was not split

if (/<\/script|<!--/i.test(script)) throw new Error('the script would end its own element');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  'worker-src blob:',
  `style-src ${hash(style)}`,
  'img-src data: blob:',
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');

const parts = { CSP: policy, STYLE: style, CORE: core.toString('base64'), DEFERRED: deferred.toString('base64'), SCRIPT: script };
const page = fs.readFileSync(path.join(here, 'src/index.html'), 'utf8').replace(/%(CSP|STYLE|CORE|DEFERRED|SCRIPT)%/g, (_, name) => parts[name]);
fs.mkdirSync(out, { recursive: true });
for (const name of ['index.html', 'assay.html']) fs.writeFileSync(path.join(out, name), page);
const kb = (n) => `${(n / 1000).toFixed(0)} kB`;
console.log(`${path.relative(process.cwd(), path.join(out, 'assay.html'))}: ${kb(page.length)}; core ${kb(core.length)} + ${kb(deferred.length)} gzipped, script ${kb(script.length)}`);
