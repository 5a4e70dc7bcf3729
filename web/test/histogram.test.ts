// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisFor, binsOf, countWithin, hasFarTails, magnitudes, percentileOf, place, quantileOf, rangeOf, ticksOf, valueAt, type Scale } from '../src/core/histogram.js';

const census = { values: Float64Array.from([-4, -1, 0, 0.5, 1, 100]), counts: Float64Array.from([1, 10, 5, 20, 10, 1]) };
const total = 47;

test('bins hold every value once, whatever the scale', () => {
  for (const scale of ['linear', 'symlog'] as Scale[]) {
    const { from, to } = rangeOf(census, scale);
    for (const n of [1, 7, 64, 200]) {
      const bins = binsOf(census, axisFor(scale, magnitudes(census)), from, to, n);
      assert.equal(bins.counts.reduce((sum, count) => sum + count, 0), total, `${scale} ${n}`);
      assert.equal(bins.below + bins.above, 0);
      assert.deepEqual([bins.edges[0], bins.edges[n]], [-4, 100]);
    }
  }
});

test('a value on an edge is in the bin above, the last edge in the last', () => {
  const bins = binsOf(census, { scale: 'linear', bend: 1 }, -1, 1, 4); // edges -1 -0.5 0 0.5 1
  assert.deepEqual([...bins.counts], [10, 0, 5, 30]);
  assert.deepEqual([bins.below, bins.above], [1, 1]);
});

test('log counts magnitudes; zeros are below it', () => {
  const { from, to } = rangeOf(census, 'log');
  assert.deepEqual([from, to], [0.5, 100]);
  const bins = binsOf(census, { scale: 'log', bend: 1 }, from, to, 10);
  assert.equal(bins.below, 5);
  assert.equal(bins.counts.reduce((sum, count) => sum + count, 0), total - 5);
});

test('axes go there and back', () => {
  for (const scale of ['linear', 'symlog'] as Scale[]) for (const value of [-30, -0.001, 0, 2, 1e6]) assert.ok(Math.abs(valueAt(place(value, { scale, bend: 0.1 }), { scale, bend: 0.1 }) - value) <= 1e-9 * Math.abs(value));
  assert.ok(Math.abs(valueAt(place(1e-7, { scale: 'log', bend: 1 }), { scale: 'log', bend: 1 }) - 1e-7) < 1e-15);
});

test('quantiles, ranges and tails', () => {
  assert.deepEqual([0.001, 0.5, 0.999].map((p) => quantileOf(census, p)), [-4, 0.5, 100]);
  assert.equal(countWithin(census, 0, 1), 35);
  assert.deepEqual([-5, 0, 1000].map((value) => percentileOf(census, value)), [0, (100 * 13.5) / 47, 100]);
  const far = { values: Float64Array.from([-1, 0, 1, 1000]), counts: Float64Array.from([5000, 5000, 5000, 1]) };
  assert.ok(hasFarTails(far));
  assert.deepEqual(rangeOf(far, 'linear', 0.001), { from: -1, to: 1 });
  assert.ok(!hasFarTails({ values: Float64Array.from([-1, 0, 1]), counts: Float64Array.from([5, 5, 5]) }));
});

test('of one value, or none, there is still a range', () => {
  const { from, to } = rangeOf({ values: Float64Array.from([2]), counts: Float64Array.from([9]) }, 'linear');
  assert.ok(from < 2 && to > 2);
  assert.deepEqual(rangeOf({ values: new Float64Array(), counts: new Float64Array() }, 'linear'), { from: -1, to: 1 });
  assert.deepEqual(rangeOf({ values: Float64Array.of(0), counts: Float64Array.of(4) }, 'log'), { from: 1e-3, to: 1 });
});

test('ticks are round and within', () => {
  assert.deepEqual(ticksOf({ scale: 'linear', bend: 1 }, -0.25, 0.3, 6).map((v) => Number(v.toPrecision(6))), [-0.2, -0.1, 0, 0.1, 0.2, 0.3]);
  const log = ticksOf({ scale: 'log', bend: 1 }, 1e-6, 10, 20);
  assert.equal(log.length, 8);
  const symlog = ticksOf({ scale: 'symlog', bend: 0.01 }, -5, 100, 12);
  assert.ok(symlog.includes(0) && symlog.includes(10) && symlog.every((v) => v >= -5 && v <= 100));
});
