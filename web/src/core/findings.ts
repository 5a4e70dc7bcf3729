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
export function gravestFirst(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => RANK[a.severity] - RANK[b.severity]);
}
/** Those that are more than notes. */
export const grave = (findings: readonly Finding[]): Finding[] => findings.filter(({ severity }) => severity !== 'note');
/** Whether a finding is about a tensor, alone or among others. */
export function isAbout(finding: Finding, name: string): boolean {
  return finding.tensor === name || ['names', 'tensors'].some((key) => (finding[key] as unknown[] | undefined)?.includes?.(name) === true);
}
