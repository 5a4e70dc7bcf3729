// SPDX-License-Identifier: Apache-2.0
// What the package promises: five calls, errors that say what the bytes are, ranges only, bounded memory.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import {
  AssayError, bufferSource, core, Core, Files, Checkpoint, Heatmap, Job, parseFile, runAsync, runSync, scanFile, syntheticFile, version,
} from '../dist/index.js';

const synthetic = syntheticFile(core);
const text = (string) => new TextEncoder().encode(string);

/** A safetensors file of one tensor after another, as bytes up to the data. */
function header(tensors) {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, [dtype, shape, bytes]]) => [name, { dtype, shape, data_offsets: [end, (end += bytes)] }]);
  const json = text(JSON.stringify(Object.fromEntries(entries)));
  const out = new Uint8Array(8 + json.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  return { bytes: out, size: out.length + end };
}

test('a buffer is a model at once', () => {
  const model = parseFile(synthetic.buffer, 'synthetic.safetensors');
  assert.equal(model.totalParams, 1963872);
  assert.equal(model.tensors.length, 127);
  assert.equal(model.format, 'safetensors');
  assert.deepEqual([model.moe.detected, model.moe.expertCount], [true, 8]);
  const tensor = model.byName.get('model.layers.0.self_attn.q_proj.weight');
  assert.deepEqual([tensor.dtype, tensor.shape, tensor.nbytes], ['F32', [96, 96], 36864]);
  const { values, stats } = model.sample(tensor, 1000);
  assert.equal(values.length, 1000);
  assert.equal(stats.n, 1000);
  assert.ok(stats.min <= stats.mean && stats.mean <= stats.max && stats.std > 0);
  const grid = model.gridOf(tensor, 12, 12);
  assert.deepEqual([grid.rows, grid.cols, grid.data.length], [12, 12, 144]);
  assert.equal(grid.amax, Math.max(...model.sample(tensor, 9216).values.map(Math.abs)));
  model.close();
});

test('values, pooled by the largest magnitude, keep their sign', () => {
  const file = header({ w: ['F32', [2, 4], 32] });
  const bytes = new Uint8Array(file.size);
  bytes.set(file.bytes);
  bytes.set(new Uint8Array(Float32Array.from([1, -3, 0, 0, 2, 2.5, NaN, -1]).buffer), file.bytes.length);
  const grid = parseFile(bytes).gridOf('w', 1, 2);
  assert.deepEqual([...grid.data], [-3, -1]);
  assert.equal(grid.amax, 3);
});

test('of a huge file only what is needed is read', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-huge-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const name = path.join(folder, 'huge.safetensors');
  const file = header({ a: ['BF16', [3, 2 ** 30], 6 * 2 ** 30], b: ['F32', [4, 4], 64] });
  const fd = fs.openSync(name, 'w');
  fs.writeSync(fd, file.bytes, 0, file.bytes.length, 0);
  fs.ftruncateSync(fd, file.size);
  fs.writeSync(fd, new Uint8Array(Float32Array.from({ length: 16 }, (_, i) => i - 5).buffer), 0, 64, file.size - 64);
  fs.closeSync(fd);
  // Not openAsBlob: Node's loses the upper half of large sizes.
  const handle = await fs.promises.open(name);
  t.after(() => handle.close());
  const source = {
    name: 'huge.safetensors',
    size: file.size,
    read: async (offset, length) => (await handle.read(new Uint8Array(length), 0, length, offset)).buffer,
  };
  const before = core.memoryBytes;
  const model = await parseFile(source);
  assert.equal(model.totalParams, 3 * 2 ** 30 + 16);
  assert.deepEqual([...(await model.sample('b', 16)).values], Array.from({ length: 16 }, (_, i) => i - 5));
  const { values, stats } = await model.sample('a', 640);
  assert.equal(values.length, 640);
  assert.equal(stats.zeros, 640);
  const read = model.checkpoint.files.bytesRead;
  assert.ok(read < 8 * 2 ** 20, `${read} bytes were read`);
  assert.ok(core.memoryBytes - before < 64 * 2 ** 20, `memory grew by ${core.memoryBytes - before}`);
  t.diagnostic(`read ${read} of ${file.size} bytes`);
});

test('a grid of a large tensor is made in bounded memory', async (t) => {
  const file = header({ w: ['BF16', [8192, 8192], 128 * 2 ** 20] });
  const part = new Uint8Array(2 ** 20).map((_, i) => (i % 2 ? 0x3f : i / 2));
  const blob = new Blob([file.bytes, ...Array.from({ length: 128 }, () => part)]);
  const model = await parseFile(blob, 'w.safetensors');
  const before = core.memoryBytes;
  const started = performance.now();
  const grid = await model.gridOf('w', 256, 256);
  t.diagnostic(`8192 x 8192 BF16 in ${(performance.now() - started).toFixed(0)} ms, memory +${core.memoryBytes - before}`);
  assert.equal(grid.data.length, 65536);
  assert.ok(grid.amax > 0);
  assert.ok(core.memoryBytes - before < 128 * 2 ** 20, `memory grew by ${core.memoryBytes - before}`);
});

const REFUSED = {
  'git-lfs-pointer': text('version https://git-lfs.github.com/spec/v1\noid sha256:' + 'ab'.repeat(32) + '\nsize 4976698592\n'),
  'html-page': text('<!doctype html><html><head><title>Sign in</title></head></html>'),
  'empty-file': new Uint8Array(0),
  gzip: Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4]),
};
for (const [code, bytes] of Object.entries(REFUSED)) {
  test(`${code} is named, with what to do`, async () => {
    const check = (error) => {
      assert.ok(error instanceof AssayError);
      assert.equal(error.code, code);
      assert.notEqual(error.hint, '');
      return true;
    };
    assert.throws(() => parseFile(bytes, 'model.safetensors'), check);
    await assert.rejects(parseFile(new Blob([bytes]), 'model.safetensors'), check);
  });
}

test('a cut file lists what is whole', () => {
  const model = parseFile(synthetic.subarray(0, 4_000_000), 'cut.safetensors');
  assert.equal(model.complete, false);
  const whole = model.tensors.filter((tensor) => tensor.readable).length;
  assert.ok(whole > 20 && whole < 127);
  assert.ok(model.findings.some((finding) => finding.severity === 'damage'));
});

test('what a reader throws reaches the caller, and the core goes on', () => {
  const broken = { name: 'x', size: 100, readSync: () => { throw new Error('the disk is on fire'); } };
  const files = new Files(core, [broken]);
  assert.throws(() => runSync(Checkpoint.open(files)), (error) => error.code === 'io-error' && error.cause.message === 'the disk is on fire');
  assert.equal(parseFile(synthetic).tensors.length, 127);
});

test('a job can be watched and stopped', () => {
  const model = parseFile(synthetic);
  const seen = [];
  const whole = runSync(model.checkpoint.report('stats', '', (done, of) => void seen.push([done, of])));
  assert.equal(whole.complete, true);
  assert.ok(seen.length > 2);
  assert.ok(seen.every(([done, of]) => done <= of));
  const stopped = runSync(model.checkpoint.report('stats', '', () => false));
  assert.deepEqual([stopped.complete, stopped.tensors.length], [false, 0]);
});

test('filters choose, in any order, and say which word they do not know', () => {
  const { checkpoint } = parseFile(synthetic);
  const order = checkpoint.order('name');
  const names = (filter) => [...checkpoint.select(filter, order)].map((i) => checkpoint.tensorName(i));
  assert.deepEqual(names('q_proj layer:1-2'), ['model.layers.1.self_attn.q_proj.weight', 'model.layers.2.self_attn.q_proj.weight']);
  assert.throws(() => names('size>banana'), (error) => error.code === 'usage' && /banana/.test(error.message));
});

test('handles are given back', () => {
  const cycle = () => parseFile(synthetic).close();
  for (let i = 0; i < 3; ++i) cycle();
  const before = core.memoryBytes;
  for (let i = 0; i < 100; ++i) cycle();
  assert.equal(core.memoryBytes, before);
});

const wasm = (name) => new URL(`../dist/${name}.wasm`, import.meta.url);
const unsplit = fs.existsSync(wasm('core.deferred')) ? false : 'the core is not split: binaryen was not installed when it was built';

for (const [name, budget] of [['core', 400_000], ['core.deferred', 150_000]]) {
  test(`${name}.wasm is under ${budget / 1000} kB gzipped`, { skip: unsplit }, (t) => {
    const size = zlib.gzipSync(fs.readFileSync(wasm(name)), { level: 9 }).length;
    t.diagnostic(`${name}.wasm: ${(size / 1000).toFixed(1)} kB gzipped`);
    assert.ok(size < budget, `${size} bytes gzipped`);
  });
}

/** A core of its own, and how often it asked for its deferred code. */
function counted(kind) {
  const asked = { times: 0 };
  const bytes = () => {
    ++asked.times;
    return fs.readFileSync(wasm('core.deferred'));
  };
  const deferred = kind === 'sync' ? { loadSync: bytes } : kind === 'async' ? { load: async () => bytes() } : undefined;
  return { own: Core.loadSync(fs.readFileSync(wasm('core')), deferred), asked };
}
const opened = (own) => runSync(Checkpoint.open(new Files(own, [bufferSource('synthetic.safetensors', synthetic)])));

test('what is seen at once needs no deferred code', { skip: unsplit }, () => {
  const { own, asked } = counted('sync');
  const checkpoint = opened(own);
  for (const command of ['info', 'tensors', 'tree', 'stats', 'moe-structure']) runSync(checkpoint.report(command));
  checkpoint.select('dtype=F32', checkpoint.order('name'));
  const heatmap = runSync(Heatmap.of(checkpoint, 0, { rows: 8, cols: 8 }));
  runSync(heatmap.finish());
  heatmap.profile(0);
  for (const command of ['doctor', 'moe']) assert.ok(Job.report(checkpoint, command).bytes > 0); // what it will cost
  assert.equal(asked.times, 0);
  assert.equal(own.isWhole, false);
});

test('a call into deferred code that is not there loads it, or says so', { skip: unsplit }, () => {
  const scan = (own) => {
    const { files } = opened(own);
    return own.withText('synthetic.safetensors', (name) => own.attempt('assay_report_scan', files.handle, name, own.out()));
  };
  const { own, asked } = counted('sync');
  for (let i = 0; i < 2; ++i) assert.equal(scan(own), undefined);
  assert.equal(asked.times, 1);
  assert.throws(() => scan(counted('async').own), { code: 'usage', message: /core\.deferred\.wasm/ });
});

const DEEP = {
  map: (checkpoint) => checkpoint.report('map'),
  doctor: (checkpoint) => checkpoint.report('doctor'),
  moe: (checkpoint) => checkpoint.report('moe'),
  verify: (checkpoint) => checkpoint.report('verify'),
  'verify-headers': (checkpoint) => checkpoint.report('verify-headers'),
  diff: (checkpoint) => checkpoint.diff(checkpoint),
  scan: ({ files }) => scanFile(files, 'synthetic.safetensors'),
};
for (const [name, steps] of Object.entries(DEEP)) {
  test(`${name} loads the deferred code once, at once or after a while`, { skip: unsplit }, async () => {
    const known = JSON.stringify(runSync(steps(opened(core))));
    const now = counted('sync');
    for (let i = 0; i < 2; ++i) assert.equal(JSON.stringify(runSync(steps(opened(now.own)))), known);
    assert.equal(now.asked.times, 1);
    const later = counted('async');
    assert.throws(() => runSync(steps(opened(later.own))), { code: 'usage', message: /core\.deferred\.wasm/ });
    for (let i = 0; i < 2; ++i) assert.equal(JSON.stringify(await runAsync(steps(opened(later.own)))), known);
    assert.equal(later.asked.times, 1);
    await assert.rejects(runAsync(steps(opened(counted().own))), { code: 'usage' });
  });
}

test('the version is the package\'s', () => {
  const { version: packaged } = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url)));
  assert.equal(version, packaged);
});
