// SPDX-License-Identifier: Apache-2.0
// The moe document as the page uses it. Pure.
import type { Names } from '../tree/rows.js';
import type { Document } from './protocol.js';

export interface Expert {
  expert: number;
  parameters: number;
  bytes: number;
  measured: boolean;
  norm: number | null;
  absmax: number | null;
  router_norm: number | null;
  not_finite?: number;
  /** Why it can do nothing. */
  dead?: string;
  lacking?: string[];
}
export interface MoeLayer {
  prefix: string;
  layer: number | null;
  experts: number;
  fused: boolean;
  router: { name: string; shape: number[] } | null;
  /** Of a sample only: norms are estimates, and nothing is called identical. */
  exact?: false;
  shared: unknown[];
  dead: number[];
  identical: [number, number][];
  similar: { a: number; b: number; cosine: number; aligned_cosine?: number }[];
  mean_cosine?: number | null;
  missing: number[];
  each: Expert[];
}
export const layersOf = (document: Document | undefined): MoeLayer[] => (document?.['layers'] as MoeLayer[] | undefined) ?? [];

export type ExpertStat = 'norm' | 'absmax' | 'router_norm' | 'likeness' | 'parameters';
export const EXPERT_STATS: Record<ExpertStat, string> = {
  norm: 'L2 norm',
  absmax: 'largest magnitude',
  router_norm: 'norm of its router row',
  likeness: 'cosine with the expert most like it',
  parameters: 'parameters',
};

/** An expert's number, null where it was not measured or is missing. */
export function expertValue(layer: MoeLayer, expert: number, stat: ExpertStat): number | null {
  const row = layer.each.find((one) => one.expert === expert);
  if (row === undefined || layer.missing.includes(expert)) return null;
  if (stat !== 'likeness') return row[stat] ?? null;
  const pairs = layer.similar.filter(({ a, b }) => a === expert || b === expert).map((pair) => pair.aligned_cosine ?? pair.cosine);
  if (layer.identical.some((pair) => pair.includes(expert))) pairs.push(1);
  return pairs.length === 0 ? 0 : Math.max(...pairs);
}
/** What is wrong with an expert, as a sign and as words. */
export function expertSign(layer: MoeLayer, expert: number): { sign: string; words: string } {
  const row = layer.each.find((one) => one.expert === expert);
  const shows = layer.exact === false ? ', as far as the sample shows' : '';
  if (layer.missing.includes(expert)) return { sign: '?', words: 'missing' };
  if (layer.dead.includes(expert)) return { sign: '✕', words: `dead: ${row?.dead ?? 'all zero'}` };
  if ((row?.not_finite ?? 0) > 0) return { sign: '!', words: `${shows === '' ? '' : 'at least '}${row!.not_finite!} values not finite` };
  const same = layer.identical.filter((pair) => pair.includes(expert)).map(([a, b]) => (a === expert ? b : a));
  if (same.length > 0) return { sign: '=', words: `identical to ${same.join(', ')}` };
  const alike = layer.similar.filter(({ a, b }) => a === expert || b === expert).map(({ a, b, cosine }) => `${a === expert ? b : a} (cosine ${cosine.toFixed(4)})`);
  if (alike.length > 0) return { sign: '~', words: `like ${alike.join(', ')}${shows}` };
  return { sign: '', words: '' };
}

/** A tensor of an expert: its own where each has one, the stack where they are fused; -1 for none. */
export function tensorOfExpert({ order, names }: Names, { prefix, fused }: MoeLayer, expert: number): number {
  const start = prefix === '' ? '' : `${prefix}.`;
  const at = names.findIndex((name) => {
    if (!name.startsWith(start)) return false;
    const parts = name.slice(start.length).split('.');
    const place = parts.findIndex((part) => /experts?/.test(part) && !/shared/.test(part));
    if (place < 0) return !fused && !parts.some((part) => /shared/.test(part)) && parts[0] === String(expert);
    return fused ? !/bias/.test(name) : parts[place + 1] === String(expert);
  });
  return at < 0 ? -1 : order[at]!;
}
