// SPDX-License-Identifier: Apache-2.0
// One role over the layers: a histogram each, one behind the other, on one axis. Pure drawing.
import { place, ticksOf, type Bins } from '../core/histogram.js';
import type { Ink, Size } from '../ui/sketch.js';
import { short, type Rect } from './picture-draw.js';

export interface Ridge {
  labels: readonly string[];
  /** On the same edges; null where it has not been read yet. */
  bins: readonly (Bins | null)[];
  logCounts: boolean;
  /** Each curve to its own height, or all to one. */
  normalised: boolean;
  range: { from: number; to: number } | null;
  cursor: number | null;
}

const LEFT = 56;
const RIGHT = 12;
const BOTTOM = 22;
/** How far a curve reaches over those behind it, in rows. */
const REACH = 2.2;
/** Room for what reaches over the first row. */
const headOf = (rows: number) => Math.ceil((REACH - 1) * stepFor(rows)) + 8;

export function ridgeHeight(rows: number): number {
  return headOf(rows) + BOTTOM + rows * stepFor(rows);
}
export function stepFor(rows: number): number {
  return Math.max(9, Math.min(34, 620 / Math.max(1, rows)));
}
export function ridgePlot(rows: number, { width }: Size): Rect {
  return { x: LEFT, y: headOf(rows), width: Math.max(1, width - LEFT - RIGHT), height: rows * stepFor(rows) };
}
export function rowUnder(y: number, rows: number): number | null {
  const row = Math.floor((y - headOf(rows)) / stepFor(rows));
  return row >= 0 && row < rows ? row : null;
}
/** The value at a point, given edges. */
export function valueUnder(x: number, edges: Float64Array, rows: number, size: Size): number {
  const plot = ridgePlot(rows, size);
  const at = Math.min(1, Math.max(0, (x - plot.x) / plot.width)) * (edges.length - 1);
  const i = Math.min(edges.length - 2, Math.floor(at));
  return edges[i]! + (at - i) * (edges[i + 1]! - edges[i]!);
}

export function drawRidge(ctx: CanvasRenderingContext2D, ridge: Ridge, size: Size, ink: Ink): void {
  const first = ridge.bins.find((bins) => bins !== null);
  if (first === undefined || first === null) return;
  const rows = ridge.labels.length;
  const plot = ridgePlot(rows, size);
  const step = stepFor(rows);
  const { edges, axis } = first;
  const n = edges.length - 1;
  const [low, high] = [place(edges[0]!, axis), place(edges[n]!, axis)];
  const x = (value: number) => plot.x + ((place(value, axis) - low) / (high - low || 1)) * plot.width;
  const largest = Math.max(1, ...ridge.bins.map((bins) => (bins === null ? 0 : Math.max(...bins.counts))));
  drawAxis(ctx, first, plot, x, ink);
  if (ridge.range !== null) {
    const [from, to] = [Math.max(plot.x, x(Math.max(ridge.range.from, edges[0]!))), Math.min(plot.x + plot.width, x(Math.min(ridge.range.to, edges[n]!)))];
    ctx.globalAlpha = 0.18;
    ctx.fillStyle = ink.accent;
    ctx.fillRect(from, 4, Math.max(1, to - from), plot.y + plot.height - 4);
    ctx.globalAlpha = 1;
  }
  ctx.font = ink.mono;
  let labelled = -Infinity;
  ridge.bins.forEach((bins, row) => {
    const foot = plot.y + (row + 1) * step;
    ctx.textAlign = 'right';
    ctx.fillStyle = row === ridge.cursor ? ink.text : ink.muted;
    if (foot - labelled >= 12) {
      ctx.fillText(ridge.labels[row]!, plot.x - 8, foot - 4, LEFT - 10);
      labelled = foot;
    }
    ctx.fillStyle = ink.line;
    ctx.fillRect(plot.x, foot, plot.width, 1);
    if (bins !== null) drawCurve(ctx, bins.counts, ridge, row === ridge.cursor, { x: plot.x, y: foot, width: plot.width, height: step * REACH }, ridge.normalised ? Math.max(1, ...bins.counts) : largest, ink);
  });
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

function drawCurve(ctx: CanvasRenderingContext2D, counts: Float64Array, { logCounts }: Ridge, current: boolean, at: Rect, most: number, ink: Ink): void {
  const n = counts.length;
  const y = (count: number) => at.y - at.height * (logCounts ? Math.log1p(count) / Math.log1p(most) : count / most);
  ctx.beginPath();
  ctx.moveTo(at.x, at.y);
  counts.forEach((count, i) => {
    // Whatever occurs at all is seen.
    const top = count > 0 ? Math.min(y(count), at.y - 1.5) : at.y;
    ctx.lineTo(at.x + (i / n) * at.width, top);
    ctx.lineTo(at.x + ((i + 1) / n) * at.width, top);
  });
  ctx.lineTo(at.x + at.width, at.y);
  ctx.fillStyle = ink.page;
  ctx.globalAlpha = 0.8;
  ctx.fill();
  ctx.globalAlpha = current ? 0.75 : 0.35;
  ctx.fillStyle = ink.share;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = current ? ink.text : ink.share;
  ctx.stroke();
}

function drawAxis(ctx: CanvasRenderingContext2D, { edges, axis }: Bins, plot: Rect, x: (v: number) => number, ink: Ink): void {
  ctx.font = ink.mono;
  ctx.textAlign = 'center';
  let last = -Infinity;
  for (const value of ticksOf(axis, edges[0]!, edges[edges.length - 1]!, Math.max(2, plot.width / 64))) {
    const at = x(value);
    const text = short(Number(value.toPrecision(10)));
    const half = ctx.measureText(text).width / 2;
    if (at - half < last + 8) continue;
    ctx.fillStyle = ink.line;
    ctx.fillRect(at, 4, 1, plot.y + plot.height);
    ctx.fillStyle = ink.muted;
    ctx.fillText(text, Math.min(at, plot.x + plot.width + RIGHT - half), plot.y + plot.height + 13);
    last = at + half;
  }
}
