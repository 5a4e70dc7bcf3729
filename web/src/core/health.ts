// SPDX-License-Identifier: Apache-2.0
// What is wrong or odd with a model as far as it has been looked at, and how far that is: one answer for every view. Pure.
import { namesByTensor, type Names } from '../tree/rows.js';
import { grave, gravestFirst, isAbout, knownFindings } from './findings.js';
import type { Document, Finding, MeasuredStats } from './protocol.js';
import { comparedOf, sentence, standoutsOf, WHY, type Oddness, type Standout } from './standouts.js';

/** How far values were looked at: not at all, a sample or all of them compared, a sample or all of them examined by the checkup. */
export type Looked = 'headers' | 'sampled' | 'compared' | 'glanced' | 'examined';
export interface Health {
  /** The gravest first; those of the checkup, and what stands out besides. */
  findings: Finding[];
  /** What to do, by code. */
  advice: Record<string, string>;
  grave: number;
  looked: Looked;
  /** Tensors that were compared with the same one in other layers. */
  compared: number;
}
interface Known {
  info: Document;
  reports: ReadonlyMap<string, Document>;
  /** Of first looks; the exact document stands for one. */
  looks?: ReadonlyMap<string, Document>;
  names: Names;
  measured: { stats: readonly (MeasuredStats | null | undefined)[]; state: 'none' | 'sampled' | 'exact' };
}

/** What the checkup calls what stands out: told once. */
const SAME: Record<Oddness, readonly string[]> = {
  'not-finite': ['nan', 'inf'],
  zero: ['all-zero', 'dead-adapter'],
  scale: ['odd-spread', 'dead-rows', 'dead-columns'],
  peak: [],
  mean: [],
};

/** What stands out as a finding of its own. */
function findingOf(one: Standout, names: ReadonlyMap<number, string>, about: string): Finding {
  const tensors = one.tensors.map(({ tensor }) => names.get(tensor)!);
  const place = one.layer === null ? tensors[0]! : one.place;
  return { severity: 'warning', code: `unlike-other-layers-${one.kind}`, message: `${place}: ${sentence(one, about)}`, tensor: tensors[0]!, names: tensors };
}

const kept = new WeakMap<object, { key: string; health: Health }>();
/** Of an open model. Costs as much as comparing its tensors, once for everything that was learnt. */
export function healthOf(model: Known): Health {
  const { info, names, measured } = model;
  const reports = new Map([...(model.looks ?? []), ...model.reports]);
  const key = `${measured.state} ${[...model.reports.keys()].join()} ${[...(model.looks?.keys() ?? [])].join()}`;
  const known = kept.get(measured);
  if (known?.key === key) return known.health;
  const doctor = reports.get('doctor');
  const findings = knownFindings(info, reports);
  const nameOf = namesByTensor(names);
  // While values are measured, numbers of layers that are still to come may be what is usual.
  const standouts = measured.state === 'none' ? [] : standoutsOf(names, measured.stats);
  const told = (one: Standout) => {
    const same = findings.filter(({ code }) => SAME[one.kind].includes(code));
    return one.tensors.every(({ tensor }) => same.some((finding) => isAbout(finding, nameOf.get(tensor)!)));
  };
  // A layer that was scaled as a whole is one fault, where the checkup tells each tensor; of few values far out it tells the spread.
  const better = standouts.filter(({ kind, tensors }) => kind === 'peak' || (kind === 'scale' && tensors.length > 1));
  const inBetter = new Set(better.flatMap(({ tensors }) => tensors.map(({ tensor }) => nameOf.get(tensor)!)));
  const about = measured.state === 'sampled' ? '≈ ' : '';
  const all = [
    ...findings.filter(({ code, tensor }) => !(code === 'odd-spread' && tensor !== undefined && inBetter.has(tensor))),
    ...standouts.filter((one) => better.includes(one) || !told(one)).map((one) => findingOf(one, nameOf, about)),
  ];
  const health: Health = {
    findings: gravestFirst(all),
    advice: { ...Object.fromEntries(Object.entries(WHY).map(([kind, text]) => [`unlike-other-layers-${kind}`, text])), ...((doctor?.['advice'] ?? {}) as Record<string, string>) },
    grave: grave(all).length,
    looked: doctor !== undefined ? (doctor['exact'] === false ? 'glanced' : 'examined') : measured.state === 'none' ? 'headers' : measured.state === 'sampled' ? 'sampled' : 'compared',
    compared: measured.state === 'none' ? 0 : comparedOf(names, measured.stats),
  };
  kept.set(measured, { key, health });
  return health;
}
