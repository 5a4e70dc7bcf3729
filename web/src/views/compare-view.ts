// SPDX-License-Identifier: Apache-2.0
// Two models: what differs in structure, what changed most, and the pictures of one tensor in both and of the change.
import { html, nothing, type TemplateResult } from 'lit';
import { MEASURED_AT_ONCE, STARTS_BY_ITSELF } from '../app/app.js';
import type { OpenModel } from '../app/model.js';
import { isSampled } from '../app/looks.js';
import { filesOfInput, modelsOf } from '../core/dropped.js';
import { identicalNames, relation, type Changed } from '../core/comparison.js';
import type { Document, HeatmapGrid, Picture, Tensor, Window } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { save, saveJson } from '../ui/save.js';
import { Sketch, type Ink, type Size } from '../ui/sketch.js';
import { MapColors } from './colors.js';
import { drawLayers, type LayerChange } from './compare-draw.js';
import { changedTable, nameList, saveChanges, unchanged } from './compare-table.js';
import { lookOffer } from './measure-offer.js';
import { compareStyles } from './compare-styles.js';
import { drawPicture, elementAt, leastOf, pixelsOf, plotOf, short } from './picture-draw.js';
import { drawLegend, legendText, marksOf } from './picture-legend.js';
import { clamped, sliceOf, wheelZoom, whole, windowOf, zoomed, type Space, type Viewport } from './space.js';

type Mode = 'a' | 'b' | 'delta';
const MODES: [Mode, string][] = [
  ['a', 'A'],
  ['b', 'B'],
  ['delta', 'Δ = B − A'],
];
/** One tensor in both models, as far as it has been read. */
interface Pair {
  row: Pick<Changed, 'name_a' | 'name_b' | 'shape_a' | 'shape_b'>;
  a: number;
  /** Null where A's picture is all there is to see: B has none, or the same. */
  b: number | null;
  nbytes: number;
  space: Space;
  parts: { window: Window; pictures: Partial<Record<Mode, Picture>> }[];
}

const TITLES = { names: 'comparing names', sample: 'a first look at differences', all: 'comparing values' };
const FLICKER = 450; // milliseconds a picture

export class CompareView extends AppElement {
  static override properties = { ...AppElement.properties, diff: { state: true }, pair: { state: true }, mode: { state: true }, view: { state: true }, flickers: { state: true }, stopped: { state: true } };
  declare diff: Document | null;
  declare pair: Pair | null;
  declare mode: Mode;
  declare view: Viewport;
  declare flickers: boolean;
  /** Not even names could be compared. */
  declare stopped: boolean;
  private readonly colors = new MapColors(this);
  private compared: readonly [OpenModel, OpenModel] | null = null;
  private costs: { first: number; all: number } | null = null;
  private timer = 0;
  private wanted = 0;
  /** The tensor that was chosen last, here or elsewhere. */
  private followed: Tensor | null = null;
  private drag: { x: number; y: number; view: Viewport } | null = null;
  private images = new WeakMap<Picture, { key: string; image: HTMLCanvasElement }>();
  private readonly sketch = new Sketch(
    this,
    'canvas.picture',
    (ctx, size, ink) => this.draw(ctx, size, ink),
    this.colors.refresh,
  );
  private readonly colorBar = new Sketch(this, 'canvas.legend', (ctx, size, ink) => this.legend(ctx, size, ink));

  constructor() {
    super();
    this.diff = null;
    this.pair = null;
    this.mode = 'delta';
    this.view = { row: 0, col: 0, rows: 1, cols: 1 };
    this.flickers = false;
    this.stopped = false;
    new Sketch(this, 'canvas.layers', (ctx, size, ink) => drawLayers(ctx, this.layers, isSampled(this.diff), size, ink));
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.flicker(false);
  }
  private get layers(): readonly LayerChange[] {
    return (this.diff?.['layers'] as LayerChange[] | undefined) ?? [];
  }

  override render(): TemplateResult {
    const { model, other } = this.app;
    if (model === null) return html``;
    if (other === null) return html`<p>Choose a second checkpoint: it is compared with <b>${model.label}</b>, names and shapes first, then values, the most changed first.</p>
      <p class="sides">${this.offerBefore()} ${this.chooser('Choose what to compare with…')}</p>
      <p class="muted">Or drop both files at once. Neither leaves this page.</p>`;
    if (this.compared?.[0] !== model || this.compared[1] !== other) {
      this.compared = [model, other];
      this.diff = null;
      this.pair = null;
      this.costs = null;
      queueMicrotask(() => void this.compare(model, other));
    }
    const { diff } = this;
    this.follow();
    return html`
      <p class="sides">
        <span><b>A</b> ${model.label}</span> <span><b>B</b> ${other.label}</span>
        <button title="what is A becomes B: changes are measured against A" @click=${() => this.app.swap()}>Swap A and B</button> ${this.chooser('Another B…')}
      </p>
      ${diff === null ? this.stopped ? html`<p><button class="primary" @click=${() => void this.compare(model, other)}>Compare again</button></p>` : html`<p class="muted">Comparing…</p>` : html`${this.structure(diff, model)} ${unchanged(diff, this.app.selection?.tensor.name)} ${this.picture()} ${changedTable(diff, this.pair?.row.name_a, (row) => void this.choose(row))}`}
    `;
  }
  private offerBefore(): TemplateResult | typeof nothing {
    const { before } = this.app;
    return before === null ? nothing : html`<button class="primary" @click=${() => void this.app.compareWithBefore()}>Compare with ${before.label}, open before</button>`;
  }
  private chooser(text: string): TemplateResult {
    return html`<label class="choose">${text}<input type="file" multiple aria-label="checkpoint to compare with" @change=${this.chosen} /></label>`;
  }
  private readonly chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const [files] = modelsOf(filesOfInput(input.files!));
    input.value = '';
    if (files !== undefined) void this.app.openOther(files);
  };
  /** Structure at once; then what starts by itself: a first look at values, and all of them, each where that is not much. */
  private async compare(a: OpenModel, b: OpenModel): Promise<void> {
    this.stopped = false;
    if (!(await this.read(a, b, 'names'))) {
      this.stopped = this.isOf(a, b);
      return;
    }
    const costOf = (sample: boolean) => this.app.quietly('', 'diffCost', { model: a.id, other: b.id, sample }, 0, 'The comparison');
    const [all, first] = [await costOf(false), await costOf(true)];
    if (all === null || first === null || !this.isOf(a, b)) return;
    this.costs = { first, all };
    if (all > MEASURED_AT_ONCE && (first > STARTS_BY_ITSELF || !(await this.read(a, b, 'sample')))) return;
    if (all <= STARTS_BY_ITSELF) await this.read(a, b, 'all');
  }
  private isOf(a: OpenModel, b: OpenModel): boolean {
    return this.compared?.[0] === a && this.compared[1] === b;
  }
  /** False when it was cancelled, or failed: what was known before is still shown. */
  private async read(a: OpenModel, b: OpenModel, what: 'names' | 'sample' | 'all'): Promise<boolean> {
    const values = what !== 'names';
    const diff = await this.app.run(TITLES[what], 'diff', { model: a.id, other: b.id, values, sample: what === 'sample' }, what === 'all' ? this.costs?.all : 0);
    if (diff === null || !this.isOf(a, b)) return false;
    const shown = this.pair?.row.name_a;
    this.diff = diff;
    const [worst] = diff['changed'] as Changed[];
    const chosen = this.rowOf(this.app.selection?.tensor.name) ?? this.rowOf(shown);
    this.followed = this.app.selection?.tensor ?? null;
    // The pictures of a row that was chosen stay where its numbers become exact.
    if (this.pair !== null && chosen?.name_a === shown && chosen !== undefined) this.pair.row = chosen;
    else if (chosen === undefined && this.pair !== null && this.pair.row.name_a === this.followed?.name) await this.chooseOther(this.followed);
    else if (values && worst !== undefined) await this.choose(chosen ?? worst);
    return true;
  }
  private rowOf(name: string | undefined): Changed | undefined {
    return (this.diff?.['changed'] as Changed[] | undefined)?.find(({ name_a }) => name_a === name);
  }
  /** A tensor that is chosen in the tree is shown here too. */
  private follow(): void {
    const tensor = this.app.selection?.tensor ?? null;
    if (this.diff === null || tensor === this.followed) return;
    this.followed = tensor;
    const row = this.rowOf(tensor?.name);
    if (row !== undefined && row !== this.pair?.row) queueMicrotask(() => void this.choose(row));
    if (row === undefined && tensor !== null) queueMicrotask(() => void this.chooseOther(tensor));
  }
  /** A tensor that no change is known of: with its own picture, which stands for both where they are the same. */
  private async chooseOther(tensor: Tensor): Promise<void> {
    const { diff } = this;
    if (diff === null) return;
    const { name, shape } = tensor;
    if (!tensor.readable || tensor.numel === 0) {
      this.pair = null;
      return;
    }
    // Before values were compared it may differ.
    const alone = diff['values_compared'] === true || (diff['only_a'] as string[]).includes(name);
    await this.choose({ name_a: name, name_b: name, shape_a: shape, shape_b: shape }, alone);
  }

  private structure(diff: Document, model: OpenModel): TemplateResult {
    const list = (key: string) => diff[key] as string[];
    const changed = diff['changed'] as Changed[];
    const identical = diff['identical'] as number;
    const compared = diff['values_compared'] === true;
    const sampled = isSampled(diff);
    const same = identicalNames(model.names.names, changed, list('only_a'), identical);
    const unlike = relation(changed, identical);
    const other = this.app.other!;
    return html`
      <p class=${changed.length + list('only_a').length + list('only_b').length === 0 ? 'good' : ''}>
        ${compared
          ? html`<b>${sampled ? '≈ ' : ''}${format.plural(changed.length, 'tensor')} changed</b>, ${format.exact(identical)} ${sampled ? 'the same where they were looked at' : 'identical'}`
          : html`<b>${format.plural(changed.length, 'tensor')}</b> with another shape or dtype; values not compared`}${list('only_a').length + list('only_b').length === 0 ? '; both have the same names' : nothing}
        <button @click=${() => saveJson(`${this.fileName}.json`, diff)}>JSON</button>
        <button @click=${() => saveChanges(this.fileName, changed)}>CSV</button>
      </p>
      ${unlike === '' ? nothing : html`<p class="warning"><b>${unlike}</b></p>`}
      ${nameList('only in A', list('only_a'))} ${nameList('only in B', list('only_b'))} ${nameList(sampled ? 'the same where they were looked at' : 'identical in both', same)}
      ${compared && !sampled
        ? nothing
        : lookOffer(this.app, {
            verb: 'Compare',
            doing: 'Comparing values',
            first: TITLES.sample,
            exact: TITLES.all,
            sampled,
            sample: 'one MiB in sixteen of large tensors; tensors with other names are not looked for',
            firstBytes: this.costs?.first ?? null,
            bytes: this.costs?.all ?? null,
            run: (sample) => void this.read(model, other, sample ? 'sample' : 'all'),
          })}
      ${compared && this.layers.length > 1 ? html`<p class="muted small">Change of each layer, ‖Δ‖ / ‖A‖ of its changed tensors together</p><canvas class="layers" role="img" aria-label=${`relative change by layer: ${this.layers.map(({ layer, rel_l2 }) => `${layer}: ${format.number(rel_l2)}`).slice(0, 200).join(', ')}`}></canvas>` : nothing}
    `;
  }
  // --- pictures

  private async choose(row: Pair['row'], alone = false): Promise<void> {
    const [model, other] = this.compared!;
    const call = this.app.engine.call.bind(this.app.engine);
    try {
      const a = await call('find', { model: model.id, name: row.name_a });
      const inB = alone ? -1 : await call('find', { model: other.id, name: row.name_b });
      const b = inB < 0 ? null : inB;
      const [tensor] = await call('tensors', { model: model.id, indices: [a] });
      if (tensor === undefined) return;
      const space = { rows: tensor.shape.slice(0, -1).reduce((n, d) => n * d, 1), cols: tensor.shape.at(-1) ?? 1 };
      this.view = whole(space);
      const wasAlone = this.pair?.b === null;
      this.pair = { row, a, b, nbytes: tensor.nbytes, space, parts: [] };
      this.flicker(false);
      if (b === null) this.mode = 'a';
      else if (this.mode === 'a' && wasAlone) this.mode = 'delta';
      if (this.app.selection?.tensor.name !== row.name_a) await this.app.select(a);
      this.followed = this.app.selection?.tensor ?? null;
      await this.updateComplete;
      this.renderRoot.querySelector('.bar')?.scrollIntoView({ block: 'nearest' });
      await this.look();
    } catch (error) {
      if (this.app.model === model && this.app.other === other) this.app.fail(error, row.name_a);
    }
  }
  /** Reads the three pictures of what is seen; the first part is all of it. */
  private async look(): Promise<void> {
    const turn = ++this.wanted;
    await new Promise((resolve) => setTimeout(resolve, 60));
    const { pair } = this;
    if (turn !== this.wanted || pair === null) return;
    const [model, other] = this.compared!;
    const { row, a, b, space } = pair;
    const first = pair.parts[0]?.pictures;
    const all = pair.parts.length === 0;
    if (!all && first?.a?.grid.rowStep === 1 && first.a.grid.colStep === 1) return;
    const { slice, window } = all ? { slice: '', window: whole(space) } : sliceOf(row.shape_a, windowOf(this.view, space));
    const plot = plotOf(this.sketch.size);
    const bytes = (pair.nbytes * window.rows * window.cols) / Math.max(1, space.rows * space.cols);
    const options = { rows: Math.max(1, Math.round(plot.height)), cols: Math.max(1, Math.round(plot.width)), slice, sample: bytes > STARTS_BY_ITSELF };
    const part: Pair['parts'][number] = { window, pictures: {} };
    const same = b !== null && String(row.shape_a) === String(row.shape_b);
    const call = this.app.engine.call.bind(this.app.engine);
    try {
      if (same) part.pictures.delta = await call('difference', { model: model.id, tensor: a, other: other.id, otherTensor: b, options });
      part.pictures.a = await call('picture', { model: model.id, tensor: a, options });
      if (b !== null && (same || all)) part.pictures.b = await call('picture', { model: other.id, tensor: b, options });
    } catch (error) {
      if (this.app.model === model && this.app.other === other) this.app.fail(error, row.name_a);
      return;
    }
    if (turn !== this.wanted || this.pair !== pair) return;
    pair.parts = all ? [part] : [pair.parts[0]!, part];
    if (!same && this.mode === 'delta') this.mode = 'a';
    this.requestUpdate();
  }
  private picture(): TemplateResult | typeof nothing {
    const { pair } = this;
    if (pair === null) return nothing;
    const alone = pair.b === null;
    const same = !alone && String(pair.row.shape_a) === String(pair.row.shape_b);
    const grid = pair.parts[0]?.pictures[this.mode]?.grid;
    return html`<div class="bar" role="toolbar" aria-label="picture">
        ${MODES.map(([id, text]) => html`<button aria-pressed=${String(this.mode === id)} ?disabled=${(alone && id !== 'a') || (id === 'delta' && !same)} @click=${() => this.show(id)}>${text}</button>`)}
        <button aria-pressed=${String(this.flickers)} ?disabled=${alone} title="key b goes between A and B" @click=${() => this.flicker(!this.flickers)}>Flicker <kbd>b</kbd></button>
        <span class="gap"></span>
        <button aria-label="zoom out" @click=${() => this.zoomBy(1 / 1.6)}>−</button>
        <button aria-label="zoom in" @click=${() => this.zoomBy(1.6)}>+</button>
        <button @click=${() => this.move(whole(pair.space))}>Fit</button>
        <button @click=${() => void this.savePicture(pair)}>PNG</button>
      </div>
      <canvas
        class="picture"
        tabindex="0"
        role="application"
        aria-roledescription="zoomable picture"
        aria-label="${pair.row.name_a}, ${MODES.find(([id]) => id === this.mode)![1]}: b goes between A and B, d shows the change, arrows pan, plus and minus zoom"
        @keydown=${this.onKey}
        @wheel=${this.onWheel}
        @pointerdown=${this.onDown}
        @pointermove=${this.onMove}
        @pointerup=${() => (this.drag = null)}
      ></canvas>
      <canvas class="legend" role="img" aria-label=${grid === undefined ? 'colours' : legendText(this.legendOf(grid))}></canvas>
      <p class="mono name">${pair.row.name_a}${pair.row.name_b === pair.row.name_a ? '' : ` → ${pair.row.name_b}`}</p>`;
  }
  /** A and B share their colours; a change has its own. */
  private get limit(): number {
    const pictures = this.pair?.parts[0]?.pictures;
    if (this.mode === 'delta') return pictures?.delta?.grid.limit ?? 1;
    return Math.max(pictures?.a?.grid.limit ?? 0, pictures?.b?.grid.limit ?? 0) || 1;
  }
  private imageOf(picture: Picture): HTMLCanvasElement {
    const { limit } = this;
    const key = `${limit} ${this.colors.theme}`;
    const known = this.images.get(picture);
    if (known?.key === key) return known.image;
    const { grid } = picture;
    const image = document.createElement('canvas');
    image.width = grid.cols;
    image.height = grid.rows;
    image.getContext('2d')!.putImageData(new ImageData(pixelsOf(grid, this.colors.now!, 'diverging', limit), grid.cols, grid.rows), 0, 0);
    this.images.set(picture, { key, image });
    return image;
  }
  private draw(ctx: CanvasRenderingContext2D, size: Size, ink: Ink): void {
    const { pair, mode } = this;
    const colors = this.colors.now;
    const first = pair?.parts[0]?.pictures[mode];
    if (pair === null || colors === null || first === undefined) return;
    const layers = pair.parts.flatMap(({ window, pictures }) => {
      const picture = pictures[mode];
      if (picture === undefined) return [];
      const { grid } = picture;
      return [{ window: { ...window, rows: grid.rows * grid.rowStep, cols: grid.cols * grid.colStep }, image: this.imageOf(picture) }];
    });
    drawPicture(
      ctx,
      {
        space: pair.space, shape: pair.row.shape_a, view: this.view, layers, colors, kind: 'diverging', limit: this.limit, rowRms: first.rows.rms, colRms: first.cols.rms,
        cursor: null, focused: false, area: null, numbers: null, sampled: !first.grid.exact,
      },
      size,
      ink,
    );
    ctx.font = `600 ${ink.font}`;
    ctx.fillStyle = ink.text;
    ctx.fillText(mode === 'delta' ? 'Δ' : mode.toUpperCase(), 8, 14);
  }
  private legend(ctx: CanvasRenderingContext2D, size: Size, ink: Ink): void {
    const grid = this.pair?.parts[0]?.pictures[this.mode]?.grid;
    const colors = this.colors.now;
    if (grid === undefined || colors === null) return;
    drawLegend(ctx, { ...this.legendOf(grid), colors }, size, ink);
  }
  private legendOf(grid: HeatmapGrid) {
    return { kind: 'diverging' as const, limit: this.limit, beyond: `largest ${short(grid.absmax)}`, marks: marksOf(grid) };
  }

  // --- moving

  private show(mode: Mode): void {
    this.flicker(false);
    this.mode = mode;
  }
  private flicker(on: boolean): void {
    clearInterval(this.timer);
    this.flickers = on;
    if (!on) return;
    this.mode = 'a';
    // Whoever asked for less motion goes by hand.
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    this.timer = window.setInterval(() => (this.mode = this.mode === 'a' ? 'b' : 'a'), FLICKER);
  }
  private move(view: Viewport): void {
    const { pair } = this;
    if (pair === null) return;
    this.view = clamped(view, pair.space, leastOf(this.sketch.size));
    void this.look();
  }
  private zoomBy(factor: number, at?: { row: number; col: number }): void {
    const { view, pair } = this;
    if (pair === null) return;
    this.move(zoomed(view, pair.space, leastOf(this.sketch.size), factor, at ?? { row: view.row + view.rows / 2, col: view.col + view.cols / 2 }));
  }
  private readonly onWheel = (event: WheelEvent) => {
    const { space } = this.pair!;
    const factor = wheelZoom(event, this.shadowRoot?.activeElement?.className === 'picture', this.view.rows >= space.rows && this.view.cols >= space.cols);
    if (factor === null) return;
    event.preventDefault();
    this.zoomBy(factor, elementAt(event.offsetX, event.offsetY, this.view, this.sketch.size));
  };
  private readonly onDown = (event: PointerEvent) => {
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, y: event.offsetY, view: this.view };
  };
  private readonly onMove = (event: PointerEvent) => {
    if (this.drag === null) return;
    const plot = plotOf(this.sketch.size);
    const { x, y, view } = this.drag;
    this.move({ ...view, row: view.row - ((event.offsetY - y) / plot.height) * view.rows, col: view.col - ((event.offsetX - x) / plot.width) * view.cols });
  };
  private readonly onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = this;
    const pans: Record<string, [number, number]> = { ArrowUp: [-0.2, 0], ArrowDown: [0.2, 0], ArrowLeft: [0, -0.2], ArrowRight: [0, 0.2] };
    const pan = pans[event.key];
    if (pan !== undefined) this.move({ ...view, row: view.row + pan[0] * view.rows, col: view.col + pan[1] * view.cols });
    else if (event.key === 'b' && this.pair?.b !== null) this.show(this.mode === 'a' ? 'b' : 'a');
    else if (event.key === 'd' && this.pair?.b !== null) this.show('delta');
    else if (event.key === '+' || event.key === '=') this.zoomBy(1.6);
    else if (event.key === '-') this.zoomBy(1 / 1.6);
    else if (event.key === '0' && this.pair !== null) this.move(whole(this.pair.space));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  private async savePicture({ row }: Pair): Promise<void> {
    const [a, b] = this.compared!;
    const what = { a: `A: ${a.label}`, b: `B: ${b.label}`, delta: `${b.label} − ${a.label}` }[this.mode];
    save(`${row.name_a}.${this.mode}.png`, await this.sketch.png({ title: `${row.name_a} · ${what}`, below: this.colorBar }));
  }
  /** "tuned-vs-base.diff" */
  private get fileName(): string {
    const [a, b] = this.compared!;
    return `${b.label}-vs-${a.label}.diff`;
  }
  static override styles = [base, compareStyles];
}
customElements.define('assay-compare', CompareView);

