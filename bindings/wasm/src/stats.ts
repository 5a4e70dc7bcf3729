// SPDX-License-Identifier: Apache-2.0
// Statistics of tensors, measured step by step: assay_stats of the C API.
import type { Checkpoint, Document, Stats } from './checkpoint.js';
import { AssayError } from './errors.js';
import { forward } from './files.js';
import type { Steps, Watch } from './module.js';

export interface StatsOptions {
  /** Of a tensor above 16 MiB only one MiB in sixteen, evenly spaced: a first look. Smaller ones are exact all the same. */
  sample?: boolean;
  /** Also quantiles and distinct values, unless said otherwise; without them F32 is read once instead of twice. */
  quantiles?: boolean;
}
/** Of one tensor, and how much of it was looked at. */
export interface MeasuredStats extends Stats {
  /** True where these are numbers of a part, to be shown with ≈; never with `sample` unset. */
  sampled: boolean;
  /** Of the elements: `measured / numel`, 1 where all were looked at. */
  share: number;
}

const OPTIONS_BYTES = 12;
const utf8 = new TextDecoder();

export class StatsJob {
  private constructor(
    private readonly checkpoint: Checkpoint,
    readonly handle: number,
    /** The tensors in the order in which they are measured. */
    readonly tensors: readonly number[],
  ) {}

  /** Of tensors by number. Reads nothing yet. */
  static of(checkpoint: Checkpoint, tensors: Iterable<number>, options: StatsOptions = {}): StatsJob {
    const { core } = checkpoint;
    const chosen = Uint32Array.from(tensors);
    const given = new Uint8Array(Uint32Array.of(OPTIONS_BYTES, options.sample === true ? 1 : 0, options.quantiles === false ? 1 : 0).buffer);
    core.withBytes(given, (address) =>
      core.withBytes(new Uint8Array(chosen.buffer), (numbers) =>
        core.attempt('assay_stats_new', checkpoint.handle, numbers, chosen.length, address, core.out()),
      ),
    );
    return new StatsJob(checkpoint, core.outValue(), [...chosen]);
  }

  /** Measures the next 4 MiB or so; true when those were the last. What earlier steps read is not needed any more. */
  *step(): Steps<boolean> {
    const { core, files } = this.checkpoint;
    yield* forward([files], () => core.attempt('assay_stats_step', this.handle, core.out()));
    return core.outValue() !== 0;
  }
  /** To the end, unless `watch`, which is told the bytes done between steps, says false; then this does too. */
  *finish(watch?: Watch): Steps<boolean> {
    for (;;) {
      if (watch?.(this.bytesDone, this.bytes) === false) return false;
      if (yield* this.step()) return true;
    }
  }
  free(): void {
    this.checkpoint.core.raw('assay_stats_free', this.handle);
  }

  /** To be read in all, at most. */
  get bytes(): number {
    return Number(this.checkpoint.core.wide('assay_stats_bytes', this.handle));
  }
  get bytesDone(): number {
    return Number(this.checkpoint.core.wide('assay_stats_bytes_done', this.handle));
  }
  /** How many of `tensors` are done, from the first. */
  get count(): number {
    return this.checkpoint.core.raw('assay_stats_count', this.handle);
  }
  /** Of `tensors[i]`, once it is done. Throws where it could not be read. */
  result(i: number): MeasuredStats {
    const { core } = this.checkpoint;
    core.attempt('assay_stats_result', this.handle, i, core.out());
    const stats = JSON.parse(utf8.decode(core.takeBuffer())) as Stats;
    return { ...stats, sampled: !stats.exact, share: stats.exact ? 1 : stats.measured / stats.numel };
  }
  /** The same, null where it could not be read. */
  resultOrNull(i: number): MeasuredStats | null {
    try {
      return this.result(i);
    } catch (error) {
      if (error instanceof AssayError) return null;
      throw error;
    }
  }
  /** `assay stats --json` of those that are done. */
  document(): Document {
    return JSON.parse(this.documentText()) as Document;
  }
  documentText(): string {
    const { core } = this.checkpoint;
    core.attempt('assay_stats_document', this.handle, core.out());
    return utf8.decode(core.takeBuffer());
  }
}
