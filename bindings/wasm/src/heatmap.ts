// SPDX-License-Identifier: Apache-2.0
// A tensor as a grid of few enough cells to look at, made step by step: assay_heatmap of the C API.
import type { Checkpoint } from './checkpoint.js';
import { forward, type Files } from './files.js';
import type { Core, RangeNeed, Steps } from './module.js';

export type Pooling = 'absmax' | 'mean' | 'rms' | 'zeros';
const POOLINGS: readonly Pooling[] = ['absmax', 'mean', 'rms', 'zeros'];
export type Theme = 'dark' | 'light';

export interface HeatmapOptions {
  /** absmax, the value of the largest magnitude with its sign, unless said otherwise. */
  pooling?: Pooling;
  /** One element a cell, from its middle: reads only these. */
  sample?: boolean;
  /** The same step both ways where that leaves enough cells. */
  square?: boolean;
  rows?: number;
  cols?: number;
  /** The axis that changes fastest down the rows, and the one along the columns. */
  rowAxis?: number;
  colAxis?: number;
  /** The part to look at, as numpy writes it: "[3, 10:20, ::2]". */
  slice?: string;
}

export interface Profile {
  /** Of every row, or column; null where there are too many or the map is sampled. */
  rms: Float32Array | null;
  /** All zero: the first of them, and how many there are. */
  dead: number[];
  deadCount: number;
  /** At least 6 times the median, the hottest first. */
  hot: { index: number; ratio: number }[];
  hotCount: number;
}

/** What has been measured so far. */
export interface HeatmapGrid {
  rows: number;
  cols: number;
  rowStep: number;
  colStep: number;
  sourceRows: number;
  sourceCols: number;
  exact: boolean;
  progress: number;
  /** rows × cols, row by row; NaN where a cell has no finite value (yet). */
  data: Float64Array;
  /** What is not finite in each cell: 1 NaN, 2 +Inf, 4 -Inf, added. */
  marks: Uint8Array;
  absmax: number;
  /** A value for the last colour that shows the bulk of the cells. */
  limit: number;
  nan: number;
  inf: number;
}

const NO_INDEX = 0xffff_ffff;
const NOTHING = 0xffff_ffff_ffff_ffffn;
const OPTIONS_BYTES = 48;
const MOST_NAMED = 64;

export class Heatmap {
  private constructor(
    private readonly core: Core,
    readonly handle: number,
    private readonly sets: readonly Files[],
  ) {}

  /** Reads no values yet. */
  static *of(checkpoint: Checkpoint, tensor: number, options: HeatmapOptions = {}): Steps<Heatmap> {
    const { core } = checkpoint;
    return yield* Heatmap.make(core, [checkpoint.files], options, (address) =>
      core.attempt('assay_heatmap_new', checkpoint.handle, tensor, address, core.out()),
    );
  }
  /** B - A, position by position, of two tensors of one shape. */
  static *ofDifference(a: Checkpoint, tensorA: number, b: Checkpoint, tensorB: number, options: HeatmapOptions = {}): Steps<Heatmap> {
    const { core } = a;
    return yield* Heatmap.make(core, [a.files, b.files], options, (address) =>
      core.attempt('assay_heatmap_new_difference', a.handle, tensorA, b.handle, tensorB, address, core.out()),
    );
  }
  private static *make(
    core: Core,
    sets: readonly Files[],
    options: HeatmapOptions,
    attempt: (options: number) => RangeNeed | undefined,
  ): Steps<Heatmap> {
    for (;;) {
      const need = withOptions(core, options, attempt);
      if (need === undefined) return new Heatmap(core, core.outValue(), sets);
      yield need;
    }
  }

  /** Looks at the next elements, about a million; true when those were the last. */
  *step(): Steps<boolean> {
    yield* forward(this.sets, () => this.core.attempt('assay_heatmap_step', this.handle, this.core.out()));
    return this.core.outValue() !== 0;
  }
  *finish(): Steps<void> {
    while (!(yield* this.step()));
  }
  free(): void {
    this.core.raw('assay_heatmap_free', this.handle);
  }

  get progress(): number {
    return this.core.raw('assay_heatmap_progress', this.handle);
  }
  grid(): HeatmapGrid {
    const { core, handle } = this;
    const wide = (name: string) => Number(core.wide(`assay_heatmap_${name}`, handle));
    const rows = wide('rows');
    const cols = wide('cols');
    return {
      rows,
      cols,
      rowStep: wide('row_step'),
      colStep: wide('col_step'),
      sourceRows: wide('source_rows'),
      sourceCols: wide('source_cols'),
      exact: core.raw('assay_heatmap_exact', handle) !== 0,
      progress: this.progress,
      data: new Float64Array(core.bytes(core.raw('assay_heatmap_data', handle), 8 * rows * cols).slice().buffer),
      marks: core.bytes(core.raw('assay_heatmap_marks', handle), rows * cols).slice(),
      absmax: core.raw('assay_heatmap_absmax', handle),
      limit: core.raw('assay_heatmap_limit', handle),
      nan: wide('nan_count'),
      inf: wide('inf_count'),
    };
  }
  /** Pixels, r, g, b, a, one a cell, in the colours of the terminal. `limit` is the value of the last colour; 0 for grid().limit. */
  rgba(theme: Theme, limit = 0): Uint8ClampedArray<ArrayBuffer> {
    const { core, handle } = this;
    const n = 4 * Number(core.wide('assay_heatmap_rows', handle)) * Number(core.wide('assay_heatmap_cols', handle));
    const address = core.malloc(n);
    try {
      core.attempt('assay_heatmap_rgba', handle, limit, theme === 'light' ? 1 : 0, address);
      return new Uint8ClampedArray(core.bytes(address, n).slice().buffer);
    } finally {
      core.free(address);
    }
  }
  /** Of rows (0) or columns (1) of the matrix. */
  profile(axis: 0 | 1): Profile {
    const { core, handle } = this;
    const address = core.raw('assay_heatmap_rms', handle, axis, core.out());
    const count = core.outValue();
    const index = (name: string, i: number, ...more: number[]) => BigInt.asUintN(64, core.wide(`assay_heatmap_${name}`, handle, axis, i, ...more));
    const dead: number[] = [];
    const hot: { index: number; ratio: number }[] = [];
    for (let i = 0; i < MOST_NAMED; ++i) {
      const found = index('dead', i);
      if (found === NOTHING) break;
      dead.push(Number(found));
    }
    for (let i = 0; i < MOST_NAMED; ++i) {
      const found = index('hot', i, core.out());
      if (found === NOTHING) break;
      hot.push({ index: Number(found), ratio: new DataView(core.bytes(core.out(), 8).slice().buffer).getFloat64(0, true) });
    }
    return {
      rms: address === 0 ? null : new Float32Array(core.bytes(address, 4 * count).slice().buffer),
      dead,
      deadCount: Number(core.wide('assay_heatmap_dead_count', handle, axis)),
      hot,
      hotCount: Number(core.wide('assay_heatmap_hot_count', handle, axis)),
    };
  }
}

function withOptions<T>(core: Core, options: HeatmapOptions, body: (address: number) => T): T {
  const bytes = new Uint8Array(OPTIONS_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, OPTIONS_BYTES, true);
  view.setUint32(4, POOLINGS.indexOf(options.pooling ?? 'absmax'), true);
  view.setUint32(8, options.sample === true ? 1 : 0, true);
  view.setUint32(12, options.square === true ? 1 : 0, true);
  view.setBigUint64(16, BigInt(options.rows ?? 0), true);
  view.setBigUint64(24, BigInt(options.cols ?? 0), true);
  view.setUint32(32, options.rowAxis ?? NO_INDEX, true);
  view.setUint32(36, options.colAxis ?? NO_INDEX, true);
  return core.withText(options.slice ?? '', (slice) => {
    view.setUint32(40, slice, true);
    return core.withBytes(bytes, body);
  });
}

/** 256 colours, r, g, b. */
export function colorMap(core: Core, kind: 'diverging' | 'sequential', theme: Theme): Uint8Array {
  return core.withBytes(new Uint8Array(768), (address) => {
    core.attempt('assay_color_map', kind === 'diverging' ? 0 : 1, theme === 'light' ? 1 : 0, address);
    return core.bytes(address, 768).slice();
  });
}
/** r, g, b of NaN, +Inf and -Inf. */
export function markColors(core: Core): Uint8Array {
  return core.withBytes(new Uint8Array(9), (address) => {
    core.attempt('assay_mark_colors', address);
    return core.bytes(address, 9).slice();
  });
}
