// SPDX-License-Identifier: Apache-2.0
// Arrow keys over a grid of cells.

export interface Cell {
  row: number;
  col: number;
}
/** The cell that a key goes to, null where the key means something else. */
export function cellAfter(key: string, from: Cell | null, rows: number, cols: number): Cell | null {
  const at = from ?? { row: 0, col: 0 };
  const to: Record<string, Cell> = {
    ArrowUp: { ...at, row: at.row - 1 },
    ArrowDown: { ...at, row: at.row + 1 },
    ArrowLeft: { ...at, col: at.col - 1 },
    ArrowRight: { ...at, col: at.col + 1 },
    Home: { ...at, col: 0 },
    End: { ...at, col: cols - 1 },
    PageUp: { ...at, row: 0 },
    PageDown: { ...at, row: rows - 1 },
  };
  const next = to[key];
  if (next === undefined) return null;
  if (from === null) return at;
  return { row: Math.min(rows - 1, Math.max(0, next.row)), col: Math.min(cols - 1, Math.max(0, next.col)) };
}
