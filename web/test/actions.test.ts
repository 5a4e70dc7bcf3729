// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandFor, pythonFor } from '../src/app/exports.js';
import { readLink, sumOf, writeLink } from '../src/app/link.js';
import type { Tensor } from '../src/core/protocol.js';
import { fuzzy } from '../src/ui/fuzzy.js';

test('whole words before parts before scattered letters', () => {
  const better = (typed: string, a: string, b: string) => assert.ok(fuzzy(typed, a)! < fuzzy(typed, b)!, `${typed}: ${a} before ${b}`);
  better('meta', 'Show Metadata', 'Some amethyst attribute');
  better('ten', 'Show Tensor', 'Listen');
  better('ov', 'Show Overview', 'Move it over there by a long way');
  assert.equal(fuzzy('xyz', 'Show Tensor'), null);
  assert.notEqual(fuzzy('shten', 'Show Tensor'), null);
});

test('a link leads back and holds names and numbers only', () => {
  const link = { file: 'a b&c.safetensors', size: 4976698592, tensor: 'model.layers.0.w#1', view: 'tensor' };
  assert.deepEqual(readLink(writeLink(link)), link);
  assert.deepEqual(readLink(writeLink({ file: 'm', size: 1 })), { file: 'm', size: 1 });
  for (const hash of ['', '#', '#f=', '#f=x&sz=abc', '#v=tensor']) assert.equal(readLink(hash), null);
});

test('a link may hold a filter and a place; a broken place is left out', () => {
  const link = { file: 'm', size: 1, sum: '0badcafe', filter: 'layer:0-3 -bias', place: { row: 1.5, col: 0, rows: 20, cols: 30.25 } };
  assert.deepEqual(readLink(writeLink(link)), link);
  for (const r of ['1,2,3', '1,2,0,4', '-1,0,5,5', 'NaN,0,5,5', '1,2,3,Infinity']) assert.equal(readLink(`#f=x&sz=1&r=${r}`)!.place, undefined, r);
  assert.notEqual(sumOf({ names: ['a', 'b'] }), sumOf({ names: ['ab', ''] }));
});

test('what is pasted into a shell or Python is quoted', () => {
  const tensor = { name: `a'b"c`, file: 'x y.pt' } as Tensor;
  assert.equal(commandFor(tensor), `assay show 'x y.pt' 'a'\\''b"c'`);
  assert.equal(pythonFor(tensor, 'torch-zip'), 'import torch\nx = torch.load("x y.pt", weights_only=True)["a\'b\\"c"]');
  assert.equal(pythonFor(tensor, 'gguf'), null);
});
