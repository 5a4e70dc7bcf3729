// SPDX-License-Identifier: Apache-2.0
// What runs, how far it is, how much was read, and how to end it.
import { css, html, nothing, type TemplateResult } from 'lit';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';

export class StatusBar extends AppElement {
  override render(): TemplateResult {
    const { app } = this;
    const size = (app.model?.info['file_size'] as number | undefined) ?? 0;
    const again = size > 0 && app.bytesRead > size;
    return html`
      <span role="status">
        ${app.opening !== '' ? html`opening ${app.opening}…` : nothing}
        ${app.jobs.map((job) => {
          const done = job.progress === null || job.progress.of === 0 ? '' : ` ${Math.floor((100 * job.progress.done) / job.progress.of)} %`;
          return html`<span class="job">${job.title}${done} <button aria-label="cancel ${job.title}" @click=${job.cancel}>cancel</button></span>`;
        })}
      </span>
      <span class="muted" title=${again ? 'What is looked at once more is read from the file once more: the page keeps little of it in memory.' : nothing}
        >read ${format.bytes(app.bytesRead)}${size === 0 ? '' : again ? `, parts of the file (${format.bytes(size)}) again` : ` of ${format.bytes(size)}`}</span
      >
      <span class="muted" title="how this browser lets the page read files">${app.engine.mode === 'worker' ? 'reading in workers' : 'reading in the page'}</span>
      <span class="muted">Nothing leaves this page: the browser enforces it</span>
    `;
  }
  static override styles = [
    base,
    css`
      :host {
        display: flex;
        flex-wrap: wrap;
        gap: 2px 20px;
        align-items: center;
        min-height: 28px;
        padding: 2px 12px;
        border-top: 1px solid var(--line);
        background: var(--panel);
        font-size: 12px;
      }
      [role='status'] {
        flex: 1;
        min-width: 200px;
      }
      .job {
        margin-right: 16px;
      }
      button {
        min-height: 24px;
        padding: 0 8px;
      }
    `,
  ];
}
customElements.define('assay-status', StatusBar);
