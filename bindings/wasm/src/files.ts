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
const LEAST_OF_MANY = 4 * 1024;
const MOST_AHEAD = 8 * 2 ** 20;
const MOST_STREAMS = 4096;
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
  private readonly ahead = new Map<string, ReadAhead>();
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
    let ahead = this.ahead.get(source.name);
    if (ahead === undefined) this.ahead.set(source.name, (ahead = new ReadAhead()));
    const length = Math.min(ahead.lengthOf(need), source.size - need.offset);
    const bytes = await source.read(need.offset, length);
    if (bytes.length !== length) throw new Error(`"${need.file}" gave ${bytes.length} of ${length} bytes`);
    this.bytesRead += length;
    this.held += length;
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
  /** Forgets the ranges of all files: memory stays bounded when this follows each large tensor. */
  drop(): void {
    this.held = 0;
    for (const ahead of this.ahead.values()) ahead.settle();
    for (const name of this.names) this.core.withText(name, (text) => this.core.raw('assay_files_drop_ranges', this.handle, text));
  }
  /** Bytes that were fed since they were last forgotten. */
  get bytesHeld(): number {
    return this.held;
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
 * How much to read where something is missing. What goes on from an earlier read is read further ahead each time; where many places go on side
 * by side (the experts of a layer), they share what is read ahead.
 */
class ReadAhead {
  /** The latest reads of places that may go on, the one used last at the end. */
  private streams: { start: number; end: number; used: boolean }[] = [];

  lengthOf({ offset, length }: RangeNeed): number {
    const at = this.streams.findLastIndex(({ start, end }) => offset > start && offset <= end);
    const known = at < 0 ? undefined : this.streams.splice(at, 1)[0]!;
    const share = Math.max(LEAST_OF_MANY, Math.floor(MOST_AHEAD / (this.streams.length + 1)));
    const read = Math.max(length, Math.min(known === undefined ? LEAST_READ : 2 * (known.end - known.start), share));
    this.streams.push({ start: offset, end: offset + read, used: true });
    if (this.streams.length > MOST_STREAMS) this.streams.shift();
    return read;
  }
  /** What was read is forgotten: places that were not read since the last time have come to their end. */
  settle(): void {
    this.streams = this.streams.filter(({ used }) => used);
    for (const stream of this.streams) stream.used = false;
  }
}

/**
 * Work that goes through its files mostly from front to back, and loses nothing where a range is missing. Once it needs more, what it read
 * before is behind it: that is forgotten where it is much.
 */
export function* forward(sets: readonly Files[], attempt: () => RangeNeed | undefined): Steps<void> {
  let most = MOST_HELD;
  let asked = new Set<string>();
  for (let need = attempt(); need !== undefined; need = attempt()) {
    if (sets.reduce((sum, files) => sum + files.bytesHeld, 0) > most) {
      for (const files of sets) files.drop();
      need = attempt(); // what of its block it had is gone too
      if (need === undefined) return;
      // Asked for again at once: a block needs more than was held, and would for ever.
      const again = asked.has(`${need.offset} ${need.file}`);
      most = again ? 2 * most : MOST_HELD;
      asked = new Set();
    }
    asked.add(`${need.offset} ${need.file}`);
    yield need;
  }
}
