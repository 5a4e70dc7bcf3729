// SPDX-License-Identifier: Apache-2.0
// One role over all layers: exact histograms on one axis, so that the layer that differs is seen, and counted in a range of values.
import { css, html, nothing, type TemplateResult } from 'lit';
import { STARTS_BY_ITSELF } from '../app/app.js';
import type { OpenModel } from '../app/model.js';
import { axisFor, binsOf, countInRange, hasFarTails, magnitudes, rangeOf, type Bins, type Scale } from '../core/histogram.js';
import type { Census } from '../core/protocol.js';
import { patternOf, rolesOf, shortRoles, type Roles } from '../core/roles.js';
import { base, pictureBar } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { csvOf, save, saveText } from '../ui/save.js';
import { Sketch } from '../ui/sketch.js';
import { styled } from '../ui/styled.js';
import { valueUnder } from './axis-draw.js';
import { drawRidge, ridgeHeight, ridgePlot, rowUnder, type Ridge } from './ridge-draw.js';

const MOST_ROWS = 256;
const CUT = 0.0005;
/** Roles up to this size are counted at once, without a first look. */
const QUICK = 32 * 2 ** 20;

export class RidgeView extends AppElement {
  static override properties = {
    ...AppElement.properties,
    role: { state: true },
    scale: { state: true },
    logCounts: { state: true },
    tails: { state: true },
    normalised: { state: true },
    range: { state: true },
    cursor: { state: true },
  };
  static override kept = ['scale', 'logCounts', 'tails', 'normalised'];
  declare role: string;
  /** Null: whichever shows these values. */
  declare scale: Scale | null;
  declare logCounts: boolean;
  declare tails: boolean;
  declare normalised: boolean;
  declare range: { from: number; to: number } | null;
  declare cursor: number | null;
  private model: OpenModel | null = null;
  private roles: Roles | null = null;
  private censuses = new Map<number, Census>();
  /** Elements of tensors, and the bytes of all of the role. */
  private sizes = new Map<number, number>();
  private bytes = 0;
  /** Nothing more is read by itself. */
  private stopped = false;
  private reading = '';
  private edges: Float64Array | null = null;
  private pressed: number | null = null;
  private followed: unknown = null;
  private readonly sketch = new Sketch(this, 'canvas', (ctx, size, ink) => {
    const ridge = this.ridge(size.width);
    if (ridge !== null) drawRidge(ctx, ridge, size, ink);
  });

  constructor() {
    super();
    this.role = '';
    this.scale = null;
    this.logCounts = false;
    this.tails = true;
    this.normalised = true;
    this.range = null;
    this.cursor = null;
  }

  /** The role's tensors in layers' order, and what tells them apart. */
  private get members(): { tensor: number; label: string }[] {
    const { roles } = this;
    const column = roles?.roles.indexOf(this.role) ?? -1;
    if (roles === null || column < 0) return [];
    const names = this.model!.names;
    return roles.layers
      .flatMap((_, layer) => roles.cells.get(layer * roles.roles.length + column) ?? [])
      .slice(0, MOST_ROWS)
      .map((tensor) => ({ tensor, label: patternOf(names.names[names.order.indexOf(tensor)]!).numbers.join('.') }));
  }

  override render(): TemplateResult {
    const { model, selection } = this.app;
    if (model === null) return html``;
    if (model !== this.model) {
      this.model = model;
      this.roles = rolesOf(model.names);
      this.censuses = new Map();
      this.sizes = new Map();
      this.stopped = false;
      this.role = this.roles.roles[0] ?? '';
      this.followed = null;
      this.range = null;
    }
    // A tensor that is chosen brings its role.
    if (selection !== null && selection.tensor !== this.followed) {
      this.followed = selection.tensor;
      const { pattern } = patternOf(selection.tensor.name);
      if (this.roles!.roles.includes(pattern) && pattern !== this.role) this.choose(pattern);
    }
    const roles = this.roles!;
    if (roles.layers.length < 2) return html`<p class="muted">No layers repeat in this file. The tensor view has the histogram of each tensor.</p>`;
    const { members } = this;
    void this.read();
    const short = shortRoles(roles.roles);
    return html`
      <div class="bar" role="toolbar" aria-label="histograms by layer">
        <select aria-label="tensor of each layer" @change=${(e: Event) => this.choose((e.target as HTMLSelectElement).value)}>
          ${roles.roles.map((role, i) => html`<option value=${role} ?selected=${role === this.role}>${short[i]}</option>`)}
        </select>
        <select aria-label="scale of values" @change=${(e: Event) => (this.scale = (e.target as HTMLSelectElement).value as Scale)}>
          <option value="linear" ?selected=${this.scaleNow === 'linear'}>linear</option>
          <option value="symlog" ?selected=${this.scaleNow === 'symlog'}>symmetric log</option>
          <option value="log" ?selected=${this.scaleNow === 'log'}>log of magnitude</option>
        </select>
        <label><input type="checkbox" .checked=${this.logCounts} @change=${() => (this.logCounts = !this.logCounts)} /> log counts</label>
        <label title="the axis reaches from the least to the largest value of all layers"><input type="checkbox" .checked=${this.tails} @change=${() => (this.tails = !this.tails)} /> to the extremes</label>
        <label><input type="checkbox" .checked=${this.normalised} @change=${() => (this.normalised = !this.normalised)} /> all equally high</label>
        <span class="gap"></span>
        <button @click=${() => void this.savePng()}>PNG</button>
        <button @click=${() => this.saveCsv()}>CSV</button>
      </div>
      ${this.needs(members)}
      <canvas
        ${styled({ height: `${ridgeHeight(members.length)}px` })}
        tabindex="0"
        role="application"
        aria-roledescription="histograms by layer"
        aria-label="${this.role}: ${format.plural(members.length, 'histogram')}; up and down go through them, Enter shows the tensor"
        @pointerdown=${this.onDown}
        @pointermove=${this.onMove}
        @pointerup=${this.onUp}
        @dblclick=${() => void this.enter(this.cursor)}
        @keydown=${this.onKey}
      ></canvas>
      <p class="readout mono" role="status">${this.words(members)}</p>
      ${this.inRange(members)}
    `;
  }
  /** One far value would make lines of all the others: the axis bends then. */
  private get scaleNow(): Scale {
    return this.scale ?? ([...this.censuses.values()].some((census) => census.values.length > 0 && hasFarTails(census)) ? 'symlog' : 'linear');
  }
  private choose(role: string): void {
    this.role = role;
    this.censuses = new Map();
    this.range = null;
    this.cursor = null;
    this.stopped = false;
  }
  private needs(members: readonly { tensor: number }[]): TemplateResult | typeof nothing {
    const known = members.filter(({ tensor }) => this.censuses.has(tensor)).length;
    const inPart = members.filter(({ tensor }) => this.isSampled(tensor)).length;
    if (this.reading === this.role) return html`<p class="muted" role="status">${inPart > 0 && known === members.length ? `counting all values: ${known - inPart} of ${members.length}…` : `${known} of ${members.length} looked at…`}</p>`;
    if (known === members.length && inPart === 0) return nothing;
    const bytes = this.bytes;
    return html`<p class="approximate">${inPart > 0 ? `≈ ${format.plural(inPart, 'tensor')} counted in part, 1 MiB each. ` : ''}
      <button class="primary" @click=${() => void this.read(true)}>Count all ${format.bytes(bytes)} exactly (${this.app.estimate(bytes)})</button></p>`;
  }
  private isSampled(tensor: number): boolean {
    const census = this.censuses.get(tensor);
    return census !== undefined && census !== EMPTY && census.n < (this.sizes.get(tensor) ?? 0);
  }
  /** A first look at each tensor, then all of it: by itself where that is little, else when it is asked for. */
  private async read(evenLarge = false): Promise<void> {
    const { members, role, model } = this;
    if (model === null || this.reading !== '' || (this.stopped && !evenLarge)) return;
    if (members.every(({ tensor }) => this.censuses.has(tensor) && !this.isSampled(tensor))) return;
    this.reading = role;
    this.stopped = false;
    try {
      const all = (await this.app.engine.call('tensors', { model: model.id, indices: members.map(({ tensor }) => tensor) })).filter(({ readable, numel, index }) => {
        if (readable && numel > 0) return true;
        this.censuses.set(index, EMPTY);
        return false;
      });
      for (const { index, numel } of all) this.sizes.set(index, numel);
      this.bytes = all.reduce((sum, { nbytes }) => sum + nbytes, 0);
      const exactly = evenLarge || this.bytes <= STARTS_BY_ITSELF;
      for (const sample of this.bytes > QUICK ? [true, false] : [false]) {
        if (!sample && !exactly) break;
        for (const facts of all) {
          if (!sample && this.censuses.has(facts.index) && !this.isSampled(facts.index)) continue;
          const census = await this.app.censusOf(facts, sample);
          if (this.role !== role || this.app.model !== model) return;
          if (census === null) {
            this.stopped = true;
            return;
          }
          this.censuses.set(facts.index, census);
          this.requestUpdate();
        }
      }
      // What is left is read when it is asked for.
      this.stopped = !exactly;
    } catch (error) {
      this.stopped = true;
      if (this.app.model === model) this.app.fail(error, role);
    } finally {
      this.reading = '';
      this.requestUpdate();
    }
  }
  private ridge(width: number): Ridge | null {
    const { members } = this;
    const known = members.map(({ tensor }) => this.censuses.get(tensor) ?? null);
    const read = known.filter((census): census is Census => census !== null && census.values.length > 0);
    if (read.length === 0) return null;
    const scale = this.scaleNow;
    const ranges = read.map((census) => rangeOf(census, scale, this.tails ? 0 : CUT));
    const from = Math.min(...ranges.map((range) => range.from));
    const to = Math.max(...ranges.map((range) => range.to));
    // Bends at the median of the layers' medians: one layer does not decide the axis.
    const medians = read.map((census) => magnitudes(census).median).sort((a, b) => a - b);
    const axis = axisFor(scale, { median: medians[medians.length >> 1]! });
    const n = Math.max(16, Math.min(256, Math.floor(ridgePlot(members.length, { width, height: 0 }).width / 3)));
    const bins: (Bins | null)[] = known.map((census) => (census === null ? null : binsOf(census, axis, from, to, n)));
    this.edges = bins.find((one) => one !== null)?.edges ?? null;
    return { labels: members.map(({ label }) => label), bins, approximate: members.map(({ tensor }) => this.isSampled(tensor)), logCounts: this.logCounts, normalised: this.normalised, range: this.range, cursor: this.cursor, selected: this.selectedRow(members) };
  }
  private selectedRow(members: readonly { tensor: number }[]): number | null {
    const row = members.findIndex(({ tensor }) => tensor === this.app.selection?.tensor.index);
    return row < 0 ? null : row;
  }
  private words(members: readonly { tensor: number; label: string }[]): string {
    const row = this.cursor ?? this.selectedRow(members);
    const census = row === null ? undefined : this.censuses.get(members[row]?.tensor ?? -1);
    if (row === null || census === undefined || census.values.length === 0) return 'point at a layer; drag across to count a range of values in all of them';
    const about = this.isSampled(members[row]!.tensor) ? '≈ ' : '';
    return `${this.cursor === null ? 'selected: ' : ''}${members[row]!.label} · ${about}${format.exact(census.n)} values from ${format.number(census.values[0])} to ${format.number(census.values.at(-1))}${census.nan > 0 ? ` · ${format.exact(census.nan)} NaN` : ''}`;
  }
  private inRange(members: readonly { tensor: number; label: string }[]): TemplateResult | typeof nothing {
    const { range } = this;
    if (range === null) return nothing;
    const log = this.scaleNow === 'log';
    const counts = members.map(({ tensor, label }) => {
      const census = this.censuses.get(tensor);
      if (census === undefined) return { label, n: 0, about: '' };
      // Of a sample, what it would be in all.
      const scale = this.isSampled(tensor) ? (this.sizes.get(tensor) ?? 0) / Math.max(1, census.n) : 1;
      return { label, n: Math.round(scale * countInRange(census, log ? { ...range, magnitudes: true } : range)), about: scale === 1 ? '' : '≈ ' };
    });
    const some = counts.filter(({ n }) => n > 0);
    return html`<p role="status">
      ${log ? 'magnitudes' : 'values'} from ${format.number(range.from)} to ${format.number(range.to)}:
      ${some.length === 0 ? 'none in any layer' : some.slice(0, 40).map(({ label, n, about }) => html`<span class="count"><b>${label}</b> ${about}${format.exact(n)}</span> `)}
      ${some.length > 0 && some.length < counts.length ? html`<span class="muted">0 elsewhere</span>` : nothing}
      <button @click=${() => (this.range = null)}>Clear</button>
    </p>`;
  }

  // --- pointing

  private readonly onDown = (event: PointerEvent) => {
    if (this.edges === null || event.button !== 0) return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    this.pressed = event.offsetX;
  };
  private readonly onMove = (event: PointerEvent) => {
    const rows = this.members.length;
    if (this.pressed === null) {
      this.cursor = rowUnder(event.offsetY, rows);
      return;
    }
    if (Math.abs(event.offsetX - this.pressed) < 4) return;
    const [a, b] = [this.pressed, event.offsetX].map((x) => valueUnder(x, this.edges!, ridgePlot(rows, this.sketch.size))) as [number, number];
    this.range = { from: Math.min(a, b), to: Math.max(a, b) };
  };
  private readonly onUp = () => {
    this.pressed = null;
  };
  private readonly onKey = (event: KeyboardEvent) => {
    const rows = this.members.length;
    const at = this.cursor ?? this.selectedRow(this.members);
    const to = { ArrowDown: (at ?? -1) + 1, ArrowUp: (at ?? rows) - 1, Home: 0, End: rows - 1 }[event.key];
    if (event.key === 'Enter') void this.enter(at);
    else if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    else this.cursor = Math.min(rows - 1, Math.max(0, to));
    event.preventDefault();
  };
  private async enter(row: number | null): Promise<void> {
    const { members } = this;
    const member = row === null ? undefined : members[row];
    if (member === undefined) return;
    await this.app.select(member.tensor, members.map(({ tensor }) => tensor), this.role);
    this.app.show('tensor');
  }
  private async savePng(): Promise<void> {
    save(`${this.role.replaceAll('*', 'n')}.ridge.png`, await this.sketch.png({ title: `${this.role} · ${this.model!.label}` }));
  }
  private saveCsv(): void {
    const ridge = this.ridge(this.sketch.size.width);
    const { edges } = this;
    if (ridge === null || edges === null) return;
    const rows = ridge.labels.map((label, i) => [label, ...Array.from(ridge.bins[i]?.counts ?? [])]);
    saveText(`${this.role.replaceAll('*', 'n')}.ridge.csv`, csvOf([['from', ...edges.slice(0, -1)], ['to', ...edges.slice(1)], ...rows]), 'text/csv');
  }

  static override styles = [
    base,
    pictureBar,
    css`
      select {
        max-width: 260px;
      }
      canvas {
        cursor: col-resize;
        touch-action: pan-y;
      }
      .readout {
        min-height: 1.5em;
        margin: 4px 0;
        max-width: none;
      }
      .count {
        display: inline-block;
        margin-right: 8px;
      }
    `,
  ];
}
customElements.define('assay-ridge', RidgeView);

const EMPTY: Census = { values: new Float64Array(), counts: new Float64Array(), nan: 0, posInf: 0, negInf: 0, n: 0 };
