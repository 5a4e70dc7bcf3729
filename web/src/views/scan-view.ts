// SPDX-License-Identifier: Apache-2.0
// What would run if the file were loaded: the verdict, and the imports and calls behind it.
import { css, html, nothing, type TemplateResult } from 'lit';
import { SCANNING } from '../app/app.js';
import type { Document } from '../core/protocol.js';
import { WORDS, type Call, type Import, type Verdict } from '../core/scans.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { findingList, findingStyles } from './finding-list.js';

export class ScanView extends AppElement {
  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    queueMicrotask(() => void this.app.scan());
    const running = this.app.jobs.some(({ title }) => title === SCANNING);
    return html`
      <h2>What would run if this were loaded</h2>
      ${model.scans === null ? (running ? html`<p class="muted">Scanning…</p>` : html`<p><button @click=${() => void this.app.scan(true)}>Scan</button></p>`) : model.scans.map((document) => this.file(document))}
      <p class="muted">This page runs none of it: pickles are read as data.</p>
    `;
  }
  private file(document: Document): TemplateResult {
    const verdict = document['verdict'] as Verdict['verdict'];
    const imports = document['imports'] as Import[];
    const calls = document['calls'] as Call[];
    const weightsOnly = document['weights_only'] as { accepts: boolean | null; reason: string | null } | undefined;
    const grave = imports.filter((row) => row.class !== 'benign');
    return html`<section>
      <h3>${String(document['path'] ?? '')}</h3>
      <p class="verdict ${verdict === 'clean' ? 'good' : 'danger'}">
        ${WORDS[verdict]}<span class="muted"> · ${document['status'] === 'complete' ? 'all of it was looked at' : `the scan is ${String(document['status'])}`}</span>
      </p>
      ${calls.map(
        (call) => html`<p class="danger mono">${call.words} <span class="muted">${place(call)}</span></p>`,
      )}
      ${grave.map((row) => html`<p class="mono"><span class="tag">${row.class}</span> ${row.name} <span class="muted">${place(row)}</span></p>`)}
      ${imports.length > grave.length
        ? html`<details><summary>${format.plural(imports.length - grave.length, 'harmless import')}</summary>
            <ul>${imports.filter((row) => row.class === 'benign').map((row) => html`<li class="mono">${row.name}</li>`)}</ul></details>`
        : nothing}
      ${weightsOnly?.accepts === false ? html`<p>torch.load(weights_only=True) refuses it: ${weightsOnly.reason}</p>` : nothing}
      ${weightsOnly?.accepts === true ? html`<p class="muted">torch.load(weights_only=True) accepts it.</p>` : nothing}
      ${findingList(this.app, document.findings)}
    </section>`;
  }
  static override styles = [
    base,
    findingStyles,
    css`
      .verdict {
        font-size: 18px;
        font-weight: 600;
      }
      .verdict .muted {
        font-size: 13px;
        font-weight: 400;
      }
      p.mono {
        overflow-wrap: anywhere;
      }
    `,
  ];
}

function place(row: { member?: string; offset?: number }): string {
  const at = row.offset === undefined ? '' : `at byte ${format.exact(row.offset)}`;
  return row.member === undefined ? at : `${at} of ${row.member}`;
}
customElements.define('assay-scan', ScanView);
