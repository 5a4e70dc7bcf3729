// SPDX-License-Identifier: Apache-2.0
// Counting values, and reading windows of tensors, against plain loops over the same numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobSource, bufferSource, census, Checkpoint, core, countWithin, Files, readWindow, runAsync, runSync, shapeOfMatrix } from '../dist/index.js';

/** A safetensors file of one tensor. */
function file(dtype, shape, bytes) {
  const header = Buffer.from(JSON.stringify({ w: { dtype, shape, data_offsets: [0, bytes.length] } }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([size, header, bytes]);
}
const open = (bytes) => runSync(Checkpoint.open(new Files(core, [bufferSource('w', bytes)])));

const wild = Float32Array.from({ length: 4 * 6 * 50 }, (_, i) => Math.sin(i * 12.9898) * 10 ** ((i % 9) - 6));
wild.set([NaN, Infinity, -Infinity, -0, 0, -NaN, 1e-45, -1e-45, 3.4e38, -3.4e38]);

test('every BF16 value is counted exactly, not-finite ones apart', () => {
  const codes = Uint16Array.from({ length: 65536 * 2 }, (_, i) => i % 65536);
  const checkpoint = open(file('BF16', [256, 512], Buffer.from(codes.buffer)));
  const found = runSync(census(checkpoint, 0));
  // Of 65536 codes 2 are infinite, 2 * 127 NaN, and the two zeros are one value.
  assert.equal(found.values.length, 65536 - 2 - 254 - 1);
  assert.deepEqual([found.nan, found.posInf, found.negInf, found.n], [508, 2, 2, 131072]);
  assert.ok(found.counts.every((count, i) => count === (found.values[i] === 0 ? 4 : 2)));
  assert.ok(found.values.every((value, i) => i === 0 || value > found.values[i - 1]));
});

test('F32 values are counted by 12 leading bits, none lost', () => {
  const found = runSync(census(open(file('F32', [4, 6, 50], Buffer.from(wild.buffer))), 0));
  const finite = wild.filter(Number.isFinite);
  assert.equal(found.counts.reduce((a, b) => a + b), finite.length);
  assert.deepEqual([found.nan, found.posInf, found.negInf], [2, 1, 1]);
  for (const value of finite) {
    // The entry is the value cut towards zero, at most 2^-11 of it away.
    const entry = Math.sign(value) * Math.max(...[...found.values].filter((x) => Math.sign(x) === Math.sign(value) && Math.abs(x) <= Math.abs(value)).map(Math.abs), 0);
    assert.ok(Math.abs(value) < 1e-38 || Math.abs(value - entry) <= Math.abs(value) * 2 ** -11, `${value} ${entry}`);
  }
});

test('a window counts its own values; a range its cells', () => {
  const checkpoint = open(file('F32', [4, 6, 50], Buffer.from(wild.buffer)));
  assert.deepEqual(shapeOfMatrix([4, 6, 50]), { rows: 24, cols: 50 });
  const window = { row: 5, rows: 9, col: 3, cols: 31 };
  const inside = [];
  for (let row = 5; row < 14; ++row) for (let col = 3; col < 34; ++col) inside.push(wild[row * 50 + col]);
  assert.equal(runSync(census(checkpoint, 0, window)).n, inside.length);
  const step = { row: 4, col: 10 };
  const expected = new Uint32Array(3 * 4);
  inside.forEach((value, i) => {
    if (value >= -0.5 && value <= 0.25) ++expected[Math.floor(Math.floor(i / 31) / 4) * 4 + Math.floor((i % 31) / 10)];
  });
  assert.deepEqual(runSync(countWithin(checkpoint, 0, window, step, -0.5, 0.25)), expected);
  const all = runSync(countWithin(checkpoint, 0, { row: 0, rows: 24, col: 0, cols: 50 }, { row: 24, col: 50 }, -1e39, 1e39));
  assert.deepEqual([...all], [wild.filter(Number.isFinite).length]);
});

test('a window has its values and codes', () => {
  const checkpoint = open(file('F32', [4, 6, 50], Buffer.from(wild.buffer)));
  const { values, size, codes } = runSync(readWindow(checkpoint, 0, { row: 1, rows: 2, col: 48, cols: 2 }));
  assert.deepEqual([...values], [98, 99, 148, 149].map((i) => wild[i]));
  assert.equal(size, 4);
  assert.deepEqual([...new Float32Array(codes.buffer)], [...values]);
});

test('rows longer than a step are counted over its edge, also of a file that is read by ranges', async () => {
  const long = Float32Array.from({ length: 2 * 300000 }, (_, i) => (i % 300000 === 299999 ? 7 : i % 2));
  const bytes = file('F32', [2, 300000], Buffer.from(long.buffer));
  const set = new Files(core, [blobSource('w', new Blob([bytes]))]);
  const feed = (need) => set.feed(need);
  const checkpoint = await runAsync(Checkpoint.open(set), feed);
  const found = await runAsync(census(checkpoint, 0), feed);
  assert.deepEqual([...found.values], [0, 1, 7]);
  assert.deepEqual([...found.counts], [300000, 299998, 2]);
  const hits = await runAsync(countWithin(checkpoint, 0, { row: 0, rows: 2, col: 0, cols: 300000 }, { row: 1, col: 150000 }, 7, 7), feed);
  assert.deepEqual([...hits], [0, 1, 0, 1]);
});
