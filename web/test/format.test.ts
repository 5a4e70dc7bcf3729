// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../src/ui/format.js';

test('sizes and counts as the terminal writes them', () => {
  assert.deepEqual([0, 1, 1023, 1024, 1536, 1048575, 7.51 * 2 ** 20].map(format.bytes), ['0 B', '1 B', '1023 B', '1 KiB', '1.5 KiB', '1 MiB', '7.51 MiB']);
  assert.deepEqual([0, 999, 1000, 1234, 999_999, 7_240_000_000].map(format.count), ['0', '999', '1 K', '1.23 K', '1 M', '7.24 B']);
});
test('numbers keep six digits and their size', () => {
  assert.deepEqual([0, -0.0131, 1e-9, 123456789, 0.1 + 0.2, 12].map(format.number), ['0', '−0.0131', '1e-9', '1.23457e8', '0.3', '12']);
  assert.equal(format.number(null), '–');
  assert.equal(format.number('Infinity'), 'Infinity');
});
