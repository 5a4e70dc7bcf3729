// SPDX-License-Identifier: Apache-2.0
// The module itself: its memory, texts and handles across the border. One instance is one address space; give each worker its own.
import { AssayError, Status, type Where } from './errors.js';

/** Fills `out` from `offset`. Throws, or returns false, where the bytes cannot be read. */
export type ReadSync = (offset: number, out: Uint8Array) => boolean | void;
/** Told how much of a job is done; false ends it. */
export type Watch = (done: number, of: number) => boolean | void;

/** Bytes that a call needs and does not have: read them, give them to the set, call again. */
export interface RangeNeed {
  file: string;
  offset: number;
  length: number;
}
/** Code that an answer needs and that is not loaded yet. `runAsync` sees to it. */
export interface CodeNeed {
  load(): Promise<void>;
}
/** Work that may ask for ranges on its way. Drive it with `runSync` or `runAsync`. */
export type Steps<T> = Generator<RangeNeed | CodeNeed, T, void>;

/** A module or its bytes. */
export type Code = WebAssembly.Module | BufferSource;
/** Where core.deferred.wasm is: the code of `map`, `doctor`, `moe`, `verify`, `diff` and `scan`, loaded when the first of them is wanted. */
export interface Deferred {
  /** For where it can be had without waiting; else `load`. */
  loadSync?: () => Code;
  load?: () => Promise<Code>;
}

type Fn = (...args: (number | bigint)[]) => number;
type Exports = Record<string, Fn> & { memory: WebAssembly.Memory };

const ERROR = 0; // within the scratch area: assay_error*, then up to three out parameters of 8 bytes
const OUT = 8;
const SCRATCH = 32;

export class Core {
  private readonly exports: Exports;
  private readonly scratch: number;
  private readonly readers = new Map<number, ReadSync>();
  private readonly watches = new Map<number, Watch>();
  private next = 1;
  /** Whether all code is there. */
  private complete: boolean;
  /** What a callback threw: it cannot pass through the module, so it waits here. */
  private thrown: unknown;

  private constructor(
    module: WebAssembly.Module,
    private readonly deferred: Deferred = {},
  ) {
    // What core.deferred.wasm has stands in the table, at a place of its own for each function; until it is there its import is called instead.
    const places = WebAssembly.Module.imports(module).filter((needed) => needed.module === 'deferred');
    this.complete = places.length === 0;
    const instance = new WebAssembly.Instance(module, {
      deferred: Object.fromEntries(places.map(({ name }) => [name, (...args: unknown[]) => this.enter(Number(name), args)])),
      assay: {
        read: (context: number, offset: bigint, out: number, n: number) => this.readFor(context >>> 0, Number(offset), out >>> 0, n >>> 0),
        watch: (context: number, done: bigint, of: bigint) => this.watchFor(context >>> 0, Number(done), Number(of)),
      },
    });
    this.exports = instance.exports as unknown as Exports;
    this.exports['_initialize']!();
    this.scratch = this.malloc(SCRATCH);
  }

  /** Compiles and starts the module. A `WebAssembly.Module` may be shared by several workers. */
  static async load(source: Code, deferred?: Deferred): Promise<Core> {
    return new Core(await compile(source), deferred);
  }
  static loadSync(source: Code, deferred?: Deferred): Core {
    return new Core(compileSync(source), deferred);
  }

  /** Loads core.deferred.wasm where it is not there: what goes through all values or bytes begins with this. */
  *whole(): Steps<void> {
    if (this.complete) return;
    const { load, loadSync } = this.deferred;
    if (loadSync !== undefined) this.join(compileSync(loadSync()));
    else yield { load: async () => this.join(await compile((await load?.()) ?? missing())) };
  }
  /** Whether nothing more will be loaded. */
  get isWhole(): boolean {
    return this.complete;
  }
  private join(module: WebAssembly.Module): void {
    if (!this.complete) new WebAssembly.Instance(module, { core: this.exports });
    this.complete = true;
  }
  private enter(place: number, args: unknown[]): unknown {
    this.join(compileSync(this.deferred.loadSync?.() ?? missing()));
    const table = Object.values(this.exports).find((value: unknown) => value instanceof WebAssembly.Table) as WebAssembly.Table | undefined;
    return (table!.get(place) as (...args: unknown[]) => unknown)(...args);
  }

  get version(): string {
    return this.text(this.raw('assay_version'));
  }
  /** Bytes of the module's memory; it never shrinks. */
  get memoryBytes(): number {
    return this.exports.memory.buffer.byteLength;
  }

  /** A function of assay.h whose answer is a plain number or an address. */
  raw(name: string, ...args: (number | bigint)[]): number {
    return this.exports[name]!(...args);
  }
  /** One whose answer is 64 bits wide. */
  wide(name: string, ...args: (number | bigint)[]): bigint {
    return this.exports[name]!(...args) as unknown as bigint;
  }

  /**
   * A function that fails: `args` without the last one, the error. Gives nothing when it succeeded, the range it needs when it
   * asks for one, and throws otherwise.
   */
  attempt(name: string, ...args: (number | bigint)[]): RangeNeed | undefined {
    this.thrown = undefined;
    const status = this.exports[name]!(...args, this.scratch + ERROR);
    if (status === Status.ok) return undefined;
    const error = this.u32(this.scratch + ERROR);
    const where = this.whereOf(error);
    const failure = new AssayError(
      status,
      this.text(this.raw('assay_error_code', error)),
      this.text(this.raw('assay_error_message', error)) || 'out of memory',
      this.text(this.raw('assay_error_hint', error)),
      where,
    );
    this.raw('assay_error_free', error);
    if (this.thrown !== undefined) {
      failure.cause = this.thrown;
      this.thrown = undefined;
    }
    if (status === Status.needRange) return { file: where.file ?? '', offset: where.offset!, length: where.length! };
    throw failure;
  }
  /** The same, asking for ranges until it succeeds. */
  *steps(name: string, ...args: (number | bigint)[]): Steps<void> {
    for (;;) {
      const need = this.attempt(name, ...args);
      if (need === undefined) return;
      yield need;
    }
  }
  /** The address of out parameter `i`, and what a call left there. */
  out(i = 0): number {
    return this.scratch + OUT + 8 * i;
  }
  outValue(i = 0): number {
    return this.u32(this.out(i));
  }
  /** The bytes of the assay_buffer in out parameter 0, copied; the buffer is freed. */
  takeBuffer(): Uint8Array<ArrayBuffer> {
    const buffer = this.outValue();
    const data = this.raw('assay_buffer_data', buffer, this.out(1));
    const bytes = this.bytes(data, this.outValue(1)).slice();
    this.raw('assay_buffer_free', buffer);
    return bytes;
  }

  // --- memory

  malloc(n: number): number {
    const address = this.raw('malloc', Math.max(n, 1)) >>> 0;
    if (address === 0) throw new AssayError(Status.outOfMemory, 'out-of-memory', `no memory for ${n} bytes`, '', {});
    return address;
  }
  free(address: number): void {
    this.raw('free', address);
  }
  /** A view that the next call into the module may make stale: copy what is to be kept. */
  bytes(address: number, n: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.exports.memory.buffer as ArrayBuffer, address >>> 0, n >>> 0);
  }
  u32(address: number): number {
    return new DataView(this.exports.memory.buffer).getUint32(address, true);
  }
  /** Runs `body` with the text as a terminated string. */
  withText<T>(value: string, body: (address: number, length: number) => T): T {
    return this.withBytes(encoder.encode(value + '\0'), (address, length) => body(address, length - 1));
  }
  withBytes<T>(value: Uint8Array, body: (address: number, length: number) => T): T {
    const address = this.malloc(value.length);
    this.bytes(address, value.length).set(value);
    try {
      return body(address, value.length);
    } finally {
      this.free(address);
    }
  }
  /** A terminated text, or one of `length` bytes. */
  text(address: number, length?: number): string {
    address = address >>> 0;
    if (address === 0) return '';
    const memory = new Uint8Array(this.exports.memory.buffer, address);
    return decoder.decode(memory.subarray(0, length ?? memory.indexOf(0)));
  }

  // --- callbacks

  addReader(read: ReadSync): number {
    this.readers.set(this.next, read);
    return this.next++;
  }
  removeReader(id: number): void {
    this.readers.delete(id);
  }
  /** Arguments for a function that takes a watch, while `body` runs. */
  withWatch<T>(watch: Watch | undefined, body: (fn: number, context: number) => T): T {
    if (watch === undefined) return body(0, 0);
    const id = this.next++;
    this.watches.set(id, watch);
    try {
      return body(this.raw('assay_host_watch'), id);
    } finally {
      this.watches.delete(id);
    }
  }
  get readerFunction(): number {
    return this.raw('assay_host_read');
  }

  private readFor(id: number, offset: number, out: number, n: number): number {
    try {
      return this.readers.get(id)?.(offset, this.bytes(out, n)) === false ? 1 : 0;
    } catch (error) {
      this.thrown = error;
      return 1;
    }
  }
  private watchFor(id: number, done: number, of: number): number {
    try {
      return this.watches.get(id)?.(done, of) === false ? 0 : 1;
    } catch (error) {
      this.thrown = error;
      return 0;
    }
  }
  private whereOf(error: number): Where {
    const where: Where = {};
    for (const part of ['file', 'member', 'tensor'] as const) {
      const text = this.text(this.raw(`assay_error_${part}`, error));
      if (text !== '') where[part] = text;
    }
    for (const part of ['offset', 'length'] as const) {
      const value = BigInt.asUintN(64, this.wide(`assay_error_${part}`, error));
      if (value !== NO_OFFSET) where[part] = Number(value);
    }
    return where;
  }
}

const compile = async (code: Code) => (code instanceof WebAssembly.Module ? code : WebAssembly.compile(code));
const compileSync = (code: Code) => (code instanceof WebAssembly.Module ? code : new WebAssembly.Module(code));
function missing(): never {
  throw new AssayError(Status.usage, 'usage', 'the code of this answer (core.deferred.wasm) is not loaded', 'say where it is when the core is loaded', {});
}

export const NO_OFFSET = 0xffff_ffff_ffff_ffffn;
export const NO_INDEX = 0xffff_ffff;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function notAtHand(need: RangeNeed): never {
  throw new AssayError(Status.needRange, 'need-range', 'the bytes are not at hand', '', need);
}

/** Runs steps that can have all they ask for without waiting. */
export function runSync<T>(steps: Steps<T>): T {
  const step = steps.next();
  if (step.done) return step.value;
  if ('load' in step.value) missing();
  notAtHand(step.value);
}

/** Runs steps, waiting for `feed` to supply each range, and for code that is not loaded. */
export async function runAsync<T>(steps: Steps<T>, feed: (need: RangeNeed) => Promise<void> = async (need) => notAtHand(need)): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await ('load' in step.value ? step.value.load() : feed(step.value));
  }
}
