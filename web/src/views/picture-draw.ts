// SPDX-License-Identifier: Apache-2.0
// A tensor as a picture: cells in the core's colours, profiles along two sides, numbers where there is room. Pure drawing.
import type { Colors, HeatmapGrid, Window } from '../core/protocol.js';
import { sampledMark } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';
import { indexOf, type Space, type Viewport } from './space.js';

export type Kind = 'diverging' | 'sequential';

/** The entry of a colour map for a value, as the core chooses it: `limit` is the value of the last. */
export function colorIndex(kind: Kind, value: number, limit: number): number {
  const t = Number.isNaN(value) || !(limit > 0) ? 0 : Math.min(1, Math.max(kind === 'diverging' ? -1 : 0, value / limit));
  return Math.round(kind === 'diverging' ? ((t + 1) * 255) / 2 : t * 255);
}

/** Pixels of a grid, one a cell. `hits` (elements of each cell that were brushed) dims the cells without any and lights the others. */
export function pixelsOf(
  grid: Pick<HeatmapGrid, 'rows' | 'cols' | 'data' | 'marks'>,
  colors: Colors,
  kind: Kind,
  limit: number,
  hits?: { counts: Uint32Array; elements: number; light: [number, number, number] },
): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(4 * grid.rows * grid.cols);
  const map = colors[kind];
  const ground = kind === 'diverging' ? 3 * 127 : 0;
  for (let i = 0, at = 0; i < grid.data.length; ++i, at += 4) {
    const mark = grid.marks[i]!;
    const value = grid.data[i]!;
    const source = mark === 0 ? map : colors.marks;
    const entry = mark === 0 ? 3 * colorIndex(kind, value, limit) : (mark & 1) !== 0 ? 0 : (mark & 2) !== 0 ? 3 : 6;
    if (mark === 0 && Number.isNaN(value)) continue;
    const share = hits === undefined ? 0 : hits.counts[i]! / hits.elements;
    const keep = hits === undefined ? 1 : hits.counts[i] === 0 ? 0.3 : 0.35 * (1 - share);
    for (let c = 0; c < 3; ++c) {
      const other = hits !== undefined && hits.counts[i]! > 0 ? hits.light[c]! : map[ground + c]!;
      out[at + c] = keep * source[entry + c]! + (1 - keep) * other;
    }
    out[at + 3] = 255;
  }
  return out;
}

/** Cells and the window of the matrix that they cover. */
export interface Layer {
  window: Window;
  image: CanvasImageSource & Size;
}
export interface Scene {
  space: Space;
  shape: readonly number[];
  view: Viewport;
  /** Coarse first. */
  layers: readonly Layer[];
  colors: Colors;
  kind: Kind;
  limit: number;
  rowRms: Float32Array | null;
  colRms: Float32Array | null;
  cursor: { row: number; col: number } | null;
  focused: boolean;
  area: Window | null;
  numbers: { window: Window; values: Float64Array; codes: string[] } | null;
  /** Not all elements were read. */
  sampled: boolean;
}

export const LEFT = 46;
const TOP = 30;
const RIGHT = 34;
const BOTTOM = 20;
/** A cell that a number fits in. */
export const NUMBER_CELL = { width: 62, height: 20 };

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}
export function plotOf({ width, height }: Size): Rect {
  return { x: LEFT, y: TOP, width: Math.max(1, width - LEFT - RIGHT), height: Math.max(1, height - TOP - BOTTOM) };
}
/** The fewest elements to zoom in to: a number then fits each. */
export function leastOf(size: Size): Space {
  const plot = plotOf(size);
  return { rows: Math.max(1, plot.height / 34), cols: Math.max(1, plot.width / 76) };
}
/** The place in the matrix of a point of the canvas. */
export function elementAt(x: number, y: number, view: Viewport, size: Size): { row: number; col: number } {
  const plot = plotOf(size);
  return { row: view.row + ((y - plot.y) / plot.height) * view.rows, col: view.col + ((x - plot.x) / plot.width) * view.cols };
}

export function drawPicture(ctx: CanvasRenderingContext2D, scene: Scene, size: Size, ink: Ink): void {
  const plot = plotOf(size);
  const { view, colors, kind } = scene;
  const ground = kind === 'diverging' ? 3 * 127 : 0;
  ctx.fillStyle = rgb(colors[kind], ground);
  ctx.fillRect(plot.x, plot.y, plot.width, plot.height);
  const x = (col: number) => plot.x + ((col - view.col) / view.cols) * plot.width;
  const y = (row: number) => plot.y + ((row - view.row) / view.rows) * plot.height;
  const box = (w: Window): [number, number, number, number] => [x(w.col), y(w.row), x(w.col + w.cols) - x(w.col), y(w.row + w.rows) - y(w.row)];
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.x, plot.y, plot.width, plot.height);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  for (const { image, window } of scene.layers) ctx.drawImage(image, ...box(window));
  if (scene.numbers !== null) drawNumbers(ctx, scene, plot, ink);
  if (scene.area !== null) {
    ctx.setLineDash([5, 3]);
    outline(ctx, box(scene.area), ink);
    ctx.setLineDash([]);
  }
  if (scene.cursor !== null) {
    const at = box({ ...scene.cursor, rows: 1, cols: 1 });
    const grown = Math.max(at[2], 7);
    const tall = Math.max(at[3], 7);
    outline(ctx, [at[0] - (grown - at[2]) / 2, at[1] - (tall - at[3]) / 2, grown, tall], ink);
  }
  ctx.restore();
  ctx.strokeStyle = ink.strong;
  ctx.strokeRect(plot.x - 0.5, plot.y - 0.5, plot.width + 1, plot.height + 1);
  drawAxes(ctx, scene, plot, ink);
  drawProfile(ctx, scene.colRms, view.col, view.cols, { x: plot.x, y: 3, width: plot.width, height: TOP - 8 }, 'up', ink);
  drawProfile(ctx, scene.rowRms, view.row, view.rows, { x: plot.x + plot.width + 6, y: plot.y, width: RIGHT - 8, height: plot.height }, 'right', ink);
  if (scene.sampled) sampledMark(ctx, plot, ink);
}

function outline(ctx: CanvasRenderingContext2D, [x, y, width, height]: [number, number, number, number], ink: Ink): void {
  ctx.lineWidth = 3;
  ctx.strokeStyle = ink.page;
  ctx.strokeRect(x, y, width, height);
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = ink.text;
  ctx.strokeRect(x, y, width, height);
  ctx.lineWidth = 1;
}

/** Black or white, whichever is seen on a colour. */
function textOn(map: Uint8Array, entry: number): string {
  return 0.299 * map[entry]! + 0.587 * map[entry + 1]! + 0.114 * map[entry + 2]! > 140 ? '#000' : '#fff';
}
export const rgb = (map: Uint8Array, entry: number) => `rgb(${map[entry]},${map[entry + 1]},${map[entry + 2]})`;

/** Short enough for a cell. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '−Inf';
  if (value === 0) return Object.is(value, -0) ? '−0' : '0';
  const size = Math.abs(value);
  const text = size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(2).replace('e+', 'e');
  return text.replace(/^-/, '−');
}

function drawNumbers(ctx: CanvasRenderingContext2D, { view, numbers, colors, kind, limit }: Scene, plot: Rect, ink: Ink): void {
  const { window, values, codes } = numbers!;
  const width = plot.width / view.cols;
  const height = plot.height / view.rows;
  const both = height >= 30 && codes.length > 0 && codes[0]!.length <= 10;
  ctx.textAlign = 'center';
  ctx.font = ink.mono;
  for (let r = 0; r < window.rows; ++r) {
    for (let c = 0; c < window.cols; ++c) {
      const i = r * window.cols + c;
      const value = values[i]!;
      const finite = Number.isFinite(value);
      const entry = finite ? 3 * colorIndex(kind, value, limit) : Number.isNaN(value) ? 0 : value > 0 ? 3 : 6;
      const left = plot.x + (window.col + c - view.col) * width;
      const top = plot.y + (window.row + r - view.row) * height;
      ctx.fillStyle = textOn(finite ? colors[kind] : colors.marks, entry);
      ctx.fillText(short(value), left + width / 2, top + height / 2 - (both ? 6 : 0));
      if (!both) continue;
      ctx.globalAlpha = 0.75;
      ctx.fillText(codes[i]!, left + width / 2, top + height / 2 + 8);
      ctx.globalAlpha = 1;
    }
  }
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

/** A power of two, or 1, 2, 5 times a power of ten for small counts, so that labels do not touch. */
function tickStep(extent: number, room: number): number {
  let step = 1;
  while (extent / step > room) step *= 2;
  return step;
}

function drawAxes(ctx: CanvasRenderingContext2D, { view, space, shape }: Scene, plot: Rect, ink: Ink): void {
  ctx.fillStyle = ink.muted;
  ctx.strokeStyle = ink.strong;
  ctx.font = ink.mono;
  ctx.textAlign = 'right';
  const rowStep = tickStep(view.rows, Math.max(1, plot.height / 28));
  for (let row = Math.ceil(view.row / rowStep) * rowStep; row < Math.min(view.row + view.rows, space.rows); row += rowStep) {
    const y = plot.y + ((row + 0.5 - view.row) / view.rows) * plot.height;
    if (y < plot.y || y > plot.y + plot.height) continue;
    ctx.fillText(indexOf(shape, row, 0).slice(0, -1).join(',') || '0', plot.x - 5, y, LEFT - 6);
  }
  ctx.textAlign = 'center';
  const colStep = tickStep(view.cols, Math.max(1, plot.width / 56));
  for (let col = Math.ceil(view.col / colStep) * colStep; col < Math.min(view.col + view.cols, space.cols); col += colStep) {
    const x = plot.x + ((col + 0.5 - view.col) / view.cols) * plot.width;
    if (x < plot.x || x > plot.x + plot.width) continue;
    ctx.fillText(String(col), x, plot.y + plot.height + 11);
  }
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

/** Bars reach their full length at this many times the median: one hot channel does not flatten all others. */
const FULL = 6;

/** The rms of rows or columns as bars, the largest of those that share a pixel; what is beyond their length stands out. */
function drawProfile(ctx: CanvasRenderingContext2D, rms: Float32Array | null, first: number, extent: number, at: Rect, grows: 'up' | 'right', ink: Ink): void {
  if (rms === null || rms.length < 2) return;
  const sorted = rms.filter((value) => Number.isFinite(value)).sort();
  const median = sorted[sorted.length >> 1] ?? 0;
  const largest = sorted.at(-1) ?? 0;
  const most = median > 0 ? Math.min(largest, FULL * median) : largest;
  const length = Math.round(grows === 'up' ? at.width : at.height);
  for (let pixel = 0; pixel < length; ++pixel) {
    const from = Math.floor(first + (pixel / length) * extent);
    const to = Math.max(from + 1, Math.floor(first + ((pixel + 1) / length) * extent));
    let value = 0;
    for (let i = from; i < to && i < rms.length; ++i) value = Math.max(value, rms[i]!);
    const share = most > 0 ? Math.min(1, value / most) : 0;
    ctx.fillStyle = value > most ? ink.warn : ink.share;
    if (grows === 'up') ctx.fillRect(at.x + pixel, at.y + at.height * (1 - share), 1, at.height * share);
    else ctx.fillRect(at.x, at.y + pixel, at.width * share, 1);
  }
  ctx.fillStyle = ink.strong;
  if (grows === 'up') ctx.fillRect(at.x, at.y + at.height, at.width, 1);
  else ctx.fillRect(at.x - 1, at.y, 1, at.height);
}
