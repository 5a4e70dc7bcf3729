// SPDX-License-Identifier: Apache-2.0
// Which layers are unlike the others, and in what: every tensor against those of its role in the other layers. Pure.
import { deviations, median, patternOf, shortRoles } from './roles.js';
import type { Stats } from './protocol.js';
import type { Names } from '../tree/rows.js';

/** What a tensor can stand out by, the gravest first. */
export type Oddness = 'not-finite' | 'zero' | 'scale' | 'peak' | 'mean';
export interface Standout {
  kind: Oddness;
  /** "layer 7", "layer 2, expert 3", or a tensor's name where it is in no layer. */
  place: string;
  layer: number | null;
  /** The tensors of this place that stand out so, with the others of their role. */
  tensors: { tensor: number; short: string; pattern: string; peers: number[] }[];
  /** Tensors of the place that could. */
  of: number;
  /** Of the first: "4.1 times the usual standard deviation (0.0926; the others 0.0229)", "2 NaN", "all zero". */
  what: string;
  score: number;
}

/** How many of the usual distances make a tensor stand out, and how large the difference must be besides. */
const FAR = 6;
const LEAST = { peak: 4, mean: 0.5 };
/** Of standard deviations: the numbers of src/analysis/odd_spread.hpp, which says why and by which `doctor` judges. */
const SPREAD = { leastLayers: 5, reach: 4, times: 2.5, deviations: 6, floor: 0.05 };
const PEAKED = 3;
const LEAST_LAYERS = 3;
/** Statistics of fewer elements say little. */
const LEAST_ELEMENTS = 16;

interface Instance {
  tensor: number;
  name: string;
  numbers: number[];
  stats: Stats;
}
interface Odd extends Instance {
  kind: Oddness;
  short: string;
  pattern: string;
  peers: number[];
  what: string;
  score: number;
}

const digits = (value: number, n = 3) => String(Number(value.toPrecision(n)));
const many = (n: number, one: string, more: string) => `${n} ${n === 1 ? one : more}`;

function notFinite({ nan, pos_inf, neg_inf }: Stats): string {
  const inf = pos_inf + neg_inf;
  return [nan > 0 ? `${nan} NaN` : '', inf > 0 ? many(inf, 'infinity', 'infinities') : ''].filter((part) => part !== '').join(' and ');
}

/** By one statistic: those far from the median that `differs` also finds different, with words for it. */
function far(role: readonly Instance[], of: (stats: Stats) => number | null, words: (value: number, usual: number) => { what: string; strength: number } | null) {
  const values = role.map(({ stats }) => of(stats));
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (known.length < LEAST_LAYERS) return [];
  const usual = median(known);
  return deviations(values).flatMap((deviation, i) => {
    if (deviation === null || Math.abs(deviation) < FAR) return [];
    const found = words(values[i]!, usual);
    return found === null ? [] : [{ i, ...found }];
  });
}

/** What is far from the layers around it, with their standard deviation; `stds` in the order of the layers. */
export function oddSpreads(stds: readonly (number | null)[]): { i: number; usual: number }[] {
  const known = stds.flatMap((std, i) => (std !== null && Number.isFinite(std) && std > 0 ? [{ i, log: Math.log(std) }] : []));
  if (known.length < SPREAD.leastLayers) return [];
  const width = 2 * SPREAD.reach + 1;
  const measured = known.map(({ i, log }, at) => {
    const from = Math.max(0, Math.min(at - SPREAD.reach, known.length - width));
    const usual = median(known.slice(from, from + width).flatMap((one) => (one.i === i ? [] : [one.log])));
    return { i, usual, away: Math.abs(log - usual) };
  });
  const least = Math.max(Math.log(SPREAD.times), SPREAD.deviations * (1.4826 * median(measured.map(({ away }) => away)) + SPREAD.floor));
  const odd = measured.filter(({ away }) => away >= least);
  return odd.length * 4 > known.length ? [] : odd.map(({ i, usual }) => ({ i, usual: Math.exp(usual) }));
}

function ofRole(role: readonly Instance[], add: (instance: Instance, kind: Oddness, what: string, score: number) => void): void {
  const zero = ({ stats }: Instance) => stats.zeros === stats.measured && stats.numel > 1;
  const zeros = role.filter(zero);
  // Biases of zero, and whatever else most layers have, are no news.
  if (zeros.length * 2 < role.length) for (const instance of zeros) add(instance, 'zero', 'all zero', 100);
  const usualStd = median(role.flatMap(({ stats }) => stats.std ?? []));
  const usualPeak = median(role.flatMap(({ stats }) => stats.absmax ?? []));
  /** Few values far out widen the deviation too: they are told as what they are. */
  const byPeak = ({ std, absmax }: Stats) => (absmax ?? 0) / usualPeak > PEAKED * ((std ?? 0) / usualStd);
  const alive = role.filter((instance) => !zero(instance) && instance.stats.measured >= LEAST_ELEMENTS);
  const taken = new Set<Instance>();
  for (const { i, usual } of oddSpreads(alive.map(({ stats }) => (byPeak(stats) ? null : stats.std)))) {
    const { std } = alive[i]!.stats;
    taken.add(alive[i]!);
    add(alive[i]!, 'scale', `${digits(std! / usual, 2)} times the usual standard deviation (${digits(std!)}; the others ${digits(usual)})`, Math.abs(Math.log2(std! / usual)));
  }
  const look = (kind: 'peak' | 'mean', of: (stats: Stats) => number | null, words: Parameters<typeof far>[2]) => {
    for (const { i, what, strength } of far(alive, of, words)) {
      if (taken.has(alive[i]!)) continue;
      taken.add(alive[i]!);
      add(alive[i]!, kind, what, strength);
    }
  };
  const times = (value: number, usual: number, least: number, noun: string) => {
    const ratio = value / usual;
    if (!(ratio >= least || ratio <= 1 / least) || usual <= 0) return null;
    return { what: `${digits(ratio, 2)} times the usual ${noun} (${digits(value)}; the others ${digits(usual)})`, strength: Math.abs(Math.log2(Math.max(ratio, 1e-9))) };
  };
  look('peak', ({ absmax }) => absmax, (value, usual) => (value > usual ? times(value, usual, LEAST.peak, 'largest magnitude') : null));
  const spread = median(alive.map(({ stats }) => stats.std ?? 0));
  look('mean', ({ mean }) => mean, (value, usual) =>
    spread > 0 && Math.abs(value - usual) > LEAST.mean * spread ? { what: `a mean of ${digits(value)}, the others ${digits(usual)}`, strength: Math.abs(value - usual) / spread } : null,
  );
}

/** `stats` by tensor; those without numbers are left out. */
export function standoutsOf({ order, names }: Names, stats: readonly (Stats | null | undefined)[]): Standout[] {
  const roles = new Map<string, Instance[]>();
  const inPlace = new Map<string, number>();
  names.forEach((name, i) => {
    const tensor = order[i]!;
    const { pattern, numbers } = patternOf(name);
    const found = stats[tensor];
    if (found == null) return;
    const key = placeKey(pattern, numbers);
    inPlace.set(key, (inPlace.get(key) ?? 0) + 1);
    const role = roles.get(pattern) ?? [];
    role.push({ tensor, name, numbers, stats: found });
    roles.set(pattern, role);
  });
  const patterns = [...roles.keys()].filter((pattern) => pattern.includes('*'));
  const short = new Map(shortRoles(patterns).map((text, i) => [patterns[i]!, text]));
  const odd: Odd[] = [];
  for (const [pattern, role] of roles) {
    const peers = role.map(({ tensor }) => tensor);
    const add = (instance: Instance, kind: Oddness, what: string, score: number) => odd.push({ ...instance, kind, what, score, short: short.get(pattern) ?? instance.name, pattern, peers });
    for (const instance of role) if (instance.stats.nan + instance.stats.pos_inf + instance.stats.neg_inf > 0) add(instance, 'not-finite', notFinite(instance.stats), 1000);
    if (role.length >= LEAST_LAYERS) ofRole(role, add);
  }
  return grouped(odd, inPlace, new Set(patterns.map(stackOf)).size);
}

/** What numbers the layers: "encoder.block." and "decoder.block." are two stacks. */
const stackOf = (pattern: string) => pattern.slice(0, pattern.indexOf('*'));
const placeKey = (pattern: string, numbers: readonly number[]) => (numbers.length === 0 ? pattern : `${stackOf(pattern)}${numbers.join('.')}`);
/** How many measured tensors have enough others of their role to be compared with. */
export function comparedOf({ order, names }: Names, stats: readonly (Stats | null | undefined)[]): number {
  const counts = new Map<string, number>();
  names.forEach((name, i) => {
    if (stats[order[i]!] == null) return;
    const { pattern } = patternOf(name);
    counts.set(pattern, (counts.get(pattern) ?? 0) + 1);
  });
  return [...counts.values()].filter((n) => n >= LEAST_LAYERS).reduce((sum, n) => sum + n, 0);
}

function placeOf({ numbers, name, pattern }: Odd, stacks: number): string {
  const [layer, expert] = numbers;
  if (layer === undefined) return name;
  return `${stacks > 1 ? `${stackOf(pattern)}${layer}` : `layer ${layer}`}${expert === undefined ? '' : `, expert ${expert}`}`;
}

/** What stands out in the same way at one place, as one. */
function grouped(odd: readonly Odd[], inPlace: ReadonlyMap<string, number>, stacks: number): Standout[] {
  const groups = new Map<string, Odd[]>();
  for (const one of odd) {
    const key = `${one.kind} ${placeKey(one.pattern, one.numbers)}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()]
    .map((group): Standout => {
      const first = group.reduce((most, one) => (one.score > most.score ? one : most));
      return {
        kind: first.kind,
        place: placeOf(first, stacks),
        layer: first.numbers[0] ?? null,
        tensors: [first, ...group.filter((one) => one !== first)].map(({ tensor, short, pattern, peers }) => ({ tensor, short, pattern, peers })),
        of: inPlace.get(placeKey(first.pattern, first.numbers)) ?? 1,
        what: first.what,
        score: first.score + Math.log2(group.length),
      };
    })
    .sort((a, b) => b.score - a.score);
}

const VERBS: Record<Oddness, [one: string, several: string]> = {
  'not-finite': ['holds', 'hold'],
  zero: ['is', 'are'],
  scale: ['has', 'have'],
  peak: ['has', 'have'],
  mean: ['has', 'have'],
};
/** "self_attn.q_proj holds 2 NaN", "7 of its 9 tensors stand out: self_attn.k_proj has …" */
export function sentence({ kind, layer, tensors, of, what }: Standout, about = ''): string {
  const [one, several] = VERBS[kind];
  const [{ short }] = tensors as [Standout['tensors'][number]];
  if (tensors.length === 1) return `${layer === null ? '' : `${short} `}${one} ${about}${what}`;
  const who = tensors.length === of ? `all ${of} of its tensors` : `${tensors.length} of its ${of} tensors`;
  return kind === 'zero' ? `${who} ${several} ${about}${what}` : `${who} stand out: ${short} ${one} ${about}${what}`;
}

/** What such a difference often comes from, and what to do. */
export const WHY: Record<Oddness, string> = {
  'not-finite': 'One NaN spreads to every output: find the step that made it, or get the file again.',
  zero: 'Weights of zero pass nothing on: they were never trained, were wiped, or were lost in a conversion.',
  scale: 'Often scaled twice, not dequantised, or merged with a wrong weight.',
  peak: 'A few values far out: trained models have such outliers, most of them in few layers.',
  mean: 'Meant so, or an offset that was added twice, or a norm stored as 1 + w beside others stored as w.',
};
