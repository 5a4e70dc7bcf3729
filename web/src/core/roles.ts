// SPDX-License-Identifier: Apache-2.0
// Tensors by layer and role, from their names: "model.layers.3.self_attn.q_proj.weight" is role "model.layers.*.self_attn.q_proj.weight"
// of layer 3. Further numbers (experts) are instances of one role. Pure.
import { tensorsOf, type Names } from '../tree/rows.js';
import type { Stats } from './protocol.js';

export interface Roles {
  layers: number[];
  /** Patterns; every number is "*". */
  roles: string[];
  /** Tensors of layer l and role r at l * roles.length + r, in natural order. */
  cells: Map<number, number[]>;
  /** Tensors that are in no layer. */
  outside: number;
}

const NUMBER = /^\d+$/;

export function patternOf(name: string): { pattern: string; numbers: number[] } {
  const numbers: number[] = [];
  const pattern = name
    .split('.')
    .map((part) => {
      if (!NUMBER.test(part)) return part;
      numbers.push(Number(part));
      return '*';
    })
    .join('.');
  return { pattern, numbers };
}

/** The tensors of a tensor's role in natural order, itself among them. */
export function roleOf({ order, names }: Names, tensor: number): { pattern: string | undefined; peers: number[] } {
  const at = order.indexOf(tensor);
  const own = names[at];
  if (own === undefined) return { pattern: undefined, peers: [tensor] };
  const { pattern } = patternOf(own);
  return { pattern, peers: tensorsOf(pattern.split('.'), { order, names }) };
}

export function rolesOf({ order, names }: Names): Roles {
  const layers = new Set<number>();
  const roles = new Map<string, [number, number][]>();
  let outside = 0;
  names.forEach((name, i) => {
    const { pattern, numbers } = patternOf(name);
    const [layer] = numbers;
    if (layer === undefined) return void ++outside;
    layers.add(layer);
    roles.set(pattern, [...(roles.get(pattern) ?? []), [layer, order[i]!]]);
  });
  // A role of one layer only is no column worth having where others repeat.
  const repeated = [...roles].filter(([, places]) => new Set(places.map(([layer]) => layer)).size > 1);
  const kept = repeated.length > 0 ? repeated : [...roles];
  for (const [pattern, places] of roles) if (!kept.some(([other]) => other === pattern)) outside += places.length;
  const sorted = [...new Set(kept.flatMap(([, places]) => places.map(([layer]) => layer)))].sort((a, b) => a - b);
  const cells = new Map<number, number[]>();
  kept.forEach(([, places], role) => {
    for (const [layer, tensor] of places) {
      const cell = sorted.indexOf(layer) * kept.length + role;
      cells.set(cell, [...(cells.get(cell) ?? []), tensor]);
    }
  });
  return { layers: sorted, roles: kept.map(([pattern]) => pattern), cells, outside };
}

/** Patterns without what they have in common: "self_attn.q_proj". */
export function shortRoles(roles: readonly string[]): string[] {
  const parts = roles.map((role) => role.split('.'));
  let lead = 0;
  while (parts.length > 0 && parts.every((p) => p.length > lead + 1 && p[lead] === parts[0]![lead])) ++lead;
  return parts.map((p) => {
    const rest = p.slice(lead);
    return (rest.length > 1 && rest.at(-1) === 'weight' ? rest.slice(0, -1) : rest).join('.');
  });
}

export type StatName = 'std' | 'absmax' | 'mean' | 'kurtosis' | 'zeros' | 'odd' | 'peak';
export const STATS: Record<StatName, string> = {
  std: 'standard deviation',
  absmax: 'largest magnitude',
  peak: 'largest magnitude ÷ standard deviation',
  mean: 'mean',
  kurtosis: 'kurtosis',
  zeros: 'share of zeros',
  odd: 'NaN and infinities',
};

/** A statistic of several tensors as one; null where there is none. */
export function combined(name: StatName, all: readonly (Stats | null | undefined)[]): number | null {
  const known = all.filter((stats): stats is Stats => stats != null && stats.measured > 0);
  if (known.length === 0) return null;
  const n = known.reduce((sum, stats) => sum + stats.measured, 0);
  const weighted = (of: (stats: Stats) => number | null) => known.reduce((sum, stats) => sum + (of(stats) ?? 0) * stats.measured, 0) / n;
  const largest = (of: (stats: Stats) => number | null) => known.reduce<number | null>((most, stats) => (of(stats) === null ? most : Math.max(most ?? -Infinity, of(stats)!)), null);
  switch (name) {
    case 'std': {
      const mean = weighted((stats) => stats.mean);
      return Math.sqrt(Math.max(0, weighted((stats) => (stats.std ?? 0) ** 2 + (stats.mean ?? 0) ** 2) - mean ** 2));
    }
    case 'absmax':
      return largest((stats) => stats.absmax);
    case 'peak':
      return largest((stats) => (stats.absmax === null || stats.std === null || stats.std === 0 ? null : stats.absmax / stats.std));
    case 'mean':
      return weighted((stats) => stats.mean);
    case 'kurtosis':
      return largest((stats) => stats.kurtosis);
    case 'zeros':
      return weighted((stats) => stats.zeros / stats.measured);
    case 'odd':
      return known.reduce((sum, stats) => sum + stats.nan + stats.pos_inf + stats.neg_inf, 0);
  }
}

/** The least distance that counts as a usual one. One zero among a million is nothing, one NaN is all there is to say; means are measured by `std`. */
export function leastSpread(name: StatName, std: number): number {
  return { std: 1e-12, absmax: 1e-12, peak: 0.1, mean: Math.max(0.05 * std, 1e-12), kurtosis: 0.2, zeros: 0.002, odd: 1 / 6 }[name];
}
/** "0.71 × the median of all layers, 0.0229"; of what has no scale, "50 %; the median of all layers is 0 %". */
export function against(name: StatName, value: number, usual: number): string {
  const digits = (x: number, n = 3) => String(Number(x.toPrecision(n))).replace('-', '−');
  if (name === 'zeros') return `${digits(100 * value)} %, the median of all layers ${digits(100 * usual)} %`;
  if (name === 'mean' || name === 'odd' || name === 'kurtosis' || usual <= 0) return `${digits(value)}, the median of all layers ${digits(usual)}`;
  const ratio = value / usual;
  return `${digits(value)}, ${ratio > 1e4 ? 'more than 10 000' : digits(ratio, 2)} × the median of all layers, ${digits(usual)}`;
}

/**
 * How far each value is from the median of its column, in units of the usual distance (1.4826 times the median one, which is the
 * standard deviation of what is normally distributed; a small share of the median where all but a few are equal, and never less than
 * `least`, which is what a difference has to be to mean anything).
 */
export function deviations(values: readonly (number | null)[], least = 1e-12): (number | null)[] {
  const known = values.filter((value) => value !== null);
  if (known.length < 3) return values.map((value) => (value === null ? null : 0));
  const middle = median(known);
  const unit = Math.max(1.4826 * median(known.map((value) => Math.abs(value - middle))), 0.02 * Math.abs(middle), least);
  return values.map((value) => (value === null ? null : (value - middle) / unit));
}
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
