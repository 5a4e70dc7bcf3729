// SPDX-License-Identifier: Apache-2.0
// The outline as a treegrid: only the rows in sight are in the page, however many there are.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import type { TreeNode } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { styled } from '../ui/styled.js';
import { explained } from './differences.js';
import { firstExpanded, instanceLabel, leadsTo, namesByTensor, tensorsOf, visibleRows, type Row } from './rows.js';

const ROW = 26; // px
const AHEAD = 8; // rows drawn beyond either edge
const MOST_DEEP = 64;

export class TreeView extends AppElement {
  static override properties = { ...AppElement.properties, top: { state: true }, active: { state: true } };
  declare top: number;
  /** Key of the row that has the keyboard. */
  declare active: string;

  private model: OpenModel | null = null;
  private root: TreeNode | null = null;
  private filtered: { filter: string; root: TreeNode } | null = null;
  private expanded = new Set<string>();
  private rows: Row[] = [];
  private dirty = true;
  /** The tensor that rows were last opened and scrolled to, and the row to scroll to. */
  private revealed = -1;
  private rowToShow = -1;
  private nameByTensor = new Map<number, string>();
  private height = 600;
  private readonly resized = new ResizeObserver(([entry]) => {
    this.height = entry!.contentRect.height;
    this.requestUpdate();
  });

  constructor() {
    super();
    this.top = 0;
    this.active = '';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resized.disconnect();
  }
  override firstUpdated(): void {
    this.resized.observe(this.scroller);
  }
  private get scroller(): HTMLElement {
    return this.renderRoot.querySelector('.scroller')!;
  }

  override willUpdate(): void {
    const { model, chosen, chosenBy: filter } = this.app;
    if (model !== this.model) {
      this.model = model;
      this.filtered = null;
      this.nameByTensor = model == null ? new Map() : namesByTensor(model.names);
      this.use(model?.tree ?? null);
      this.top = 0;
    }
    if (model === null) return;
    if (chosen === null) {
      if (this.filtered !== null) {
        this.filtered = null;
        this.use(model.tree);
      }
    } else if (this.filtered?.filter !== filter) {
      void this.loadFiltered(model, filter);
    }
    if (this.dirty) this.rebuild(model);
    this.reveal(model);
    if (!this.rows.some((row) => row.key === this.active)) this.active = this.rows[0]?.key ?? '';
  }
  override updated(): void {
    const at = this.rowToShow;
    this.rowToShow = -1;
    if (at < 0 || this.height === 0) return;
    const { scroller } = this;
    if (at * ROW < scroller.scrollTop || (at + 1) * ROW > scroller.scrollTop + this.height) scroller.scrollTop = Math.max(0, at * ROW - this.height / 3);
  }
  private rebuild(model: OpenModel): void {
    this.dirty = false;
    if (this.root !== null) this.rows = visibleRows(this.root, this.expanded, model.names, (tensor) => this.nameByTensor.get(tensor) ?? '');
  }
  /** Opens what leads to the tensor that was chosen elsewhere, and scrolls to its row. */
  private reveal(model: OpenModel): void {
    const { selection } = this.app;
    if (selection === null || selection.tensor.index === this.revealed || this.rows.length === 0) return;
    this.revealed = selection.tensor.index;
    const { name } = selection.tensor;
    for (let depth = 0; depth < MOST_DEEP; ++depth) {
      const at = this.rows.findIndex((row) => this.isSelected(row));
      if (at >= 0) {
        this.active = this.rows[at]!.key;
        this.rowToShow = at;
        return;
      }
      const closed = this.rows.find((row) => row.kind === 'branch' && !row.expanded && leadsTo(row.pattern, name));
      if (closed === undefined) return;
      this.expanded.add(closed.key);
      this.rebuild(model);
    }
  }
  /** A tensor's own row, or the closed one that stands for it and others. */
  private isSelected(row: Row): boolean {
    const { selection } = this.app;
    if (selection === null || row.kind === 'branch') return false;
    if (row.kind === 'tensor') return row.tensor === selection.tensor.index;
    return !(row.expanded && row.expandable) && leadsTo(row.pattern, selection.tensor.name);
  }
  private async loadFiltered(model: OpenModel, filter: string): Promise<void> {
    this.filtered = { filter, root: this.root! };
    const root = explained(await this.app.engine.call('tree', { model: model.id, filter }));
    if (this.app.model !== model || this.app.chosenBy !== filter) return;
    this.filtered = { filter, root };
    this.use(root, 200);
    this.requestUpdate();
  }
  private use(root: TreeNode | null, most?: number): void {
    this.root = root;
    this.expanded = root === null ? new Set() : firstExpanded(root, most);
    this.rows = [];
    this.revealed = -1;
    this.dirty = true;
  }

  // --- what rows do

  private toggle(row: Row, open = !row.expanded): void {
    if (!row.expandable || open === row.expanded) return;
    if (open) this.expanded.add(row.key);
    else this.expanded.delete(row.key);
    this.dirty = true;
    this.requestUpdate();
  }
  private choose(row: Row): void {
    this.active = row.key;
    const model = this.model;
    if (model === null) return;
    if (row.kind === 'branch') return this.toggle(row);
    const peers = tensorsOf(row.pattern, model.names);
    const first = row.tensor ?? peers[0];
    if (first === undefined) return;
    this.revealed = first;
    // What stands alone here, or is all that a filter left, may have its like in other layers.
    if (this.filtered !== null || peers.length < 2) void this.app.select(first);
    else void this.app.select(first, peers, row.pattern.join('.'));
  }
  private readonly onKey = (event: KeyboardEvent) => {
    const at = this.rows.findIndex((row) => row.key === this.active);
    const row = this.rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.height / ROW) - 1);
    const moves: Record<string, number> = {
      ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, g: -this.rows.length, End: this.rows.length, G: this.rows.length,
    };
    if (event.key in moves) this.move(at + moves[event.key]!);
    else if (event.key === 'ArrowRight' || event.key === 'l') row.expanded ? this.move(at + 1) : this.toggle(row, true);
    else if (event.key === 'ArrowLeft' || event.key === 'h') row.expanded ? this.toggle(row, false) : this.move(this.parentOf(at));
    else if (event.key === 'Enter') this.choose(row);
    else if (event.key === ' ') row.expandable ? this.toggle(row) : this.choose(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  private parentOf(at: number): number {
    const { depth } = this.rows[at]!;
    let parent = at;
    while (parent > 0 && this.rows[parent]!.depth >= depth) --parent;
    return this.rows[parent]!.depth < depth ? parent : at;
  }
  private move(to: number): void {
    const at = Math.max(0, Math.min(this.rows.length - 1, to));
    this.active = this.rows[at]!.key;
    const { scroller } = this;
    if (at * ROW < scroller.scrollTop) scroller.scrollTop = at * ROW;
    if ((at + 1) * ROW > scroller.scrollTop + this.height) scroller.scrollTop = (at + 1) * ROW - this.height;
    this.top = scroller.scrollTop;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('[tabindex="0"][role="row"]')?.focus());
  }

  // --- drawing

  override render(): TemplateResult {
    const first = Math.max(0, Math.floor(this.top / ROW) - AHEAD);
    const last = Math.min(this.rows.length, Math.ceil((this.top + this.height) / ROW) + AHEAD);
    return html`
      <div class="head" aria-hidden="true"><span>name</span><span class="number">shape</span><span class="number">size</span></div>
      <div class="scroller" @scroll=${() => (this.top = this.scroller.scrollTop)} @keydown=${this.onKey}>
        ${this.rows.length === 0 && this.model !== null ? html`<p class="none muted">No tensor matches: words are parts of names. By number: <code>layer:11</code>, <code>expert:3</code>; also <code>dtype:bf16</code>, <code>shape:4096x*</code>, <code>size&gt;1M</code>.</p>` : nothing}
        <div role="treegrid" aria-label="tensors" aria-rowcount=${this.rows.length} ${styled({ height: `${this.rows.length * ROW}px` })}>
          ${this.rows.slice(first, last).map((row, i) => this.row(row, first + i))}
        </div>
      </div>
    `;
  }
  private row(row: Row, at: number): TemplateResult {
    const { node } = row;
    const selected = this.isSelected(row);
    const whole = this.root?.bytes || 1;
    const each = row.kind === 'tensor' ? node.tensors : 1;
    return html`<div
      class="row ${row.kind} ${selected ? 'selected' : ''}"
      role="row"
      tabindex=${row.key === this.active ? 0 : -1}
      aria-level=${row.depth + 1}
      aria-posinset=${row.position}
      aria-setsize=${row.siblings}
      aria-rowindex=${at + 1}
      aria-expanded=${row.expandable ? String(row.expanded) : nothing}
      aria-selected=${String(selected)}
      ${styled({ top: `${at * ROW}px`, '--depth': String(row.depth), '--part': `${(100 * node.bytes) / each / whole}%` })}
      @click=${() => this.choose(row)}
    >
      <span role="gridcell" class="name" title=${row.pattern.join('.')}>
        <span
          class="twist"
          @click=${(event: Event) => {
            event.stopPropagation();
            this.toggle(row);
          }}
          >${row.expandable ? (row.expanded ? '▾' : '▸') : ''}</span
        ><span class="label">${row.label}</span>${node.times > 1 && row.kind !== 'tensor' ? html` <span class="times">×${node.times}</span>` : nothing}${
          row.kind === 'leaf' && node.tensors > 1 && node.times === 1 ? html` <span class="times">×${node.tensors}</span>` : nothing
        }${selected && row.kind === 'leaf' && node.tensors > 1 ? html` <span class="tag which" title="the one that is shown">${instanceLabel(row.pattern, this.app.selection!.tensor.name)}</span>` : nothing}
      </span>
      <span role="gridcell" class="number what ${row.odd !== '' ? 'odd' : ''}">${row.odd !== '' ? row.odd : row.kind === 'branch' ? format.count(node.parameters) : `${node.dtype} ${format.shape(node.shape ?? [])}`}</span>
      <span role="gridcell" class="number">${format.bytes(node.bytes / each)}</span>
    </div>`;
  }

  static override styles = [
    base,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-height: 0;
      }
      .head,
      .row {
        display: grid;
        grid-template-columns: minmax(0, 1fr) 96px 62px;
        column-gap: 4px;
        padding-right: 8px;
      }
      .head {
        padding: 4px 14px 4px 24px;
        color: var(--muted);
        font-size: 11px;
        border-bottom: 1px solid var(--line);
      }
      .scroller {
        flex: 1;
        overflow: auto;
        min-height: 0;
      }
      [role='treegrid'] {
        position: relative;
      }
      .none {
        padding: 12px 16px;
      }
      .row {
        position: absolute;
        left: 0;
        right: 0;
        height: 26px;
        align-items: center;
        font-size: 13px;
        cursor: default;
      }
      .row::after {
        content: '';
        position: absolute;
        left: 0;
        bottom: 0;
        height: 2px;
        width: var(--part);
        background: var(--accent);
        opacity: 0.45;
        forced-color-adjust: none;
      }
      .row.branch {
        font-weight: 500;
      }
      .row:hover {
        background: var(--hover);
      }
      .row.selected {
        background: var(--select);
      }
      .row:focus-visible {
        outline-offset: -2px;
      }
      .name {
        display: flex;
        min-width: 0;
        white-space: nowrap;
        padding-left: calc(6px + 14px * var(--depth));
      }
      .label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      .twist {
        flex: none;
        width: 18px;
        text-align: center;
        color: var(--muted);
      }
      .times {
        flex: none;
        margin-left: 5px;
        color: var(--accent-text);
        font-weight: 600;
      }
      .which {
        flex: none;
        align-self: center;
        margin-left: 6px;
        border-color: var(--accent);
      }
      .what {
        max-width: 150px;
        overflow: hidden;
        white-space: nowrap;
        text-overflow: ellipsis;
      }
      .number {
        font-size: 12px;
        color: var(--muted);
      }
      .odd {
        color: var(--warn);
      }
      @media (forced-colors: active) {
        .row.selected {
          forced-color-adjust: none;
          background: Highlight;
        }
        .row.selected,
        .row.selected span {
          color: HighlightText;
        }
      }
    `,
  ];
}
customElements.define('assay-tree', TreeView);
