// SPDX-License-Identifier: Apache-2.0
// A mixture of experts: layers by experts with what is dead, identical or alike, and one layer's pairs and router.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import { answerTo, ask, askByItself, isSampled, LOOKS } from '../app/looks.js';
import { EXPERT_STATS, expertSign, expertValue, layersOf, tensorOfExpert, type ExpertStat, type MoeLayer } from '../core/experts.js';
import { base, pictureBar } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import type { Cell } from '../ui/grid-keys.js';
import { csvOf, save, saveText } from '../ui/save.js';
import { styled } from '../ui/styled.js';
import { gridHeight, type Grid } from './grid-draw.js';
import { GridPicture } from './grid-picture.js';
import { lookOffer } from './measure-offer.js';

const MOST_PAIRS = 24;
const MOST_IN_SQUARE = 64;

export class ExpertsView extends AppElement {
  static override properties = { ...AppElement.properties, stat: { state: true } };
  declare stat: ExpertStat;
  private asked: OpenModel | null = null;
  private readonly picture = new GridPicture(this, 'canvas.all', () => this.grid(), (cell) => void this.enter(cell));
  private readonly pairs = new GridPicture(this, 'canvas.pairs', () => this.square());

  constructor() {
    super();
    this.stat = 'norm';
  }
  private get cursor(): Cell {
    return this.picture.cursor ?? { row: 0, col: 0 };
  }
  private get measured(): boolean {
    return this.app.model !== null && answerTo(this.app.model, 'moe') !== undefined;
  }
  /** Whether what is shown is of a first look. */
  private get sampled(): boolean {
    return this.app.model !== null && isSampled(answerTo(this.app.model, 'moe'));
  }
  private get layers(): MoeLayer[] {
    const model = this.app.model;
    return model === null ? [] : layersOf(answerTo(model, 'moe') ?? model.moe);
  }
  private get layer(): MoeLayer | undefined {
    return this.layers[Math.min(this.cursor.row, this.layers.length - 1)];
  }

  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    if (model.moe['detected'] !== true) return html`<p class="muted">This is no mixture of experts: no layer holds numbered or stacked experts with a router.</p>`;
    if (model !== this.asked) {
      this.asked = model;
      this.picture.cursor = { row: 0, col: 0 };
      queueMicrotask(() => void askByItself(this.app, 'moe'));
    }
    const { layers, layer } = this;
    const topK = (answerTo(model, 'moe') ?? model.moe)['top_k'] as number | null;
    return html`
      <h2>${format.plural(layers.length, 'layer')} of experts, ${String(model.moe['expert_count'])} each${topK === null ? '' : `, ${topK} chosen for a token`}</h2>
      ${this.measured && !this.sampled ? nothing : this.offer()} ${this.measured ? this.summary(layers) : nothing}
      <div class="bar" role="toolbar" aria-label="experts">
        <select aria-label="statistic" @change=${(e: Event) => (this.stat = (e.target as HTMLSelectElement).value as ExpertStat)}>
          ${Object.entries(EXPERT_STATS).map(([id, text]) => html`<option value=${id} ?selected=${id === this.stat}>${text}</option>`)}
        </select>
        <span class="gap"></span>
        <button @click=${() => void this.savePng()}>PNG</button>
        <button @click=${() => this.saveCsv()}>CSV</button>
      </div>
      <canvas
        class="all"
        ${styled({ height: `${gridHeight({ head: 26, rows: layers.map(String) })}px` })}
        tabindex="0"
        role="application"
        aria-roledescription="grid of layers and experts"
        aria-label="${layers.length} layers by ${String(model.moe['expert_count'])} experts, ${EXPERT_STATS[this.stat]}; arrow keys move, Enter shows the expert's tensor"
        @pointermove=${this.picture.onMove}
        @click=${this.picture.onClick}
        @keydown=${this.picture.onKey}
      ></canvas>
      <p class="readout mono" role="status">${this.words()}</p>
      <p class="muted small">✕ dead · = identical to another · ~ much like another · ! not finite · ? missing · ${this.colourWords(layers)}${this.sampled ? ' · hatched where a sample was read' : ''}</p>
      ${layer === undefined ? nothing : this.details(layer)}
    `;
  }
  /** What the colours reach to, and how far apart the cells are: where all are alike one colour is right. */
  private colourWords(layers: readonly MoeLayer[]): string {
    if (this.stat === 'likeness') return 'colour from 0 to 1';
    const values = layers.flatMap((layer) => Array.from({ length: layer.experts }, (_, expert) => expertValue(layer, expert, this.stat))).filter((value) => value !== null);
    if (values.length === 0) return 'not measured yet';
    const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => format.number(Number(value.toPrecision(3))));
    return `colour from 0 to ${most}; ${least === most ? 'all are the same' : `the least is ${least}`}`;
  }
  private offer(): TemplateResult {
    return html`${this.measured ? nothing : html`<p>Names and shapes only so far. Norms, dead, identical and similar experts need all values.</p>`}
    ${lookOffer(this.app, {
      verb: 'Measure',
      doing: 'Measuring experts',
      ...LOOKS.moe,
      sampled: this.sampled,
      sample: '64 KiB of each MiB of an expert’s matrices',
      firstBytes: this.app.bytesOf('moe', true),
      bytes: this.app.bytesOf('moe', false),
      run: (sample) => void ask(this.app, 'moe', sample),
    })}`;
  }
  private summary(layers: readonly MoeLayer[]): TemplateResult {
    const sum = (of: (layer: MoeLayer) => number) => layers.reduce((n, layer) => n + of(layer), 0);
    const parts = [
      [sum((layer) => layer.dead.length), 'dead expert', 'dead experts', 'warning'],
      [sum((layer) => layer.identical.length), 'identical pair', 'identical pairs', 'warning'],
      [sum((layer) => layer.missing.length), 'missing expert', 'missing experts', 'warning'],
      // No fault: experts that were made of one look so.
      [sum((layer) => layer.similar.length), 'similar pair', 'similar pairs', ''],
    ] as const;
    const found = parts.filter(([n]) => n > 0);
    const similar = parts[3][0] > 0;
    return found.length === 0
      ? html`<p class="good">${this.sampled ? '≈ ' : ''}No expert is dead, missing, or much like another${this.sampled ? ', as far as the sample shows' : ''}.</p>`
      : html`<p>
          ${this.sampled ? '≈ ' : ''}${found.map(([n, one, many, severity], i) => html`${i > 0 ? ', ' : ''}<b class=${severity}>${format.plural(n, one, many)}</b>`)}${similar ? html` <span class="muted">· similar ones are no fault: experts that began as copies of one look so</span>` : nothing}
        </p>`;
  }
  private details(layer: MoeLayer): TemplateResult {
    const pairs = [...layer.identical.map(([a, b]) => ({ a, b, cosine: 1, identical: true })), ...layer.similar.map((pair) => ({ ...pair, identical: false }))];
    const square = pairs.length > 0 && layer.experts <= MOST_IN_SQUARE;
    return html`<h3>Layer ${layer.layer ?? layer.prefix}</h3>
      <div class="sides">
        <div>
          <dl>
            <dt>experts</dt><dd>${layer.experts}${layer.fused ? ', stacked in one tensor' : ''}</dd>
            <dt>router</dt><dd>${layer.router === null ? 'none found' : html`<span class="mono">${layer.router.name}</span> ${format.shape(layer.router.shape)} <button class="plain" @click=${() => void this.show(layer.router!.name)}>show</button>`}</dd>
            ${layer.shared.length > 0 ? html`<dt>shared</dt><dd>${layer.shared.map((one) => (typeof one === 'string' ? one : ((one as { name?: string }).name ?? JSON.stringify(one)))).join(', ')}</dd>` : nothing}
            ${layer.dead.length > 0 ? html`<dt>dead</dt><dd class="warning">${this.about(layer)}${layer.dead.join(', ')}</dd>` : nothing}
            ${layer.missing.length > 0 ? html`<dt>missing</dt><dd class="warning">${layer.missing.join(', ')}</dd>` : nothing}
            ${layer.mean_cosine == null ? nothing : html`<dt>mean cosine</dt><dd>${this.about(layer)}${format.number(layer.mean_cosine)} of all pairs</dd>`}
          </dl>
          ${pairs.length === 0
            ? html`<p class="muted">${this.measured ? `${this.about(layer)}No two experts are much alike.` : ''}</p>`
            : html`<table>
                <tr><th>pair</th><th class="number">cosine</th><th></th></tr>
                ${pairs.slice(0, MOST_PAIRS).map((pair) => html`<tr><td>${pair.a} and ${pair.b}</td><td class="number">${this.about(layer)}${pair.cosine.toFixed(layer.exact === false ? 3 : 6)}</td><td class="warning">${pair.identical ? 'identical' : ''}</td></tr>`)}
              </table>`}
        </div>
        ${square ? html`<canvas class="pairs" ${styled({ height: `${gridHeight({ head: 26, rows: Array.from({ length: layer.experts }, String) })}px` })} role="img" aria-label="experts by experts: pairs that are alike"></canvas>` : nothing}
      </div>`;
  }
  private grid(): Omit<Grid, 'cursor'> | null {
    const { layers } = this;
    if (layers.length === 0) return null;
    const experts = Math.max(...layers.map((layer) => layer.experts));
    const values = layers.map((layer) => Array.from({ length: experts }, (_, expert) => expertValue(layer, expert, this.stat)));
    const largest = Math.max(0, ...values.flat().map((value) => value ?? 0));
    const unread = !this.measured && this.stat !== 'parameters';
    return {
      rows: layers.map((layer) => String(layer.layer ?? layer.prefix)),
      cols: Array.from({ length: experts }, (_, i) => String(i)),
      head: 26,
      color: (row, col) => {
        const value = values[row]![col]!;
        if (col >= layers[row]!.experts || (value === null && !unread)) return null;
        return this.picture.colors.css('sequential', value ?? 0, this.stat === 'likeness' ? 1 : largest);
      },
      approximate: (row) => layers[row]!.exact === false,
      sign: (row, col) => expertSign(layers[row]!, col).sign,
    };
  }
  private square(): Omit<Grid, 'cursor'> | null {
    const { layer } = this;
    if (layer === undefined) return null;
    const labels = Array.from({ length: layer.experts }, (_, i) => String(i));
    const of = (row: number, col: number) => {
      if (row === col) return null;
      if (layer.identical.some(([a, b]) => (a === row && b === col) || (a === col && b === row))) return 1;
      return layer.similar.find(({ a, b }) => (a === row && b === col) || (a === col && b === row))?.cosine ?? 0;
    };
    return {
      rows: labels,
      cols: labels,
      head: 26,
      color: (row, col) => {
        const value = of(row, col);
        return value === null ? null : this.pairs.colors.css('sequential', value, 1);
      },
      approximate: () => layer.exact === false,
    };
  }
  /** Before numbers of a sample. */
  private about(layer: MoeLayer): string {
    return layer.exact === false ? '≈ ' : '';
  }
  private words(): string {
    const { layer, cursor } = this;
    const row = layer?.each.find((one) => one.expert === cursor.col);
    if (layer === undefined) return '';
    if (row === undefined) return `layer ${layer.layer ?? layer.prefix} has no expert ${cursor.col}`;
    const { words } = expertSign(layer, cursor.col);
    const value = this.stat === 'parameters' ? '' : ` · ${EXPERT_STATS[this.stat]} ${this.about(layer)}${format.number(expertValue(layer, cursor.col, this.stat))}`;
    return `layer ${layer.layer ?? layer.prefix}, expert ${cursor.col}${value} · ${format.count(row.parameters)} parameters${words === '' ? '' : ` · ${words}`}`;
  }

  private async enter({ row, col }: Cell): Promise<void> {
    const { model } = this.app;
    const layer = this.layers[row];
    if (model === null || layer === undefined) return;
    const tensor = tensorOfExpert(model.names, layer, col);
    if (tensor < 0) return;
    await this.app.select(tensor);
    this.app.show('tensor');
  }
  private async show(name: string): Promise<void> {
    const { model } = this.app;
    if (model === null) return;
    const index = await this.app.engine.call('find', { model: model.id, name });
    if (index < 0) return;
    await this.app.select(index);
    this.app.show('tensor');
  }
  private async savePng(): Promise<void> {
    save(`${this.app.model!.label}.experts.png`, await this.picture.png(`${this.app.model!.label} · ${EXPERT_STATS[this.stat]} by expert`));
  }
  private saveCsv(): void {
    const rows = this.layers.flatMap((layer) => layer.each.map((one) => [layer.layer ?? layer.prefix, one.expert, one.parameters, one.norm, one.absmax, one.router_norm, expertSign(layer, one.expert).words, layer.exact === false ? 'no' : 'yes']));
    saveText(`${this.app.model!.label}.experts.csv`, csvOf([['layer', 'expert', 'parameters', 'norm', 'absmax', 'router_norm', 'finding', 'exact'], ...rows]), 'text/csv');
  }

  static override styles = [
    base,
    pictureBar,
    css`
      .all {
        cursor: pointer;
      }
      .sides {
        display: flex;
        flex-wrap: wrap;
        gap: 10px 24px;
      }
      .sides > div {
        flex: 1 1 220px;
        min-width: 0;
      }
      .pairs {
        flex: 1 1 240px;
        max-width: 420px;
      }
      .readout {
        min-height: 1.5em;
        margin: 4px 0;
        max-width: none;
      }
      .small {
        font-size: 12px;
      }
      dl {
        display: grid;
        grid-template-columns: max-content minmax(0, 1fr);
        gap: 2px 12px;
        margin: 0 0 8px;
        font-size: 13px;
      }
      dt {
        color: var(--muted);
      }
      dd {
        margin: 0;
        overflow-wrap: anywhere;
      }
      dd button {
        min-height: 24px;
        padding: 0 4px;
        text-decoration: underline;
      }
    `,
  ];
}
customElements.define('assay-experts', ExpertsView);
