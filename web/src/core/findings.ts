// SPDX-License-Identifier: Apache-2.0
// What is known to be wrong with a model by now: what opening found, and what the jobs that ran found. Pure.
import type { Document, Finding, Severity } from './protocol.js';

const RANK: Record<Severity, number> = { danger: 0, damage: 1, warning: 2, note: 3 };

/** Each finding once, the gravest first. Documents repeat what opening found. What a sample showed gives way to the checkup of all values. */
export function knownFindings(info: Document, reports: ReadonlyMap<string, Document>): Finding[] {
  const seen = new Map<string, Finding>();
  const doctor = reports.get('doctor');
  const examined = doctor !== undefined && doctor['exact'] !== false;
  for (const document of [info, ...reports.values()])
    for (const finding of document.findings) {
      if (examined && finding['sampled'] === true) continue;
      const key = JSON.stringify([finding.code, finding.file, finding.tensor, finding.offset, finding.message]);
      if (!seen.has(key)) seen.set(key, finding);
    }
  return gravestFirst([...seen.values()]);
}
/** As the program's `doctor` lists them: by severity, then in the order in which kinds were found, those of one kind together. */
export function gravestFirst(findings: readonly Finding[]): Finding[] {
  const kinds = new Map<string, Finding[]>();
  for (const finding of findings) {
    const kind = `${RANK[finding.severity]} ${finding.code}`;
    const same = kinds.get(kind);
    if (same === undefined) kinds.set(kind, [finding]);
    else same.push(finding);
  }
  return [...kinds.values()].sort(([a], [b]) => RANK[a!.severity] - RANK[b!.severity]).flat();
}
/** Those that are more than notes. */
export const grave = (findings: readonly Finding[]): Finding[] => findings.filter(({ severity }) => severity !== 'note');
/** Whether a finding is about a tensor, alone or among others. */
export function isAbout(finding: Finding, name: string): boolean {
  return finding.tensor === name || ['names', 'tensors'].some((key) => (finding[key] as unknown[] | undefined)?.includes?.(name) === true);
}

/** A place in a tensor: an element in row-major order, a row of its first axis, a column, or the first value that is marked so (see HeatmapGrid). */
export type Spot = { element: number } | { row: number } | { col: number } | { marks: number };

/** The place in its tensor that a finding is about, as far as it tells one; of values that are not finite the first is looked for. */
export function spotOf(finding: Finding): Spot | undefined {
  const first = typeof finding['first'] === 'number' ? finding['first'] : undefined;
  switch (finding.code) {
    case 'nan':
      return first === undefined ? { marks: 1 } : { element: first };
    case 'inf':
      return first === undefined ? { marks: 6 } : { element: first };
    case 'unlike-other-layers-not-finite':
      return { marks: 7 };
    case 'float-index-buffer':
      return first === undefined ? undefined : { element: first };
    case 'dead-rows':
      return first === undefined ? undefined : { row: first };
    case 'dead-columns':
      return first === undefined ? undefined : { col: first };
    default:
      return undefined;
  }
}
