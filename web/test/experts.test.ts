// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expertSign, expertValue, tensorOfExpert, type MoeLayer } from '../src/core/experts.js';

const each = [0, 1, 2, 3, 4].map((expert) => ({ expert, parameters: 6, bytes: 24, measured: true, norm: expert, absmax: 1, router_norm: null }));
const layer: MoeLayer = {
  prefix: 'm.layers.0.mlp', layer: 0, experts: 6, fused: false, router: null, shared: [], dead: [0], identical: [[1, 2]], similar: [{ a: 3, b: 1, cosine: 0.9 }], missing: [5], each,
};

test('what is wrong with an expert, the worst first', () => {
  assert.deepEqual([0, 1, 3, 4, 5].map((expert) => expertSign(layer, expert).sign), ['✕', '=', '~', '', '?']);
  assert.equal(expertSign(layer, 3).words, 'like 1 (cosine 0.9000)');
});

test('its numbers', () => {
  assert.deepEqual([1, 3, 4, 5].map((expert) => expertValue(layer, expert, 'likeness')), [1, 0.9, 0, null]);
  assert.equal(expertValue(layer, 3, 'norm'), 3);
  assert.equal(expertValue(layer, 3, 'router_norm'), null);
});

test('its tensor, own or stacked, never the shared one', () => {
  const names = ['m.layers.0.mlp.shared_experts.1.w', 'm.layers.0.mlp.experts.1.w', 'm.layers.0.mlp.experts.11.w', 'm.layers.1.mlp.experts.gate_up_bias', 'm.layers.1.mlp.experts.gate_up'];
  const all = { names, order: Uint32Array.from([4, 3, 2, 1, 0]) };
  assert.equal(tensorOfExpert(all, layer, 1), 3);
  assert.equal(tensorOfExpert(all, layer, 11), 2);
  assert.equal(tensorOfExpert(all, layer, 7), -1);
  assert.equal(tensorOfExpert(all, { ...layer, prefix: 'm.layers.1.mlp', fused: true }, 7), 0);
});
