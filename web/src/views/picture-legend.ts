// SPDX-License-Identifier: Apache-2.0
// What the colours of a picture mean, and which values have none: NaN and infinities as far as there are any. Pure.
import type { Colors, HeatmapGrid } from '../core/protocol.js';
import * as format from '../ui/format.js';
import type { Ink, Size } from '../ui/sketch.js';
import { LEFT, rgb, short, type Kind } from './picture-draw.js';

/** The entry of `Colors.marks`, null where there is none to show, and what is said of it. */
interface Mark {
  entry: number | null;
  text: string;
}
const marksIn = new WeakMap<Uint8Array, number>();
function allMarks({ marks }: Pick<HeatmapGrid, 'marks'>): number {
  const known = marksIn.get(marks) ?? marks.reduce((all, mark) => all | mark, 0);
  marksIn.set(marks, known);
  return known;
}

/** "NaN: 3", "−Inf: 1", "no Inf": infinities of one sign only are called by it. */
export function marksOf(grid: Pick<HeatmapGrid, 'marks' | 'nan' | 'inf' | 'exact'>): Mark[] {
  const { nan, inf, exact } = grid;
  const found = allMarks(grid);
  const [plus, minus] = [(found & 2) !== 0, (found & 4) !== 0];
  const marks: Mark[] = [];
  if (nan > 0) marks.push({ entry: 0, text: `NaN: ${format.exact(nan)}` });
  if (plus) marks.push({ entry: 3, text: minus ? '+Inf' : `+Inf: ${format.exact(inf)}` });
  if (minus) marks.push({ entry: 6, text: plus ? `−Inf: ${format.exact(inf)} together` : `−Inf: ${format.exact(inf)}` });
  const none = [...(nan > 0 ? [] : ['NaN']), ...(plus || minus ? [] : ['Inf'])];
  if (none.length > 0) marks.push({ entry: null, text: `no ${none.join(' or ')}${exact ? '' : ' seen'}` });
  return marks;
}

export interface Legend {
  colors: Colors;
  kind: Kind;
  limit: number;
  beyond: string;
  marks: readonly Mark[];
}
export function legendText({ kind, limit, beyond, marks }: Omit<Legend, 'colors'>): string {
  return `colours from ${kind === 'diverging' && limit > 0 ? short(-limit) : '0'} to ${short(limit)}; ${[beyond, ...marks.map(({ text }) => text)].join('; ')}`;
}

/** The colours with their values, and what stands apart from them. */
export function drawLegend(ctx: CanvasRenderingContext2D, { colors, kind, limit, beyond, marks }: Legend, size: Size, ink: Ink): void {
  const bar = { x: LEFT, y: 4, width: Math.min(220, Math.max(60, 0.38 * size.width)), height: 10 };
  for (let i = 0; i < bar.width; ++i) {
    ctx.fillStyle = rgb(colors[kind], 3 * Math.round((i / (bar.width - 1)) * 255));
    ctx.fillRect(bar.x + i, bar.y, 1.5, bar.height);
  }
  ctx.strokeStyle = ink.strong;
  ctx.strokeRect(bar.x - 0.5, bar.y - 0.5, bar.width + 1, bar.height + 1);
  ctx.fillStyle = ink.muted;
  ctx.font = ink.mono;
  const label = (text: string, x: number, align: CanvasTextAlign) => {
    ctx.textAlign = align;
    ctx.fillText(text, x, bar.y + bar.height + 10);
  };
  if (kind === 'sequential' || limit > 0) {
    label(kind === 'diverging' ? short(-limit) : '0', bar.x, 'left');
    label(short(limit), bar.x + bar.width, 'right');
  }
  if (kind === 'diverging') label('0', bar.x + bar.width / 2, 'center');
  ctx.font = ink.font;
  ctx.textAlign = 'left';
  let x = bar.x + bar.width + 14;
  for (const { entry, text } of marks) {
    if (entry !== null) {
      ctx.fillStyle = rgb(colors.marks, entry);
      ctx.fillRect(x, bar.y, 10, 10);
      ctx.strokeStyle = ink.strong;
      ctx.strokeRect(x - 0.5, bar.y - 0.5, 11, 11);
      x += 15;
    }
    ctx.fillStyle = entry === null ? ink.muted : ink.text;
    ctx.fillText(text, x, bar.y + 6);
    x += ctx.measureText(text).width + 14;
  }
  ctx.fillStyle = ink.muted;
  ctx.fillText(beyond, bar.x + bar.width + 14, bar.y + 20, Math.max(20, size.width - bar.x - bar.width - 16));
}
