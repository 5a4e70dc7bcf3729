// SPDX-License-Identifier: Apache-2.0
// Histograms from a census: any range and scale without reading again. Pure.
import type { Census } from './protocol.js';

export type Scale = 'linear' | 'log' | 'symlog';
/** Where a value stands on an axis. Log is of the magnitude; symlog is linear within `bend` of zero and logarithmic beyond. */
export interface Axis {
  scale: Scale;
  bend: number;
}
export interface Bins {
  axis: Axis;
  /** Values between bins, ascending, one more than there are bins. A bin has its lower edge, the last one both. */
  edges: Float64Array;
  counts: Float64Array;
  below: number;
  above: number;
}

export function place(value: number, { scale, bend }: Axis): number {
  if (scale === 'linear') return value;
  if (scale === 'log') return Math.log10(Math.abs(value));
  return Math.asinh(value / bend);
}
export function valueAt(position: number, { scale, bend }: Axis): number {
  if (scale === 'linear') return position;
  if (scale === 'log') return 10 ** position;
  return Math.sinh(position) * bend;
}

/** Of finite values by their magnitude: the least one above 0, quantiles, the largest. */
export function magnitudes({ values, counts }: Pick<Census, 'values' | 'counts'>): { least: number; median: number; largest: number } {
  const found = Array.from(values, (value, i) => [Math.abs(value), counts[i]!] as const).filter(([value]) => value > 0);
  found.sort((a, b) => a[0] - b[0]);
  const half = found.reduce((sum, [, n]) => sum + n, 0) / 2;
  let seen = 0;
  let median = 0;
  for (const [value, n] of found) {
    seen += n;
    if (seen >= half) {
      median = value;
      break;
    }
  }
  return { least: found[0]?.[0] ?? 0, median, largest: found.at(-1)?.[0] ?? 0 };
}

/** An axis that shows the values well: symlog is linear over the bulk and bends at twice the median magnitude. */
export function axisFor(scale: Scale, sizes: { median: number }): Axis {
  return { scale, bend: sizes.median > 0 ? sizes.median * 2 : 1 };
}

/** Counts in `n` bins of equal width on the axis between two values; log takes magnitudes, and zero then is below. */
export function binsOf(census: Pick<Census, 'values' | 'counts'>, axis: Axis, from: number, to: number, n: number): Bins {
  const low = place(from, axis);
  let high = place(to, axis);
  if (!(high > low)) high = low + 1;
  const edges = Float64Array.from({ length: n + 1 }, (_, i) => (i === 0 ? from : i === n && to > from ? to : valueAt(low + ((high - low) * i) / n, axis)));
  const counts = new Float64Array(n);
  let below = 0;
  let above = 0;
  census.values.forEach((given, i) => {
    const value = axis.scale === 'log' ? Math.abs(given) : given;
    const count = census.counts[i]!;
    if (value < from) return void (below += count);
    if (value > edges[n]!) return void (above += count);
    let bin = Math.min(n - 1, Math.max(0, Math.floor(((place(value, axis) - low) / (high - low)) * n)));
    // Rounding may put a value a bin aside: the edges decide.
    while (bin > 0 && value < edges[bin]!) --bin;
    while (bin < n - 1 && value >= edges[bin + 1]!) ++bin;
    counts[bin]! += count;
  });
  return { axis, edges, counts, below, above };
}

/** The range that shows all values, or all but a share on either side. */
export function rangeOf(census: Pick<Census, 'values' | 'counts'>, scale: Scale, cut = 0): { from: number; to: number } {
  const { values, counts } = census;
  if (values.length === 0) return { from: scale === 'log' ? 1e-3 : -1, to: 1 };
  if (scale === 'log') {
    const { least, largest } = magnitudes(census);
    return largest === 0 ? { from: 1e-3, to: 1 } : { from: least, to: largest > least ? largest : largest * 10 };
  }
  const total = counts.reduce((sum, n) => sum + n, 0);
  let first = 0;
  let last = values.length - 1;
  for (let left = cut * total; first < last && counts[first]! < left; ++first) left -= counts[first]!;
  for (let left = cut * total; last > first && counts[last]! < left; --last) left -= counts[last]!;
  const [from, to] = [values[first]!, values[last]!];
  return from === to ? { from: from - Math.max(1e-3, Math.abs(from) / 2), to: to + Math.max(1e-3, Math.abs(to) / 2) } : { from, to };
}

/** The value that a share of all is not above. */
export function quantileOf({ values, counts }: Pick<Census, 'values' | 'counts'>, share: number): number {
  const wanted = share * counts.reduce((sum, n) => sum + n, 0);
  let seen = 0;
  for (let i = 0; i < values.length; ++i) {
    seen += counts[i]!;
    if (seen >= wanted) return values[i]!;
  }
  return values.at(-1) ?? NaN;
}
/** Percent of all values that are below one, half of those that equal it among them. */
export function percentileOf(census: Pick<Census, 'values' | 'counts'>, value: number): number {
  const all = countWithin(census, -Infinity, Infinity);
  const reached = countWithin(census, -Infinity, value);
  return all === 0 ? 0 : (100 * (reached - countWithin(census, value, value) / 2)) / all;
}
/** True where the extremes are so far out that the bulk would be a line. */
export function hasFarTails(census: Pick<Census, 'values' | 'counts'>): boolean {
  const all = rangeOf(census, 'linear');
  const bulk = rangeOf(census, 'linear', 0.001);
  return all.to - all.from > 6 * (bulk.to - bulk.from);
}

/** How many values are within [from, to]. */
export function countWithin({ values, counts }: Pick<Census, 'values' | 'counts'>, from: number, to: number): number {
  let sum = 0;
  values.forEach((value, i) => {
    if (value >= from && value <= to) sum += counts[i]!;
  });
  return sum;
}

/** How many values of all are in a range, of values or of magnitudes. */
export function countInRange(census: Pick<Census, 'values' | 'counts'>, { from, to, magnitudes }: { from: number; to: number; magnitudes?: boolean }): number {
  const above = countWithin(census, from, to);
  return magnitudes === true ? above + countWithin(census, -to, from === 0 ? -Number.MIN_VALUE : -from) : above;
}
/** The population's, over finite values. */
export function deviationOf({ values, counts }: Pick<Census, 'values' | 'counts'>): number {
  const total = totalOf({ counts });
  const mean = values.reduce((sum, value, i) => sum + value * counts[i]!, 0) / (total || 1);
  return Math.sqrt(values.reduce((sum, value, i) => sum + (value - mean) ** 2 * counts[i]!, 0) / (total || 1));
}
export const totalOf = ({ counts }: Pick<Census, 'counts'>): number => counts.reduce((sum, n) => sum + n, 0);

/** Round numbers for labels: 1, 2 or 5 times a power of ten on a linear axis, powers of ten on the others. */
export function ticksOf(axis: Axis, from: number, to: number, most: number): number[] {
  if (axis.scale === 'linear') {
    const span = to - from;
    if (!(span > 0)) return [from];
    const raw = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw)!;
    const first = Math.ceil(from / step - 1e-9);
    return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
  }
  const power = (value: number) => Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  const lowest = axis.scale === 'log' ? power(from) : power(axis.bend);
  const highest = Math.max(power(from === 0 ? axis.bend : from), power(to === 0 ? axis.bend : to));
  const every = Math.max(1, Math.ceil(((highest - lowest + 1) * (axis.scale === 'log' ? 1 : 2)) / most));
  const found: number[] = axis.scale === 'log' ? [] : [0];
  for (let p = highest; p >= lowest; p -= every) found.push(10 ** p, ...(axis.scale === 'log' ? [] : [-(10 ** p)]));
  // Labels beside zero would hide it.
  const room = 0.07 * (place(to, axis) - place(from, axis));
  const apart = (value: number) => axis.scale === 'log' || value === 0 || Math.abs(place(value, axis)) > room;
  return found.filter((value) => value >= from && value <= to && apart(value)).sort((a, b) => a - b);
}
