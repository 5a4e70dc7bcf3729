// SPDX-License-Identifier: Apache-2.0
// The exact histogram of a tensor: scales, quantiles, a part over the whole, and a range of values to light up in the picture.
import { css, html, nothing, type TemplateResult } from 'lit';
import { axisFor, binsOf, countWithin, hasFarTails, magnitudes, quantileOf, rangeOf, type Bins, type Scale } from '../core/histogram.js';
import type { Census } from '../core/protocol.js';
import { base, pictureBar } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { csvOf, save, saveText } from '../ui/save.js';
import { Sketch } from '../ui/sketch.js';
import { drawHistogram, plotOf, valueUnder, type HistogramScene } from './histogram-draw.js';
import type { Range, TensorLook } from './tensor-look.js';
import { windowOf } from './space.js';

const SHOWN: [number, string][] = [[0.001, 'p0.1'], [0.01, 'p1'], [0.25, 'p25'], [0.5, 'p50'], [0.75, 'p75'], [0.99, 'p99'], [0.999, 'p99.9']];

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
  declare look: TensorLook;
  declare revision: unknown;
  declare scale: Scale;
  declare logCounts: boolean;
  /** Whether the axis reaches to the extremes, else to p0.1 and p99.9; by itself unless said. */
  declare tails: boolean | null;
  declare brushing: Range | null;
  private bins: Bins | null = null;
  private pressed: number | null = null;
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

  private scene(width: number): HistogramScene | null {
    const { census, areaCensus, stats } = this.look;
    if (census === null || census.values.length === 0) return null;
    const { from, to } = rangeOf(census, this.scale, this.showsTails(census) ? 0 : 0.001);
    const n = Math.max(16, Math.min(256, Math.floor(plotOf({ width, height: 100 }).width / 3)));
    this.bins = binsOf(census, axisFor(this.scale, magnitudes(census)), from, to, n);
    const quantiles = SHOWN.map(([p, label]) => [label, stats?.quantiles[String(p)] ?? quantileOf(census, p)] as const);
    return {
      bins: this.bins,
      logCounts: this.logCounts,
      quantiles: this.scale === 'log' ? [] : quantiles,
      range: this.brushing ?? this.look.range,
      over: areaCensus === null ? null : binsOf(areaCensus, this.bins.axis, from, to, n).counts,
    };
  }

  private showsTails(census: Census): boolean {
    return this.tails ?? (this.scale !== 'linear' || !hasFarTails(census));
  }
  override render(): TemplateResult {
    const { look } = this;
    const { census } = look;
    if (census === null) return html`<p class="muted">${look.large ? 'The histogram needs all values: “Read all” counts them.' : 'Counting…'}</p>`;
    return html`
      <div class="bar" role="toolbar" aria-label="histogram">
        <select aria-label="scale of values" @change=${(e: Event) => (this.scale = (e.target as HTMLSelectElement).value as Scale)}>
          <option value="linear" ?selected=${this.scale === 'linear'}>linear</option>
          <option value="symlog" ?selected=${this.scale === 'symlog'}>symmetric log</option>
          <option value="log" ?selected=${this.scale === 'log'}>log of magnitude</option>
        </select>
        <label><input type="checkbox" .checked=${this.logCounts} @change=${() => (this.logCounts = !this.logCounts)} /> log counts</label>
        <label><input type="checkbox" .checked=${this.showsTails(census)} @change=${() => (this.tails = !this.showsTails(census))} /> tails</label>
        <span class="gap"></span>
        <button @click=${() => void this.savePng()}>PNG</button>
        <button @click=${() => this.saveCsv(census)}>CSV</button>
      </div>
      <canvas role="img" aria-label=${this.words(census)} @pointerdown=${this.onDown} @pointermove=${this.onMove} @pointerup=${this.onUp}></canvas>
      ${this.brush()} ${this.areaBar()}
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
    return `${format.exact(census.n)} values, all counted${wide ? ' by their leading 12 bits' : `, ${format.exact(census.values.length)} of them distinct`}${odd.length > 0 ? `; ${odd.join(', ')}` : ''}`;
  }
  private brush(): TemplateResult {
    const range = this.brushing ?? this.look.range;
    const { census } = this.look;
    const change = (part: 'from' | 'to') => (event: Event) => {
      const value = Number((event.target as HTMLInputElement).value.replace('−', '-'));
      if (Number.isNaN(value)) return;
      const all = rangeOf(census!, 'linear');
      this.light({ ...(range ?? all), [part]: value });
    };
    return html`<p class="brush">
      <label>values from <input inputmode="decimal" .value=${range === null ? '' : String(Number(range.from.toPrecision(5)))} @change=${change('from')} /></label>
      <label>to <input inputmode="decimal" .value=${range === null ? '' : String(Number(range.to.toPrecision(5)))} @change=${change('to')} /></label>
      ${range === null
        ? html`<span class="muted">drag over the bars to light values up in the picture</span>`
        : html`<span role="status">${format.plural(countWithin(census!, range.from, range.to), 'value')}</span> <button @click=${() => this.light(null)}>Clear</button>`}
    </p>`;
  }
  private areaBar(): TemplateResult {
    const { area, areaCensus, view, space } = this.look;
    return html`<p class="brush">
      ${area === null
        ? html`<button @click=${() => void this.look.chooseArea(windowOf(view, space))}>Compare what is seen with the whole</button>`
        : html`<span class="over" aria-hidden="true"></span> rows ${area.row}–${area.row + area.rows - 1}, columns ${area.col}–${area.col + area.cols - 1}
            ${areaCensus === null ? nothing : html`<span class="muted">${format.plural(areaCensus.n, 'value')}, scaled to the same height</span>`}
            <button @click=${() => void this.look.chooseArea(null)}>Clear</button>`}
    </p>`;
  }
  private light(range: Range | null): void {
    this.brushing = null;
    if (range !== null && range.from > range.to) range = { from: range.to, to: range.from };
    void this.look.chooseRange(range);
  }
  private valueAt(event: PointerEvent): number {
    return valueUnder(event.offsetX, this.bins!, this.sketch.size);
  }
  private readonly onDown = (event: PointerEvent) => {
    if (this.bins === null || event.button !== 0 || this.scale === 'log') return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    this.pressed = this.valueAt(event);
  };
  private readonly onMove = (event: PointerEvent) => {
    if (this.pressed === null) return;
    const value = this.valueAt(event);
    this.brushing = { from: Math.min(this.pressed, value), to: Math.max(this.pressed, value) };
  };
  private readonly onUp = () => {
    if (this.pressed === null) return;
    this.pressed = null;
    this.light(this.brushing);
  };
  private async savePng(): Promise<void> {
    save(`${this.look.tensor.name}.histogram.png`, await this.sketch.png());
  }
  private saveCsv({ values, counts }: Census): void {
    saveText(`${this.look.tensor.name}.census.csv`, csvOf([['value', 'count'], ...Array.from(values, (value, i) => [value, counts[i]!])]), 'text/csv');
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
      .brush input {
        width: 84px;
        min-height: 26px;
        border: 1px solid var(--line-strong);
        border-radius: 4px;
        background: var(--page);
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
