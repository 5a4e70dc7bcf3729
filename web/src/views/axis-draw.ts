// SPDX-License-Identifier: Apache-2.0
// The axis of values that histograms and ridges share: places, ticks, the brushed range, and what is under the pointer. Pure drawing.
import { place, ticksOf, type Bins } from '../core/histogram.js';
import type { Ink } from '../ui/sketch.js';
import { short, type Rect } from './picture-draw.js';

/** Where values are drawn. */
export function across({ edges, axis }: Bins, plot: Rect): (value: number) => number {
  const [low, high] = [place(edges[0]!, axis), place(edges[edges.length - 1]!, axis)];
  return (value) => plot.x + ((place(value, axis) - low) / (high - low || 1)) * plot.width;
}
/** The value under a point of the canvas; on a log axis a magnitude. */
export function valueUnder(x: number, edges: Float64Array, plot: Rect): number {
  const at = Math.min(1, Math.max(0, (x - plot.x) / plot.width)) * (edges.length - 1);
  const i = Math.min(edges.length - 2, Math.floor(at));
  return edges[i]! + (at - i) * (edges[i + 1]! - edges[i]!);
}

/** Labels below the plot, each with a mark of `tick` pixels, or a line through all of it. */
export function drawTicks(ctx: CanvasRenderingContext2D, bins: Bins, plot: Rect, right: number, ink: Ink, tick: number | 'lines'): void {
  const x = across(bins, plot);
  const { edges, axis } = bins;
  const foot = plot.y + plot.height;
  ctx.font = ink.mono;
  ctx.textAlign = 'center';
  let last = -Infinity;
  for (const value of ticksOf(axis, edges[0]!, edges[edges.length - 1]!, Math.max(2, plot.width / 62))) {
    const at = x(value);
    const text = short(Number(value.toPrecision(10)));
    const half = ctx.measureText(text).width / 2;
    if (at - half < last + 8) continue;
    ctx.fillStyle = tick === 'lines' ? ink.line : ink.muted;
    if (tick === 'lines') ctx.fillRect(at, 4, 1, foot);
    else ctx.fillRect(at, foot, 1, tick);
    ctx.fillStyle = ink.muted;
    ctx.fillText(text, Math.min(at, plot.x + plot.width + right - half), foot + 12);
    last = at + half;
  }
  ctx.textAlign = 'start';
}

export interface Band {
  from: number;
  to: number;
}
/** What is brushed, as a band with edges; nothing of it where it is outside. */
export function drawBand(ctx: CanvasRenderingContext2D, band: Band, bins: Bins, plot: Rect, top: number, ink: Ink): void {
  const x = across(bins, plot);
  const { edges } = bins;
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  if (band.to < low || band.from > high) return;
  const [from, to] = [Math.max(plot.x, x(Math.max(band.from, low))), Math.min(plot.x + plot.width, x(Math.min(band.to, high)))];
  const height = plot.y + plot.height - top;
  ctx.fillStyle = ink.accent;
  ctx.globalAlpha = 0.18;
  ctx.fillRect(from, top, Math.max(1, to - from), height);
  ctx.globalAlpha = 1;
  ctx.fillRect(from, top, 1, height);
  ctx.fillRect(to, top, 1, height);
}

/** The upper edge of bins as a path: `top` is where a count ends. It begins and ends at the foot. */
export function outline(ctx: CanvasRenderingContext2D, counts: Float64Array, plot: Rect, top: (count: number) => number): void {
  const foot = plot.y + plot.height;
  const width = plot.width / counts.length;
  ctx.beginPath();
  ctx.moveTo(plot.x, foot);
  counts.forEach((count, i) => {
    const y = top(count);
    ctx.lineTo(plot.x + i * width, y);
    ctx.lineTo(plot.x + (i + 1) * width, y);
  });
  ctx.lineTo(plot.x + plot.width, foot);
}

/** The same as a line from middle to middle of the bins: for several curves over each other. */
export function curve(ctx: CanvasRenderingContext2D, counts: Float64Array, plot: Rect, top: (count: number) => number): void {
  const width = plot.width / counts.length;
  ctx.beginPath();
  counts.forEach((count, i) => ctx[i === 0 ? 'moveTo' : 'lineTo'](plot.x + (i + 0.5) * width, top(count)));
}
