// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesKey } from '../src/ui/typing.js';

test('only what holds text takes keys from the page', () => {
  const takes = (localName: string, type: string | undefined, key: string) => takesKey({ localName, ...(type === undefined ? {} : { type }) }, key);
  assert.equal(takes('input', 'search', '2'), true);
  assert.equal(takes('input', 'text', '?'), true);
  assert.equal(takes('textarea', undefined, '?'), true);
  for (const type of ['file', 'checkbox', 'radio', 'range']) assert.equal(takes('input', type, '2'), false, type);
  assert.equal(takes('button', 'submit', '2'), false);
  assert.equal(takesKey(null, '2'), false);
});
test('a list to choose from takes letters, not the digits of views', () => {
  assert.equal(takesKey({ localName: 'select' }, 'm'), true);
  assert.equal(takesKey({ localName: 'select' }, '2'), false);
  assert.equal(takesKey({ localName: 'select' }, '?'), false);
});
