// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAbout, knownFindings } from '../src/core/findings.js';
import { crcWords, knownMembers, memberAt, worstFirst, type Member } from '../src/core/members.js';
import type { Document, Finding } from '../src/core/protocol.js';
import { verdictOf } from '../src/core/scans.js';
import { ownersOf } from '../src/views/bytes-draw.js';

const member = (name: string, at: number, state: Member['state']): Member => ({ file: 'a.pt', name, header_offset: at, offset: at + 40, packed: 20, size: 20, method: 'stored', crc_32: 0xab, state, computed: 0xcd });
const document = (findings: Finding[], members: Member[] = []): Document => ({ schema: 'x', complete: true, findings, members });

test('members: what is wrong comes first, and a byte knows its member', () => {
  const members = [member('a', 0, 'matches'), member('b', 60, 'unknown'), member('c', 120, 'differs')];
  assert.deepEqual(worstFirst(members).map(({ name }) => name), ['c', 'a', 'b']);
  assert.equal(memberAt(members, 59)?.name, 'a');
  assert.equal(memberAt(members, 60)?.name, 'b');
  assert.equal(memberAt(members, 180), undefined);
  assert.equal(crcWords(members[2]!), 'wrong: the bytes give 000000cd, not 000000ab');
  assert.match(crcWords(members[1]!), /unknown/);
});

test('the document that read the members is believed before the one that listed them', () => {
  const listed = document([], [member('a', 0, 'unchecked')]);
  const read = document([], [member('a', 0, 'matches'), { ...member('z', 0, 'matches'), file: 'other.pt' }]);
  assert.equal(knownMembers(new Map(), 'a.pt'), null);
  assert.deepEqual(knownMembers(new Map([['verify-headers', listed]]), 'a.pt')!.map(({ state }) => state), ['unchecked']);
  assert.deepEqual(knownMembers(new Map([['verify-headers', listed], ['verify', read]]), 'a.pt')!.map(({ state }) => state), ['matches']);
});

test('each byte of a row has its owner', () => {
  const parts = [{ offset: 0, length: 10, kind: 'header' }, { offset: 10, length: 3, kind: 'gap' }, { offset: 13, length: 20, kind: 'tensor', name: 't' }];
  assert.deepEqual(ownersOf(parts, 8, 8).map(({ number, from, to }) => [number, from, to]), [[0, 0, 2], [1, 2, 5], [2, 5, 8]]);
  assert.deepEqual(ownersOf(parts, 16, 16).map(({ part, from, to }) => [part?.name, from, to]), [['t', 0, 16]]);
  assert.deepEqual(ownersOf([], 0, 4), [{ part: null, number: -1, from: 0, to: 4 }]);
});

test('findings of all documents, each once, the gravest first', () => {
  const note: Finding = { severity: 'note', code: 'a', message: 'm' };
  const damage: Finding = { severity: 'damage', code: 'crc-mismatch', message: 'n', tensors: ['x', 'y'] };
  const found = knownFindings(document([note]), new Map([['doctor', document([note])], ['verify', document([note, damage])]]));
  assert.deepEqual(found, [damage, note]);
  assert.ok(isAbout(damage, 'y') && !isAbout(damage, 'z') && !isAbout(note, 'y'));
});
test('what a sample showed gives way to the checkup of all values', () => {
  const guess: Finding = { severity: 'warning', code: 'zero-tail', message: 'seems', sampled: true };
  const known: Finding = { severity: 'warning', code: 'nan', message: 'has 2' };
  const looked = { ...document([guess]), exact: false };
  assert.equal(knownFindings(document([guess]), new Map([['doctor', looked]])).length, 1);
  assert.deepEqual(knownFindings(document([guess]), new Map([['doctor', document([known])]])), [known]);
});

test('the worst verdict of several files, and what would run in words', () => {
  const scan = (verdict: string, more: object = {}): Document => ({ schema: 'assay.scan/1', complete: true, findings: [], verdict, status: 'complete', calls: [], imports: [], ...more });
  assert.deepEqual(verdictOf([scan('clean'), scan('clean')]), { verdict: 'clean', complete: true, words: [] });
  const bad = scan('dangerous', { calls: [{ words: "would call posix.system('x')" }], imports: [{ name: 'posix.system', class: 'dangerous' }] });
  assert.deepEqual(verdictOf([scan('unknown'), bad]), { verdict: 'dangerous', complete: true, words: ["would call posix.system('x')"] });
  const imported = scan('unknown', { status: 'incomplete', imports: [{ name: 'a.B', class: 'unknown' }, { name: 'torch.X', class: 'benign' }, { name: 'os.c', class: 'dangerous', why: 'runs commands' }] });
  assert.deepEqual(verdictOf([imported]), { verdict: 'unknown', complete: false, words: ['would import a.B', 'would import os.c, which runs commands'] });
});
