// SPDX-License-Identifier: Apache-2.0
// Bundles the tests and runs them: node test/run.mjs [NAME…]. Node's own test runner, no browser.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const names = process.argv.slice(2);
const tests = fs.readdirSync(here).filter((file) => file.endsWith('.test.ts') && (names.length === 0 || names.includes(file.slice(0, -8))));
const out = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-web-test-'));
await esbuild.build({
  entryPoints: tests.map((file) => path.join(here, file)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  sourcemap: 'inline',
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...tests.map((file) => path.join(out, file.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' });
fs.rmSync(out, { recursive: true });
process.exit(status ?? 1);
