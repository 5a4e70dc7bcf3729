// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TreeNode } from '../src/core/protocol.js';
import { explained } from '../src/tree/differences.js';
import { oddity } from '../src/tree/rows.js';

const leaf = (name: string, dtype = 'BF16', shape = [4, 4]): TreeNode => ({ name, times: 1, tensors: 1, parameters: 16, bytes: 32, dtype, shape, children: [] });
const layer = (name: string, times: number, children: TreeNode[]): TreeNode => ({ name, times, tensors: 1, parameters: 0, bytes: 0, children });
const of = (...children: TreeNode[]) => explained(layer('', 1, [layer('layers', 1, children)])).children[0]!.children.map(oddity);

test('a layer says in what it differs from most others', () => {
  const usual = layer('0-4,6-15', 15, [leaf('q'), layer('mlp', 1, [leaf('up'), leaf('down')])]);
  assert.deepEqual(of(usual, layer('5', 1, [leaf('q', 'F32'), layer('mlp', 1, [leaf('up', 'F32'), leaf('down', 'F32')])])), ['', 'F32, not BF16']);
  assert.deepEqual(of(usual, layer('5', 1, [leaf('q', 'F32'), layer('mlp', 1, [leaf('up'), leaf('down')])])), ['', 'q F32, not BF16']);
  assert.deepEqual(of(usual, layer('5', 1, [leaf('q', 'BF16', [8, 4]), layer('mlp', 1, [leaf('up')])])), ['', 'q 8×4, not 4×4; lacks mlp.down']);
  assert.deepEqual(of(usual, layer('5', 1, [leaf('q'), layer('mlp', 1, [leaf('up'), leaf('down'), leaf('a'), leaf('b'), leaf('c')])])), ['', 'has mlp.a, mlp.b and 1 more']);
});

test('of three others, another shape is no news', () => {
  assert.deepEqual(of(layer('1-3', 3, [leaf('q', 'F32', [2])]), layer('0', 1, [leaf('q', 'F32', [2, 3])])), ['', '']);
});

test('siblings that all differ, or have no numbers, are left alone', () => {
  assert.deepEqual(of(layer('0', 1, [leaf('q')]), layer('1', 1, [leaf('k')])), ['', '']);
  assert.deepEqual(of(layer('a', 1, [leaf('q')]), layer('0-3', 4, [leaf('k')])), ['', '']);
});
