// SPDX-License-Identifier: Apache-2.0
// What the page and its workers say to each other. METHODS is the table: one row per request, with the lane that answers it.
import type { Command, Document, Stats, Tensor } from '../../../bindings/wasm/src/checkpoint.js';
import type { Census, Window } from '../../../bindings/wasm/src/census.js';
import type { HeatmapGrid, HeatmapOptions, Profile, Theme } from '../../../bindings/wasm/src/heatmap.js';
import type { SampleStats } from '../../../bindings/wasm/src/model.js';
import type { MeasuredStats } from '../../../bindings/wasm/src/stats.js';
import type { Where } from '../../../bindings/wasm/src/errors.js';

export type { Census, Window } from '../../../bindings/wasm/src/census.js';
export type { HeatmapGrid, HeatmapOptions, Pooling, Profile } from '../../../bindings/wasm/src/heatmap.js';
export type { Command, Document, Finding, Severity, Stats, Tensor } from '../../../bindings/wasm/src/checkpoint.js';
export type { MeasuredStats } from '../../../bindings/wasm/src/stats.js';
export type { SampleStats } from '../../../bindings/wasm/src/model.js';

/**
 * A worker with an instance of the core of its own. `view` answers at once (headers, small reads); `picture` works on the tensor that is
 * looked at; `job` runs what reads everything. A request to `picture` or `job` is cancelled by ending its worker, which starts anew.
 */
export type Lane = 'view' | 'picture' | 'job';

/** One file of a model: where it was in its folder, and the bytes. */
export interface ModelFile {
  name: string;
  blob: Blob;
}
/** The files of a model; the first is opened, or the whole set where `whole` says so. Posting it copies no bytes. */
export interface ModelFiles {
  label: string;
  whole: boolean;
  files: ModelFile[];
}
/** How files are read: in the worker, or by the page for it (WebKit from disk). */
export type ReadMode = 'worker' | 'page';

/** A node of the outline; `assay tree --json` says more. */
export interface TreeNode {
  name: string;
  /** How many numbered siblings stand here as one. */
  times: number;
  tensors: number;
  parameters: number;
  bytes: number;
  /** Of a tensor. */
  dtype?: string;
  shape?: number[];
  /** In how many of the places of its pattern it is, where that is not all of them. */
  present?: number;
  of?: number;
  missing?: string[];
  only?: string[];
  /** Of numbered siblings that are not as most of them: in what. The page adds it (tree/differences.ts). */
  differs?: string;
  children: TreeNode[];
}

/** A tensor, or the difference of two, as cells to look at. */
export interface Picture {
  grid: HeatmapGrid;
  rows: Profile;
  cols: Profile;
}
/** 256 colours each, r, g, b, and those of NaN, +Inf and -Inf. */
export interface Colors {
  diverging: Uint8Array;
  sequential: Uint8Array;
  marks: Uint8Array;
}

/** Documents that have a first look. */
export type Look = 'doctor' | 'moe';

export interface Opened {
  format: string;
  complete: boolean;
  tensorCount: number;
  /** `assay info --json` */
  info: Document;
  /** `assay tree --json` */
  tree: TreeNode;
  /** `assay moe --json` without what only values say. */
  moe: Document;
}

/** Arguments and result of every request. `model` is a number that the engine gave. */
export interface Methods {
  open: { args: { model: number; files: ModelFiles }; result: Opened };
  close: { args: { model: number }; result: null };
  /** The outline of what a filter chooses. */
  tree: { args: { model: number; filter: string }; result: TreeNode };
  /** All names in natural order, and whose they are. */
  names: { args: { model: number }; result: { order: Uint32Array; names: string[] } };
  /** Tensors by number, natural order of names, that a filter chooses. */
  select: { args: { model: number; filter: string }; result: Uint32Array };
  /** The `n` largest, by their bytes. */
  largest: { args: { model: number; n: number }; result: Uint32Array };
  tensors: { args: { model: number; indices: ArrayLike<number> }; result: Tensor[] };
  find: { args: { model: number; name: string }; result: number };
  /** Elements [first, first + n) in row-major order. */
  values: { args: { model: number; tensor: number; first: number; n: number }; result: Float64Array };
  /** The same as their own codes, little endian, `size` bytes each. */
  raw: { args: { model: number; tensor: number; first: number; n: number }; result: { size: number; bytes: Uint8Array } };
  /** Elements of a window and their codes: what fits a screen. */
  window: { args: { model: number; tensor: number; window: Window }; result: { values: Float64Array; size: number; codes: Uint8Array } };
  stats: { args: { model: number; tensor: number }; result: Stats };
  /** Numbers of some elements, for a first look at a tensor that is large. */
  sample: { args: { model: number; tensor: number; n: number }; result: SampleStats };
  picture: { args: { model: number; tensor: number; options: HeatmapOptions }; result: Picture };
  /** B - A. */
  difference: { args: { model: number; tensor: number; other: number; otherTensor: number; options: HeatmapOptions }; result: Picture };
  /** Of the whole tensor without a window; of several windows far apart, together. */
  census: { args: { model: number; tensor: number; window?: Window | readonly Window[] }; result: Census };
  /** How many elements of each cell of a grid are within [from, to]. */
  within: {
    args: { model: number; tensor: number; window: Window; step: { row: number; col: number }; from: number; to: number };
    result: Uint32Array;
  };
  colors: { args: { theme: Theme }; result: Colors };
  /** Statistics of all tensors but quantiles, told as they are measured: [tensor, statistics], null where it cannot be read. */
  measure: { args: { model: number; sample: boolean }; result: true; part: [number, MeasuredStats | null] };
  /** Bytes that `measure`, or a document, would read. */
  cost: { args: { model: number; of: 'measure' | Look; sample: boolean }; result: number };
  diffCost: { args: { model: number; other: number; sample: boolean }; result: number };
  /** A document about the whole model; of a `sample` where a Look is wanted: what rests on it says `"exact": false`. */
  report: { args: { model: number; command: Command; filter?: string; sample?: boolean }; result: Document };
  diff: { args: { model: number; other: number; values: boolean; sample?: boolean }; result: Document };
  /** What would run if the files were loaded: one document a file. They need not be a checkpoint. */
  scan: { args: { files: ModelFiles }; result: Document[] };
  /** The built-in model, a safetensors file. */
  synthetic: { args: { seed: number }; result: Uint8Array<ArrayBuffer> };
}
export type Method = keyof Methods;
export type Args<M extends Method> = Methods[M]['args'];
export type Result<M extends Method> = Methods[M]['result'];
/** What a request tells before it is done. */
export type Part<M extends Method> = Methods[M] extends { part: infer P } ? P : never;

export const METHODS: Record<Method, Lane> = {
  open: 'view',
  close: 'view',
  tree: 'view',
  names: 'view',
  select: 'view',
  largest: 'view',
  tensors: 'view',
  find: 'view',
  values: 'view',
  raw: 'view',
  window: 'view',
  stats: 'picture',
  sample: 'view',
  picture: 'picture',
  difference: 'picture',
  census: 'picture',
  within: 'picture',
  colors: 'view',
  measure: 'job',
  cost: 'view',
  diffCost: 'view',
  report: 'job',
  diff: 'job',
  scan: 'job',
  synthetic: 'view',
};

export interface Progress {
  done: number;
  of: number;
}
/** An AssayError on its way; `crash` when the core itself failed and its worker must be replaced. */
export interface Failure {
  crash: boolean;
  status: number;
  code: string;
  message: string;
  hint: string;
  where: Where;
}

export type ToWorker =
  | { type: 'start'; module: WebAssembly.Module }
  | { type: 'call'; id: number; method: Method; args: unknown }
  | { type: 'bytes'; id: number; bytes: ArrayBuffer | null; why?: string }
  /** The core's deferred code. */
  | { type: 'code'; module: WebAssembly.Module | null; why?: string };
export type FromWorker =
  | { type: 'progress'; id: number; progress: Progress; parts: unknown[]; bytesRead: number }
  | { type: 'result'; id: number; result: unknown; bytesRead: number; mode: ReadMode }
  | { type: 'failure'; id: number; failure: Failure; bytesRead: number }
  /** Asks for the core's deferred code. */
  | { type: 'code' }
  /** Bytes of a file that only the page may read. */
  | { type: 'read'; id: number; blob: Blob; offset: number; length: number };
