// SPDX-License-Identifier: Apache-2.0
// How much each layer changed, as bars. Pure drawing.
import { hatch } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';
import { short } from './picture-draw.js';

export interface LayerChange {
  layer: number;
  rel_l2: number | null;
  changed: number;
}
/** Relative change by layer, as bars: hatched where a sample was compared. */
export function drawLayers(ctx: CanvasRenderingContext2D, layers: readonly LayerChange[], sampled: boolean, { width, height }: Size, ink: Ink): void {
  const most = Math.max(0, ...layers.map(({ rel_l2 }) => rel_l2 ?? 0));
  const [left, foot] = [46, height - 16];
  const step = (width - left - 12) / layers.length;
  ctx.font = ink.mono;
  ctx.fillStyle = ink.muted;
  ctx.textAlign = 'right';
  ctx.fillText(short(most), left - 5, 8);
  ctx.textAlign = 'center';
  let last = -Infinity;
  layers.forEach(({ layer, rel_l2 }, i) => {
    const x = left + i * step;
    const tall = most > 0 ? ((rel_l2 ?? 0) / most) * (foot - 4) : 0;
    ctx.fillStyle = ink.share;
    ctx.fillRect(x, foot - tall, Math.max(1, step - 2), tall);
    if (sampled) hatch(ctx, { x, y: foot - tall, width: Math.max(1, step - 2), height: tall }, ink.page, 6);
    if (x - last < 26) return;
    ctx.fillStyle = ink.muted;
    ctx.fillText(String(layer), x + step / 2, foot + 9);
    last = x;
  });
  ctx.fillStyle = ink.strong;
  ctx.fillRect(left, foot, width - left - 12, 1);
  ctx.textAlign = 'start';
}
