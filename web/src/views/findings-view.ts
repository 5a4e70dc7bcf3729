// SPDX-License-Identifier: Apache-2.0
// What is wrong or odd: what opening found, what stands out, and what the checkup of all values finds.
import { html, type TemplateResult } from 'lit';
import { healthOf } from '../core/health.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import { saveJson } from '../ui/save.js';
import { findingList, findingStyles, unlikeList } from './finding-list.js';
import { healthLine } from './health-line.js';

export class FindingsView extends AppElement {
  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    const health = healthOf(model);
    const { findings, advice } = health;
    return html`
      <h2>Findings ${findings.length === 0 ? '' : html`<button @click=${() => saveJson(`${model.label}.findings.json`, findings)}>JSON</button>`}</h2>
      ${healthLine(this.app)} ${findings.length === 0 ? html`<p class="muted">The headers are as they should be.</p>` : findingList(this.app, findings, advice)} ${unlikeList(this.app, health)}
    `;
  }
  static override styles = [base, findingStyles];
}
customElements.define('assay-findings', FindingsView);
