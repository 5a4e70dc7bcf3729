// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countInRange, deviationOf } from '../src/core/histogram.js';
import { roleOf } from '../src/core/roles.js';
import { edgeAt, handleAt } from '../src/views/histogram-draw.js';
import { spread } from '../src/views/overlays.js';
import { valueUnder } from '../src/views/axis-draw.js';

const census = { values: Float64Array.from([-3, -1, 0, 1, 2]), counts: Float64Array.from([1, 2, 10, 2, 5]) };

test('ranges of magnitudes count both signs, zero once', () => {
  assert.equal(countInRange(census, { from: 1, to: 3 }), 7);
  assert.equal(countInRange(census, { from: 1, to: 3, magnitudes: true }), 10);
  assert.equal(countInRange(census, { from: 0, to: 3, magnitudes: true }), 20);
  const mean = (-3 - 2 + 2 + 10) / 20;
  assert.ok(Math.abs(deviationOf(census) - Math.sqrt((9 + 2 + 2 + 20) / 20 - mean ** 2)) < 1e-12);
});

test('of many layers some are drawn, the neighbours among them', () => {
  const peers = Array.from({ length: 80 }, (_, i) => i);
  const some = spread(peers, 40, 8);
  assert.equal(some.length, 8);
  assert.ok(some.includes(39) && some.includes(41) && !some.includes(40) && some[0]! < 10);
  assert.deepEqual(spread([3, 4, 5], 4, 8), [3, 5]);
  assert.deepEqual(spread([4], 4, 8), []);
});

test('handles are above the plot, edges of a range within a few pixels', () => {
  const bins = { axis: { scale: 'linear' as const, bend: 1 }, edges: Float64Array.from([0, 5, 10]), counts: Float64Array.from([1, 1]), below: 0, above: 0 };
  const size = { width: 46 + 12 + 100, height: 100 };
  const quantiles = [['p1', 1], ['p50', 5], ['p99', 9]] as const;
  assert.equal(handleAt(46 + 50, 10, quantiles, bins, size), 1);
  assert.equal(handleAt(46 + 50, 60, quantiles, bins, size), -1);
  assert.equal(handleAt(46 + 30, 10, quantiles, bins, size), -1);
  assert.equal(edgeAt(46 + 21, { from: 2, to: 8 }, bins, size), 'from');
  assert.equal(edgeAt(46 + 80, { from: 2, to: 8 }, bins, size), 'to');
  assert.equal(edgeAt(46 + 50, { from: 2, to: 8 }, bins, size), null);
  assert.equal(valueUnder(46 + 25, bins.edges, { x: 46, y: 0, width: 100, height: 1 }), 2.5);
});

test('the others of a role are found by name', () => {
  const names = { names: ['layers.0.q.weight', 'layers.0.k.weight', 'layers.1.q.weight', 'q.weight'], order: Uint32Array.from([7, 6, 5, 4]) };
  assert.deepEqual(roleOf(names, 7), { pattern: 'layers.*.q.weight', peers: [7, 5] });
  assert.deepEqual(roleOf(names, 4), { pattern: 'q.weight', peers: [4] });
  assert.deepEqual(roleOf(names, 99), { pattern: undefined, peers: [99] });
});
