// SPDX-License-Identifier: Apache-2.0
// What the file is, in one screen: what the program's `info` says.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import { healthOf } from '../core/health.js';
import type { TreeNode } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { styled } from '../ui/styled.js';
import { verdictOf, WORDS } from '../core/scans.js';
import { components, oddity, tensorsOf } from '../tree/rows.js';
import { findingList, findingStyles, unlikeList } from './finding-list.js';
import { healthLine } from './health-line.js';
import { measureOffer } from './measure-offer.js';

interface DTypeCount {
  dtype: string;
  tensors: number;
  elements: number;
  bytes: number;
}

interface OddNode {
  path: string;
  what: string;
  /** Of the first tensor in it. */
  pattern: string[];
}
/** Nodes that break their pattern, with where they are. */
function oddNodes(root: TreeNode, most: number): OddNode[] {
  const found: OddNode[] = [];
  const firstIn = (node: TreeNode, pattern: string[]): string[] => (node.children[0] === undefined ? pattern : firstIn(node.children[0], [...pattern, ...components(node.children[0])]));
  const walk = (node: TreeNode, path: string[], pattern: string[]) => {
    for (const child of node.children) {
      if (found.length >= most) return;
      const here = [...path, child.times > 1 ? `${child.name} ×${child.times}` : child.name];
      const own = [...pattern, ...components(child)];
      const what = oddity(child);
      if (what !== '') found.push({ path: here.join('.'), what, pattern: firstIn(child, own) });
      walk(child, here, own);
    }
  };
  walk(root, [], []);
  return found;
}

const SOON = 200; // milliseconds
const MOST_ODD = 8;
const MOST_CALLS = 3;

export class Overview extends AppElement {
  private seen: OpenModel | null = null;

  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    const { info, moe } = model;
    const dtypes = info['dtypes'] as DTypeCount[];
    const sections = info['sections'] as { name: string; tensors: number; bytes: number }[];
    const bytes = info['tensor_bytes'] as number;
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
      ${model.complete ? nothing : html`<p class="damage">Part of the file is missing or damaged: see <button class="plain link" @click=${() => this.app.show('findings')}>Findings</button>.</p>`}
      ${this.code(model)} ${this.standsOut(model)}
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
      <h3>Go on</h3>
      <p class="next">
        <button @click=${() => this.app.show('findings')}>All findings</button>
        <button @click=${() => this.app.show('matrix')}>All layers side by side</button>
        <button @click=${() => void this.showLargest(model)}>Look at the largest tensor</button>
      </p>
    `;
  }

  /** What would run where it is loaded, beside what it holds. */
  private code({ scans }: OpenModel): TemplateResult | typeof nothing {
    if (scans === null) return nothing;
    const { verdict, complete, words } = verdictOf(scans);
    if (verdict === 'clean' && complete) return html`<p class="good">${WORDS.clean} when a program loads it.</p>`;
    return html`<div class="code">
      <b class=${verdict === 'clean' ? 'warning' : 'danger'}>${verdict === 'clean' ? 'Whether something would run is not known: not all of it could be looked at' : `${WORDS[verdict]} if it were loaded`}</b>
      ${words.slice(0, MOST_CALLS).map((what) => html`<p class="mono">${what}</p>`)}
      <button @click=${() => this.app.show('scan')}>${words.length > MOST_CALLS ? `All ${words.length}, and where` : 'Where'}</button>
    </div>`;
  }
  /** What is unlike the rest, in structure and in values, with a way to each of them. */
  private standsOut(model: OpenModel): TemplateResult {
    if (model !== this.seen) {
      this.seen = model;
      // Whoever opens a tensor at once goes first.
      setTimeout(() => void this.app.scan().then(() => this.app.lookAround()), SOON);
    }
    const health = healthOf(model);
    const { findings, advice, looked } = health;
    // The checkup tells of the structure too, in more words.
    const odd = looked === 'examined' || looked === 'glanced' ? [] : oddNodes(model.tree, MOST_ODD);
    return html`<h3>What stands out</h3>
      ${odd.map((node) => html`<div class="odd"><button class="plain link mono" @click=${() => void this.lookIn(model, node)}>${node.path}</button> <span class="warning">${node.what}</span></div>`)}
      ${findingList(this.app, findings.slice(0, MOST_ODD), advice)}
      ${findings.length > MOST_ODD ? html`<p class="muted">and ${findings.length - MOST_ODD} more: see <button class="plain link" @click=${() => this.app.show('findings')}>Findings</button></p>` : nothing}
      ${this.app.measuring || model.measured.state === 'none' ? measureOffer(this.app) : nothing} ${this.app.measuring ? nothing : healthLine(this.app, odd.length)} ${unlikeList(this.app, health)}`;
  }
  private async lookIn(model: OpenModel, { pattern }: OddNode): Promise<void> {
    const peers = tensorsOf(pattern, model.names);
    if (peers[0] === undefined) return;
    await this.app.select(peers[0], peers, pattern.join('.'));
    this.app.show('tensor');
  }
  private async showLargest(model: OpenModel): Promise<void> {
    const [first] = await this.app.engine.call('largest', { model: model.id, n: 1 });
    if (first === undefined) return;
    await this.app.select(first);
    this.app.show('tensor');
  }

  static override styles = [
    base,
    findingStyles,
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
        forced-color-adjust: none;
      }
      .next {
        display: flex;
        flex-wrap: wrap;
        gap: 8px;
      }
      .code {
        margin-bottom: 8px;
        padding: 6px 10px;
        border: 1px solid var(--bad);
        border-radius: 6px;
      }
      .code p {
        margin: 2px 0;
        overflow-wrap: anywhere;
      }
      .odd {
        margin: 0 0 8px;
        padding: 2px 0 2px 10px;
        border-left: 3px solid var(--warn);
        max-width: 90ch;
      }
      .link {
        font-weight: 600;
      }
    `,
  ];
}
customElements.define('assay-overview', Overview);
