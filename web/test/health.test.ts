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
});
test('the whole checkup has the last word: what it does not warn of is unlike, and no finding', () => {
  const { looked, findings, grave, unlike } = healthOf(model('exact', 3, [['doctor', document([], { advice: {} })]]));
  assert.deepEqual([looked, findings, grave, unlike.length], ['examined', [], 0, 1]);
  assert.match(unlike[0]!.message, /^layer 3: weight has 9\.\d times the usual standard deviation/);
});
test('what the checkup says too is told once, in its words', () => {
  const odd: Finding = { severity: 'warning', code: 'odd-spread', message: 'far', tensor: 'm.layers.3.w.weight' };
  for (const said of [odd, { severity: 'warning', code: 'odd-spread', message: 'far', names: ['m.layers.3.w.weight'] } as Finding]) {
    const { findings, unlike } = healthOf(model('exact', 3, [['doctor', document([said])]]));
    assert.deepEqual([findings.map(({ message }) => message), unlike], [['far'], []]);
  }
  // Of another tensor it is another matter.
  const other = healthOf(model('exact', 3, [['doctor', document([{ ...odd, tensor: 'm.layers.5.w.weight' }])]]));
  assert.deepEqual([other.grave, other.unlike.length], [1, 1]);
});
test('before it, what it would not warn of is no finding either: few values far out, another mean, a norm', () => {
  const changed = (more: object, pattern = 'w') => {
    const one = model('exact', null);
    Object.assign(one.measured.stats[3]!, more);
    return healthOf({ ...one, names: { order, names: names.map((name) => name.replace('.w.', `.${pattern}.`)) } });
  };
  for (const [more, pattern] of [[{ absmax: 2.75 }], [{ mean: 0.5 }], [{ std: 0.2, absmax: 0.7 }, 'input_layernorm']] as const) {
    const { grave, unlike } = changed(more, pattern);
    assert.deepEqual([grave, unlike.length], [0, 1]);
  }
  assert.equal(changed({ nan: 1 }, 'input_layernorm').grave, 1);
});
test('findings stand as doctor lists them: by severity, those of a kind together, else as they were found', () => {
  const of = (severity: Finding['severity'], code: string): Finding => ({ severity, code, message: code });
  const found = [of('note', 'tied'), of('warning', 'nan'), of('warning', 'all-zero'), of('damage', 'truncated'), of('warning', 'nan')];
  assert.deepEqual(healthOf(model('none', null, [['doctor', document(found.map((one, i) => ({ ...one, tensor: `t${i}` })))]])).findings.map(({ code }) => code), ['truncated', 'nan', 'nan', 'all-zero', 'tied']);
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
