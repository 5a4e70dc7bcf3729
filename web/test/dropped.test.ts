// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelsOf } from '../src/core/dropped.js';

const drop = (...files: [string, number][]) => modelsOf(files.map(([name, size]) => ({ name, blob: new Blob([new Uint8Array(size)]) })));
const names = (models: ReturnType<typeof modelsOf>) => models.map((model) => [model.label, model.whole, ...model.files.map((file) => file.name)]);

test('one file is one model', () => {
  assert.deepEqual(names(drop(['m.safetensors', 9])), [['m.safetensors', false, 'm.safetensors']]);
});
test('a configuration beside it comes along', () => {
  assert.deepEqual(names(drop(['config.json', 2], ['m.safetensors', 9])), [['m.safetensors', false, 'm.safetensors', 'config.json']]);
});
test('shards are one model, with or without an index', () => {
  const shards: [string, number][] = [['a-00001-of-00002.safetensors', 9], ['a-00002-of-00002.safetensors', 8]];
  assert.deepEqual(names(drop(...shards)), [['a-00001-of-00002.safetensors', true, ...shards.map(([name]) => name)]]);
  assert.equal(drop(['x.bin', 4], ['y.bin', 5], ['pytorch_model.bin.index.json', 2]).length, 1);
});
test('a folder is called by its name, and files are named from there', () => {
  const [model] = drop(['llama/model-00001-of-00002.safetensors', 9], ['llama/model-00002-of-00002.safetensors', 9], ['llama/config.json', 2]);
  assert.deepEqual([model!.label, model!.whole, model!.files.length], ['llama', true, 3]);
  assert.ok(model!.files.every((file) => !file.name.includes('/')));
});
test('the ranks of a distributed training are one model', () => {
  const ranks = ['zero_pp_rank_0_mp_rank_00_optim_states.pt', 'zero_pp_rank_1_mp_rank_00_optim_states.pt', 'mp_rank_00_model_states.pt'];
  const [zero, ...none] = drop(...ranks.map((name): [string, number] => [`run/global_step5/${name}`, 9]), ['run/latest', 12]);
  assert.deepEqual([zero!.label, zero!.whole, zero!.files.length, none.length], ['run/global_step5', true, 3, 0]);
  const [dcp] = drop(['c/__0_0.distcp', 9], ['c/__1_0.distcp', 9], ['c/.metadata', 3]);
  assert.deepEqual([dcp!.label, dcp!.whole, dcp!.files.length], ['c', true, 3]);
});
test('models are in the order in which they were chosen, none is lost', () => {
  assert.deepEqual(drop(['c.pt', 5], ['b.pt', 9], ['a.pt', 7]).map((model) => model.label), ['c.pt', 'b.pt', 'a.pt']);
});
test('of a folder the largest comes first', () => {
  assert.deepEqual(drop(['run/rng.pth', 5], ['run/model.safetensors', 9]).map((model) => model.label), ['model.safetensors', 'rng.pth']);
});
test('a lone text is opened too, to be told what it is', () => {
  assert.deepEqual(names(drop(['config.json', 2])), [['config.json', false, 'config.json']]);
  assert.deepEqual(drop(), []);
});
