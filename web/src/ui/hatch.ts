// SPDX-License-Identifier: Apache-2.0
// Slanted lines over a rectangle: what colour alone must not say.
import type { Ink } from './sketch.js';

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}
export function hatch(ctx: CanvasRenderingContext2D, at: Area, color: string, gap: number, line = 1): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(at.x, at.y, at.width, at.height);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.lineWidth = line;
  ctx.beginPath();
  // From one grid of lines for the whole canvas: neighbours continue each other.
  const first = Math.floor((at.x - at.height) / gap) * gap;
  for (let x = first; x < at.x + at.width; x += gap) {
    ctx.moveTo(x, at.y + at.height);
    ctx.lineTo(x + at.height, at.y);
  }
  ctx.stroke();
  ctx.restore();
}

/** At the foot of a plot: what is shown is of a sample. */
export function sampledMark(ctx: CanvasRenderingContext2D, plot: Area, ink: Ink): void {
  const [width, height] = [86, 18];
  const at = { x: plot.x, y: plot.y + plot.height - height, width, height };
  ctx.fillStyle = ink.page;
  ctx.fillRect(at.x, at.y, width, height);
  hatch(ctx, at, ink.line, 6);
  ctx.font = ink.font;
  ctx.textAlign = 'start';
  ctx.fillStyle = ink.text;
  ctx.fillText('≈ sampled', at.x + 8, at.y + height / 2 + 1);
}
