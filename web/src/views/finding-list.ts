// SPDX-License-Identifier: Apache-2.0
// Findings as every view shows them: what, where, and a way to the tensor.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { gravestFirst } from '../core/findings.js';
import type { Finding } from '../core/protocol.js';
import * as format from '../ui/format.js';

const MOST = 500;

export const findingStyles = css`
  .finding {
    display: grid;
    grid-template-columns: 72px minmax(0, 1fr);
    gap: 2px 10px;
    padding: 8px 0;
    border-bottom: 1px solid var(--line);
  }
  .finding .severity {
    font-weight: 600;
    font-size: 12px;
  }
  .finding .where {
    grid-column: 2;
    font-size: 12px;
    color: var(--muted);
    overflow-wrap: anywhere;
  }
`;

export function findingList(app: App, findings: readonly Finding[], advice: Record<string, string> = {}): TemplateResult {
  const sorted = gravestFirst(findings).slice(0, MOST);
  return html`${sorted.map((finding) => one(app, finding, advice[finding.code]))}
  ${findings.length > MOST ? html`<p class="muted">and ${format.exact(findings.length - MOST)} more</p>` : nothing}`;
}

function one(app: App, finding: Finding, advice: string | undefined): TemplateResult {
  const place = [
    finding.file,
    finding.member,
    finding.offset === undefined ? undefined : `byte ${format.exact(finding.offset)} (${format.hexOffset(finding.offset)})`,
    finding.length === undefined ? undefined : format.plural(finding.length, 'byte'),
    finding.code,
  ].filter((part) => part !== undefined);
  return html`<div class="finding">
    <span class="severity ${finding.severity}">${finding.severity}</span>
    <span>${finding.message}${advice === undefined ? nothing : html`<br /><span class="muted">${advice}</span>`}</span>
    <span class="where"
      >${place.join(' · ')}
      ${finding.tensor === undefined ? nothing : html`<button class="plain link" @click=${() => void show(app, finding.tensor!)}>${finding.tensor}</button>`}</span
    >
  </div>`;
}

async function show(app: App, name: string): Promise<void> {
  if (app.model === null) return;
  const index = await app.engine.call('find', { model: app.model.id, name });
  if (index >= 0) await app.select(index);
}
