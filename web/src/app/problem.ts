// SPDX-License-Identifier: Apache-2.0
// What went wrong and what to do, or what is good to know; said once, until it is put away.
import { css, html, nothing, type TemplateResult } from 'lit';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import type { Notice } from './model.js';

export class ProblemBox extends AppElement {
  override render(): TemplateResult {
    const { problem, notice } = this.app;
    if (problem === null && notice === null) return html``;
    if (problem === null) return this.note(notice!);
    return html`<div role="alert">
      <h2>${problem.title}</h2>
      <p>${problem.text}</p>
      ${problem.hint === '' ? nothing : html`<p><b>What to do:</b> ${problem.hint}</p>`}
      ${problem.report === '' ? nothing : html`<details><summary>report</summary><pre tabindex="0">${problem.report}</pre></details>`}
      <p>
        ${problem.report === '' ? nothing : html`<button @click=${() => void navigator.clipboard.writeText(problem.report)}>Copy report</button>`}
        <button @click=${() => this.app.forgive()}>Dismiss</button> <code class="muted">${problem.code}</code>
      </p>
    </div>`;
  }
  private note({ text, button, act }: Notice): TemplateResult {
    return html`<p class="notice" role="status">
      ${text} <button class="primary" @click=${act}>${button}</button> <button @click=${() => this.app.forgive()}>Dismiss</button>
    </p>`;
  }
  static override styles = [
    base,
    css`
      [role='alert'] {
        padding: 12px 18px;
        border-left: 4px solid var(--bad);
        border-bottom: 1px solid var(--line);
        background: var(--panel);
      }
      p {
        overflow-wrap: anywhere;
      }
      .notice {
        max-width: none;
        margin: 0;
        padding: 8px 18px;
        border-left: 4px solid var(--accent);
        border-bottom: 1px solid var(--line);
        background: var(--panel);
      }
      pre {
        max-height: 200px;
        overflow: auto;
        font-size: 11px;
      }
    `,
  ];
}
customElements.define('assay-problem', ProblemBox);
