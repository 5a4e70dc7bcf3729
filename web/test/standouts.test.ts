// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stats } from '../src/core/protocol.js';
import { comparedOf, oddSpreads, sentence, standoutsOf } from '../src/core/standouts.js';

const ROLES = ['q', 'k', 'up'];
const names = Array.from({ length: 8 }, (_, layer) => ROLES.map((role) => `m.layers.${layer}.${role}.weight`)).flat().concat('head.weight');
const order = Uint32Array.from(names, (_, i) => i);
/** Layers alike up to a small drift, as trained ones are. */
const usual = (i: number): Stats => ({ numel: 100, measured: 100, mean: 0.0001 * (i % 5), std: 0.02 * (1 + 0.01 * Math.floor(i / 3)), absmax: 0.07 + 0.001 * (i % 7), zeros: 0, nan: 0, pos_inf: 0, neg_inf: 0 }) as unknown as Stats;
const found = (change: (name: string, stats: Stats) => Partial<Stats> | undefined) =>
  standoutsOf({ names, order }, names.map((name, i) => { const stats = usual(i); return { ...stats, ...change(name, stats) }; }))
    .map(({ kind, place, tensors, of, what }) => [kind, place, tensors.map(({ short }) => short).sort().join(' '), of, what]);

test('a model without a fault has nothing that stands out', () => {
  assert.deepEqual(found(() => undefined), []);
});
test('a layer scaled as a whole is one line', () => {
  const [one, ...more] = found((name, { std, absmax }) => (name.includes('.5.') ? { std: std! * 4, absmax: absmax! * 4 } : undefined));
  assert.deepEqual(more, []);
  assert.deepEqual(one!.slice(0, 4), ['scale', 'layer 5', 'k q up', 3]);
  assert.match(one![4] as string, /^4\.1 times the usual standard deviation \(0\.084; the others 0\.0206\)$/);
});
test('a layer is judged by those around it', () => {
  const drift = Array.from({ length: 32 }, (_, layer) => 0.02 * Math.exp(0.035 * layer + 0.05 * Math.sin(7 * layer)));
  assert.deepEqual(oddSpreads(drift), []);
  for (const odd of [0, 13, 31]) for (const scale of [4, 0.25]) assert.deepEqual(oddSpreads(drift.map((std, i) => (i === odd ? scale * std : std))).map(({ i }) => i), [odd]);
  assert.deepEqual(oddSpreads([1, 9, 1, 9, 1, 9, 1, 9]), []);
});
test('NaN first, also outside layers; zeros where others have values; one far value', () => {
  const all = found((name) =>
    name === 'head.weight' ? { nan: 2 } : name === 'm.layers.3.up.weight' ? { zeros: 100, std: 0, absmax: 0 } : name === 'm.layers.1.k.weight' ? { absmax: 9 } : undefined,
  );
  assert.deepEqual(all.map((row) => row.slice(0, 3)), [['not-finite', 'head.weight', 'head.weight'], ['zero', 'layer 3', 'up'], ['peak', 'layer 1', 'k']]);
});
test('a shifted mean is told in units of the spread', () => {
  assert.deepEqual(found((name) => (name === 'm.layers.6.q.weight' ? { mean: 0.5 } : undefined)).map((row) => row.slice(0, 2)), [['mean', 'layer 6']]);
});
test('what most layers have is no news, and two layers are too few to say', () => {
  assert.deepEqual(found((name) => (name.includes('.q.') ? { zeros: 100, std: 0, absmax: 0 } : undefined)), []);
  const two = names.filter((name) => /layers\.[01]\./.test(name));
  assert.deepEqual(standoutsOf({ names: two, order }, two.map((_, i) => ({ ...usual(i), std: i < 3 ? 9 : 0.02 }))), []);
});
test('experts are told by number', () => {
  const experts = Array.from({ length: 8 }, (_, e) => `layers.0.experts.${e}.w`);
  const [dead] = standoutsOf({ names: experts, order }, experts.map((_, i) => ({ ...usual(i), ...(i === 3 ? { zeros: 100, std: 0 } : {}) })));
  assert.equal(dead!.place, 'layer 0, expert 3');
  assert.equal(sentence(dead!), 'w is all zero');
});

test('two stacks of layers are told apart', () => {
  const two = ['encoder.block', 'decoder.block'].flatMap((stack) => Array.from({ length: 6 }, (_, layer) => `${stack}.${layer}.w`));
  const [one, ...more] = standoutsOf({ names: two, order }, two.map((name, i) => ({ ...usual(i), ...(name === 'decoder.block.4.w' ? { std: 0.3 } : {}) })));
  assert.deepEqual([one!.place, one!.of, more], ['decoder.block.4', 1, []]);
});

test('sentences', () => {
  const of = (change: (name: string) => Partial<Stats> | undefined) => standoutsOf({ names, order }, names.map((name, i) => ({ ...usual(i), ...change(name) }))).map((one) => `${one.place} ${sentence(one, '≈ ')}`);
  assert.deepEqual(of((name) => (name === 'head.weight' ? { nan: 1, pos_inf: 2 } : undefined)), ['head.weight holds ≈ 1 NaN and 2 infinities']);
  assert.deepEqual(of((name) => (name.includes('.5.') ? { zeros: 100, std: 0, absmax: 0 } : undefined)), ['layer 5 all 3 of its tensors are ≈ all zero']);
  assert.match(of((name) => (/\.5\.[qk]/.test(name) ? { std: 0.1 } : undefined))[0]!, /^layer 5 2 of its 3 tensors stand out: [qk] has ≈ 4.* times/);
});

test('what has no siblings is not said to have been compared', () => {
  assert.equal(comparedOf({ names, order }, names.map((_, i) => usual(i))), 24);
  assert.equal(comparedOf({ names: ['a', 'b.0', 'b.1'], order }, [usual(0), usual(1), usual(2)]), 0);
  assert.equal(comparedOf({ names, order }, []), 0);
});
