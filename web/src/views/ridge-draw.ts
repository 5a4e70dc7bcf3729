// SPDX-License-Identifier: Apache-2.0
// One role over the layers: a histogram each, one behind the other, on one axis. Pure drawing.
import type { Bins } from '../core/histogram.js';
import { hatch } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';
import { drawBand, drawTicks, outline, type Band } from './axis-draw.js';
import type { Rect } from './picture-draw.js';

export interface Ridge {
  labels: readonly string[];
  /** On the same edges; null where it has not been read yet. */
  bins: readonly (Bins | null)[];
  /** Of which only a part was counted: they are hatched. */
  approximate: readonly boolean[];
  logCounts: boolean;
  /** Each curve to its own height, or all to one. */
  normalised: boolean;
  range: Band | null;
  cursor: number | null;
  /** The row of the tensor that is looked at on the whole page. */
  selected: number | null;
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

export function drawRidge(ctx: CanvasRenderingContext2D, ridge: Ridge, size: Size, ink: Ink): void {
  const first = ridge.bins.find((bins) => bins !== null);
  if (first === undefined || first === null) return;
  const rows = ridge.labels.length;
  const plot = ridgePlot(rows, size);
  const step = stepFor(rows);
  const largest = Math.max(1, ...ridge.bins.map((bins) => (bins === null ? 0 : Math.max(...bins.counts))));
  drawTicks(ctx, first, plot, RIGHT, ink, 'lines');
  if (ridge.range !== null) drawBand(ctx, ridge.range, first, plot, 4, ink);
  ctx.font = ink.mono;
  let labelled = -Infinity;
  ridge.bins.forEach((bins, row) => {
    const foot = plot.y + (row + 1) * step;
    ctx.textAlign = 'right';
    const on = row === ridge.selected;
    ctx.fillStyle = on || row === ridge.cursor ? ink.text : ink.muted;
    ctx.font = on ? `bold ${ink.mono}` : ink.mono;
    const near = ridge.selected !== null && !on && Math.abs(ridge.selected - row) * step < 12;
    if (on || (foot - labelled >= 12 && !near)) {
      ctx.fillText(`${on ? '▸ ' : ''}${ridge.approximate[row] === true ? '≈ ' : ''}${ridge.labels[row]!}`, plot.x - 8, foot - 4, LEFT - 10);
      labelled = foot;
    }
    ctx.fillStyle = ink.line;
    ctx.fillRect(plot.x, foot, plot.width, 1);
    if (bins !== null) drawCurve(ctx, bins.counts, ridge, row, { x: plot.x, y: foot, width: plot.width, height: step * REACH }, ridge.normalised ? Math.max(1, ...bins.counts) : largest, ink);
  });
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

function drawCurve(ctx: CanvasRenderingContext2D, counts: Float64Array, ridge: Ridge, row: number, at: Rect, most: number, ink: Ink): void {
  const { logCounts } = ridge;
  const current = row === ridge.cursor;
  const selected = row === ridge.selected;
  const y = (count: number) => at.y - at.height * (logCounts ? Math.log1p(count) / Math.log1p(most) : count / most);
  // Whatever occurs at all is seen.
  outline(ctx, counts, { ...at, height: 0 }, (count) => (count > 0 ? Math.min(y(count), at.y - 1.5) : at.y));
  ctx.fillStyle = ink.page;
  ctx.globalAlpha = 0.8;
  ctx.fill();
  ctx.globalAlpha = current || selected ? 0.75 : 0.35;
  ctx.fillStyle = selected ? ink.accent : ink.share;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = current ? ink.text : selected ? ink.accent : ink.share;
  ctx.lineWidth = selected ? 2 : 1;
  ctx.stroke();
  ctx.lineWidth = 1;
  if (ridge.approximate[row] !== true) return;
  ctx.save();
  ctx.clip();
  hatch(ctx, { ...at, y: at.y - at.height }, ink.text, 6, 0.5);
  ctx.restore();
}
