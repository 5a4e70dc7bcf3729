// SPDX-License-Identifier: Apache-2.0
// A histogram with quantiles, what is brushed, and another one over it. Pure drawing.
import { place, ticksOf, type Bins } from '../core/histogram.js';
import type { Ink, Size } from '../ui/sketch.js';
import { short, type Rect } from './picture-draw.js';

export interface HistogramScene {
  bins: Bins;
  logCounts: boolean;
  /** Marks along the axis: [label, value]. */
  quantiles: readonly (readonly [string, number])[];
  /** Values that are brushed. */
  range: { from: number; to: number } | null;
  /** Counts of a part, on the same edges, scaled to the whole by its own total. */
  over: Float64Array | null;
}

const LEFT = 46;
const RIGHT = 12;
const TOP = 18;
const BOTTOM = 20;

export function plotOf({ width, height }: Size): Rect {
  return { x: LEFT, y: TOP, width: Math.max(1, width - LEFT - RIGHT), height: Math.max(1, height - TOP - BOTTOM) };
}
/** The value under a point of the canvas; on a log axis a magnitude. */
export function valueUnder(x: number, { edges }: Bins, size: Size): number {
  const plot = plotOf(size);
  const at = Math.min(1, Math.max(0, (x - plot.x) / plot.width)) * (edges.length - 1);
  const i = Math.min(edges.length - 2, Math.floor(at));
  return edges[i]! + (at - i) * (edges[i + 1]! - edges[i]!);
}

export function drawHistogram(ctx: CanvasRenderingContext2D, scene: HistogramScene, size: Size, ink: Ink): void {
  const { bins, range, over } = scene;
  const plot = plotOf(size);
  const { edges, counts, axis } = bins;
  const n = counts.length;
  const [low, high] = [place(edges[0]!, axis), place(edges[n]!, axis)];
  const x = (value: number) => plot.x + ((place(value, axis) - low) / (high - low || 1)) * plot.width;
  const most = Math.max(1, ...counts);
  const height = (count: number) => (count <= 0 ? 0 : plot.height * (scene.logCounts ? Math.log1p(count) / Math.log1p(most) : count / most));
  if (range !== null) {
    const [from, to] = [Math.max(plot.x, x(Math.max(range.from, edges[0]!))), Math.min(plot.x + plot.width, x(Math.min(range.to, edges[n]!)))];
    ctx.globalAlpha = 0.18;
    ctx.fillStyle = ink.accent;
    ctx.fillRect(from, plot.y, Math.max(1, to - from), plot.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(from, plot.y, 1, plot.height);
    ctx.fillRect(to, plot.y, 1, plot.height);
  }
  ctx.fillStyle = ink.share;
  const width = plot.width / n;
  counts.forEach((count, i) => {
    // Whatever occurs at all is seen.
    const tall = count > 0 ? Math.max(1, height(count)) : 0;
    ctx.fillRect(plot.x + i * width, plot.y + plot.height - tall, Math.max(1, width - (width > 3 ? 1 : 0)), tall);
  });
  if (over !== null) drawOver(ctx, over, plot, height, most, ink);
  ctx.fillStyle = ink.strong;
  ctx.fillRect(plot.x, plot.y + plot.height, plot.width, 1);
  drawAxis(ctx, scene, plot, x, ink);
  drawQuantiles(ctx, scene, plot, x, size.width, ink);
  ctx.fillStyle = ink.muted;
  ctx.font = ink.mono;
  ctx.textAlign = 'right';
  ctx.fillText(countText(most), plot.x - 5, plot.y + 5);
  ctx.fillText('0', plot.x - 5, plot.y + plot.height - 3);
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

const countText = (n: number) => (n < 1e4 ? String(n) : n < 1e6 ? `${(n / 1e3).toPrecision(3)} K` : n < 1e9 ? `${(n / 1e6).toPrecision(3)} M` : `${(n / 1e9).toPrecision(3)} B`);

function drawOver(ctx: CanvasRenderingContext2D, over: Float64Array, plot: Rect, height: (n: number) => number, most: number, ink: Ink): void {
  const scale = most / Math.max(1, ...over);
  const width = plot.width / over.length;
  ctx.beginPath();
  ctx.moveTo(plot.x, plot.y + plot.height);
  over.forEach((count, i) => {
    const y = plot.y + plot.height - height(count * scale);
    ctx.lineTo(plot.x + i * width, y);
    ctx.lineTo(plot.x + (i + 1) * width, y);
  });
  ctx.lineTo(plot.x + plot.width, plot.y + plot.height);
  ctx.strokeStyle = ink.warn;
  ctx.lineWidth = 2;
  ctx.stroke();
  ctx.lineWidth = 1;
}

function drawAxis(ctx: CanvasRenderingContext2D, { bins }: HistogramScene, plot: Rect, x: (v: number) => number, ink: Ink): void {
  const { edges, axis } = bins;
  ctx.font = ink.mono;
  ctx.fillStyle = ink.muted;
  ctx.textAlign = 'center';
  let last = -Infinity;
  for (const value of ticksOf(axis, edges[0]!, edges[edges.length - 1]!, Math.max(2, plot.width / 60))) {
    const at = x(value);
    const text = short(Number(value.toPrecision(10)));
    const half = ctx.measureText(text).width / 2;
    if (at - half < last + 8) continue;
    ctx.fillRect(at, plot.y + plot.height, 1, 4);
    ctx.fillText(text, Math.min(at, plot.x + plot.width + RIGHT - half), plot.y + plot.height + 12);
    last = at + half;
  }
  ctx.textAlign = 'start';
}

function drawQuantiles(ctx: CanvasRenderingContext2D, { bins, quantiles }: HistogramScene, plot: Rect, x: (v: number) => number, width: number, ink: Ink): void {
  const { edges } = bins;
  let last = -Infinity;
  ctx.textAlign = 'center';
  for (const [label, value] of quantiles) {
    if (value < edges[0]! || value > edges[edges.length - 1]!) continue;
    const at = x(value);
    ctx.strokeStyle = ink.text;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(at, plot.y);
    ctx.lineTo(at, plot.y + plot.height);
    ctx.stroke();
    ctx.setLineDash([]);
    const half = ctx.measureText(label).width / 2;
    const middle = Math.min(at, width - half - 1);
    if (middle - half < last + 4) continue;
    ctx.fillStyle = ink.text;
    ctx.fillText(label, middle, plot.y - 9);
    last = middle + half;
  }
  ctx.textAlign = 'start';
}
