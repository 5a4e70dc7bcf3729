// SPDX-License-Identifier: Apache-2.0
// The exact histogram of a tensor: scales, quantiles, a part over the whole, and a range of values to light up in the picture.
import { css, html, nothing, type TemplateResult } from 'lit';
import { axisFor, binsOf, countInRange, countWithin, deviationOf, hasFarTails, magnitudes, percentileOf, quantileOf, rangeOf, totalOf, type Bins, type Scale } from '../core/histogram.js';
import type { Census } from '../core/protocol.js';
import { base, pictureBar } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { csvOf, save, saveText } from '../ui/save.js';
import { Sketch } from '../ui/sketch.js';
import { valueUnder } from './axis-draw.js';
import { drawHistogram, edgeAt, handleAt, plotOf, type Curve, type HistogramScene } from './histogram-draw.js';
import { Overlays } from './overlays.js';
import type { Range, TensorLook } from './tensor-look.js';
import { windowOf } from './space.js';

const SHOWN: [number, string][] = [[0.001, 'p0.1'], [0.01, 'p1'], [0.25, 'p25'], [0.5, 'p50'], [0.75, 'p75'], [0.99, 'p99'], [0.999, 'p99.9']];

/** Tensors up to this size are lit while a range is dragged. */
const LIVE = 8 * 2 ** 20;
const ordered = (range: Range): Range => (range.from > range.to ? { ...range, from: range.to, to: range.from } : range);
/** Ranges to choose by name. */
const LIT: Record<string, (census: Census) => Range> = {
  'lowest 0.1 %': (census) => ({ from: census.values[0]!, to: quantileOf(census, 0.001) }),
  'lowest 1 %': (census) => ({ from: census.values[0]!, to: quantileOf(census, 0.01) }),
  'highest 1 %': (census) => ({ from: quantileOf(census, 0.99), to: census.values.at(-1)! }),
  'highest 0.1 %': (census) => ({ from: quantileOf(census, 0.999), to: census.values.at(-1)! }),
  'beyond 4 deviations': (census) => ({ from: 4 * deviationOf(census), to: magnitudes(census).largest, magnitudes: true }),
  zeros: () => ({ from: 0, to: 0 }),
  'below zero': (census) => ({ from: Math.min(census.values[0]!, -Number.MIN_VALUE), to: -Number.MIN_VALUE }),
};

export class HistogramPanel extends AppElement {
  static override properties = {
    ...AppElement.properties,
    look: { attribute: false },
    revision: { attribute: false },
    scale: { state: true },
    logCounts: { state: true },
    tails: { state: true },
    brushing: { state: true },
  };
  static override kept = ['scale', 'logCounts'];
  declare look: TensorLook;
  declare revision: unknown;
  declare scale: Scale;
  declare logCounts: boolean;
  /** Whether the axis reaches to the extremes, else to p0.1 and p99.9; by itself unless said. */
  declare tails: boolean | null;
  declare brushing: Range | null;
  private bins: Bins | null = null;
  private quantiles: HistogramScene['quantiles'] = [];
  /** What the pointer holds: a range from a value on, one edge of it, or a quantile's handle. */
  private held: { value: number } | { other: number } | { quantile: number } | null = null;
  private overlays: Overlays | null = null;
  /** A range is being lit while it is dragged; the latest wish waits. */
  private lighting = false;
  private readonly sketch = new Sketch(this, 'canvas', (ctx, size, ink) => {
    const scene = this.scene(size.width);
    if (scene !== null) drawHistogram(ctx, scene, size, ink);
  });

  constructor() {
    super();
    this.scale = 'linear';
    this.logCounts = false;
    this.tails = null;
    this.brushing = null;
  }
  override connectedCallback(): void {
    super.connectedCallback();
    this.overlays ??= new Overlays(this.app, () => this.requestUpdate());
  }

  private scene(width: number): HistogramScene | null {
    const { census, areaCensus, stats, tensor, pointed } = this.look;
    if (census === null || census.values.length === 0) return null;
    const peers = this.overlays!.peers(tensor);
    const pins = this.overlays!.pins.filter((pin) => pin.tensor !== tensor.index);
    // An axis that all of them fit on: a layer scaled by 4 is seen as wider than the others, not cut off.
    const cut = this.showsTails(census) ? 0 : 0.001;
    const ranges = [census, ...peers.map((peer) => peer.census), ...pins.map((pin) => pin.census)].filter((one) => one.values.length > 0).map((one) => rangeOf(one, this.scale, cut));
    const [from, to] = [Math.min(...ranges.map((range) => range.from)), Math.max(...ranges.map((range) => range.to))];
    const n = Math.max(16, Math.min(256, Math.floor(plotOf({ width, height: 100 }).width / 3)));
    const axis = axisFor(this.scale, magnitudes(census));
    this.bins = binsOf(census, axis, from, to, n);
    this.quantiles = this.scale === 'log' ? [] : SHOWN.map(([p, label]) => [label, stats?.quantiles[String(p)] ?? quantileOf(census, p)] as const);
    const curve = (of: Census, style: Curve['style']): Curve => ({ counts: binsOf(of, axis, from, to, n).counts, total: totalOf(of), style });
    return {
      bins: this.bins,
      total: totalOf(census),
      logCounts: this.logCounts,
      quantiles: this.quantiles,
      bands: this.bands(this.brushing ?? this.look.range),
      curves: [
        ...peers.map((peer) => curve(peer.census, 'peer')),
        ...this.overlays!.pins.flatMap((pin, i) => (pin.tensor === tensor.index ? [] : [curve(pin.census, i)])),
        ...(areaCensus === null ? [] : [curve(areaCensus, 'part')]),
      ],
      sampled: !this.look.exact,
      pointed,
    };
  }
  /** A range as it lies on this axis: of magnitudes on both sides of zero, of values on a log axis by their magnitude. */
  private bands(range: Range | null): { from: number; to: number }[] {
    if (range === null) return [];
    const { from, to, magnitudes: both } = range;
    if (this.scale !== 'log') return both === true ? [{ from, to }, { from: -to, to: -from }] : [{ from, to }];
    return both === true || from >= 0 ? [{ from: Math.max(from, Number.MIN_VALUE), to }] : [{ from: Number.MIN_VALUE, to: Math.max(Math.abs(from), Math.abs(to)) }];
  }

  private showsTails(census: Census): boolean {
    return this.tails ?? (this.scale !== 'linear' || !hasFarTails(census));
  }
  override render(): TemplateResult {
    const { look } = this;
    const { census } = look;
    if (census === null) return html`<p class="muted">Counting…</p>`;
    return html`
      <div class="bar" role="toolbar" aria-label="histogram">
        <select aria-label="scale of values" @change=${(e: Event) => (this.scale = (e.target as HTMLSelectElement).value as Scale)}>
          <option value="linear" ?selected=${this.scale === 'linear'}>linear</option>
          <option value="symlog" ?selected=${this.scale === 'symlog'}>symmetric log</option>
          <option value="log" ?selected=${this.scale === 'log'}>log of magnitude</option>
        </select>
        <label><input type="checkbox" .checked=${this.logCounts} @change=${() => (this.logCounts = !this.logCounts)} /> log counts</label>
        <label title="the axis reaches from the least to the largest value, else from the 0.1st to the 99.9th percentile"><input type="checkbox" .checked=${this.showsTails(census)} @change=${() => (this.tails = !this.showsTails(census))} /> to the extremes</label>
        <span class="gap"></span>
        <button @click=${() => void this.savePng()}>PNG</button>
        <button @click=${() => this.saveCsv(census)}>CSV</button>
      </div>
      <canvas role="img" aria-label=${this.words(census)} @pointerdown=${this.onDown} @pointermove=${this.onMove} @pointerup=${this.onUp}></canvas>
      ${this.overlayBar(census)} ${this.brush(census)} ${this.areaBar()}
      <p class="muted small">${this.words(census)}</p>
    `;
  }
  private words(census: Census): string {
    const { tensor } = this.look;
    const wide = ['F32', 'F64', 'I32', 'I64', 'U32', 'U64'].includes(tensor.dtype);
    const odd = [census.nan > 0 ? `${format.exact(census.nan)} NaN` : '', census.posInf + census.negInf > 0 ? `${format.exact(census.posInf + census.negInf)} infinite` : ''].filter((text) => text !== '');
    const { from, to } = rangeOf(census, this.scale, this.showsTails(census) ? 0 : 0.001);
    const outside = this.scale === 'log' ? 0 : countWithin(census, -Infinity, Infinity) - countWithin(census, from, to);
    const [least, most] = [census.values[0], census.values.at(-1)];
    if (outside > 0) odd.push(`${format.plural(outside, 'value')} outside, from ${format.number(least)} to ${format.number(most)}`);
    if (!this.look.exact) return `≈ ${format.exact(census.n)} of ${format.exact(tensor.numel)} values counted, in places evenly spread${odd.length > 0 ? `; ${odd.join(', ')}` : ''}`;
    return `${format.exact(census.n)} values, all counted${wide ? ', those as one that agree in their first 12 bits' : `, ${format.exact(census.values.length)} of them distinct`}${odd.length > 0 ? `; ${odd.join(', ')}` : ''}`;
  }
  private brush(census: Census): TemplateResult {
    const range = this.brushing ?? this.look.range;
    const change = (part: 'from' | 'to') => (event: Event) => {
      const value = Number((event.target as HTMLInputElement).value.replace('−', '-'));
      if (Number.isNaN(value)) return;
      this.light({ ...(range ?? rangeOf(census, 'linear')), [part]: value });
    };
    const text = (value: number) => String(Number(value.toPrecision(5)));
    return html`<p class="brush">
      <select aria-label="mark in the picture" title="the picture shows where these values are" @change=${(e: Event) => this.choose(census, e.target as HTMLSelectElement)}>
        <option value="">mark in the picture…</option>
        ${Object.keys(LIT).map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
      <label>${range?.magnitudes === true ? 'magnitudes' : 'values'} from <input inputmode="decimal" .value=${range === null ? '' : text(range.from)} @change=${change('from')} /></label>
      <label>to <input inputmode="decimal" .value=${range === null ? '' : text(range.to)} @change=${change('to')} /></label>
      ${range === null
        ? html`<span class="muted">or drag over the bars, or a ▼ (percentile): the picture shows where those values are</span>`
        : html`<span role="status">${this.share(census, range)}</span> <button @click=${() => this.light(null)}>Clear</button>`}
    </p>`;
  }
  /** "41 values, 0.1 % of all: above p99.9" */
  private share(census: Census, range: Range): string {
    const n = countInRange(census, range);
    const all = totalOf(census);
    const percentile = (value: number) => `p${Number(percentileOf(census, value).toPrecision(4))}`;
    const [least, most] = [census.values[0]!, census.values.at(-1)!];
    const where = range.magnitudes === true ? '' : range.to >= most ? ` from ${percentile(range.from)} up` : range.from <= least ? ` up to ${percentile(range.to)}` : '';
    const about = this.look.exact ? '' : '≈ ';
    return `${about}${about === '' ? `${format.plural(n, 'value')}, ` : ''}${format.percent(n, all) || '0 %'}${n === 0 ? '' : where}${this.look.large ? ' · zoom in: what is seen is lit' : ''}`;
  }
  private choose(census: Census, select: HTMLSelectElement): void {
    const range = LIT[select.value]?.(census);
    select.value = '';
    if (range !== undefined) this.light(range);
  }
  private areaBar(): TemplateResult {
    const { area, areaCensus, view, space } = this.look;
    return html`<p class="brush">
      ${area === null
        ? html`<button title="zoom in first: the histogram of the part that is seen is drawn over that of the whole tensor" @click=${() => void this.look.chooseArea(windowOf(view, space))}>Histogram of the part in sight</button>`
        : html`<span class="over" aria-hidden="true"></span> rows ${area.row}–${area.row + area.rows - 1}, columns ${area.col}–${area.col + area.cols - 1}
            ${areaCensus === null ? nothing : html`<span class="muted">${format.plural(areaCensus.n, 'value')}, drawn as high as the whole</span>`}
            <button @click=${() => void this.look.chooseArea(null)}>Clear</button>`}
    </p>`;
  }
  private overlayBar(census: Census): TemplateResult | typeof nothing {
    const { tensor } = this.look;
    const overlays = this.overlays!;
    const count = overlays.count(tensor);
    const pins = overlays.pins.filter((pin) => pin.tensor !== tensor.index);
    const shown = overlays.shows(tensor);
    const known = shown ? overlays.peers(tensor).length : 0;
    return html`<p class="brush">
      ${count === 0
        ? nothing
        : html`<label><input type="checkbox" .checked=${shown} @change=${() => overlays.toggle(tensor)} /> <span class="key peer" aria-hidden="true"></span> ${overlays.sampled(tensor) ? '≈ ' : ''}${this.peersInWords(count)}</label>
            ${shown ? (known < count ? html`<span class="muted">${known} counted…</span>` : nothing) : html`<span class="muted">reads ${format.bytes(overlays.cost(tensor))}</span>`}`}
      <button aria-pressed=${String(overlays.isPinned(tensor))} title="this histogram stays, as a curve, while other tensors are looked at" @click=${() => overlays.togglePin(tensor, census)}>${overlays.isPinned(tensor) ? 'Do not keep this curve' : 'Keep this curve'}</button>
      ${pins.map((pin) => html`<span class="pin"><span class="key pin${overlays.pins.indexOf(pin)}" aria-hidden="true"></span><span class="mono">${pin.name}</span> <button aria-label="do not keep ${pin.name}" @click=${() => this.unpin(pin)}>✕</button></span>`)}
    </p>`;
  }
  /** "the same in 23 other layers"; of experts, which are numbered twice, "24 of 31 others like it". */
  private peersInWords(count: number): string {
    const { pattern, peers } = this.app.selection!;
    const others = peers.length - 1;
    const some = count < others ? `${count} of ` : '';
    return pattern.split('.').filter((part) => part === '*').length > 1 ? `${some}${format.plural(others, 'other')} like it` : `the same in ${some}${format.plural(others, 'other layer')}`;
  }
  private unpin({ tensor }: { tensor: number }): void {
    const { model } = this.app;
    if (model === null) return;
    model.pins = model.pins.filter((pin) => pin.tensor !== tensor);
    this.app.changed();
  }

  // --- brushing

  private light(range: Range | null): void {
    this.brushing = null;
    void this.look.chooseRange(range === null ? null : ordered(range));
  }
  /** While it is dragged, where that is quick. */
  private brushed(range: Range): void {
    this.brushing = ordered(range);
    if (this.lighting || this.look.tensor.nbytes > LIVE) return;
    this.lighting = true;
    void this.look.chooseRange(this.brushing).finally(() => (this.lighting = false));
  }
  private valueAt(event: PointerEvent): number {
    return valueUnder(event.offsetX, this.bins!.edges, plotOf(this.sketch.size));
  }
  /** Of a quantile's handle: from the value outwards. */
  private tail(quantile: number, value: number): Range {
    const { values } = this.look.census!;
    const [p] = SHOWN[quantile]!;
    return p < 0.5 ? { from: Math.min(values[0]!, value), to: value } : { from: value, to: Math.max(values.at(-1)!, value) };
  }
  private readonly onDown = (event: PointerEvent) => {
    if (this.bins === null || event.button !== 0) return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    const { size } = this.sketch;
    const quantile = handleAt(event.offsetX, event.offsetY, this.quantiles, this.bins, size);
    const { range } = this.look;
    const edge = range === null || range.magnitudes === true ? null : edgeAt(event.offsetX, range, this.bins, size);
    if (quantile >= 0) {
      this.held = { quantile };
      this.brushing = this.tail(quantile, this.quantiles[quantile]![1]);
    } else {
      this.held = edge === null ? { value: this.valueAt(event) } : { other: edge === 'from' ? range!.to : range!.from };
    }
  };
  private readonly onMove = (event: PointerEvent) => {
    if (this.bins === null) return;
    const value = this.valueAt(event);
    const { held } = this;
    if (held === null) {
      const over = handleAt(event.offsetX, event.offsetY, this.quantiles, this.bins, this.sketch.size) >= 0;
      (event.target as HTMLElement).classList.toggle('grip', over);
    } else if ('quantile' in held) {
      this.brushed(this.tail(held.quantile, value));
    } else {
      const from = 'value' in held ? held.value : held.other;
      this.brushed({ from, to: value, ...(this.scale === 'log' ? { magnitudes: true } : {}) });
    }
  };
  private readonly onUp = () => {
    if (this.held === null) return;
    this.held = null;
    this.light(this.brushing);
  };
  private async savePng(): Promise<void> {
    save(`${this.look.tensor.name}.histogram.png`, await this.sketch.png({ title: `${this.look.tensor.name} · histogram` }));
  }
  private saveCsv({ values, counts }: Census): void {
    saveText(`${this.look.tensor.name}.census${this.look.exact ? '' : '.sample'}.csv`, csvOf([['value', 'count'], ...Array.from(values, (value, i) => [value, counts[i]!])]), 'text/csv');
  }

  static override styles = [
    base,
    pictureBar,
    css`
      .bar,
      .brush {
        display: flex;
        flex-wrap: wrap;
        gap: 6px 10px;
        align-items: center;
        margin: 0 0 4px;
      }
      canvas {
        height: clamp(150px, 21vh, 320px);
        cursor: col-resize;
        touch-action: none;
      }
      @container (min-width: 800px) {
        canvas {
          height: clamp(170px, 34vh, 480px);
        }
      }
      .brush {
        font-size: 13px;
      }
      .brush input[inputmode] {
        width: 84px;
        min-height: 26px;
        border: 1px solid var(--line-strong);
        border-radius: 4px;
        background: var(--page);
      }
      canvas.grip {
        cursor: ew-resize;
      }
      .key {
        display: inline-block;
        width: 18px;
        vertical-align: middle;
        border-top: 2px solid var(--text);
      }
      .key.peer {
        border-top-width: 1px;
        opacity: 0.6;
      }
      .key.pin0 {
        border-top: 2px dashed var(--focus);
      }
      .key.pin1 {
        border-top: 2px dotted var(--good);
      }
      .key.pin2 {
        border-top: 2px dashed var(--bad);
      }
      .key.pin3 {
        border-top: 3px double var(--muted);
      }
      .pin {
        max-width: 100%;
        overflow-wrap: anywhere;
      }
      .pin button {
        min-height: 24px;
        padding: 0 6px;
      }
      .brush select {
        min-height: 26px;
      }
      .over {
        width: 16px;
        height: 0;
        border-top: 2px solid var(--warn);
      }
      .small {
        font-size: 12px;
      }
    `,
  ];
}
customElements.define('assay-histogram', HistogramPanel);
