// SPDX-License-Identifier: Apache-2.0
// How often each value of a tensor, or of a window of it, occurs: from that every histogram follows without reading again.
import type { Checkpoint } from './checkpoint.js';
import { forward } from './files.js';
import type { Steps, Watch } from './module.js';

/** A part of a tensor as a matrix: its last axis along the columns, the others stacked along the rows. */
export interface Window {
  row: number;
  rows: number;
  col: number;
  cols: number;
}

/**
 * Finite values by their leading 20 bits as an F32: sign, exponent and 11 of the significand. Exact for every dtype of up to 16 bits; of
 * wider ones values that agree in 12 significant digits (base 2) are one entry, which stands at the least magnitude of them.
 */
export interface Census {
  /** Ascending. */
  values: Float64Array;
  counts: Float64Array;
  nan: number;
  posInf: number;
  negInf: number;
  /** Elements looked at. */
  n: number;
}

const DROPPED = 12; // bits of an F32
const KEYS = 2 ** (32 - DROPPED);
const HALF = KEYS / 2;
const INFINITE = 0x7f80_0000 >>> DROPPED;
const STEP = 2 ** 18; // elements

export function shapeOfMatrix(shape: readonly number[]): { rows: number; cols: number } {
  const cols = shape.length === 0 ? 1 : shape[shape.length - 1]!;
  return { rows: shape.slice(0, -1).reduce((n, d) => n * d, 1), cols };
}

/** Hands over the elements of a window, row by row, as F32 (rounded to nearest): `first` is the column, `at` the row of `values[0]`. */
export function* eachValue(
  checkpoint: Checkpoint,
  tensor: number,
  window: Window,
  visit: (values: Float32Array, row: number, col: number) => void,
  watch?: Watch,
): Steps<void> {
  const { core, files } = checkpoint;
  const { cols: width } = shapeOfMatrix(checkpoint.tensor(tensor).shape);
  yield* core.steps('assay_reader_open', checkpoint.handle, tensor, core.out());
  const reader = core.outValue();
  const address = core.malloc(4 * STEP);
  try {
    // Whole rows lie one behind the other.
    const whole = window.col === 0 && window.cols === width;
    const runs = whole ? 1 : window.rows;
    const length = whole ? window.rows * width : window.cols;
    const total = window.rows * window.cols;
    for (let run = 0; run < runs; ++run) {
      const start = (window.row + run) * width + window.col;
      for (let at = 0; at < length; ) {
        // A step ends with a row, so that a visitor has one row and column to start from.
        const n = Math.min(STEP, length - at);
        yield* forward([files], () => core.attempt('assay_reader_read_f32', reader, BigInt(start + at), n, address));
        const position = start + at;
        visit(new Float32Array(core.bytes(address, 4 * n).buffer, address >>> 0, n), Math.floor(position / width), position % width);
        at += n;
        if (watch?.(run * length + at, total) === false) return;
      }
    }
  } finally {
    core.free(address);
    core.raw('assay_reader_close', reader);
  }
}

/** Of all of a tensor, of a window, or of several windows together (`n` says how much that was). */
export function* census(checkpoint: Checkpoint, tensor: number, window?: Window | readonly Window[], watch?: Watch): Steps<Census> {
  const { rows, cols } = shapeOfMatrix(checkpoint.tensor(tensor).shape);
  const table = new Uint32Array(KEYS);
  let wide: Float64Array | null = null; // of more elements than 32 bits count
  let held = 0;
  let n = 0;
  const carry = () => {
    wide ??= new Float64Array(KEYS);
    for (let key = 0; key < KEYS; ++key) wide[key]! += table[key]!;
    table.fill(0);
    held = 0;
  };
  const windows = window === undefined ? [{ row: 0, rows, col: 0, cols }] : [window].flat();
  for (const one of windows)
    yield* eachValue(checkpoint, tensor, one, (values) => {
      const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
      for (let i = 0; i < bits.length; ++i) ++table[bits[i]! >>> DROPPED]!;
      n += bits.length;
      held += bits.length;
      if (held > 2 ** 31) carry();
    }, watch);
  if (wide !== null) carry();
  return entriesOf(wide ?? table, n);
}

function entriesOf(counts: Float64Array | Uint32Array, n: number): Census {
  const valueOf = new DataView(new ArrayBuffer(4));
  const found: [number, number][] = [];
  const add = (key: number) => {
    if (counts[key] === 0) return;
    valueOf.setUint32(0, (key << DROPPED) >>> 0);
    const value = valueOf.getFloat32(0);
    const last = found.at(-1);
    // The two zeros are one value.
    if (value === 0 && last?.[0] === 0) last[1] += counts[key]!;
    else found.push([value === 0 ? 0 : value, counts[key]!]);
  };
  for (let key = HALF + INFINITE - 1; key >= HALF; --key) add(key);
  for (let key = 0; key < INFINITE; ++key) add(key);
  let nan = 0;
  for (let key = INFINITE + 1; key < HALF; ++key) nan += counts[key]! + counts[HALF + key]!;
  return {
    values: Float64Array.from(found, ([value]) => value),
    counts: Float64Array.from(found, ([, count]) => count),
    nan,
    posInf: counts[INFINITE]!,
    negInf: counts[HALF + INFINITE]!,
    n,
  };
}

/** For every cell of a grid, how many of its elements are within [from, to]. */
export function* countWithin(
  checkpoint: Checkpoint,
  tensor: number,
  window: Window,
  step: { row: number; col: number },
  from: number,
  to: number,
  watch?: Watch,
): Steps<Uint32Array> {
  const across = Math.ceil(window.cols / step.col);
  const { cols: width } = shapeOfMatrix(checkpoint.tensor(tensor).shape);
  const counts = new Uint32Array(Math.ceil(window.rows / step.row) * across);
  yield* eachValue(checkpoint, tensor, window, (values, row, col) => {
    for (let i = 0; i < values.length; ) {
      const line = Math.floor((row - window.row) / step.row) * across;
      const end = Math.min(values.length, i + width - col);
      for (; i < end; ++i, ++col) {
        const value = values[i]!;
        if (value >= from && value <= to) ++counts[line + Math.floor((col - window.col) / step.col)]!;
      }
      ++row;
      col = 0;
    }
  }, watch);
  return counts;
}

/** Elements of a window with their codes, `size` bytes each, little endian. For what fits a screen. */
export function* readWindow(checkpoint: Checkpoint, tensor: number, window: Window): Steps<{ values: Float64Array; size: number; codes: Uint8Array }> {
  const { core } = checkpoint;
  const { cols: width } = shapeOfMatrix(checkpoint.tensor(tensor).shape);
  yield* core.steps('assay_reader_open', checkpoint.handle, tensor, core.out());
  const reader = core.outValue();
  const size = core.raw('assay_reader_raw_size', reader);
  const address = core.malloc(Math.max(8, size) * window.cols);
  try {
    const values = new Float64Array(window.rows * window.cols);
    const codes = new Uint8Array(size * values.length);
    for (let r = 0; r < window.rows; ++r) {
      const first = BigInt((window.row + r) * width + window.col);
      yield* core.steps('assay_reader_read_f64', reader, first, window.cols, address);
      values.set(new Float64Array(core.bytes(address, 8 * window.cols).slice().buffer), r * window.cols);
      yield* core.steps('assay_reader_read_raw', reader, first, window.cols, address);
      codes.set(core.bytes(address, size * window.cols), r * window.cols * size);
    }
    return { values, size, codes };
  } finally {
    core.free(address);
    core.raw('assay_reader_close', reader);
  }
}
