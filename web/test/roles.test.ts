// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stats } from '../src/core/protocol.js';
import { against, combined, deviations, leastSpread, patternOf, rolesOf, shortRoles } from '../src/core/roles.js';
import { cellAfter } from '../src/ui/grid-keys.js';

const names = ['head.weight', 'm.layers.0.k', 'm.layers.0.mlp.experts.0.w.weight', 'm.layers.0.mlp.experts.1.w.weight', 'm.layers.2.mlp.experts.0.w.weight', 'm.layers.10.k'];
const roles = rolesOf({ names, order: Uint32Array.from([9, 8, 7, 6, 5, 4]) });

test('tensors by layer and role, experts as instances of one role', () => {
  assert.deepEqual(patternOf('m.layers.0.mlp.experts.1.w'), { pattern: 'm.layers.*.mlp.experts.*.w', numbers: [0, 1] });
  assert.deepEqual(roles.layers, [0, 2, 10]);
  assert.deepEqual(roles.roles, ['m.layers.*.k', 'm.layers.*.mlp.experts.*.w.weight']);
  assert.deepEqual([...roles.cells].sort((a, b) => a[0] - b[0]), [[0, [8]], [1, [7, 6]], [3, [5]], [4, [4]]]);
  assert.equal(roles.outside, 1);
  assert.deepEqual(shortRoles(roles.roles), ['k', 'mlp.experts.*.w']);
  assert.deepEqual(shortRoles([]), []);
});

const stats = (more: Partial<Stats>): Stats => ({ measured: 10, mean: 0, std: 1, absmax: 2, kurtosis: 0, zeros: 0, nan: 0, pos_inf: 0, neg_inf: 0, ...more }) as Stats;

test('statistics of several tensors are those of their values together', () => {
  // 10 values about -1 and 10 about 1, each of deviation 0: together deviation 1 about 0.
  const two = [stats({ mean: -1, std: 0 }), stats({ mean: 1, std: 0 })];
  assert.equal(combined('std', two), 1);
  assert.equal(combined('mean', two), 0);
  assert.equal(combined('absmax', [stats({ absmax: 3 }), stats({ absmax: 7 }), null]), 7);
  assert.equal(combined('zeros', [stats({ zeros: 5 }), stats({ zeros: 0 })]), 0.25);
  assert.equal(combined('odd', [stats({ nan: 2, pos_inf: 1 })]), 3);
  assert.equal(combined('std', [null, undefined]), null);
});

test('what is far from its column is found, whatever the scale', () => {
  const far = deviations([1, 1.01, 0.99, 1.02, 5, null, 0.98]);
  assert.ok(far[4]! > 50 && far.every((value, i) => i === 4 || value === null || Math.abs(value) < 3));
  assert.equal(far[5], null);
  assert.deepEqual(deviations([1, 9]), [0, 0]);
  const equal = deviations([3, 3, 3, 3, 3.3]);
  assert.ok(equal[4]! > 4 && equal[0] === 0);
});

test('one zero among a million is no outlier where there are none, half of them is; one NaN is', () => {
  const zeros = deviations([0, 0, 0, 5.68e-6, 0, 0.5], leastSpread('zeros', 1));
  assert.ok(zeros[3]! < 0.01 && zeros[5]! > 6);
  assert.ok(deviations([0, 0, 1, 0], leastSpread('odd', 1))[2]! >= 6);
  assert.ok(Math.abs(deviations([1e-20, 0, 0, -1e-20], leastSpread('mean', 0.02))[0]!) < 0.01);
});
test('a value is told beside the median of all layers', () => {
  assert.equal(against('std', 0.0163, 0.0229), '0.0163, 0.71 × the median of all layers, 0.0229');
  assert.equal(against('zeros', 0.5, 0), '50 %, the median of all layers 0 %');
  assert.equal(against('zeros', 5.68e-6, 0), '0.000568 %, the median of all layers 0 %');
  assert.equal(against('mean', -0.5, 0.0001), '−0.5, the median of all layers 0.0001');
  assert.equal(against('absmax', 3e38, 1), '3e+38, more than 10 000 × the median of all layers, 1');
  assert.equal(against('absmax', 1, 0), '1, the median of all layers 0');
});

test('arrow keys stay within the grid', () => {
  assert.deepEqual(cellAfter('ArrowDown', { row: 1, col: 0 }, 2, 3), { row: 1, col: 0 });
  assert.deepEqual(cellAfter('End', { row: 1, col: 0 }, 2, 3), { row: 1, col: 2 });
  assert.deepEqual(cellAfter('ArrowLeft', null, 2, 3), { row: 0, col: 0 });
  assert.equal(cellAfter('x', null, 2, 3), null);
});
