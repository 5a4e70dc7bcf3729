// SPDX-License-Identifier: Apache-2.0
// Everything in the file that is no tensor.
import { css, html, nothing, type TemplateResult } from 'lit';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';

const MOST = 1000;
const LONG = 400;

function shown(value: unknown): { text: string; expanded: boolean } {
  if (typeof value === 'string') {
    // JSON within a text, as trainers like to store it, is easier to read laid out.
    if (/^\s*[[{]/.test(value)) {
      try {
        return { text: JSON.stringify(JSON.parse(value), null, 2), expanded: true };
      } catch {
        return { text: value, expanded: false };
      }
    }
    return { text: value, expanded: false };
  }
  return { text: JSON.stringify(value) ?? '', expanded: false };
}

export class MetadataView extends AppElement {
  static override properties = { ...AppElement.properties, search: { state: true } };
  declare search: string;
  constructor() {
    super();
    this.search = '';
  }
  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    const wanted = this.search.toLowerCase();
    const entries = Object.entries(model.info['metadata'] as Record<string, unknown>).filter(
      ([key, value]) => wanted === '' || key.toLowerCase().includes(wanted) || String(value).toLowerCase().includes(wanted),
    );
    const files = model.info['files'] as { name: string; size: number }[];
    return html`
      <h2>Metadata</h2>
      <label class="muted find">find <input type="search" .value=${this.search} @input=${(event: Event) => (this.search = (event.target as HTMLInputElement).value)} /></label>
      ${entries.length === 0 ? html`<p class="muted">There is none.</p>` : nothing}
      <table>
        ${entries.slice(0, MOST).map(([key, value]) => {
          const { text, expanded } = shown(value);
          return html`<tr>
            <td class="mono key">${key}</td>
            <td>
              ${text.length > LONG || expanded
                ? html`<details><summary class="mono">${text.slice(0, 80)}…</summary><pre tabindex="0">${text}</pre></details>${expanded ? html`<span class="muted">JSON in a text, laid out</span>` : nothing}`
                : html`<span class="mono">${text}</span>`}
            </td>
          </tr>`;
        })}
      </table>
      ${entries.length > MOST ? html`<p class="muted">and ${format.exact(entries.length - MOST)} more: narrow the search</p>` : nothing}
      <h3>Files</h3>
      <table>
        ${files.map((file) => html`<tr><td class="mono">${file.name}</td><td class="number">${format.bytes(file.size)}</td><td class="number">${format.exact(file.size)}</td></tr>`)}
      </table>
    `;
  }
  static override styles = [
    base,
    css`
      td {
        overflow-wrap: anywhere;
      }
      .find {
        display: block;
        margin-bottom: 8px;
      }
      .find input {
        min-height: 28px;
        min-width: 240px;
        padding: 2px 8px;
        border: 1px solid var(--line-strong);
        border-radius: 6px;
        background: var(--raised);
      }
      .key {
        min-width: 120px;
      }
      pre {
        max-height: 400px;
        overflow: auto;
        white-space: pre-wrap;
      }
    `,
  ];
}
customElements.define('assay-metadata', MetadataView);
