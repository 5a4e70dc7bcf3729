// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stats } from '../src/core/protocol.js';
import { combined, deviations, patternOf, rolesOf, shortRoles } from '../src/core/roles.js';
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

test('arrow keys stay within the grid', () => {
  assert.deepEqual(cellAfter('ArrowDown', { row: 1, col: 0 }, 2, 3), { row: 1, col: 0 });
  assert.deepEqual(cellAfter('End', { row: 1, col: 0 }, 2, 3), { row: 1, col: 2 });
  assert.deepEqual(cellAfter('ArrowLeft', null, 2, 3), { row: 0, col: 0 });
  assert.equal(cellAfter('x', null, 2, 3), null);
});
