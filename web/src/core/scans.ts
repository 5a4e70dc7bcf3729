// SPDX-License-Identifier: Apache-2.0
// What the scans of a model's files say together. Pure.
import type { Document } from './protocol.js';

export interface Call {
  words: string;
  member?: string;
  offset?: number;
}
export interface Import {
  name: string;
  class: string;
  why?: string;
  member?: string;
  offset?: number;
}
export interface Verdict {
  verdict: 'clean' | 'unknown' | 'dangerous';
  /** Whether all of every file was looked at. */
  complete: boolean;
  /** What would run: calls in words, else what is imported. */
  words: string[];
}
const RANK = { clean: 0, unknown: 1, dangerous: 2 };

export const WORDS: Record<Verdict['verdict'], string> = {
  clean: 'It holds no code: nothing would run',
  unknown: 'Unknown code would run',
  dangerous: 'Dangerous code would run',
};

export function verdictOf(scans: readonly Document[]): Verdict {
  const verdict = scans.map((document) => document['verdict'] as Verdict['verdict']).reduce((worst, one) => (RANK[one] > RANK[worst] ? one : worst), 'clean');
  const calls = scans.flatMap((document) => document['calls'] as Call[]).map(({ words }) => words);
  const imports = scans.flatMap((document) => document['imports'] as Import[]).filter((row) => row.class !== 'benign');
  return {
    verdict,
    complete: scans.every((document) => document['status'] === 'complete'),
    words: [...new Set(calls.length > 0 ? calls : imports.map(({ name, why }) => `would import ${name}${why === undefined ? '' : `, which ${why}`}`))],
  };
}
