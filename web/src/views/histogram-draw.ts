// SPDX-License-Identifier: Apache-2.0
// A histogram with quantiles, what is brushed, and others over it. Pure drawing.
import type { Bins } from '../core/histogram.js';
import { sampledMark } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';
import { across, curve, drawBand, drawTicks, outline, type Band } from './axis-draw.js';
import type { Rect } from './picture-draw.js';

/** Another histogram on the same edges, drawn as if it had as many values. */
export interface Curve {
  counts: Float64Array;
  /** All its values, those outside the edges among them. */
  total: number;
  /** A part of the tensor, another layer of its role, or a pinned tensor by its number. */
  style: 'part' | 'peer' | number;
}
export interface HistogramScene {
  bins: Bins;
  total: number;
  logCounts: boolean;
  /** Handles along the axis: [label, value]. */
  quantiles: readonly (readonly [string, number])[];
  /** Values that are brushed, and where they lie on this axis: two bands of a range of magnitudes on a linear one. */
  bands: readonly Band[];
  curves: readonly Curve[];
  /** Not all values were counted. */
  sampled: boolean;
  /** The value under the pointer in the picture. */
  pointed: number | null;
}

const LEFT = 46;
const RIGHT = 12;
const TOP = 22;
const BOTTOM = 20;
/** How near a handle is taken hold of. */
const GRIP = 7;

export function plotOf({ width, height }: Size): Rect {
  return { x: LEFT, y: TOP, width: Math.max(1, width - LEFT - RIGHT), height: Math.max(1, height - TOP - BOTTOM) };
}
/** The quantile whose handle is at a point, -1 for none. Handles are above the plot. */
export function handleAt(x: number, y: number, quantiles: HistogramScene['quantiles'], bins: Bins, size: Size): number {
  if (y > TOP + 4) return -1;
  const at = across(bins, plotOf(size));
  let best = -1;
  quantiles.forEach(([, value], i) => {
    const away = Math.abs(at(value) - x);
    if (away <= GRIP && (best < 0 || away < Math.abs(at(quantiles[best]![1]) - x))) best = i;
  });
  return best;
}
/** Which edge of a band is at a point. */
export function edgeAt(x: number, { from, to }: Band, bins: Bins, size: Size): 'from' | 'to' | null {
  const at = across(bins, plotOf(size));
  const [left, right] = [Math.abs(at(from) - x), Math.abs(at(to) - x)];
  if (Math.min(left, right) > 4) return null;
  return left < right ? 'from' : 'to';
}

export function drawHistogram(ctx: CanvasRenderingContext2D, scene: HistogramScene, size: Size, ink: Ink): void {
  const { bins, curves } = scene;
  const plot = plotOf(size);
  const { counts } = bins;
  const scaled = curves.map((one) => one.counts.map((count) => (count * scene.total) / Math.max(1, one.total)));
  const most = Math.max(1, ...counts, ...scaled.map((one) => one.reduce((a, b) => Math.max(a, b), 0)));
  const height = (count: number) => (count <= 0 ? 0 : plot.height * (scene.logCounts ? Math.log1p(count) / Math.log1p(most) : count / most));
  for (const band of scene.bands) drawBand(ctx, band, bins, plot, plot.y, ink);
  ctx.fillStyle = ink.share;
  const width = plot.width / counts.length;
  counts.forEach((count, i) => {
    // Whatever occurs at all is seen.
    const tall = count > 0 ? Math.max(1, height(count)) : 0;
    ctx.fillRect(plot.x + i * width, plot.y + plot.height - tall, Math.max(1, width - (width > 3 ? 1 : 0)), tall);
  });
  curves.forEach(({ style }, i) => {
    (style === 'part' ? outline : curve)(ctx, scaled[i]!, plot, (count) => plot.y + plot.height - height(count));
    pen(ctx, style, ink);
    ctx.stroke();
  });
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1;
  ctx.fillStyle = ink.strong;
  ctx.fillRect(plot.x, plot.y + plot.height, plot.width, 1);
  drawTicks(ctx, bins, plot, RIGHT, ink, 4);
  drawQuantiles(ctx, scene, plot, size.width, ink);
  if (scene.pointed !== null) drawPointed(ctx, scene.pointed, bins, plot, ink);
  if (scene.sampled) sampledMark(ctx, { ...plot, height: 18 }, ink);
  ctx.fillStyle = ink.muted;
  ctx.font = ink.mono;
  ctx.textAlign = 'right';
  ctx.fillText(countText(most), plot.x - 5, plot.y + 5);
  ctx.fillText('0', plot.x - 5, plot.y + plot.height - 3);
  ctx.textAlign = 'start';
  ctx.font = ink.font;
}

const countText = (n: number) => (n < 1e4 ? String(Math.round(n)) : n < 1e6 ? `${(n / 1e3).toPrecision(3)} K` : n < 1e9 ? `${(n / 1e6).toPrecision(3)} M` : `${(n / 1e9).toPrecision(3)} B`);

/** Curves differ by their dashes too, not by colour alone. */
const DASHES: readonly (readonly number[])[] = [[6, 3], [2, 2], [8, 2, 2, 2], [12, 4]];
const PIN_INKS = ['accent', 'good', 'bad', 'muted'] as const;
function pen(ctx: CanvasRenderingContext2D, style: Curve['style'], ink: Ink): void {
  ctx.lineWidth = style === 'peer' ? 1 : 2;
  ctx.globalAlpha = style === 'peer' ? 0.55 : 1;
  ctx.setLineDash(typeof style === 'number' ? [...DASHES[style % DASHES.length]!] : []);
  ctx.strokeStyle = style === 'part' ? ink.warn : style === 'peer' ? ink.text : ink[PIN_INKS[style % PIN_INKS.length]!];
}

function drawPointed(ctx: CanvasRenderingContext2D, value: number, bins: Bins, plot: Rect, ink: Ink): void {
  const { edges, axis } = bins;
  const shown = axis.scale === 'log' ? Math.abs(value) : value;
  if (!(shown >= edges[0]! && shown <= edges[edges.length - 1]!)) return;
  const at = across(bins, plot)(shown);
  ctx.fillStyle = ink.warn;
  ctx.beginPath();
  ctx.moveTo(at, plot.y + plot.height - 1);
  ctx.lineTo(at - 5, plot.y + plot.height - 11);
  ctx.lineTo(at + 5, plot.y + plot.height - 11);
  ctx.fill();
}

function drawQuantiles(ctx: CanvasRenderingContext2D, { bins, quantiles }: HistogramScene, plot: Rect, width: number, ink: Ink): void {
  const { edges } = bins;
  const x = across(bins, plot);
  ctx.textAlign = 'center';
  ctx.font = ink.mono;
  const inside = quantiles.filter(([, value]) => value >= edges[0]! && value <= edges[edges.length - 1]!);
  const labels = labelsOf(inside.map(([label, value]) => [label, x(value)] as const), width, (text) => ctx.measureText(text).width);
  for (const { text, middle } of labels) {
    ctx.fillStyle = ink.text;
    ctx.fillText(text, middle, plot.y - 13);
  }
  for (const [, value] of inside) {
    const at = x(value);
    ctx.strokeStyle = ink.text;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(at, plot.y);
    ctx.lineTo(at, plot.y + plot.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.fillStyle = ink.text;
    ctx.beginPath();
    ctx.moveTo(at, plot.y + 3);
    ctx.lineTo(at - 4, plot.y - 4);
    ctx.lineTo(at + 4, plot.y - 4);
    ctx.fill();
  }
  ctx.textAlign = 'start';
}

/** Labels above their places; those that would touch are told as one: "p25–p75". */
export function labelsOf(places: readonly (readonly [label: string, at: number])[], width: number, measure: (text: string) => number): { text: string; middle: number }[] {
  let groups = places.map(([label, at]) => ({ first: label, last: label, from: at, to: at }));
  const boxOf = (group: (typeof groups)[number]) => {
    const text = group.first === group.last ? group.first : `${group.first}–${group.last}`;
    const half = measure(text) / 2;
    const middle = Math.max(half + 1, Math.min((group.from + group.to) / 2, width - half - 1));
    return { text, middle, left: middle - half, right: middle + half };
  };
  for (;;) {
    const at = groups.findIndex((group, i) => i > 0 && boxOf(group).left < boxOf(groups[i - 1]!).right + 4);
    if (at < 0) return groups.map((group) => boxOf(group)).map(({ text, middle }) => ({ text, middle }));
    const [a, b] = [groups[at - 1]!, groups[at]!];
    groups = [...groups.slice(0, at - 1), { first: a.first, last: b.last, from: a.from, to: b.to }, ...groups.slice(at + 1)];
  }
}
