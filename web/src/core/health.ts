// SPDX-License-Identifier: Apache-2.0
// What is wrong or odd with a model as far as it has been looked at, and how far that is: one answer for every view, which is that of
// `assay doctor` once all values were examined. Pure.
import { namesByTensor, type Names } from '../tree/rows.js';
import { grave, gravestFirst, isAbout, knownFindings } from './findings.js';
import type { Document, Finding, MeasuredStats } from './protocol.js';
import { comparedOf, sentence, standoutsOf, WHY, type Oddness, type Standout } from './standouts.js';

/** How far values were looked at: not at all, a sample or all of them compared, a sample or all of them examined by the checkup. */
export type Looked = 'headers' | 'sampled' | 'compared' | 'glanced' | 'examined';
export interface Health {
  /** The gravest first: what the program's `doctor` tells. Until all values were examined, also what stands out and it would warn of. */
  findings: Finding[];
  /** What stands out and is no fault by itself: a few values far out, another mean. Nobody is warned of it. */
  unlike: Finding[];
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
  peak: ['odd-spread'],
  mean: [],
};
/** What the whole checkup looks for in every tensor: where it tells nothing it means nothing. */
const SETTLED: ReadonlySet<Oddness> = new Set(['not-finite', 'zero']);
/** What the checkup does not judge as weights: norms, offsets, embeddings and the rest of src/analysis/doctor/roles.cpp. */
const NO_WEIGHT = /norm|bias|embd|embed|wte|wpe|lm_head|lora|mask|scale|zero|absmax|gamma|beta|running_|optim|exp_avg|(^|\.)(ln|bn)/i;
/** Whether the checkup would warn of it. */
function isFault({ kind, tensors }: Standout): boolean {
  if (kind === 'not-finite') return true;
  return (kind === 'scale' || kind === 'zero') && tensors.some(({ pattern }) => !NO_WEIGHT.test(pattern));
}

/** What stands out as a finding of its own. */
function findingOf(one: Standout, severity: 'warning' | 'note', names: ReadonlyMap<number, string>, about: string): Finding {
  const tensors = one.tensors.map(({ tensor }) => names.get(tensor)!);
  const place = one.layer === null ? tensors[0]! : one.place;
  return { severity, code: `unlike-other-layers-${one.kind}`, message: `${place}: ${sentence(one, about)}`, tensor: tensors[0]!, names: tensors };
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
  const examined = doctor !== undefined && doctor['exact'] !== false;
  const findings = knownFindings(info, reports);
  const nameOf = namesByTensor(names);
  const told = (one: Standout) => {
    const same = findings.filter(({ code }) => SAME[one.kind].includes(code));
    return one.tensors.every(({ tensor }) => same.some((finding) => isAbout(finding, nameOf.get(tensor)!)));
  };
  // While values are measured, numbers of layers that are still to come may be what is usual.
  const standouts = (measured.state === 'none' ? [] : standoutsOf(names, measured.stats)).filter((one) => !told(one));
  const about = measured.state === 'sampled' ? '≈ ' : '';
  const faults = examined ? [] : standouts.filter(isFault);
  const others = standouts.filter((one) => !faults.includes(one) && !(examined && SETTLED.has(one.kind)));
  const all = gravestFirst([...faults.map((one) => findingOf(one, 'warning', nameOf, about)), ...findings]);
  const health: Health = {
    findings: all,
    unlike: others.map((one) => findingOf(one, 'note', nameOf, about)),
    advice: { ...Object.fromEntries(Object.entries(WHY).map(([kind, text]) => [`unlike-other-layers-${kind}`, text])), ...((doctor?.['advice'] ?? {}) as Record<string, string>) },
    grave: grave(all).length,
    looked: doctor !== undefined ? (examined ? 'examined' : 'glanced') : measured.state === 'none' ? 'headers' : measured.state === 'sampled' ? 'sampled' : 'compared',
    compared: measured.state === 'none' ? 0 : comparedOf(names, measured.stats),
  };
  kept.set(measured, { key, health });
  return health;
}
