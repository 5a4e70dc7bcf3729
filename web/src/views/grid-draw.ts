// SPDX-License-Identifier: Apache-2.0
// A grid of named rows and columns, a colour each cell. Pure drawing.
import { hatch } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';
import type { Rect } from './picture-draw.js';

export interface Grid {
  rows: readonly string[];
  cols: readonly string[];
  /** CSS colour, or null where there is nothing. */
  color: (row: number, col: number) => string | null;
  /** A sign in the cell: "✕", "=2". */
  sign?: (row: number, col: number) => string;
  /** Cells whose value is of a part only: they are hatched. */
  approximate?: (row: number, col: number) => boolean;
  cursor: { row: number; col: number } | null;
  /** The cell of what is looked at on the whole page. */
  selected?: { row: number; col: number } | null;
  /** Slanted labels above need this much. */
  head: number;
}

export const ROW_HEIGHT = 20;
const LEFT = 56;
const RIGHT = 8;

export function gridPlot(grid: Pick<Grid, 'head' | 'rows'>, { width }: Size): Rect {
  // Slanted labels lean over the last columns: they need room at the right.
  return { x: LEFT, y: grid.head, width: Math.max(1, width - LEFT - RIGHT - grid.head * 0.55), height: grid.rows.length * ROW_HEIGHT };
}
export function gridHeight(grid: Pick<Grid, 'head' | 'rows'>): number {
  return grid.head + grid.rows.length * ROW_HEIGHT + 4;
}
export function cellAt(x: number, y: number, grid: Pick<Grid, 'head' | 'rows' | 'cols'>, size: Size): { row: number; col: number } | null {
  const plot = gridPlot(grid, size);
  const row = Math.floor((y - plot.y) / ROW_HEIGHT);
  const col = Math.floor(((x - plot.x) / plot.width) * grid.cols.length);
  return row >= 0 && col >= 0 && row < grid.rows.length && col < grid.cols.length ? { row, col } : null;
}

export function drawGrid(ctx: CanvasRenderingContext2D, grid: Grid, size: Size, ink: Ink): void {
  const plot = gridPlot(grid, size);
  const width = plot.width / grid.cols.length;
  const inset = width > 8 ? 1 : 0;
  ctx.font = ink.mono;
  ctx.textAlign = 'right';
  grid.rows.forEach((label, row) => {
    const on = row === grid.selected?.row;
    ctx.fillStyle = on ? ink.text : ink.muted;
    ctx.font = on ? `bold ${ink.mono}` : ink.mono;
    ctx.fillText(on ? `▸ ${label}` : label, plot.x - 6, plot.y + (row + 0.5) * ROW_HEIGHT, LEFT - 8);
  });
  ctx.font = ink.mono;
  ctx.textAlign = 'left';
  let last = -Infinity;
  grid.cols.forEach((label, col) => {
    const x = plot.x + (col + 0.5) * width;
    if (x - last < 13) return;
    last = x;
    ctx.save();
    ctx.translate(x, plot.y - 6);
    if (grid.head > 30) ctx.rotate(-Math.PI / 3);
    else ctx.textAlign = 'center';
    ctx.fillStyle = ink.text;
    ctx.fillText(fitted(ctx, label, grid.head > 30 ? (grid.head - 10) / Math.sin(Math.PI / 3) : 200), 0, 0);
    ctx.restore();
  });
  for (let row = 0; row < grid.rows.length; ++row) {
    for (let col = 0; col < grid.cols.length; ++col) {
      const color = grid.color(row, col);
      const [x, y] = [plot.x + col * width, plot.y + row * ROW_HEIGHT];
      if (color === null) {
        ctx.strokeStyle = ink.line;
        ctx.beginPath();
        ctx.moveTo(x + 3, y + ROW_HEIGHT - 4);
        ctx.lineTo(x + width - 3, y + 4);
        ctx.stroke();
        continue;
      }
      ctx.fillStyle = color;
      ctx.fillRect(x, y, width - inset, ROW_HEIGHT - 1);
      if (grid.approximate?.(row, col) === true) hatch(ctx, { x, y, width: width - inset, height: ROW_HEIGHT - 1 }, ink.muted, 6, 0.6);
      const sign = grid.sign?.(row, col) ?? '';
      if (sign === '') continue;
      ctx.textAlign = 'center';
      ctx.lineWidth = 3;
      ctx.strokeStyle = ink.page;
      ctx.strokeText(sign, x + width / 2, y + ROW_HEIGHT / 2);
      ctx.lineWidth = 1;
      ctx.fillStyle = ink.text;
      ctx.fillText(sign, x + width / 2, y + ROW_HEIGHT / 2);
      ctx.textAlign = 'left';
    }
  }
  ctx.strokeStyle = ink.strong;
  ctx.strokeRect(plot.x - 0.5, plot.y - 0.5, plot.width + 1 - inset, plot.height + 0.5);
  const frame = (cell: { row: number; col: number }, thick: number) => {
    ctx.lineWidth = thick;
    ctx.strokeRect(plot.x + cell.col * width - 1, plot.y + cell.row * ROW_HEIGHT - 1, width + 1, ROW_HEIGHT + 1);
    ctx.lineWidth = 1;
  };
  if (grid.selected != null) {
    // On a light line: it is seen on any colour.
    ctx.strokeStyle = ink.page;
    frame(grid.selected, 5);
    ctx.strokeStyle = ink.accent;
    frame(grid.selected, 3);
  }
  if (grid.cursor === null) return;
  ctx.strokeStyle = ink.text;
  frame(grid.cursor, 2);
}

/** The end of a label says most: "…_attn.q_proj". */
export function fitted(ctx: Pick<CanvasRenderingContext2D, 'measureText'>, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  let from = 1;
  while (from < text.length && ctx.measureText(`…${text.slice(from)}`).width > width) ++from;
  return `…${text.slice(from)}`;
}
