// SPDX-License-Identifier: Apache-2.0
// The files of one checkpoint as the core sees them, and the ways of reading them.
import type { Core, RangeNeed, ReadSync, Steps } from './module.js';

/** A file that can be read at any offset, at once (`readSync`) or after a while (`read`). Sizes and offsets in bytes. */
export interface Source {
  name: string;
  size: number;
  readSync?: ReadSync;
  read?: (offset: number, length: number) => Promise<Uint8Array>;
}

/** Not more than this is asked of a file at once: browsers fail near 2 GiB, with misleading words. */
export const MOST_AT_ONCE = 64 * 2 ** 20;
const MOST_HELD = 24 * 2 ** 20;
const LEAST_READ = 64 * 1024;
const MOST_AHEAD = 8 * 2 ** 20;
const SLICE = 8 * 2 ** 20;
const IN_FLIGHT = 4;

export function bufferSource(name: string, buffer: ArrayBuffer | ArrayBufferView): Source {
  const bytes = ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
  return {
    name,
    size: bytes.length,
    readSync: (offset, out) => out.set(bytes.subarray(offset, offset + out.length)),
  };
}

export function blobSource(name: string, blob: Blob): Source {
  return { name, size: blob.size, read: (offset, length) => readBlob(blob, offset, length) };
}

/** Slices of a blob, four in flight, as one array. */
export async function readBlob(blob: Blob, offset: number, length: number): Promise<Uint8Array> {
  const out = new Uint8Array(length);
  let next = 0;
  const work = async () => {
    while (next < length) {
      const at = next;
      next += SLICE;
      const part = await blob.slice(offset + at, offset + Math.min(at + SLICE, length)).arrayBuffer();
      out.set(new Uint8Array(part), at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, Math.ceil(length / SLICE)) }, work));
  return out;
}

/** An assay_files handle. The first source is the one that is opened, or the whole set. */
export class Files {
  readonly handle: number;
  private readonly readers: number[] = [];
  private readonly sources = new Map<string, Source>();
  /** Where the last read of each file ended, and how long it was: what goes on from there is read further ahead each time. */
  private readonly last = new Map<string, { end: number; length: number }>();
  private held = 0;
  /** Bytes asked of the sources so far. */
  bytesRead = 0;

  constructor(
    readonly core: Core,
    sources: readonly Source[],
    options: { label?: string; whole?: boolean } = {},
  ) {
    core.withText(options.label ?? '', (label) => core.attempt('assay_files_new', label, core.out()));
    this.handle = core.outValue();
    for (const source of sources) this.add(source);
    if (options.whole) core.raw('assay_files_set_whole', this.handle);
  }

  get names(): string[] {
    return [...this.sources.keys()];
  }

  /** Reads what a call needs, ahead where it goes on from the last read, and adds it. */
  async feed(need: RangeNeed): Promise<void> {
    // Errors name files as they are shown; a lone file needs no name.
    const source = this.sources.get(need.file) ?? (this.sources.size === 1 ? [...this.sources.values()][0] : undefined);
    if (source?.read === undefined) throw new Error(`no file "${need.file}" can be read`);
    const last = this.last.get(source.name);
    const ahead = last?.end === need.offset ? Math.min(2 * last.length, MOST_AHEAD) : LEAST_READ;
    const length = Math.min(Math.max(need.length, ahead), source.size - need.offset);
    const bytes = await source.read(need.offset, length);
    if (bytes.length !== length) throw new Error(`"${need.file}" gave ${bytes.length} of ${length} bytes`);
    this.bytesRead += length;
    this.held += length;
    this.last.set(source.name, { end: need.offset + length, length });
    this.addRange(source.name, need.offset, bytes);
  }
  addRange(file: string, offset: number, bytes: Uint8Array): void {
    const { core } = this;
    core.withText(file, (name) =>
      core.withBytes(bytes, (data, n) => core.attempt('assay_files_add_range', this.handle, name, BigInt(offset), data, n)),
    );
  }
  /** Bytes of all files. */
  get size(): number {
    return [...this.sources.values()].reduce((sum, source) => sum + source.size, 0);
  }
  /** Whether a file of the set has these bytes. */
  has({ file, offset }: RangeNeed): boolean {
    const source = this.sources.get(file);
    return source !== undefined && offset < source.size;
  }
  /** Gives the core all bytes of all files: for small ones that will be read through and through. */
  async addAll(): Promise<void> {
    for (const source of this.sources.values()) {
      if (source.read === undefined) continue;
      for (let offset = 0; offset < source.size; offset += SLICE) await this.feed({ file: source.name, offset, length: SLICE });
    }
  }
  /** Forgets the ranges of all files: memory stays bounded when this follows each large tensor. */
  drop(): void {
    this.held = 0;
    for (const name of this.names) this.core.withText(name, (text) => this.core.raw('assay_files_drop_ranges', this.handle, text));
  }
  /** The same once it comes to much, and then true. */
  trim(): boolean {
    if (this.held <= MOST_HELD) return false;
    this.drop();
    return true;
  }
  free(): void {
    this.core.raw('assay_files_free', this.handle);
    for (const reader of this.readers) this.core.removeReader(reader);
  }

  private add(source: Source): void {
    const { core } = this;
    this.sources.set(source.name, source);
    core.withText(source.name, (name) => {
      if (source.readSync === undefined) {
        core.attempt('assay_files_add', this.handle, name, BigInt(source.size));
        return;
      }
      const read = source.readSync;
      const id = core.addReader((offset, out) => {
        this.bytesRead += out.length;
        return read(offset, out);
      });
      this.readers.push(id);
      core.attempt('assay_files_add_reader', this.handle, name, BigInt(source.size), core.readerFunction, id);
    });
  }
}

/**
 * One step of a job that goes through its files from front to back. Once it needs more, what earlier steps read is behind it: that is
 * forgotten where it is much, so that what was read ahead is used first.
 */
export function* forward(sets: readonly Files[], attempt: () => RangeNeed | undefined): Steps<void> {
  let need = attempt();
  if (need !== undefined && sets.map((files) => files.trim()).includes(true)) need = attempt();
  for (; need !== undefined; need = attempt()) yield need;
}
