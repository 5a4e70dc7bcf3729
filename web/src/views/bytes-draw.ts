// SPDX-License-Identifier: Apache-2.0
// A file to scale, as a tape in rows: what each byte is for. Pure drawing.
import { hatch } from '../ui/hatch.js';
import type { Ink, Size } from '../ui/sketch.js';

export interface Part {
  offset: number;
  length: number;
  kind: string;
  name?: string;
  tensors?: number;
}
export interface Span {
  offset: number;
  length: number;
}
export interface Tape {
  size: number;
  parts: readonly Part[];
  /** The tensor that is looked at. */
  selected: Span | null;
  /** Bytes whose check sum is wrong. */
  damaged: readonly Span[];
  /** The bytes that are shown as hex. */
  window: Span;
}

/** Nobody's bytes are hatched, whatever the colours. */
export const UNOWNED = new Set(['leading', 'gap', 'trailing']);
export const QUIET = new Set(['padding', 'unused']);

const ROW = 20;
const GAP = 5;
const LEFT = 92;

export function rowsOf({ height }: Size): number {
  return Math.max(1, Math.floor((height + GAP) / (ROW + GAP)));
}
export function offsetAt(x: number, y: number, size: number, area: Size): number {
  const rows = rowsOf(area);
  const row = Math.min(rows - 1, Math.max(0, Math.floor(y / (ROW + GAP))));
  const along = Math.min(1, Math.max(0, (x - LEFT) / (area.width - LEFT)));
  return Math.min(Math.max(0, size - 1), Math.floor(((row + along) * size) / rows));
}
/** The part that a byte is in: parts are in order and without holes. */
export function partAt(parts: readonly Part[], offset: number): number {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A run of bytes with one owner; null where the map has none. `from` and `to` count from where was asked. */
export interface Owner {
  part: Part | null;
  number: number;
  from: number;
  to: number;
}
/** Whose each of `length` bytes at `offset` is. */
export function ownersOf(parts: readonly Part[], offset: number, length: number): Owner[] {
  const runs: Owner[] = [];
  for (let from = 0; from < length; ) {
    const number = partAt(parts, offset + from);
    const part = parts[number] ?? null;
    const to = part === null ? length : Math.min(length, Math.max(from + 1, part.offset + part.length - offset));
    runs.push({ part, number, from, to });
    from = to;
  }
  return runs;
}

export function drawTape(ctx: CanvasRenderingContext2D, tape: Tape, area: Size, ink: Ink): void {
  const rows = rowsOf(area);
  const width = area.width - LEFT;
  const perRow = tape.size / rows;
  if (!(perRow > 0)) return;
  ctx.font = ink.mono;
  ctx.textAlign = 'right';
  for (let row = 0; row < rows; ++row) {
    const y = row * (ROW + GAP);
    const [from, to] = [row * perRow, (row + 1) * perRow];
    ctx.fillStyle = ink.muted;
    ctx.fillText(`0x${Math.floor(from).toString(16)}`, LEFT - 8, y + ROW / 2 + 1);
    const x = (offset: number) => LEFT + ((Math.min(Math.max(offset, from), to) - from) / perRow) * width;
    let covered = -1; // the last pixel that a tensor was drawn to: thousands share one
    for (let i = Math.max(0, partAt(tape.parts, from)); i < tape.parts.length && tape.parts[i]!.offset < to; ++i) {
      const part = tape.parts[i]!;
      const [left, right] = [x(part.offset), x(part.offset + part.length)];
      if (part.kind === 'tensor' && right - covered < 1) continue;
      block(ctx, part, i, left, y, Math.max(right - left, part.kind === 'tensor' ? 0.5 : 1.5), ink);
      covered = right;
    }
    ctx.strokeStyle = ink.strong;
    ctx.strokeRect(LEFT + 0.5, y + 0.5, width - 1, ROW - 1);
    for (const span of tape.damaged) if (touches(span, from, to)) hatch(ctx, { x: x(span.offset), y, width: Math.max(3, x(span.offset + span.length) - x(span.offset)), height: ROW }, ink.bad, 5, 1.5);
    if (tape.selected !== null) mark(ctx, tape.selected, from, to, x, y, ink.text, 2);
    mark(ctx, tape.window, from, to, x, y, ink.warn, 1.5);
  }
  ctx.textAlign = 'start';
}

export function fillOf(part: Pick<Part, 'kind'>, i: number, ink: Ink): { color: string; alpha: number } {
  if (part.kind === 'tensor') return { color: ink.share, alpha: i % 2 === 0 ? 0.85 : 0.55 };
  if (UNOWNED.has(part.kind)) return { color: ink.bad, alpha: 0.35 };
  if (QUIET.has(part.kind)) return { color: ink.muted, alpha: 0.25 };
  return { color: ink.good, alpha: 0.9 };
}

function block(ctx: CanvasRenderingContext2D, part: Part, i: number, x: number, y: number, width: number, ink: Ink): void {
  const { color, alpha } = fillOf(part, i, ink);
  ctx.globalAlpha = alpha;
  ctx.fillStyle = color;
  ctx.fillRect(x, y, width, ROW);
  ctx.globalAlpha = 1;
  // Where all colours are one, the format's own parts are told from tensors by lines.
  if (ink.good === ink.share && part.kind !== 'tensor' && !QUIET.has(part.kind)) hatch(ctx, { x, y, width, height: ROW }, ink.page, 4, 1);
  if (UNOWNED.has(part.kind)) hatch(ctx, { x, y, width, height: ROW }, ink.bad, 5, 1.5);
}

const touches = (span: Span, from: number, to: number) => span.offset + Math.max(1, span.length) > from && span.offset < to;

function mark(ctx: CanvasRenderingContext2D, span: Span, from: number, to: number, x: (o: number) => number, y: number, color: string, width: number): void {
  if (!touches(span, from, to)) return;
  const left = x(span.offset);
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.strokeRect(left, y - 1, Math.max(3, x(span.offset + span.length) - left), ROW + 2);
  ctx.lineWidth = 1;
}
