// SPDX-License-Identifier: Apache-2.0
// Tests of the npm package and of the page: node run.mjs package | logic | chromium | firefox | webkit. ASSAY names the program.
// A line that begins with SKIP says what is missing. The core must have been built (the test wasm_build does).
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { missing } from './driver.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const core = path.join(root, 'build/wasm/bindings/wasm/core.wasm');
const [part] = process.argv.slice(2);

function skip(reason) {
  console.log(`SKIP: ${reason}`);
  process.exit(0);
}
function run(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
/** Tests in a browser. Where the browser's own process ends on a busy machine, and only there, they run once more. */
function runInBrowser(...args) {
  for (const last of [false, true]) {
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, stdio: ['inherit', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: 1 << 28 });
    process.stdout.write(stdout);
    if (status === 0) return;
    if (last || !stdout.includes('session deleted because of page crash or hang')) process.exit(status ?? 1);
    console.log('# the browser ended; once more');
  }
}
const tests = (folder) => fs.readdirSync(path.join(root, folder)).filter((name) => /\.test\.mjs$/.test(name)).map((name) => path.join(folder, name));

if (!fs.existsSync(core)) skip('the core was not built; see the test wasm_build');
if (!fs.existsSync(path.join(root, 'web/node_modules/esbuild'))) skip('the modules of web/ are not installed; run: cd web && npm ci');

const tsc = 'web/node_modules/typescript/bin/tsc';
function makePackage() {
  run(tsc, '-p', 'bindings/wasm');
  const dist = path.join(root, 'bindings/wasm/dist');
  const modules = (folder) => fs.readdirSync(folder).filter((name) => /^core.*\.wasm$/.test(name));
  for (const name of modules(dist)) fs.rmSync(path.join(dist, name)); // the core may have been split before, and be whole now
  for (const name of modules(path.dirname(core))) fs.copyFileSync(path.join(path.dirname(core), name), path.join(dist, name));
}
if (part === 'package') {
  makePackage();
  run('--test', ...tests('bindings/wasm/test'));
} else if (part === 'logic') {
  run(tsc, '-p', 'web');
  run('web/test/run.mjs');
  run('web/build.mjs', core);
} else {
  const reason = missing(part);
  if (reason !== '') skip(reason);
  if (!fs.existsSync(path.join(root, 'web/dist/assay.html'))) run('web/build.mjs', core);
  if (!fs.existsSync(path.join(root, 'bindings/wasm/dist/core.wasm'))) makePackage();
  process.env.ASSAY_BROWSER = part;
  runInBrowser('--test', '--test-concurrency=1', 'tests/page/everywhere.test.mjs', ...(part === 'chromium' ? tests('tests/page').filter((name) => !name.includes('everywhere')) : []));
}
