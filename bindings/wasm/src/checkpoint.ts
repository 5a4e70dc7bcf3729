// SPDX-License-Identifier: Apache-2.0
// A checkpoint: the C API's handle with the documents of the program as objects. What may need bytes gives Steps.
import type { Files } from './files.js';
import { Job, type JobOptions } from './job.js';
import { StatsJob, type MeasuredStats, type StatsOptions } from './stats.js';
import { NO_INDEX, NO_OFFSET, type Core, type Steps, type Watch } from './module.js';

export interface Tensor {
  /** Its number, in file order. */
  index: number;
  name: string;
  /** "BF16" */
  dtype: string;
  /** As the file spells it: "torch.bfloat16". */
  sourceDtype: string;
  shape: number[];
  /** In elements. */
  stride: number[];
  numel: number;
  nbytes: number;
  file: string;
  /** Absolute, of element 0; null where there is no plain range. */
  offset: number | null;
  /** Tensors with the same one share their bytes; null for a meta tensor. */
  storage: number | null;
  storageOffset: number;
  contiguous: boolean;
  readable: boolean;
}

export type Severity = 'note' | 'warning' | 'damage' | 'danger';
/** Odd but not fatal. Further facts stand beside these keys. */
export interface Finding {
  severity: Severity;
  code: string;
  message: string;
  file?: string;
  member?: string;
  tensor?: string;
  offset?: number;
  length?: number;
  [fact: string]: unknown;
}
/** What every document has; docs/json.md lists the keys of each. */
export interface Document {
  schema: string;
  complete: boolean;
  findings: Finding[];
  [key: string]: unknown;
}
/** Of one tensor. Moments are over finite values; null where there are none. */
export interface Stats {
  name: string;
  dtype: string;
  shape: number[];
  numel: number;
  measured: number;
  exact: boolean;
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
  absmax: number | null;
  l2: number | null;
  skew: number | null;
  kurtosis: number | null;
  zeros: number;
  near_zeros: number;
  nan: number;
  pos_inf: number;
  neg_inf: number;
  subnormal: number;
  distinct: number | null;
  quantiles: Record<string, number>;
}

export type Command = 'info' | 'tensors' | 'tree' | 'map' | 'stats' | 'doctor' | 'moe' | 'moe-structure' | 'verify' | 'verify-headers';

const utf8 = new TextDecoder();

export class Checkpoint {
  private constructor(
    readonly core: Core,
    readonly files: Files,
    readonly handle: number,
  ) {}

  static *open(files: Files): Steps<Checkpoint> {
    const { core } = files;
    yield* core.steps('assay_files_open', files.handle, 0, core.out());
    return new Checkpoint(core, files, core.outValue());
  }
  /** Ends the handle; the files stay. */
  close(): void {
    this.core.raw('assay_close', this.handle);
  }

  get format(): string {
    return this.core.text(this.core.raw('assay_checkpoint_format', this.handle));
  }
  get complete(): boolean {
    return this.core.raw('assay_checkpoint_complete', this.handle) !== 0;
  }
  get tensorCount(): number {
    return this.core.raw('assay_tensor_count', this.handle);
  }

  tensor(index: number): Tensor {
    const number = (name: string, ...more: number[]) => Number(this.core.wide(`assay_tensor_${name}`, this.handle, index, ...more));
    const rank = this.core.raw('assay_tensor_rank', this.handle, index);
    const offset = BigInt.asUintN(64, this.core.wide('assay_tensor_file_offset', this.handle, index));
    const storage = this.core.raw('assay_tensor_storage', this.handle, index) >>> 0;
    return {
      index,
      name: this.tensorName(index),
      dtype: this.core.text(this.core.raw('assay_dtype_name', this.core.raw('assay_tensor_dtype', this.handle, index))),
      sourceDtype: this.sized('assay_tensor_source_dtype', index),
      shape: Array.from({ length: rank }, (_, d) => number('dim', d)),
      stride: Array.from({ length: rank }, (_, d) => number('stride', d)),
      numel: number('numel'),
      nbytes: number('nbytes'),
      file: this.core.text(this.core.raw('assay_tensor_file_name', this.handle, index)),
      offset: offset === NO_OFFSET ? null : Number(offset),
      storage: storage === NO_INDEX ? null : storage,
      storageOffset: number('storage_offset'),
      contiguous: this.core.raw('assay_tensor_contiguous', this.handle, index) !== 0,
      readable: this.core.raw('assay_tensor_readable', this.handle, index) !== 0,
    };
  }
  tensorName(index: number): string {
    return this.sized('assay_tensor_name', index);
  }
  /** The first tensor of this name, -1 for none. */
  find(name: string): number {
    return this.core.withText(name, (text, length) => this.core.raw('assay_tensor_find', this.handle, text, length)) | 0;
  }

  /**
   * A document of the program, parsed. `filter` chooses tensors, where the command knows one. Where `watch` says false the work ends, and the
   * document is not `complete`.
   */
  *report(command: Command, filter = '', watch?: Watch, options?: JobOptions): Steps<Document> {
    const text = yield* this.reportText(command, filter, watch, options);
    return JSON.parse(text) as Document;
  }
  /** The same as it is printed. */
  *reportText(command: Command, filter = '', watch?: Watch, options?: JobOptions): Steps<string> {
    const job = Job.report(this, command, filter, options);
    try {
      return yield* job.run(watch);
    } finally {
      job.free();
    }
  }
  /** Statistics of one tensor, exact unless sampled; null where `watch` ended them. */
  stats(index: number, options?: StatsOptions): Steps<MeasuredStats>;
  stats(index: number, options: StatsOptions, watch: Watch): Steps<MeasuredStats | null>;
  *stats(index: number, options: StatsOptions = {}, watch?: Watch): Steps<MeasuredStats | null> {
    const job = StatsJob.of(this, [index], options);
    try {
      return (yield* job.finish(watch)) ? job.result(0) : null;
    } finally {
      job.free();
    }
  }
  /**
   * The same of many: `each` has the statistics of each as it is done, null of one that cannot be read. False where `watch` ended it.
   */
  *statsOf(
    indices: Iterable<number>,
    options: StatsOptions,
    each: (index: number, stats: MeasuredStats | null) => void,
    watch?: Watch,
  ): Steps<boolean> {
    const job = StatsJob.of(this, indices, options);
    try {
      for (let told = 0, done = false; !done; ) {
        if (watch?.(job.bytesDone, job.bytes) === false) return false;
        done = yield* job.step();
        for (const count = job.count; told < count; ++told) each(job.tensors[told]!, job.resultOrNull(told));
      }
      return true;
    } finally {
      job.free();
    }
  }
  /** `assay diff --json`; without `values` of names, dtypes and shapes only. */
  *diff(other: Checkpoint, values = true, watch?: Watch, options?: JobOptions): Steps<Document> {
    yield* this.core.whole();
    const job = Job.diff(this, other, values, options);
    try {
      return JSON.parse(yield* job.run(watch)) as Document;
    } finally {
      job.free();
    }
  }

  /** Tensors by number, in an order. */
  order(by: 'file' | 'name' | 'size'): Uint32Array {
    this.core.withText(by, (text) => this.core.attempt('assay_order', this.handle, text, this.core.out()));
    return new Uint32Array(this.core.takeBuffer().buffer);
  }
  /** Those of `order` that a filter chooses; throws a usage error that names the word it does not understand. */
  select(filter: string, order: Uint32Array): Uint32Array {
    const bytes = new Uint8Array(order.buffer, order.byteOffset, order.byteLength);
    this.core.withText(filter, (text) =>
      this.core.withBytes(bytes, (address) => this.core.attempt('assay_select', this.handle, text, address, order.length, this.core.out())),
    );
    return new Uint32Array(this.core.takeBuffer().buffer);
  }

  /** Elements [first, first + n) in row-major order. f64 is exact for all dtypes but I64 and U64 beyond 2^53. */
  *readF64(index: number, first: number, n: number): Steps<Float64Array> {
    const address = this.core.malloc(8 * n);
    try {
      yield* this.core.steps('assay_tensor_read_f64', this.handle, index, BigInt(first), n, address);
      return new Float64Array(this.core.bytes(address, 8 * n).slice().buffer);
    } finally {
      this.core.free(address);
    }
  }
  *readF32(index: number, first: number, n: number): Steps<Float32Array> {
    const address = this.core.malloc(4 * n);
    try {
      yield* this.core.steps('assay_tensor_read_f32', this.handle, index, BigInt(first), n, address);
      return new Float32Array(this.core.bytes(address, 4 * n).slice().buffer);
    } finally {
      this.core.free(address);
    }
  }
  /** The elements' own codes, little endian, `size` bytes each. */
  *readRaw(index: number, first: number, n: number): Steps<{ size: number; bytes: Uint8Array }> {
    yield* this.core.steps('assay_reader_open', this.handle, index, this.core.out());
    const reader = this.core.outValue();
    try {
      const size = this.core.raw('assay_reader_raw_size', reader);
      const address = this.core.malloc(size * n);
      try {
        yield* this.core.steps('assay_reader_read_raw', reader, BigInt(first), n, address);
        return { size, bytes: this.core.bytes(address, size * n).slice() };
      } finally {
        this.core.free(address);
      }
    } finally {
      this.core.raw('assay_reader_close', reader);
    }
  }

  private sized(name: string, index: number): string {
    const address = this.core.raw(name, this.handle, index, this.core.out(1));
    return this.core.text(address, this.core.outValue(1));
  }
}

/** `assay scan --json` of one file of the set, checkpoint or not. */
export function* scanFile(files: Files, name: string): Steps<Document> {
  const { core } = files;
  yield* core.whole();
  for (;;) {
    const need = core.withText(name, (text) => core.attempt('assay_report_scan', files.handle, text, core.out()));
    if (need === undefined) return JSON.parse(utf8.decode(core.takeBuffer())) as Document;
    yield need;
  }
}

/** The bytes of a small synthetic mixture of experts, a safetensors file. */
export function syntheticFile(core: Core, seed = 7): Uint8Array<ArrayBuffer> {
  core.attempt('assay_synthetic', BigInt(seed), core.out());
  return core.takeBuffer();
}
