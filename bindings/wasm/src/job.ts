// SPDX-License-Identifier: Apache-2.0
// Documents and comparisons as work that goes on where it stopped: assay_job of the C API. Memory stays bounded.
import type { Checkpoint, Command } from './checkpoint.js';
import { forward, type Files } from './files.js';
import type { Core, RangeNeed, Steps, Watch } from './module.js';

export interface JobOptions {
  /** A first look: a sixteenth of what is large. What rests on it is marked `"exact": false`, findings `"sampled": true`. */
  sample?: boolean;
}

/** Those whose code waits for its first use, as that of comparisons does. */
const DEFERRED: ReadonlySet<Command> = new Set<Command>(['map', 'doctor', 'moe', 'verify', 'verify-headers']);

/** Whether opening noted names that `info` holds against the list of a scan, which waits too. */
function namesForeign({ core, handle }: Checkpoint): boolean {
  for (let n = core.raw('assay_finding_count', handle); n > 0; --n)
    if (core.text(core.raw('assay_finding_code', handle, n - 1)) === 'opaque-object') return true;
  return false;
}

const utf8 = new TextDecoder();

export class Job {
  private constructor(
    private readonly core: Core,
    readonly handle: number,
    private readonly sets: readonly Files[],
    private readonly deferred: boolean,
  ) {}

  /** Reads nothing yet. */
  static report(checkpoint: Checkpoint, command: Command, filter = '', { sample = false }: JobOptions = {}): Job {
    const { core } = checkpoint;
    core.withText(command, (commandText) =>
      core.withText(filter, (filterText) =>
        core.attempt('assay_job_new', checkpoint.handle, commandText, filterText, sample ? 1 : 0, core.out()),
      ),
    );
    return new Job(core, core.outValue(), [checkpoint.files], DEFERRED.has(command) || (command === 'info' && namesForeign(checkpoint)));
  }
  /** The same; where code is not loaded at once, `core.whole()` comes first. */
  static diff(a: Checkpoint, b: Checkpoint, values = true, { sample = false }: JobOptions = {}): Job {
    const { core } = a;
    core.attempt('assay_job_new_diff', a.handle, b.handle, values ? 1 : 0, sample ? 1 : 0, core.out());
    return new Job(core, core.outValue(), [a.files, b.files], true);
  }

  /** Bytes of values that it reads, as far as headers tell; 0 where it reads none, or that is not known. */
  get bytes(): number {
    return Number(this.core.wide('assay_job_bytes', this.handle));
  }
  /** The document, once. `watch` that says false ends the work: the document is then not `complete`. */
  *run(watch?: Watch): Steps<string> {
    const { core } = this;
    if (this.deferred) yield* core.whole();
    const attempt = (): RangeNeed | undefined =>
      core.withWatch(watch, (fn, context) => core.attempt('assay_job_run', this.handle, fn, context, core.out()));
    yield* forward(this.sets, attempt);
    return utf8.decode(core.takeBuffer());
  }
  free(): void {
    this.core.raw('assay_job_free', this.handle);
  }
}
