// SPDX-License-Identifier: Apache-2.0
// The short way: a file in, a model out. Of a buffer at once, of a File as it is read.
import { Checkpoint, type Document, type Finding, type Tensor } from './checkpoint.js';
import { Heatmap } from './heatmap.js';
import { bufferSource, Files, type Source } from './files.js';
import { runAsync, runSync, type Core, type Steps } from './module.js';
import type { MeasuredStats } from './stats.js';

export interface Moe {
  detected: boolean;
  /** Experts per layer; 0 without any. */
  expertCount: number;
  topK: number | null;
  /** The layers as `assay moe --json` lists them, without what only values say. */
  layers: unknown[];
}
export interface SampleStats {
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
  zeros: number;
  /** Values looked at: all elements when that many were asked for. */
  n: number;
}
export interface Sample {
  values: Float32Array;
  stats: SampleStats;
}
export interface Grid {
  /** Row-major; of each cell the value of the largest magnitude, with its sign. NaN where a cell has no finite value. */
  data: Float32Array;
  rows: number;
  cols: number;
  /** The largest magnitude in `data`. */
  amax: number;
}

/** What both kinds of model have. */
interface Parts {
  readonly name: string;
  readonly format: string;
  /** False when part of the file is missing or damaged: see `findings`. */
  readonly complete: boolean;
  readonly findings: Finding[];
  /** Logical: packed formats unpacked, ties counted once. */
  readonly totalParams: number;
  readonly tensors: Tensor[];
  readonly byName: Map<string, Tensor>;
  readonly moe: Moe;
  readonly checkpoint: Checkpoint;
  /** Frees what the module holds of it. */
  close(): void;
}
/** Of a buffer. `t` is a tensor or its name. */
export interface Model extends Parts {
  /** At most `n` values, evenly spread in runs; statistics of all elements when `n` covers them, else of the values given. */
  sample(t: Tensor | string, n: number): Sample;
  /** The tensor as a matrix, its last axis along the columns, pooled to at most rows × cols cells. */
  gridOf(t: Tensor | string, rows: number, cols: number): Grid;
  stats(t: Tensor | string): MeasuredStats;
}
/** Of a File or a source: it is read as far as an answer needs. */
export interface FileModel extends Parts {
  sample(t: Tensor | string, n: number): Promise<Sample>;
  gridOf(t: Tensor | string, rows: number, cols: number): Promise<Grid>;
  stats(t: Tensor | string): Promise<MeasuredStats>;
}

const RUNS = 64;

function* openModel(files: Files, name: string): Steps<Parts> {
  const checkpoint = yield* Checkpoint.open(files);
  const info: Document = yield* checkpoint.report('info');
  const moe: Document = yield* checkpoint.report('moe-structure');
  const tensors = Array.from({ length: checkpoint.tensorCount }, (_, i) => checkpoint.tensor(i));
  const byName = new Map<string, Tensor>();
  for (const tensor of tensors) if (!byName.has(tensor.name)) byName.set(tensor.name, tensor);
  return {
    name,
    format: checkpoint.format,
    complete: checkpoint.complete,
    findings: info.findings,
    totalParams: info['parameters'] as number,
    tensors,
    byName,
    moe: {
      detected: moe['detected'] as boolean,
      expertCount: moe['expert_count'] as number,
      topK: (moe['top_k'] as number | null) ?? null,
      layers: moe['layers'] as unknown[],
    },
    checkpoint,
    close() {
      checkpoint.close();
      files.free();
    },
  };
}

function tensorOf(model: Parts, t: Tensor | string): Tensor {
  const tensor = typeof t === 'string' ? model.byName.get(t) : t;
  if (tensor === undefined) throw new RangeError(`no tensor is named "${String(t)}"`);
  return tensor;
}

/** At most `n` values, evenly spread in runs; with statistics of all elements when `n` covers them, else of these. */
export function* sampleOf(checkpoint: Checkpoint, tensor: Tensor, n: number): Steps<Sample> {
  if (n >= tensor.numel) {
    const values = yield* checkpoint.readF32(tensor.index, 0, tensor.numel);
    const { min, max, mean, std, zeros } = yield* checkpoint.stats(tensor.index);
    return { values, stats: { min, max, mean, std, zeros, n: tensor.numel } };
  }
  const wanted = Math.max(0, Math.floor(n));
  const values = new Float32Array(wanted);
  const runs = Math.min(RUNS, wanted);
  for (let run = 0; run < runs; ++run) {
    const from = Math.floor((wanted * run) / runs);
    const count = Math.floor((wanted * (run + 1)) / runs) - from;
    const first = runs === 1 ? 0 : Math.floor(((tensor.numel - count) * run) / (runs - 1));
    values.set(yield* checkpoint.readF32(tensor.index, first, count), from);
  }
  return { values, stats: statsOf(values) };
}

function* gridOf(model: Parts, t: Tensor | string, rows: number, cols: number): Steps<Grid> {
  const heatmap = yield* Heatmap.of(model.checkpoint, tensorOf(model, t).index, { rows, cols });
  try {
    yield* heatmap.finish();
    const grid = heatmap.grid();
    return { data: Float32Array.from(grid.data), rows: grid.rows, cols: grid.cols, amax: grid.absmax };
  } finally {
    heatmap.free();
  }
}

/** Over the finite values; the deviation is the population's. */
function statsOf(values: Float32Array): SampleStats {
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let finite = 0;
  let zeros = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    ++finite;
    if (value === 0) ++zeros;
  }
  if (finite === 0) return { min: null, max: null, mean: null, std: null, zeros, n: values.length };
  const mean = sum / finite;
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  return { min, max, mean, std: Math.sqrt(squares / finite), zeros, n: values.length };
}

function syncModel(parts: Parts): Model {
  return {
    ...parts,
    sample: (t, n) => runSync(sampleOf(parts.checkpoint, tensorOf(parts, t), n)),
    gridOf: (t, rows, cols) => runSync(gridOf(parts, t, rows, cols)),
    stats: (t) => runSync(parts.checkpoint.stats(tensorOf(parts, t).index)),
  };
}

function fileModel(parts: Parts, files: Files): FileModel {
  // What one answer needed is forgotten after it; calls wait for each other, so that none loses its ranges.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(make: () => Steps<T>): Promise<T> => {
    const run = last.then(() => runAsync(make(), (need) => files.feed(need))).finally(() => files.drop());
    last = run.catch(() => undefined);
    return run;
  };
  return {
    ...parts,
    sample: (t, n) => inTurn(() => sampleOf(parts.checkpoint, tensorOf(parts, t), n)),
    gridOf: (t, rows, cols) => inTurn(() => gridOf(parts, t, rows, cols)),
    stats: (t) => inTurn(() => parts.checkpoint.stats(tensorOf(parts, t).index)),
  };
}

export function parseBuffer(core: Core, buffer: ArrayBuffer | ArrayBufferView, name: string): Model {
  const files = new Files(core, [bufferSource(name, buffer)]);
  return syncModel(runSync(openModel(files, name)));
}

export async function parseSource(core: Core, source: Source): Promise<FileModel> {
  const { name } = source;
  const files = new Files(core, [source]);
  const parts = await runAsync(openModel(files, name), (need) => files.feed(need));
  files.drop();
  return fileModel(parts, files);
}
