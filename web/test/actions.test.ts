// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLink, writeLink } from '../src/app/link.js';
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
