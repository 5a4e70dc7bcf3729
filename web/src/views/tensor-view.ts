// SPDX-License-Identifier: Apache-2.0
// One tensor: its picture from all of it down to single numbers, and its histogram; what is brushed in one is seen in the other.
import { html, nothing, type TemplateResult } from 'lit';
import { percentileOf } from '../core/histogram.js';
import type { Pooling, Window } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { bitsOf, hexOf } from '../ui/codes.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { Sketch, type Ink, type Size } from '../ui/sketch.js';
import { MapColors } from './colors.js';
import { saveNpy } from './export-tensor.js';
import './histogram-panel.js';
import { numbersTable } from './numbers-table.js';
import { drawPicture, elementAt, leastOf, NUMBER_CELL, pixelsOf, plotOf, short, type Kind, type Layer } from './picture-draw.js';
import { drawLegend, legendText, marksOf } from './picture-legend.js';
import { profileNotes, profileStyles, stripWords, type Strip } from './profiles.js';
import { indexOf, revealing, whole, wheelZoom, windowOf, zoomed, type Viewport } from './space.js';
import { TensorLook, type Shown } from './tensor-look.js';
import { tensorStyles } from './tensor-styles.js';
import { save } from '../ui/save.js';

const POOLINGS: [Pooling, string][] = [
  ['absmax', 'largest magnitude'],
  ['mean', 'mean'],
  ['rms', 'root mean square'],
  ['zeros', 'share of zeros'],
];
const RANGES = { auto: 'colours for most values', max: 'colours for all values' } as const;
const RANGE_HELP = 'most values: the strongest colour is for a large value of the tensor, and a few beyond it look the same; all values: it is for the largest one';

export class TensorView extends AppElement {
  static override properties = { ...AppElement.properties, limits: { state: true }, said: { state: true }, table: { state: true } };
  static override kept = ['limits', 'table'];
  declare limits: keyof typeof RANGES;
  declare said: string;
  declare table: boolean;
  /** What is said of the cell at the cursor while nothing else is pointed at. */
  private pinned = '';
  private look: TensorLook | null = null;
  private images = new WeakMap<Shown, { key: string; image: HTMLCanvasElement }>();
  private pressed: { x: number; y: number; view: Viewport; area: boolean } | null = null;
  private hover = 0;
  private readonly colors = new MapColors(this);
  private readonly picture = new Sketch(
    this,
    'canvas.picture',
    (ctx, size, ink) => this.draw(ctx, size, ink),
    (size) => this.sized(size),
  );
  private readonly legend = new Sketch(this, 'canvas.legend', (ctx, size, ink) => this.drawLegend(ctx, size, ink));

  constructor() {
    super();
    this.limits = 'auto';
    this.said = '';
    this.table = false;
  }

  override render(): TemplateResult {
    const { selection, model } = this.app;
    if (model === null) return html``;
    if (selection === null) return html`<p class="muted">Choose a tensor in the tree: its values are drawn here.</p>`;
    const { tensor } = selection;
    if (this.look?.tensor !== tensor) {
      this.look = new TensorLook(this.app, model, tensor, () => this.requestUpdate());
      this.said = this.pinned = '';
      queueMicrotask(() => this.sized(this.picture.size));
    }
    const { look } = this;
    if (!tensor.readable) return html`<p class="damage">The values of ${tensor.name} cannot be read: see Findings.</p>`;
    if (look.empty) return html`<p class="muted">${tensor.name} has no elements.</p>`;
    const legend = this.legendOf(look);
    return html`
      ${this.toolbar(look)} ${profileNotes(look.overview?.picture, (axis, index) => this.go(axis === 0 ? { row: index, col: Math.floor(look.view.col) } : { row: Math.floor(look.view.row), col: index }, axis))}
      <div class="both">
        <div class="seen">
          <canvas
            class="picture"
            tabindex="0"
            role="application"
            aria-roledescription="zoomable picture"
            aria-label=${this.label(look)}
            aria-describedby="keys"
            @wheel=${this.onWheel}
            @pointerdown=${this.onDown}
            @pointermove=${this.onMove}
            @pointerup=${this.onUp}
            @pointerleave=${() => this.pressed ?? this.say('')}
            @dblclick=${this.onDouble}
            @keydown=${this.onKey}
            @focus=${() => this.requestUpdate()}
            @blur=${() => this.requestUpdate()}
          ></canvas>
          <canvas class="legend" role="img" aria-label=${legend === null ? 'colours' : legendText(legend)}></canvas>
          <p class="readout mono" role="status">${this.said !== '' ? this.said : look.cursor !== null && this.pinned !== '' ? `pinned: ${this.pinned}` : this.hint(look)}</p>
          ${this.table ? numbersTable(look) : nothing}
          <p id="keys" class="hidden">Arrow keys move the cursor, plus and minus zoom, zero shows everything, shift and arrows mark an area.</p>
        </div>
        <assay-histogram .app=${this.app} .look=${look} .revision=${this.revision(look)}></assay-histogram>
      </div>
    `;
  }
  /** Something that differs when the histogram has to be drawn again. */
  private revision(look: TensorLook): unknown {
    return [look.census, look.areaCensus, look.area, look.range, look.stats, look.pointed];
  }
  private toolbar(look: TensorLook): TemplateResult {
    const { tensor } = look;
    return html`<div class="bar" role="toolbar" aria-label="picture">
      <b class="name mono" title=${tensor.name}>${tensor.name}</b>
      <span class="muted">${tensor.dtype} ${format.shape(tensor.shape)}</span>
      <span class="gap"></span>
      <span class="group">
        <button aria-label="zoom out" @click=${() => this.zoomBy(1 / 1.6)}>−</button>
        <button aria-label="zoom in" @click=${() => this.zoomBy(1.6)}>+</button>
        <button ?disabled=${look.zoom < 1.001} @click=${() => look.move(whole(look.space))}>Fit</button>
      </span>
      <select aria-label="what a cell shows" title="what a cell of the picture shows of its elements" @change=${(e: Event) => void look.setPooling((e.target as HTMLSelectElement).value as Pooling)}>
        ${POOLINGS.map(([id, text]) => html`<option value=${id} ?selected=${id === look.pooling}>${text}</option>`)}
      </select>
      <select aria-label="colour range" title=${RANGE_HELP} @change=${(e: Event) => (this.limits = (e.target as HTMLSelectElement).value as keyof typeof RANGES)}>
        ${Object.entries(RANGES).map(([id, text]) => html`<option value=${id} ?selected=${id === this.limits}>${text}</option>`)}
      </select>
      <button aria-pressed=${String(this.table)} title="the numbers of what is seen, from its upper left corner on" @click=${() => this.toggleTable()}>Table</button>
      <button @click=${() => void this.savePicture(look)}>PNG</button>
      <button ?disabled=${look.large} title=${look.large ? 'too large to export from a page: assay dump does it' : 'the whole tensor'} @click=${() => void saveNpy(this.app, tensor)}>.npy</button>
      ${look.large && !look.exact ? html`<button class="primary" @click=${() => void look.readAll()}>Read all ${format.bytes(tensor.nbytes)} (${this.app.estimate(tensor.nbytes)})</button>` : nothing}
    </div>`;
  }
  private label(look: TensorLook): string {
    const { rows, cols } = look.space;
    const { view } = look;
    const part = look.zoom < 1.001 ? 'all of it' : `rows ${Math.floor(view.row)} to ${Math.ceil(view.row + view.rows) - 1}, columns ${Math.floor(view.col)} to ${Math.ceil(view.col + view.cols) - 1}`;
    return `${look.tensor.name}: ${rows} rows by ${cols} columns, ${part}`;
  }
  private hint(look: TensorLook): string {
    const grid = look.overview?.picture.grid;
    if (grid === undefined) return 'reading…';
    const cell = (look.detail?.picture.grid ?? grid);
    const words = cell.rowStep * cell.colStep === 1 ? 'a cell is one element' : `a cell is ${cell.rowStep}×${cell.colStep} elements`;
    return `${words} · ${this.focused ? 'wheel' : 'Ctrl and wheel, or wheel after a click,'} zooms, drag pans, shift-drag marks an area`;
  }

  // --- colours

  private sized(size: Size): void {
    this.colors.refresh();
    if (size.width === 0 || this.look === null) return;
    const plot = plotOf(size);
    const { ratio } = this.picture;
    const least = leastOf(size);
    void this.look.resize({ rows: Math.max(1, Math.round(plot.height * ratio)), cols: Math.max(1, Math.round(plot.width * ratio)) }, least);
  }
  private get kind(): Kind {
    return this.look!.pooling === 'absmax' || this.look!.pooling === 'mean' ? 'diverging' : 'sequential';
  }
  private limitOf(look: TensorLook): number {
    const grid = look.overview?.picture.grid;
    if (grid === undefined) return 1;
    if (look.pooling === 'zeros') return 1;
    return this.limits === 'max' ? grid.absmax : grid.limit;
  }
  private imageOf(shown: Shown, look: TensorLook, limit: number, ink: Ink): HTMLCanvasElement {
    const key = `${limit} ${this.limits} ${look.pooling} ${this.colors.theme} ${shown.hits === null ? '' : `${look.range!.from} ${look.range!.to}`}`;
    const known = this.images.get(shown);
    if (known?.key === key) return known.image;
    const { grid } = shown.picture;
    const light: [number, number, number] = ink.dark ? [255, 255, 255] : [0, 0, 0];
    const hits = shown.hits === null ? undefined : { counts: shown.hits, elements: grid.rowStep * grid.colStep, light };
    const image = document.createElement('canvas');
    image.width = grid.cols;
    image.height = grid.rows;
    image.getContext('2d')!.putImageData(new ImageData(pixelsOf(grid, this.colors.now!, this.kind, limit, hits), grid.cols, grid.rows), 0, 0);
    this.images.set(shown, { key, image });
    return image;
  }
  private draw(ctx: CanvasRenderingContext2D, size: Size, ink: Ink): void {
    const { look } = this;
    const colors = this.colors.now;
    if (look?.overview == null || colors === null) return;
    const limit = this.limitOf(look);
    const layers: Layer[] = [look.overview, look.detail].filter((shown) => shown !== null).map((shown) => ({ window: covered(shown), image: this.imageOf(shown, look, limit, ink) }));
    const plot = plotOf(size);
    const room = plot.width / look.view.cols >= NUMBER_CELL.width && plot.height / look.view.rows >= NUMBER_CELL.height;
    const { rows, cols, grid } = look.overview.picture;
    drawPicture(
      ctx,
      {
        space: look.space,
        shape: look.tensor.shape,
        view: look.view,
        layers,
        colors,
        kind: this.kind,
        limit,
        rowRms: rows.rms,
        colRms: cols.rms,
        cursor: look.cursor,
        focused: this.focused,
        area: look.area,
        numbers: room && look.range === null && this.kind === 'diverging' ? look.numbers : null,
        sampled: !grid.exact || look.detail?.picture.grid.exact === false,
      },
      size,
      ink,
    );
  }
  private beyond(look: TensorLook): string {
    const grid = look.overview?.picture.grid;
    if (grid === undefined) return '';
    const limit = this.limitOf(look);
    let n = 0;
    for (const value of grid.data) if (Math.abs(value) > limit * (1 + 1e-12)) ++n;
    return n === 0 ? 'no cell beyond the colours' : `${format.plural(n, 'cell')} beyond, up to ${short(grid.absmax)}`;
  }
  private legendOf(look: TensorLook) {
    const grid = look.overview?.picture.grid;
    return grid === undefined ? null : { kind: this.kind, limit: this.limitOf(look), beyond: this.beyond(look), marks: marksOf(grid) };
  }
  private drawLegend(ctx: CanvasRenderingContext2D, size: Size, ink: Ink): void {
    const legend = this.look === null ? null : this.legendOf(this.look);
    const colors = this.colors.now;
    if (legend !== null && colors !== null) drawLegend(ctx, { ...legend, colors }, size, ink);
  }

  // --- moving and pointing

  private zoomBy(factor: number, at?: { row: number; col: number }): void {
    const look = this.look!;
    const { view, cursor } = look;
    const inside = cursor !== null && cursor.row >= view.row && cursor.row < view.row + view.rows && cursor.col >= view.col && cursor.col < view.col + view.cols;
    const anchor = at ?? (inside ? { row: cursor.row + 0.5, col: cursor.col + 0.5 } : { row: view.row + view.rows / 2, col: view.col + view.cols / 2 });
    look.move(zoomed(view, look.space, look.leastView, factor, anchor));
  }
  private at(event: MouseEvent): { row: number; col: number } {
    return elementAt(event.offsetX, event.offsetY, this.look!.view, this.picture.size);
  }
  private inside({ row, col }: { row: number; col: number }): boolean {
    const { view, space } = this.look!;
    return row >= view.row && col >= view.col && row < Math.min(space.rows, view.row + view.rows) && col < Math.min(space.cols, view.col + view.cols);
  }
  /** The row or column whose profile is under the pointer. */
  private stripAt(event: MouseEvent): Strip | null {
    const { look } = this;
    if (look?.overview == null) return null;
    const { row, col } = this.at(event);
    const { view, space } = look;
    const within = (at: number, from: number, size: number, all: number) => at >= from && at < Math.min(all, from + size);
    if (row < view.row && within(col, view.col, view.cols, space.cols)) return { axis: 1, index: Math.floor(col) };
    if (col >= view.col + view.cols && within(row, view.row, view.rows, space.rows)) return { axis: 0, index: Math.floor(row) };
    return null;
  }
  private get focused(): boolean {
    return this.shadowRoot?.activeElement?.className === 'picture';
  }
  private readonly onWheel = (event: WheelEvent) => {
    const factor = wheelZoom(event, this.focused, this.look!.zoom < 1.001);
    if (factor === null) return;
    event.preventDefault();
    this.zoomBy(factor, this.at(event));
  };
  private readonly onDouble = (event: MouseEvent) => this.zoomBy(4, this.at(event));
  private readonly onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    this.pressed = { x: event.offsetX, y: event.offsetY, view: this.look!.view, area: event.shiftKey };
  };
  private readonly onMove = (event: PointerEvent) => {
    const look = this.look!;
    if (this.pressed === null) {
      const place = this.at(event);
      const strip = this.stripAt(event);
      if (this.inside(place)) void this.readOut(Math.floor(place.row), Math.floor(place.col));
      else if (strip !== null) this.say(stripWords(look.overview!.picture, strip));
      return;
    }
    const { x, y, view, area } = this.pressed;
    if (area) {
      look.area = this.areaOf(elementAt(x, y, view, this.picture.size), this.at(event));
      this.picture.redraw();
      return;
    }
    const plot = plotOf(this.picture.size);
    look.move({ ...view, row: view.row - ((event.offsetY - y) / plot.height) * view.rows, col: view.col - ((event.offsetX - x) / plot.width) * view.cols });
  };
  private readonly onUp = (event: PointerEvent) => {
    const pressed = this.pressed;
    this.pressed = null;
    if (pressed === null) return;
    const look = this.look!;
    const still = Math.hypot(event.offsetX - pressed.x, event.offsetY - pressed.y) < 4;
    const place = this.at(event);
    if (pressed.area) {
      void look.chooseArea(still ? null : this.areaOf(elementAt(pressed.x, pressed.y, pressed.view, this.picture.size), place));
    } else if (still && this.stripAt(event) !== null) {
      const { axis, index } = this.stripAt(event)!;
      this.go(axis === 0 ? { row: index, col: Math.floor(look.view.col) } : { row: Math.floor(look.view.row), col: index }, axis);
    } else if (still && this.inside(place)) {
      const [row, col] = [Math.floor(place.row), Math.floor(place.col)];
      // What is pinned is let go by another click.
      look.cursor = look.cursor?.row === row && look.cursor.col === col ? null : { row, col };
      void this.readOut(row, col);
    }
  };
  private areaOf(a: { row: number; col: number }, b: { row: number; col: number }): Window {
    const { space } = this.look!;
    const [top, bottom] = [Math.min(a.row, b.row), Math.max(a.row, b.row)];
    const [left, right] = [Math.min(a.col, b.col), Math.max(a.col, b.col)];
    return windowOf({ row: Math.min(top, space.rows - 1), col: Math.min(left, space.cols - 1), rows: bottom - Math.max(0, top), cols: right - Math.max(0, left) }, space);
  }
  private readonly onKey = (event: KeyboardEvent) => {
    const look = this.look!;
    const step = STEPS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) {
      const { view, space } = look;
      const from = look.cursor ?? { row: Math.floor(view.row + view.rows / 2), col: Math.floor(view.col + view.cols / 2) };
      // A step is what a cell spans: one element once they can be told apart.
      const grid = (look.detail ?? look.overview)?.picture.grid;
      const to = {
        row: Math.max(0, Math.min(space.rows - 1, from.row + step[0] * (grid?.rowStep ?? 1))),
        col: Math.max(0, Math.min(space.cols - 1, from.col + step[1] * (grid?.colStep ?? 1))),
      };
      if (event.shiftKey) {
        this.anchor ??= from;
        void look.chooseArea(this.areaOf({ row: Math.min(this.anchor.row, to.row), col: Math.min(this.anchor.col, to.col) }, { row: Math.max(this.anchor.row, to.row) + 1, col: Math.max(this.anchor.col, to.col) + 1 }));
      } else {
        this.anchor = null;
      }
      look.cursor = to;
      look.move(revealing(look.view, space, to));
      void this.readOut(to.row, to.col);
    } else if (event.key === '+' || event.key === '=') this.zoomBy(1.6);
    else if (event.key === '-') this.zoomBy(1 / 1.6);
    else if (event.key === '0') look.move(whole(look.space));
    else if (event.key === 'Escape' && (look.area !== null || look.range !== null)) {
      void look.chooseArea(null);
      void look.chooseRange(null);
    } else if (event.key === 'Escape' && look.cursor !== null) {
      look.cursor = null;
      this.say('');
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  private anchor: { row: number; col: number } | null = null;

  // --- words

  private say(text: string): void {
    ++this.hover;
    this.said = text;
    if (this.look !== null) this.look.pointed = null;
  }
  private async readOut(row: number, col: number): Promise<void> {
    const look = this.look!;
    const turn = ++this.hover;
    const cell = look.cellAt(row, col);
    const element = await look.element(row, col);
    const pins = this.look === look && look.cursor?.row === row && look.cursor.col === col;
    // The pointer may be elsewhere by now; what is pinned stays.
    if (turn !== this.hover && !pins) return;
    const { tensor, census } = look;
    const parts = [`[${indexOf(tensor.shape, row, col).join(', ')}]`];
    if (element !== null) {
      parts.push(`${short(element.value)}  ${tensor.dtype} ${hexOf(element.code)} = ${bitsOf(element.code, tensor.dtype)}`);
      if (census !== null && Number.isFinite(element.value)) parts.push(`${percentileOf(census, element.value).toFixed(1)} %ile`);
      if (tensor.offset !== null && tensor.contiguous) parts.push(`byte ${format.hexOffset(tensor.offset + Math.floor(((row * look.space.cols + col) * tensor.nbytes) / tensor.numel))}`);
    }
    if (cell !== null && cell.window.rows * cell.window.cols > 1) {
      const w = cell.window;
      parts.push(`cell ${w.row}–${w.row + w.rows - 1}, ${w.col}–${w.col + w.cols - 1}: ${POOLINGS.find(([id]) => id === look.pooling)![1]} ${short(cell.value)}`);
    }
    const words = parts.join(' · ');
    if (pins) this.pinned = words;
    if (turn === this.hover) {
      look.pointed = element?.value ?? null;
      this.said = words;
    } else this.requestUpdate();
  }
  /** Down to where numbers are read, with an element in the middle; along an axis only, the other one stays where it is. */
  private go(to: { row: number; col: number }, axis?: 0 | 1): void {
    const look = this.look!;
    const { space } = look;
    const rows = Math.min(look.leastView.rows, space.rows);
    const cols = Math.min(look.leastView.cols, space.cols);
    look.cursor = to;
    look.move({ rows, cols, row: to.row - (axis === 1 ? 0 : rows / 2), col: to.col - (axis === 0 ? 0 : cols / 2) });
    void this.readOut(to.row, to.col);
  }
  protected override updated(): void {
    void this.reach();
  }
  /** Goes to what somebody wants to see of this tensor, once it is drawn. */
  private async reach(): Promise<void> {
    const { goal } = this.app;
    const { look } = this;
    if (look === null || look.tensor !== this.app.selection?.tensor || goal?.tensor !== look.tensor.index || this.picture.size.width === 0 || look.overview === null) return;
    const waits = 'marks' in goal.spot && !look.overview.picture.grid.exact && !look.large;
    this.app.goal = null;
    const place = await look.placeOf(goal.spot);
    if (this.look !== look) return;
    if (place !== null) {
      this.go(place);
      this.renderRoot.querySelector('canvas.picture')?.scrollIntoView({ block: 'nearest' });
    } else if (waits) this.app.goal ??= goal;
    else this.say('what the finding is about is not in the sample that is shown');
  }
  private toggleTable(): void {
    this.table = !this.table;
    if (this.table) void this.updateComplete.then(() => this.renderRoot.querySelector('.table')?.scrollIntoView({ block: 'nearest' }));
  }
  private async savePicture(look: TensorLook): Promise<void> {
    const { name, dtype, shape } = look.tensor;
    const part = look.zoom < 1.001 ? '' : ` · ${this.label(look).split('columns, ')[1]!}`;
    save(`${name}.png`, await this.picture.png({ title: `${name} · ${dtype} ${format.shape(shape)}${part}`, below: this.legend }));
  }

  static override styles = [base, profileStyles, tensorStyles];
}
customElements.define('assay-tensor', TensorView);

const STEPS: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The window of whole cells: the last ones may reach past the matrix. */
function covered({ window, picture: { grid } }: Shown): Window {
  return { ...window, rows: grid.rows * grid.rowStep, cols: grid.cols * grid.colStep };
}
