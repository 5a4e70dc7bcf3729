// SPDX-License-Identifier: Apache-2.0
// Statistics step by step: bounded memory of files that are read by ranges, a first look before the exact numbers, progress and its end.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Checkpoint, core, Files, parseFile, runAsync, runSync, StatsJob, syntheticFile } from '../dist/index.js';

const MIB = 2 ** 20;
const program = process.env.ASSAY && path.resolve(process.env.ASSAY);
const skip = program ? false : 'ASSAY does not name the program';

/** Values that look like weights, the same in every run, with a few that are not finite. */
function weights(n) {
  const values = new Float32Array(n);
  for (let i = 0, state = 1; i < n; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state / 2 ** 32 - 0.5) * (i % 4096 === 0 ? 8 : 0.04);
  }
  values.set([NaN, Infinity, -Infinity, 0, -0], 77);
  return values;
}
const bf16 = (values) => Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16);

/** Two large tensors and a small one; 24 MiB of BF16, 80 of F32. */
let folder, name, size, handle;
before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-stats-'));
  name = path.join(folder, 'm.safetensors');
  const part = weights(4 * MIB);
  const tensors = { half: ['BF16', bf16(part), 3], full: ['F32', part, 5], small: ['F32', part.slice(0, 1000), 1] };
  let end = 0;
  const header = {};
  for (const [key, [dtype, values, times]] of Object.entries(tensors))
    header[key] = { dtype, shape: [times, values.length], data_offsets: [end, (end += times * values.byteLength)] };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const fd = fs.openSync(name, 'w');
  for (const bytes of [length, json]) fs.writeSync(fd, bytes);
  for (const [, values, times] of Object.values(tensors))
    for (let i = 0; i < times; ++i) fs.writeSync(fd, new Uint8Array(values.buffer, 0, values.byteLength));
  size = fs.fstatSync(fd).size;
  fs.closeSync(fd);
  handle = await fs.promises.open(name);
});
after(async () => {
  await handle.close();
  fs.rmSync(folder, { recursive: true });
});

const read = async (offset, length) => (await handle.read(new Uint8Array(length), 0, length, offset)).buffer;
async function lent() {
  const files = new Files(core, [{ name: 'm.safetensors', size, read }]);
  const feed = (need) => files.feed(need);
  return { files, feed, checkpoint: await runAsync(Checkpoint.open(files), feed) };
}
const printed = (...more) => {
  const { stdout } = spawnSync(program, ['stats', 'm.safetensors', '--json', ...more], { encoding: 'utf8', cwd: folder });
  return stdout;
};
const plain = ({ sampled, share, ...stats }) => stats;

test('a large tensor is measured in bounded memory, to the bits of the program', { skip }, async (t) => {
  const { files, feed, checkpoint } = await lent();
  const memory = core.memoryBytes;
  const text = await runAsync(checkpoint.reportText('stats'), feed);
  const grown = core.memoryBytes - memory;
  assert.equal(text, printed());
  assert.ok(grown < 64 * MIB, `memory grew by ${grown}`);
  t.diagnostic(`memory +${grown / MIB} MiB, ${(files.bytesRead / size).toFixed(2)} times the file were read`);
  // F32 is gone through twice for its quantiles; what is read again beside that is little.
  assert.ok(files.bytesRead < 1.05 * (24 + 2 * 80) * MIB, `${files.bytesRead}`);
  const rows = JSON.parse(text).tensors;
  for (const [i, row] of rows.entries()) assert.deepEqual(plain(await runAsync(checkpoint.stats(i), feed)), row);
  checkpoint.close();
  files.free();
});

test('a first look is marked, and what the program samples', { skip }, async () => {
  const { files, feed, checkpoint } = await lent();
  const before = files.bytesRead;
  const first = new Map();
  assert.equal(await runAsync(checkpoint.statsOf([0, 1, 2], { sample: true }, (i, stats) => first.set(i, stats)), feed), true);
  assert.ok(files.bytesRead - before < 16 * MIB, `${files.bytesRead - before}`);
  const rows = JSON.parse(printed('--sample')).tensors;
  assert.deepEqual([...first.values()].map(plain), rows);
  assert.deepEqual([0, 1, 2].map((i) => [first.get(i).sampled, first.get(i).exact]), [[true, false], [true, false], [false, true]]);
  assert.equal(first.get(1).share, first.get(1).measured / first.get(1).numel);
  assert.ok(first.get(1).share > 1 / 20 && first.get(1).share < 1 / 10);
  assert.equal(first.get(2).share, 1);
  const exact = await runAsync(checkpoint.stats(1), feed);
  assert.deepEqual([exact.sampled, exact.share], [false, 1]);
  assert.ok(Math.abs(first.get(1).std / exact.std - 1) < 0.02);
  const moments = await runAsync(checkpoint.stats(1, { quantiles: false }), feed);
  assert.deepEqual([moments.mean, moments.std, moments.quantiles], [exact.mean, exact.std, {}]);
  checkpoint.close();
  files.free();
});

test('progress goes up, and a watch ends it with what is done', async () => {
  const { files, feed, checkpoint } = await lent();
  const seen = [];
  const done = [];
  const whole = await runAsync(
    checkpoint.statsOf([2, 0], {}, (i) => done.push(i), (at, of) => void seen.push([at, of])),
    feed,
  );
  assert.ok(whole && seen.length > 3);
  assert.ok(seen.every(([at, of], i) => of === seen[0][1] && at <= of && (i === 0 ? at === 0 : at > seen[i - 1][0])));
  assert.deepEqual(done, [2, 0]);

  const job = StatsJob.of(checkpoint, [2, 0, 1]);
  assert.equal(await runAsync(job.finish((at) => at < 30 * MIB), feed), false);
  assert.equal(job.count, 2);
  assert.deepEqual([job.document().complete, job.document().tensors.map((row) => row.name)], [false, ['small', 'half']]);
  assert.throws(() => job.result(2), (error) => error.code === 'usage');
  job.free();
  assert.equal(await runAsync(checkpoint.stats(1, {}, () => false), feed), null);
  checkpoint.close();
  files.free();
});

test('a tensor that cannot be read says why, and hides no other', () => {
  const cut = syntheticFile(core).subarray(0, 4_000_000);
  const { checkpoint } = parseFile(cut, 'cut.safetensors');
  const all = Array.from({ length: checkpoint.tensorCount }, (_, i) => i);
  const found = [];
  assert.equal(runSync(checkpoint.statsOf(all, {}, (i, stats) => found.push(stats !== null))), true);
  assert.deepEqual(found, all.map((i) => checkpoint.tensor(i).readable));
  assert.ok(found.includes(false));
  const bad = found.indexOf(false);
  assert.throws(() => runSync(checkpoint.stats(bad)), (error) => error.where.tensor === checkpoint.tensorName(bad));
});

test('counts and pictures too hold only what they look at', async () => {
  const { census, Heatmap } = await import('../dist/index.js');
  const { files, feed, checkpoint } = await lent();
  const memory = core.memoryBytes;
  const found = await runAsync(census(checkpoint, 1), feed);
  assert.deepEqual([found.n, found.nan], [20 * MIB, 5]);
  const map = await runAsync(Heatmap.of(checkpoint, 1, { rows: 20, cols: 50 }), feed);
  await runAsync(map.finish(), feed);
  assert.equal(map.grid().nan, 5);
  map.free();
  assert.ok(core.memoryBytes - memory < 64 * MIB, `memory grew by ${core.memoryBytes - memory}`);
  assert.ok(files.bytesRead < 1.05 * 2 * 80 * MIB, `${files.bytesRead}`);
  checkpoint.close();
  files.free();
});
