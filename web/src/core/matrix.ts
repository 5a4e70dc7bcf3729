// SPDX-License-Identifier: Apache-2.0
// A tensor as a matrix, and the parts of it that a first look reads. Pure.
import type { Window } from './protocol.js';

export interface Space {
  rows: number;
  cols: number;
}
/** Its last axis along the columns, the others stacked along the rows. */
export function matrixOf(shape: readonly number[]): Space {
  return { rows: shape.slice(0, -1).reduce((n, d) => n * d, 1), cols: shape.length === 0 ? 1 : shape[shape.length - 1]! };
}

/** How many parts a sample has, and the bytes of each: 1 MiB in all. */
const RUNS = 8;
const EACH = 128 * 1024;
export const SAMPLE_BYTES = RUNS * EACH;

/** Parts of a matrix for a first look at its values: evenly spread, about 1 MiB in all; null where that is most of it. */
export function sampleWindows({ rows, cols }: Space, bytesPerElement: number): Window[] | null {
  if (rows * cols * bytesPerElement <= 2 * SAMPLE_BYTES) return null;
  const elements = Math.max(1, Math.floor(EACH / bytesPerElement));
  // Whole rows where they are short, else a piece of one.
  const size = { rows: Math.max(1, Math.floor(elements / cols)), cols: Math.min(cols, elements) };
  return Array.from({ length: RUNS }, (_, i) => {
    const row = Math.round((i * (rows - size.rows)) / (RUNS - 1));
    const col = rows >= RUNS ? (size.cols === cols ? 0 : Math.round((((i * 5) % RUNS) * (cols - size.cols)) / (RUNS - 1))) : Math.round((i * (cols - size.cols)) / (RUNS - 1));
    return { row, col, ...size };
  });
}
