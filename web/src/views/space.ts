// SPDX-License-Identifier: Apache-2.0
// Where the eye is over a matrix: zooming, panning, and the slice of the tensor that a window is. Pure.
import type { Space } from '../core/matrix.js';
import type { Window } from '../core/protocol.js';

export type { Space } from '../core/matrix.js';
/** What is seen of the space, in elements; fractions are fine. */
export type Viewport = Window;

export const whole = ({ rows, cols }: Space): Viewport => ({ row: 0, col: 0, rows, cols });

/** Within the space, at least `least` and not larger than all of it. */
export function clamped(view: Viewport, space: Space, least: Space): Viewport {
  const rows = Math.min(Math.max(view.rows, Math.min(least.rows, space.rows)), space.rows);
  const cols = Math.min(Math.max(view.cols, Math.min(least.cols, space.cols)), space.cols);
  return {
    row: Math.min(Math.max(view.row, 0), space.rows - rows),
    col: Math.min(Math.max(view.col, 0), space.cols - cols),
    rows,
    cols,
  };
}
/** Larger for factors above 1; what is at `at` stays there. */
export function zoomed(view: Viewport, space: Space, least: Space, factor: number, at: { row: number; col: number }): Viewport {
  const next = clamped({ ...view, rows: view.rows / factor, cols: view.cols / factor }, space, least);
  return clamped(
    {
      rows: next.rows,
      cols: next.cols,
      row: at.row - ((at.row - view.row) * next.rows) / view.rows,
      col: at.col - ((at.col - view.col) * next.cols) / view.cols,
    },
    space,
    least,
  );
}
/**
 * By how much the wheel zooms, null where it is the page that scrolls: over a picture that has not been clicked (a pinch, or Ctrl and the
 * wheel, zoom always), and outwards where all of it is seen already.
 */
export function wheelZoom({ deltaY, ctrlKey, metaKey }: Pick<WheelEvent, 'deltaY' | 'ctrlKey' | 'metaKey'>, focused: boolean, fitted: boolean): number | null {
  const asked = ctrlKey || metaKey;
  if (deltaY === 0 || !(asked || (focused && !(fitted && deltaY > 0)))) return null;
  return Math.exp(-Math.max(-120, Math.min(120, deltaY)) / 240);
}
/** Moved as little as shows the element. */
export function revealing(view: Viewport, space: Space, { row, col }: { row: number; col: number }): Viewport {
  const into = (start: number, size: number, at: number) => (at < start ? at : at + 1 > start + size ? at + 1 - size : start);
  return clamped({ ...view, row: into(view.row, view.rows, row), col: into(view.col, view.cols, col) }, space, view);
}
/** The whole elements that a viewport touches. */
export function windowOf(view: Viewport, space: Space): Window {
  const row = Math.max(0, Math.floor(view.row));
  const col = Math.max(0, Math.floor(view.col));
  return {
    row,
    col,
    rows: Math.max(1, Math.min(space.rows, Math.ceil(view.row + view.rows - 1e-9)) - row),
    cols: Math.max(1, Math.min(space.cols, Math.ceil(view.col + view.cols - 1e-9)) - col),
  };
}

/** A window as the core slices a tensor, whose axes but the last are stacked along the rows; it may have to be a larger window. */
export function sliceOf(shape: readonly number[], window: Window): { slice: string; window: Window } {
  if (shape.length === 0) return { slice: '', window };
  const cols = `${window.col}:${window.col + window.cols}`;
  if (shape.length === 1) return { slice: `[${cols}]`, window: { ...window, row: 0, rows: 1 } };
  const leading = shape.slice(0, -1);
  const parts: string[] = [];
  let first = window.row;
  let last = window.row + window.rows - 1;
  let base = 0;
  for (let axis = 0; axis < leading.length; ++axis) {
    const inner = leading.slice(axis + 1).reduce((n, d) => n * d, 1);
    const [from, to] = [Math.floor(first / inner), Math.floor(last / inner)];
    if (from !== to || axis === leading.length - 1) {
      const rest = leading.slice(axis + 1).map(() => ':');
      return { slice: `[${[...parts, `${from}:${to + 1}`, ...rest, cols].join(', ')}]`, window: { ...window, row: base + from * inner, rows: (to - from + 1) * inner } };
    }
    parts.push(String(from));
    base += from * inner;
    first -= from * inner;
    last -= from * inner;
  }
  return { slice: '', window };
}

/** The tensor's index of a place in the matrix: [3, 17, 5]. */
export function indexOf(shape: readonly number[], row: number, col: number): number[] {
  if (shape.length === 0) return [];
  const index = [col];
  for (let axis = shape.length - 2; axis >= 0; --axis) {
    index.unshift(row % shape[axis]!);
    row = Math.floor(row / shape[axis]!);
  }
  return index;
}

/** What the core reads at once where a file is not mapped, and how wide a row it reads whole; how much a first look may read. */
const BLOCK = 256 * 1024;
const WIDEST = 65536;
const PAGE = 4096;
const LOOK = 64 * 2 ** 20;
/** So many rows are not worth leaving out. */
const FEW = 8;

/** How many cells a sampled picture may have so that it reads at most 64 MiB: each place far from the last one costs a block. */
export function sampleRoom(space: Space, bytesPerElement: number, room: Space): Space {
  const cols = Math.min(room.cols, space.cols);
  const rows = Math.min(room.rows, space.rows);
  const row = space.cols * bytesPerElement;
  if (row / cols < PAGE && space.cols <= WIDEST) return { rows: Math.max(1, Math.min(rows, Math.floor(LOOK / Math.max(BLOCK, row)))), cols };
  const places = LOOK / BLOCK;
  if (rows * cols <= places) return { rows, cols };
  const down = Math.min(rows, Math.max(FEW, Math.round(Math.sqrt((places * rows) / cols))));
  return { rows: down, cols: Math.max(1, Math.min(cols, Math.floor(places / down))) };
}
