// SPDX-License-Identifier: Apache-2.0
// What the file is, in one screen: what the program's `info` says.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/app.js';
import { grave, knownFindings } from '../core/findings.js';
import type { TreeNode } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { styled } from '../ui/styled.js';
import { oddity } from '../tree/rows.js';

interface DTypeCount {
  dtype: string;
  tensors: number;
  elements: number;
  bytes: number;
}

/** Nodes that break their pattern, with where they are. */
function oddNodes(root: TreeNode, most: number): { path: string; what: string }[] {
  const found: { path: string; what: string }[] = [];
  const walk = (node: TreeNode, path: string[]) => {
    for (const child of node.children) {
      if (found.length >= most) return;
      const here = [...path, child.times > 1 ? `${child.name} ×${child.times}` : child.name];
      const what = oddity(child);
      if (what !== '') found.push({ path: here.join(' . '), what });
      walk(child, here);
    }
  };
  walk(root, []);
  return found;
}

export class Overview extends AppElement {
  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    const { info, moe } = model;
    const dtypes = info['dtypes'] as DTypeCount[];
    const sections = info['sections'] as { name: string; tensors: number; bytes: number }[];
    const bytes = info['tensor_bytes'] as number;
    const odd = oddNodes(model.tree, 20);
    const config = moe['detected'] === true;
    return html`
      <h2>${model.label}</h2>
      <div class="figures">
        <div><b>${format.count(info['parameters'] as number)}</b> parameters</div>
        <div><b>${format.bytes(info['file_size'] as number)}</b> in ${format.plural((info['files'] as unknown[]).length, 'file')}</div>
        <div><b>${format.exact(model.tensorCount)}</b> tensors</div>
        <div><b>${model.format}</b> format</div>
        ${config
          ? html`<div><b>${String(moe['expert_count'])}</b> experts in ${format.plural((moe['layers'] as unknown[]).length, 'layer')}</div>`
          : nothing}
      </div>
      ${model.complete ? nothing : html`<p class="damage">Part of the file is missing or damaged: see Findings.</p>`}
      <h3>Types</h3>
      <table>
        <tr><th>dtype</th><th class="number">tensors</th><th class="number">elements</th><th class="number">bytes</th><th>share</th></tr>
        ${dtypes.map(
          (row) => html`<tr>
            <td class="mono">${row.dtype}</td>
            <td class="number">${format.exact(row.tensors)}</td>
            <td class="number">${format.count(row.elements)}</td>
            <td class="number">${format.bytes(row.bytes)}</td>
            <td><span class="bar" ${styled({ '--part': `${(100 * row.bytes) / (bytes || 1)}%` })}></span> ${format.percent(row.bytes, bytes)}</td>
          </tr>`,
        )}
      </table>
      ${sections.length < 2
        ? nothing
        : html`<h3>Sections</h3>
            <table>
              ${sections.map(
                (row) => html`<tr>
                  <td>${row.name}</td>
                  <td class="number">${format.plural(row.tensors, 'tensor')}</td>
                  <td class="number">${format.bytes(row.bytes)}</td>
                </tr>`,
              )}
            </table>`}
      <h3>Structure</h3>
      ${odd.length === 0
        ? html`<p class="muted">Layers that repeat are all alike.</p>`
        : html`<ul>
            ${odd.map(({ path, what }) => html`<li><span class="mono">${path}</span> <span class="warning">${what}</span></li>`)}
          </ul>`}
      <h3>Go on</h3>
      <p class="next">
        <button @click=${() => this.app.show('findings')}>${this.health(model)}</button>
        <button @click=${() => this.app.show('scan')}>What would run if it were loaded?</button>
        <button @click=${() => void this.showLargest(model)}>Look at the largest tensor</button>
      </p>
    `;
  }

  private health(model: OpenModel): string {
    const doctor = model.reports.get('doctor');
    const findings = grave(knownFindings(model.info, model.reports)).length;
    if (findings > 0) return `${format.plural(findings, 'finding')} to look at`;
    return doctor === undefined ? 'Is anything wrong with the values?' : 'Values examined: nothing serious';
  }
  private async showLargest(model: OpenModel): Promise<void> {
    const [first] = await this.app.engine.call('largest', { model: model.id, n: 1 });
    if (first === undefined) return;
    await this.app.select(first);
    this.app.show('tensor');
  }

  static override styles = [
    base,
    css`
      .figures {
        display: flex;
        flex-wrap: wrap;
        gap: 6px 28px;
        margin: 4px 0 12px;
        color: var(--muted);
      }
      .figures b {
        display: block;
        font-size: 20px;
        font-weight: 600;
        color: var(--text);
      }
      .bar {
        display: inline-block;
        width: 120px;
        height: 8px;
        border-radius: 2px;
        background: linear-gradient(var(--share), var(--share)) 0 0 / var(--part) 100% no-repeat var(--share-of);
      }
      .next {
        display: flex;
        flex-wrap: wrap;
        gap: 8px;
      }
      ul {
        margin: 0;
        padding-left: 18px;
      }
    `,
  ];
}
customElements.define('assay-overview', Overview);
