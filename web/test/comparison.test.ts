// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identicalNames, notes, relation, type Changed } from '../src/core/comparison.js';

const row = (more: Partial<Changed>): Changed => ({
  name_a: 'w', name_b: 'w', dtype_a: 'F32', dtype_b: 'F32', shape_a: [64, 32], shape_b: [64, 32],
  max_abs: 1, mean_abs: 0.1, rel_l2: 1.4, cosine: 0.001, changed_elements: 2048, numel: 2048, ...more,
});

test('a rank that was not found is not told', () => {
  assert.equal(notes(row({ rank: { estimate: null, rows: 64, columns: 32 } })), '');
  assert.equal(notes(row({ rank: { estimate: 4, rows: 64, columns: 32 } })), 'Δ has rank 4');
  assert.equal(notes(row({ rank: { estimate: 3, rows: 3, columns: 32 } })), 'Δ in 3 of 64 rows');
  assert.equal(notes(row({ dtype_b: 'BF16', rank: { estimate: null, rows: 64, columns: 1 } })), 'F32 → BF16, Δ in 1 of 32 columns');
  assert.equal(notes(row({ shape_b: [64, 33] })), '64×32 → 64×33');
});
test('models without anything in common are told as such, a training is not', () => {
  const many = (cosine: number) => Array.from({ length: 10 }, () => row({ cosine }));
  // Norms are all near one: their cosine says nothing.
  const norm = row({ shape_a: [64], cosine: 0.99 });
  assert.match(relation([...many(0.002), norm], 1), /not related: 10 of the 10 matrices in both have nothing in common/);
  assert.equal(relation([...many(0.999), norm], 1), '');
  assert.equal(relation([row({})], 0), '');
  // One layer that was made anew among others that are the same.
  assert.equal(relation(many(0.002), 200), '');
});
test('names of what did not change, where they are known', () => {
  const changed = [row({ name_a: 'b' })];
  assert.deepEqual(identicalNames(['a', 'b', 'c', 'd'], changed, ['d'], 2), ['a', 'c']);
  assert.deepEqual(identicalNames(['a', 'b', 'c', 'd'], changed, [], 2), []);
});
