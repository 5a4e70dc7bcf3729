// SPDX-License-Identifier: Apache-2.0
// Findings as every view shows them: what, where, and a way to the tensor.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { gravestFirst, spotOf, type Spot } from '../core/findings.js';
import type { Health } from '../core/health.js';
import type { Finding } from '../core/protocol.js';
import * as format from '../ui/format.js';

const MOST = 500;

/** Tensors and layers that a finding leads to, at most. */
const MOST_LINKS = 6;

export const findingStyles = css`
  .finding {
    display: grid;
    grid-template-columns: 64px minmax(0, 1fr);
    gap: 2px 10px;
    max-width: 96ch;
    margin: 0 0 8px;
    padding: 2px 0 2px 10px;
    border-left: 3px solid var(--line-strong);
  }
  .finding.warning-line {
    border-color: var(--warn);
  }
  .finding.bad-line {
    border-color: var(--bad);
  }
  .finding .severity {
    font-weight: 600;
    font-size: 12px;
  }
  .finding.unlike {
    grid-template-columns: minmax(0, 1fr);
  }
  .finding .where {
    grid-column: -2;
    font-size: 12px;
    color: var(--muted);
    overflow-wrap: anywhere;
  }
`;

/** Severity and advice stand at the first of a kind: those that follow are more of it. */
export function findingList(app: App, findings: readonly Finding[], advice: Record<string, string> = {}): TemplateResult {
  const sorted = gravestFirst(findings).slice(0, MOST);
  const isFirst = (i: number) => sorted[i]!.code !== sorted[i - 1]?.code || sorted[i]!.severity !== sorted[i - 1]?.severity;
  return html`${sorted.map((finding, i) => one(app, finding, isFirst(i) ? finding.severity : '', isFirst(i) ? advice[finding.code] : undefined))}
  ${findings.length > MOST ? html`<p class="muted">and ${format.exact(findings.length - MOST)} more</p>` : nothing}`;
}

const MOST_UNLIKE = 6;
/** Of what is no weight another spread is no sign of a fault. */
const NO_FAULT: Record<string, string> = { 'unlike-other-layers-scale': 'Norms, offsets and the like differ between layers by design.' };
/** What differs and is no fault by itself: nobody is warned of it. */
export function unlikeList(app: App, { unlike, advice }: Health): TemplateResult | typeof nothing {
  if (unlike.length === 0) return nothing;
  return html`<h3>Unlike the other layers, which is no fault by itself</h3>
    ${unlike.slice(0, MOST_UNLIKE).map((finding, i) => one(app, finding, null, finding.code === unlike[i - 1]?.code ? undefined : (NO_FAULT[finding.code] ?? advice[finding.code])))}
    ${unlike.length > MOST_UNLIKE ? html`<p class="muted">and ${format.exact(unlike.length - MOST_UNLIKE)} more: see <button class="plain link" @click=${() => app.show('matrix')}>Layers</button></p>` : nothing}`;
}

/** `label`: the severity, '' where it stands above already, null where there is none. */
function one(app: App, finding: Finding, label: string | null, advice: string | undefined): TemplateResult {
  const place = [
    finding.file,
    finding.member,
    finding.offset === undefined ? undefined : `byte ${format.exact(finding.offset)} (${format.hexOffset(finding.offset)})`,
    finding.length === undefined ? undefined : format.plural(finding.length, 'byte'),
    label === null ? undefined : finding.code,
  ].filter((part) => part !== undefined);
  const links = linksOf(finding, app.model?.names.names ?? []);
  const line = finding.severity === 'note' ? '' : finding.severity === 'warning' ? 'warning-line' : 'bad-line';
  const spot = spotOf(finding);
  const to = (name: string) => () => void show(app, name, name === finding.tensor ? spot : undefined);
  const title = spot === undefined ? nothing : spotWords(spot);
  return html`<div class="finding ${label === null ? 'unlike' : line}">
    ${label === null ? nothing : html`<span class="severity ${finding.severity}">${label}</span>`}
    <span>${finding['sampled'] === true ? html`<span class="tag" title="found in a sample of the values">≈ sample</span> ` : nothing}${finding.message}${advice === undefined ? nothing : html`<br /><span class="muted">${advice}</span>`}</span>
    <span class="where"
      >${links.slice(0, MOST_LINKS).map((name) => html`<button class="plain link mono" title=${name === finding.tensor ? title : nothing} @click=${to(name)}>${name}</button> `)}
      ${links.length > MOST_LINKS ? html`and ${format.exact(links.length - MOST_LINKS)} more` : nothing} <span class="places">${place.join(' · ')}</span></span
    >
  </div>`;
}
const spotWords = (spot: Spot) => `shows ${'row' in spot ? `row ${spot.row}` : 'col' in spot ? `column ${spot.col}` : 'the first of them'}`;

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();
/** Names of tensors and of layers that a finding speaks of, itself first; not of what is missing. */
export function linksOf(finding: Finding, tensors: readonly string[]): string[] {
  const known = sets.get(tensors) ?? new Set(tensors);
  sets.set(tensors, known);
  const named = [finding.tensor, finding['layer'], finding['of'], ...['names', 'tensors'].flatMap((key) => (Array.isArray(finding[key]) ? (finding[key] as unknown[]) : []))];
  const isThere = (name: unknown): name is string => typeof name === 'string' && (known.has(name) || /(^|\.)\d+$/.test(name));
  return [...new Set(named.filter(isThere))];
}

/** A tensor, or the first one of a layer. */
async function show(app: App, name: string, spot?: Spot): Promise<void> {
  const { model } = app;
  if (model === null) return;
  const index = await app.engine.call('find', { model: model.id, name });
  const inside = index >= 0 ? -1 : model.names.names.findIndex((one) => one.startsWith(`${name}.`));
  const found = index >= 0 ? index : inside >= 0 ? model.names.order[inside]! : -1;
  if (found < 0) return;
  await app.lookAt(found, spot);
}
