// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOf } from '../src/core/health.js';
import type { Document, Finding, MeasuredStats } from '../src/core/protocol.js';

const names = Array.from({ length: 8 }, (_, layer) => `m.layers.${layer}.w.weight`);
const order = Uint32Array.from(names, (_, i) => i);
const usual = (i: number, more: object = {}): MeasuredStats => ({ numel: 100, measured: 100, mean: 0, std: 0.02 * (1 + 0.01 * i), absmax: 0.07, zeros: 0, nan: 0, pos_inf: 0, neg_inf: 0, sampled: false, ...more }) as unknown as MeasuredStats;
const document = (findings: Finding[], more: object = {}): Document => ({ findings, ...more }) as unknown as Document;
const model = (state: 'none' | 'sampled' | 'exact', wide: number | null, reports: [string, Document][] = []) => ({
  info: document([]),
  reports: new Map(reports),
  names: { names, order },
  measured: { state, stats: names.map((_, i) => usual(i, i === wide ? { std: 0.2, absmax: 0.7 } : {})) },
});

test('what stands out is a finding before and after the checkup', () => {
  const before = healthOf(model('exact', 3));
  assert.deepEqual([before.looked, before.grave, before.compared], ['compared', 1, 8]);
  assert.match(before.findings[0]!.message, /^layer 3: weight has 9\.\d times the usual standard deviation/);
  assert.equal(before.findings[0]!.tensor, 'm.layers.3.w.weight');
  assert.ok(before.advice[before.findings[0]!.code]!.length > 10);
  const after = healthOf(model('exact', 3, [['doctor', document([], { advice: {} })]]));
  assert.deepEqual([after.looked, after.grave], ['examined', 1]);
});
test('what the checkup says too is told once, in its words', () => {
  const odd: Finding = { severity: 'warning', code: 'odd-spread', message: 'far', tensor: 'm.layers.3.w.weight' };
  const { findings, grave } = healthOf(model('exact', 3, [['doctor', document([odd])]]));
  assert.deepEqual([findings.map(({ message }) => message), grave], [['far'], 1]);
  // Of another tensor it is another matter.
  assert.equal(healthOf(model('exact', 3, [['doctor', document([{ ...odd, tensor: 'm.layers.5.w.weight' }])]])).grave, 2);
});
test('a layer that was scaled as a whole is one finding', () => {
  const two = ['q', 'k'].flatMap((part) => names.map((name) => name.replace('.w.', `.${part}.`)));
  const odd = (part: string): Finding => ({ severity: 'warning', code: 'odd-spread', message: part, tensor: `m.layers.3.${part}.weight` });
  const { findings } = healthOf({
    ...model('exact', null, [['doctor', document([odd('q'), odd('k')])]]),
    names: { names: two, order: Uint32Array.from(two, (_, i) => i) },
    measured: { state: 'exact', stats: two.map((name, i) => usual(i % 8, name.includes('.3.') ? { std: 0.2, absmax: 0.7 } : {})) },
  });
  assert.equal(findings.length, 1);
  assert.match(findings[0]!.message, /^layer 3: all 2 of its tensors stand out/);
  assert.deepEqual([...(findings[0]!['names'] as string[])].sort(), ['m.layers.3.k.weight', 'm.layers.3.q.weight']);
});
test('few values far out are told as such, not as a spread', () => {
  const odd: Finding = { severity: 'warning', code: 'odd-spread', message: 'spread', tensor: 'm.layers.3.w.weight' };
  const peaked = model('exact', null, [['doctor', document([odd])]]);
  Object.assign(peaked.measured.stats[3]!, { std: 0.053, absmax: 2.75 });
  const { findings } = healthOf(peaked);
  assert.equal(findings.length, 1);
  assert.match(findings[0]!.message, /^layer 3: weight has 39 times the usual largest magnitude/);
});
test('what was suspected from a part is settled by the whole checkup, not by a first look', () => {
  const suspected: Finding = { severity: 'warning', code: 'zero-tail', message: 'seems to hold zeros only', sampled: true };
  const of = (doctor: Document) => healthOf({ ...model('exact', null, [['doctor', doctor]]), info: document([suspected]) }).grave;
  assert.equal(of(document([], { exact: false })), 1);
  assert.equal(of(document([])), 0);
});
test('how far it was looked at is not overstated', () => {
  assert.deepEqual([healthOf(model('none', 3)).looked, healthOf(model('none', 3)).grave], ['headers', 0]);
  const sampled = healthOf(model('sampled', 3));
  assert.equal(sampled.looked, 'sampled');
  assert.match(sampled.findings[0]!.message, /≈/);
});
test('what was learnt meanwhile counts', () => {
  const growing = model('exact', 3);
  assert.equal(healthOf(growing).looked, 'compared');
  growing.reports.set('doctor', document([]));
  assert.equal(healthOf(growing).looked, 'examined');
});
