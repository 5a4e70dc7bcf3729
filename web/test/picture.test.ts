// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { npyHeader } from '../src/core/npy.js';
import { bitsOf, hexOf } from '../src/ui/codes.js';
import { csvOf, fileName } from '../src/ui/save.js';
import { colorIndex, pixelsOf, short } from '../src/views/picture-draw.js';

const map = Uint8Array.from({ length: 768 }, (_, i) => Math.floor(i / 3));
const colors = { diverging: map, sequential: map, marks: Uint8Array.from([255, 0, 255, 255, 240, 0, 0, 240, 255]) };

test('colours are chosen as the core chooses them', () => {
  assert.deepEqual([-2, -1, 0, 1, 2].map((v) => colorIndex('diverging', v, 1)), [0, 0, 128, 255, 255]);
  assert.deepEqual([-1, 0, 0.5, 9].map((v) => colorIndex('sequential', v, 1)), [0, 0, 128, 255]);
  assert.equal(colorIndex('diverging', 5, 0), 128);
});

test('pixels: values, what is not finite, nothing, and what was brushed', () => {
  const grid = { rows: 1, cols: 5, data: Float64Array.from([1, NaN, NaN, NaN, -1]), marks: Uint8Array.from([0, 0, 1, 2, 4]) };
  const plain = pixelsOf(grid, colors, 'diverging', 1);
  assert.deepEqual([...plain], [255, 255, 255, 255, 0, 0, 0, 0, 255, 0, 255, 255, 255, 240, 0, 255, 0, 240, 255, 255]);
  const lit = pixelsOf(grid, colors, 'diverging', 1, { counts: Uint32Array.from([4, 0, 0, 0, 0]), elements: 4, light: [9, 8, 7] });
  assert.deepEqual([...lit.subarray(0, 4)], [9, 8, 7, 255]);
  assert.ok(lit[16]! > 0 && lit[17]! < 240, 'cells without a brushed value fade into the ground');
});

test('codes by the fields of their type', () => {
  assert.equal(hexOf(Uint8Array.of(0x57, 0xbc)), '0xbc57');
  assert.equal(bitsOf(Uint8Array.of(0x57, 0xbc), 'BF16'), '1 01111000 1010111');
  assert.equal(bitsOf(Uint8Array.of(0x01, 0x3c), 'F16'), '0 01111 0000000001');
  assert.equal(bitsOf(Uint8Array.of(0x0b), 'F4'), '1 01 1');
  assert.equal(bitsOf(Uint8Array.of(1, 2), 'I16'), '00000010 00000001');
});

test('numbers short enough for a cell', () => {
  assert.deepEqual([0, -0, NaN, Infinity, -1.23456, 1e-7, 123456789].map(short), ['0', '−0', 'NaN', '+Inf', '−1.235', '1.00e-7', '1.23e8']);
});

test('a .npy header ends on a multiple of 64 with a newline', () => {
  for (const shape of [[], [3], [4096, 14336]]) {
    const bytes = npyHeader('<f4', shape);
    const text = new TextDecoder('latin1').decode(bytes);
    assert.equal(bytes.length % 64, 0);
    assert.equal(bytes[8]! + 256 * bytes[9]!, bytes.length - 10);
    assert.ok(text.endsWith('\n'));
    assert.ok(text.includes(`'shape': (${shape.length === 1 ? '3,' : shape.join(', ')})`));
  }
});

test('cells that a spreadsheet would run are texts', () => {
  assert.equal(csvOf([['a,b', '=1+1', 'say "x"', -1.5, null]]), '"a,b",\'=1+1,"say ""x""",-1.5,\r\n');
  assert.equal(fileName('a/b:c\u0000'), 'a_b_c_');
});
