// SPDX-License-Identifier: Apache-2.0
// Reading files in a worker: whole blocks at once, the latest kept, so that neighbours cost nothing.
import { readBlob, type Source } from '../../../bindings/wasm/src/files.js';
import type { ModelFile, ReadMode } from './protocol.js';

const BLOCK = 4 * 2 ** 20;
const KEPT = 8; // blocks: 32 MiB a worker
/** For headers here and there: neighbours still cost nothing, but little is read in vain. */
export const SMALL_BLOCK = 256 * 1024;

// lib.dom has no worker globals beside the page's.
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** The file ends before it did when it was opened. */
export class ShorterFile extends Error {}

/** Blocks of files, the one unused for longest given up first. */
export class BlockCache {
  private readonly blocks = new Map<string, Uint8Array>();
  private readonly reader = new FileReaderSync();
  /** Bytes read from files. */
  bytesRead = 0;
  /** Few places far apart are about to be read: just what is asked for then. */
  sparse = false;

  constructor(
    private readonly kept = KEPT,
    private readonly size = BLOCK,
  ) {}

  read(key: string, blob: Blob, offset: number, out: Uint8Array): void {
    if (this.sparse) return this.readPlainly(blob, offset, out);
    for (let done = 0; done < out.length; ) {
      const at = offset + done;
      const block = this.block(key, blob, Math.floor(at / this.size));
      const part = block.subarray(at % this.size, (at % this.size) + out.length - done);
      if (part.length === 0) throw new ShorterFile();
      out.set(part, done);
      done += part.length;
    }
  }
  private readPlainly(blob: Blob, offset: number, out: Uint8Array): void {
    const bytes = new Uint8Array(this.reader.readAsArrayBuffer(blob.slice(offset, offset + out.length)));
    if (bytes.length !== out.length) throw new ShorterFile();
    this.bytesRead += bytes.length;
    out.set(bytes);
  }
  forget(): void {
    this.blocks.clear();
  }

  private block(key: string, blob: Blob, number: number): Uint8Array {
    const name = `${number} ${key}`;
    let block = this.blocks.get(name);
    if (block === undefined) {
      block = new Uint8Array(this.reader.readAsArrayBuffer(blob.slice(number * this.size, (number + 1) * this.size)));
      this.bytesRead += block.length;
      if (this.blocks.size >= this.kept) this.blocks.delete(this.blocks.keys().next().value!);
    } else {
      this.blocks.delete(name);
    }
    this.blocks.set(name, block);
    return block;
  }
}

/** False where this worker may not read the file, as WebKit decides for pages from disk. */
export function canRead(blob: Blob): boolean {
  try {
    new FileReaderSync().readAsArrayBuffer(blob.slice(0, 16));
    return true;
  } catch {
    return false;
  }
}

export type ReadByPage = (blob: Blob, offset: number, length: number) => Promise<ArrayBuffer>;

export function sourceOf(model: number, file: ModelFile, mode: ReadMode, cache: BlockCache, byPage: ReadByPage): Source {
  const { name, blob } = file;
  if (mode === 'worker') {
    const key = `${model} ${name}`;
    return { name, size: blob.size, readSync: (offset, out) => cache.read(key, blob, offset, out) };
  }
  return {
    name,
    size: blob.size,
    read: async (offset, length) => {
      const bytes = new Uint8Array(await byPage(blob, offset, length));
      cache.bytesRead += bytes.length;
      return bytes;
    },
  };
}

/** For the page: slices, four in flight. */
export async function readForWorker(blob: Blob, offset: number, length: number): Promise<ArrayBuffer> {
  return (await readBlob(blob, offset, length)).buffer as ArrayBuffer;
}
