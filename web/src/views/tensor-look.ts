// SPDX-License-Identifier: Apache-2.0
// What is looked at in one tensor, and what the core said of it: pictures coarse and fine, values, census, what is brushed.
import { QUIET, STARTS_BY_ITSELF, type App } from '../app/app.js';
import type { OpenModel } from '../app/model.js';
import type { Census, HeatmapOptions, Method, Args, Picture, Pooling, Result, Stats, Tensor, Window } from '../core/protocol.js';
import type { Spot } from '../core/findings.js';
import { matrixOf } from '../core/matrix.js';
import { hexOf } from '../ui/codes.js';
import { clamped, sampleRoom, sliceOf, whole, windowOf, type Space, type Viewport } from './space.js';

const MOST_NUMBERS = 4000;
/** Elements of a cell among which one is looked for. */
const MOST_SEARCHED = 2 ** 18;

/** A picture and the window of the matrix that it covers; `hits` counts the brushed elements of each cell. */
export interface Shown {
  window: Window;
  picture: Picture;
  hits: Uint32Array | null;
}
export interface Numbers {
  window: Window;
  values: Float64Array;
  codes: string[];
  raw: Uint8Array;
  size: number;
}
/** Values within, or values whose magnitudes are. */
export interface Range {
  from: number;
  to: number;
  magnitudes?: boolean;
}

export class TensorLook {
  readonly space: Space;
  view: Viewport;
  cursor: { row: number; col: number } | null = null;
  pooling: Pooling = 'absmax';
  overview: Shown | null = null;
  detail: Shown | null = null;
  numbers: Numbers | null = null;
  /** Of the upper left of what is seen, when it was asked for. */
  corner: Numbers | null = null;
  private readingCorner = false;
  census: Census | null = null;
  area: Window | null = null;
  areaCensus: Census | null = null;
  range: Range | null = null;
  /** The value under the pointer. */
  pointed: number | null = null;
  /** What is being read. */
  busy = '';
  /** Pixels of the plot, each way. */
  private room: Space = { rows: 0, cols: 0 };
  private least: Space = { rows: 1, cols: 1 };
  private wanted = 0;
  private looking = false;

  constructor(
    private readonly app: App,
    private readonly model: OpenModel,
    readonly tensor: Tensor,
    private readonly changed: () => void,
  ) {
    this.space = matrixOf(tensor.shape);
    const { seen } = app;
    this.view = seen !== null && seen.tensor === tensor.index ? clamped(seen.place, this.space, { rows: 1, cols: 1 }) : whole(this.space);
  }

  get large(): boolean {
    return this.tensor.nbytes > STARTS_BY_ITSELF;
  }
  /** Whether the histogram is of all elements. */
  get exact(): boolean {
    return this.census !== null && this.census.n >= this.tensor.numel;
  }
  get stats(): Stats | null {
    return this.model.stats.get(this.tensor.index) ?? null;
  }
  get empty(): boolean {
    return this.tensor.numel === 0;
  }

  /** The plot has this many pixels, and zooming ends where `least` elements fill it. */
  async resize(room: Space, least: Space): Promise<void> {
    this.least = least;
    if (Math.abs(room.rows - this.room.rows) < 8 && Math.abs(room.cols - this.room.cols) < 8) return;
    const first = this.room.rows === 0;
    this.room = room;
    if (this.empty || !this.tensor.readable) return;
    await this.lookAtAll(first);
    this.look();
  }
  async setPooling(pooling: Pooling): Promise<void> {
    this.pooling = pooling;
    this.detail = null;
    await this.lookAtAll(false);
    this.look();
  }
  /** Reads all of a tensor that does not start by itself. */
  async readAll(): Promise<void> {
    await this.lookAtAll(false, true);
    await this.count();
  }

  private async lookAtAll(first: boolean, evenLarge = false): Promise<void> {
    const options: HeatmapOptions = { rows: this.room.rows, cols: this.room.cols, pooling: this.pooling };
    const room = this.room;
    const all = whole(this.space);
    const keep = (picture: Picture | null) => {
      if (picture === null || room !== this.room) return;
      this.overview = { window: all, picture, hits: null };
      this.changed();
    };
    const alone = !this.large || evenLarge;
    if (first && (this.large || this.tensor.nbytes > QUIET)) keep(await this.ask('picture', { ...this.which, options: { ...options, ...sampleRoom(this.space, this.tensor.nbytes / this.tensor.numel, this.room), sample: true } }, 0));
    if (alone) keep(await this.ask('picture', { ...this.which, options }, this.tensor.nbytes));
    if (first) void this.count(!alone);
    if (this.range !== null) await this.findHits();
  }
  private async count(sample = false): Promise<void> {
    const census = await this.app.censusOf(this.tensor, sample);
    if (census === null) return;
    this.census = census;
    this.changed();
    if (this.exact) await this.app.statsOf(this.tensor);
  }
  private get which(): { model: number; tensor: number } {
    return { model: this.model.id, tensor: this.tensor.index };
  }
  private ask<M extends Method>(method: M, args: Args<M>, bytes: number): Promise<Result<M> | null> {
    return this.app.quietly(`${WORDS[method] ?? method} of ${this.tensor.name}`, method, args, bytes, this.tensor.name);
  }

  // --- moving

  move(view: Viewport): void {
    this.view = clamped(view, this.space, this.least);
    this.app.seen = this.zoom > 1.001 ? { tensor: this.tensor.index, place: this.view } : null;
    this.app.keepLink();
    this.changed();
    this.look();
  }
  get leastView(): Space {
    return this.least;
  }
  get zoom(): number {
    return Math.max(this.space.rows / this.view.rows, this.space.cols / this.view.cols);
  }

  /** Asks for what the viewport needs: the latest wish only, one at a time. */
  private look(): void {
    ++this.wanted;
    if (!this.looking) void this.looks();
  }
  private async looks(): Promise<void> {
    this.looking = true;
    try {
      for (let answered = -1; answered !== this.wanted; ) {
        answered = this.wanted;
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (answered === this.wanted) await this.lookCloser();
      }
    } finally {
      this.looking = false;
    }
  }
  private async lookCloser(): Promise<void> {
    const grid = this.overview?.picture.grid;
    if (grid === undefined || this.room.rows === 0) return;
    const window = windowOf(this.view, this.space);
    const fine = grid.rowStep === 1 && grid.colStep === 1 && grid.exact;
    if (!fine && this.zoom > 1.02) await this.lookAtPart(window);
    else this.detail = null;
    if (window.rows * window.cols <= MOST_NUMBERS) await this.readNumbers(window);
    else this.numbers = null;
    this.changed();
  }
  private async lookAtPart(wanted: Window): Promise<void> {
    const { slice, window } = sliceOf(this.tensor.shape, wanted);
    const bytes = (window.rows * window.cols * this.tensor.nbytes) / Math.max(1, this.tensor.numel);
    // A window across stacked axes may be larger than what is seen: cells stay as fine as the eye needs.
    const rows = Math.min(4096, Math.ceil((this.room.rows * window.rows) / wanted.rows));
    const sample = bytes > STARTS_BY_ITSELF;
    const room = { rows, cols: this.room.cols };
    const options: HeatmapOptions = { ...(sample ? sampleRoom(window, this.tensor.nbytes / this.tensor.numel, room) : room), pooling: this.pooling, slice, sample };
    const picture = await this.ask('picture', { ...this.which, options }, 0);
    if (picture === null) return;
    this.detail = { window, picture, hits: null };
    if (this.range !== null) await this.hit(this.detail, this.range);
  }
  private async readNumbers(window: Window): Promise<void> {
    this.numbers = (await this.numbersIn(window)) ?? this.numbers;
  }
  private async numbersIn(window: Window): Promise<Numbers | null> {
    const read = await this.ask('window', { ...this.which, window }, 0);
    if (read === null) return null;
    const codes = Array.from({ length: read.values.length }, (_, i) => hexOf(read.codes.subarray(i * read.size, (i + 1) * read.size)));
    return { window, values: read.values, codes, raw: read.codes, size: read.size };
  }
  /** The first numbers of what is seen, where all of them are too many. */
  async readCorner(window: Window): Promise<void> {
    if (this.readingCorner) return;
    this.readingCorner = true;
    const read = await this.numbersIn(window).finally(() => (this.readingCorner = false));
    if (read === null) return;
    this.corner = read;
    this.changed();
  }
  /** One element with its code, also where the picture is coarse. */
  async element(row: number, col: number): Promise<{ value: number; code: Uint8Array } | null> {
    const known = this.numbers;
    if (known !== null) {
      const { window, size } = known;
      const [r, c] = [row - window.row, col - window.col];
      if (r >= 0 && r < window.rows && c >= 0 && c < window.cols) {
        const i = r * window.cols + c;
        return { value: known.values[i]!, code: known.raw.subarray(i * size, (i + 1) * size) };
      }
    }
    try {
      const read = await this.app.engine.call('window', { ...this.which, window: { row, col, rows: 1, cols: 1 } });
      return { value: read.values[0]!, code: read.codes };
    } catch {
      return null; // the readout then says where, not what
    }
  }
  /** Where a spot is in the matrix; what is marked is found where the picture shows it, null where it does not. */
  async placeOf(spot: Spot): Promise<{ row: number; col: number } | null> {
    const { rows, cols } = this.space;
    if ('element' in spot) return { row: Math.floor(spot.element / cols), col: spot.element % cols };
    if ('row' in spot) return { row: (spot.row * rows) / (this.tensor.shape[0] ?? 1), col: 0 };
    if ('col' in spot) return { row: 0, col: spot.col };
    const shown = this.overview;
    const at = shown?.picture.grid.marks.findIndex((mark) => (mark & spot.marks) !== 0) ?? -1;
    if (shown === null || at < 0) return null;
    const { grid } = shown.picture;
    const corner = { row: Math.floor(at / grid.cols) * grid.rowStep, col: (at % grid.cols) * grid.colStep };
    if (!grid.exact) return { row: corner.row + (grid.rowStep >> 1), col: corner.col + (grid.colStep >> 1) };
    const window = { ...corner, rows: Math.min(grid.rowStep, rows - corner.row), cols: Math.min(grid.colStep, cols - corner.col) };
    const read = window.rows * window.cols > MOST_SEARCHED ? null : await this.ask('window', { ...this.which, window }, 0);
    const bit = (value: number) => (Number.isNaN(value) ? 1 : value === Infinity ? 2 : value === -Infinity ? 4 : 0);
    const first = read?.values.findIndex((value) => (bit(value) & spot.marks) !== 0) ?? -1;
    return first < 0 ? corner : { row: corner.row + Math.floor(first / window.cols), col: corner.col + (first % window.cols) };
  }
  /** The cell of the finest picture at a place. */
  cellAt(row: number, col: number): { window: Window; value: number; mark: number } | null {
    for (const shown of [this.detail, this.overview]) {
      if (shown === null) continue;
      const { grid } = shown.picture;
      const [r, c] = [Math.floor((row - shown.window.row) / grid.rowStep), Math.floor((col - shown.window.col) / grid.colStep)];
      if (row < shown.window.row || col < shown.window.col || r >= grid.rows || c >= grid.cols) continue;
      const first = { row: shown.window.row + r * grid.rowStep, col: shown.window.col + c * grid.colStep };
      const i = r * grid.cols + c;
      return {
        window: { ...first, rows: Math.min(grid.rowStep, shown.window.row + shown.window.rows - first.row), cols: Math.min(grid.colStep, shown.window.col + shown.window.cols - first.col) },
        value: grid.data[i]!,
        mark: grid.marks[i]!,
      };
    }
    return null;
  }

  // --- brushing

  async chooseArea(area: Window | null): Promise<void> {
    this.area = area;
    this.areaCensus = null;
    this.changed();
    if (area === null) return;
    const bytes = (area.rows * area.cols * this.tensor.nbytes) / Math.max(1, this.tensor.numel);
    const census = await this.ask('census', { ...this.which, window: area }, bytes);
    if (this.area !== area) return;
    this.areaCensus = census;
    this.changed();
  }
  async chooseRange(range: Range | null): Promise<void> {
    this.range = range;
    for (const shown of [this.overview, this.detail]) if (shown !== null) shown.hits = null;
    this.changed();
    if (range !== null) await this.findHits();
  }
  private async findHits(): Promise<void> {
    const range = this.range!;
    for (const shown of [this.detail, this.overview]) {
      if (shown === null || (shown === this.overview && this.large)) continue;
      await this.hit(shown, range);
      this.changed();
    }
  }
  private async hit(shown: Shown, range: Range): Promise<void> {
    const { rowStep, colStep } = shown.picture.grid;
    const within = (from: number, to: number) => this.ask('within', { ...this.which, window: shown.window, step: { row: rowStep, col: colStep }, from, to }, 0);
    const { from, to } = range;
    const hits = await within(from, to);
    const below = range.magnitudes === true ? await within(-to, from === 0 ? -Number.MIN_VALUE : -from) : null;
    if (this.range === range) shown.hits = hits !== null && below !== null ? hits.map((n, i) => n + below[i]!) : hits;
  }
}

const WORDS: Partial<Record<Method, string>> = { picture: 'picture', census: 'histogram' };
