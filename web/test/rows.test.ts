// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TreeNode } from '../src/core/protocol.js';
import { firstExpanded, instanceLabel, leadsTo, oddity, patternRegExp, tensorsOf, visibleRows, type Names } from '../src/tree/rows.js';

const leaf = (name: string, tensors: number, more: Partial<TreeNode> = {}): TreeNode => ({
  name, times: 1, tensors, parameters: 10 * tensors, bytes: 40 * tensors, dtype: 'F32', shape: [10], children: [], ...more,
});
const branch = (name: string, times: number, children: TreeNode[]): TreeNode => ({
  name, times, tensors: children.reduce((n, c) => n + c.tensors, 0), parameters: 0, bytes: 0, children,
});
const root = branch('', 1, [
  branch('head', 1, [leaf('weight', 1)]),
  branch('layers', 3, [leaf('w', 3), leaf('k', 2, { present: 2, of: 3, missing: ['2'] })]),
]);
const list = ['head.weight', 'layers.0.k', 'layers.0.w', 'layers.1.k', 'layers.1.w', 'layers.2.w'];
const names: Names = { names: list, order: Uint32Array.from([5, 0, 1, 2, 3, 4]) };
const nameOf = (tensor: number) => list[names.order.indexOf(tensor)]!;

test('only children are joined, closed branches hide theirs', () => {
  const rows = visibleRows(root, new Set(), names, nameOf);
  assert.deepEqual(rows.map((row) => [row.label, row.kind, row.depth]), [['head.weight', 'leaf', 0], ['layers', 'branch', 0]]);
});

test('a leaf of several tensors opens to each of them', () => {
  const rows = visibleRows(root, new Set(['/1', '/1/1']), names, nameOf);
  assert.deepEqual(rows.map((row) => [row.label, row.tensor]), [['head.weight', null], ['layers', null], ['w', null], ['k', null], ['0', 0], ['1', 2]]);
  assert.deepEqual(rows[4]!.pattern, ['layers', '*', 'k']);
  assert.deepEqual([rows[5]!.position, rows[5]!.siblings], [2, 2]);
});

test('patterns match whole names, numbers and lists of numbers', () => {
  assert.deepEqual(tensorsOf(['layers', '*', 'w'], names), [1, 3, 4]);
  assert.ok(patternRegExp(['h', '0-2,5', 'w']).test('h.5.w'));
  assert.ok(!patternRegExp(['h', '0-2,5', 'w']).test('h.3.w'));
  assert.ok(!patternRegExp(['a+b']).test('aab'));
  assert.equal(instanceLabel(['layers', '*', 'experts', '*', 'w1'], 'layers.3.experts.7.w1'), '3.7');
});

test('what breaks a pattern is named', () => {
  const norm = branch('norm', 1, [leaf('weight', 2)]);
  const odd = branch('', 1, [branch('layers', 3, [{ ...norm, present: 2, of: 3, missing: ['31'] }, leaf('w', 3)])]);
  assert.deepEqual(visibleRows(odd, new Set(['/0']), names, nameOf).map((row) => [row.label, row.odd]), [['layers', ''], ['norm.weight', 'not in 31'], ['w', '']]);
  assert.equal(oddity(root.children[1]!.children[1]!), 'not in 2');
  assert.equal(oddity(root.children[1]!.children[0]!), '');
});

test('the first look opens what fits', () => {
  assert.deepEqual([...firstExpanded(root)], ['/1']);
  assert.deepEqual([...firstExpanded(root, 3)], []);
});

test('a pattern leads to what is below it', () => {
  const name = 'model.layers.13.mlp.down_proj.weight';
  assert.equal(leadsTo(['model'], name), true);
  assert.equal(leadsTo(['model', 'layers', '*'], name), true);
  assert.equal(leadsTo(['model', 'layers', '0-12,14'], name), false);
  assert.equal(leadsTo(['model', 'layers', '*', 'mlp', 'down_proj', 'weight'], name), true);
  assert.equal(leadsTo(['model', 'layers', '*', 'mlp', 'up_proj', 'weight'], name), false);
});
