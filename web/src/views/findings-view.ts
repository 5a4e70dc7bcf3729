// SPDX-License-Identifier: Apache-2.0
// What is wrong or odd: what opening found, and what the checkup of all values finds when it is asked for.
import { html, nothing, type TemplateResult } from 'lit';
import { grave, knownFindings } from '../core/findings.js';
import type { Finding } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { saveJson } from '../ui/save.js';
import { findingList, findingStyles } from './finding-list.js';

export class FindingsView extends AppElement {
  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    const doctor = model.reports.get('doctor');
    const findings = knownFindings(model.info, model.reports);
    const advice = (doctor?.['advice'] ?? {}) as Record<string, string>;
    return html`
      <h2>Findings ${findings.length === 0 ? '' : html`<button @click=${() => saveJson(`${model.label}.findings.json`, findings)}>JSON</button>`}</h2>
      ${doctor === undefined ? this.offer() : this.verdict(findings)}
      ${findings.length === 0
        ? html`<p class="muted">${doctor === undefined ? 'The headers are as they should be.' : 'Nothing is wrong with headers or values.'}</p>`
        : findingList(this.app, findings, advice)}
    `;
  }
  private offer(): TemplateResult {
    const bytes = this.app.tensorBytes;
    const running = this.app.jobs.some((job) => job.title === 'checkup');
    return html`<p>
      Values have not been read. The checkup looks at all of them: NaN and infinities, dead rows, duplicated tensors, layers unlike their neighbours.
    </p>
    <p>
      <button class="primary" ?disabled=${running} @click=${() => void this.app.reportOf('doctor', 'checkup')}>
        ${running ? 'Examining…' : `Examine ${format.bytes(bytes)} (${this.app.estimate(bytes)})`}
      </button>
    </p>`;
  }
  private verdict(findings: readonly Finding[]): TemplateResult {
    const bad = grave(findings).length;
    return html`<p class=${bad === 0 ? 'good' : 'damage'}>
      ${bad === 0 ? 'All values examined; nothing serious.' : html`${format.plural(bad, 'finding')} to look at.`}
      ${findings.length > bad ? html`<span class="muted">${format.plural(findings.length - bad, 'note')}</span>` : nothing}
    </p>`;
  }
  static override styles = [base, findingStyles];
}
customElements.define('assay-findings', FindingsView);
