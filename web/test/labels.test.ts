// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsOf } from '../src/views/histogram-draw.js';
import { runsOf } from '../src/views/profiles.js';

test('labels that would touch are one', () => {
  const texts = (places: [string, number][]) => labelsOf(places, 200, (text) => 6 * text.length).map(({ text }) => text);
  assert.deepEqual(texts([['p1', 20], ['p50', 100], ['p99', 180]]), ['p1', 'p50', 'p99']);
  assert.deepEqual(texts([['p1', 20], ['p25', 98], ['p50', 100], ['p75', 101], ['p99', 180]]), ['p1', 'p25–p75', 'p99']);
  // What was joined is wider, and may touch the next.
  assert.deepEqual(texts([['p25', 100], ['p50', 102], ['p75', 126]]), ['p25–p75']);
});
test('a label stays within the picture', () => {
  const [label] = labelsOf([['p99.9', 199]], 200, () => 30);
  assert.equal(label!.middle, 184);
});
test('rows that follow each other are a range', () => {
  assert.deepEqual(runsOf([0, 1, 2, 7, 9, 10]), [[0, 2], [7, 7], [9, 10]]);
  assert.deepEqual(runsOf([]), []);
});
