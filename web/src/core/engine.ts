// SPDX-License-Identifier: Apache-2.0
// The page's side of the core: three workers as one object. Requests are promises that can be cancelled; a worker that fails is replaced.
import { AssayError, Status } from '../../../bindings/wasm/src/errors.js';
import {
  METHODS,
  type Args,
  type FromWorker,
  type Lane,
  type Method,
  type ModelFiles,
  type Opened,
  type Part,
  type Progress,
  type ReadMode,
  type Result,
  type ToWorker,
} from './protocol.js';
import { readForWorker } from './reading.js';

export interface CallOptions<M extends Method = Method> {
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** What the request tells before it is done. */
  onPart?: (part: Part<M>) => void;
}
/** Thrown into requests that were running when their worker failed. `report` holds no content of files. */
export class EngineCrash extends Error {
  override readonly name = 'EngineCrash';
  constructor(readonly report: string) {
    super('the core stopped unexpectedly and was started again');
  }
}

interface Pending {
  method: Method;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  onProgress: ((progress: Progress) => void) | undefined;
  onPart: ((part: never) => void) | undefined;
}

const LOG_LINES = 200;
/** Of a request whose worker others keep ending. */
const MOST_ATTEMPTS = 10;

export class Engine extends EventTarget {
  private readonly lanes: Record<Lane, LaneWorker>;
  private readonly models = new Map<number, ModelFiles>();
  private nextModel = 1;
  private readonly log: string[] = [];
  mode: ReadMode = 'worker';

  /** `deferred` has the core's deferred code, `spawn` makes a worker that runs worker.ts. */
  constructor(
    module: WebAssembly.Module,
    readonly deferred: () => Promise<WebAssembly.Module>,
    spawn: () => Worker,
  ) {
    super();
    const lane = (name: Lane) => new LaneWorker(name, module, spawn, this);
    this.lanes = { view: lane('view'), picture: lane('picture'), job: lane('job') };
  }

  /** Opens files as a model, whose number the other requests take. */
  async open(files: ModelFiles, options: CallOptions<'open'> = {}): Promise<{ model: number; opened: Opened }> {
    const model = this.nextModel++;
    this.models.set(model, files);
    try {
      return { model, opened: await this.lanes.view.open(model, options) };
    } catch (error) {
      this.models.delete(model);
      throw error;
    }
  }
  close(model: number): void {
    this.models.delete(model);
    for (const lane of Object.values(this.lanes)) lane.close(model);
  }
  filesOf(model: number): ModelFiles {
    const files = this.models.get(model);
    if (files === undefined) throw new Error(`there is no model ${model}`);
    return files;
  }

  /** Any request of the protocol; models are opened where they are needed. Asks again where another request ended its worker. */
  async call<M extends Method>(method: M, args: Args<M>, options: CallOptions<M> = {}): Promise<Result<M>> {
    for (let attempt = 1; ; ++attempt) {
      try {
        return await this.ask(method, args, options);
      } catch (error) {
        if (!(error instanceof AssayError) || error.code !== 'restarted' || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }
  private async ask<M extends Method>(method: M, args: Args<M>, options: CallOptions): Promise<Result<M>> {
    const lane = this.lanes[METHODS[method]];
    for (const key of ['model', 'other'] as const) {
      const model = (args as Record<string, unknown>)[key];
      // Whoever else waits for the same opening must not lose it with this request.
      if (typeof model === 'number') await lane.open(model, {});
    }
    return lane.call(method, args, options);
  }

  /** Bytes read from files, by all workers. */
  get bytesRead(): number {
    return Object.values(this.lanes).reduce((sum, lane) => sum + lane.bytesRead, 0);
  }

  /** For lanes: a line for the report of a crash, and a sign that something is different. */
  note(line: string): void {
    this.log.push(`${performance.now().toFixed(0)} ms ${line}`);
    if (this.log.length > LOG_LINES) this.log.shift();
  }
  changed(): void {
    this.dispatchEvent(new Event('change'));
  }
  get report(): string {
    return this.log.join('\n');
  }
}

/** One lane: a worker, what it was asked, and which models it has open. */
class LaneWorker {
  private worker: Worker | undefined;
  private readonly pending = new Map<number, Pending>();
  private readonly opened = new Map<number, Promise<Opened>>();
  private nextCall = 1;
  private readBefore = 0;
  private read = 0;

  constructor(
    private readonly lane: Lane,
    private readonly module: WebAssembly.Module,
    private readonly spawn: () => Worker,
    private readonly engine: Engine,
  ) {
    this.start();
  }

  get bytesRead(): number {
    return this.readBefore + this.read;
  }

  open(model: number, options: CallOptions<'open'>): Promise<Opened> {
    const already = this.opened.get(model);
    if (already !== undefined) return already;
    const opening = this.call('open', { model, files: this.engine.filesOf(model) }, options);
    this.opened.set(model, opening);
    opening.catch(() => this.opened.delete(model));
    return opening;
  }
  close(model: number): void {
    if (!this.opened.delete(model)) return;
    this.call('close', { model }, {}).catch(() => undefined);
  }

  call<M extends Method>(method: M, args: Args<M>, { signal, onProgress, onPart }: CallOptions<M>): Promise<Result<M>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const id = this.nextCall++;
      this.pending.set(id, { method, resolve: resolve as (result: unknown) => void, reject, onProgress, onPart });
      this.engine.note(`${this.lane}: ${method}`);
      this.send({ type: 'call', id, method, args });
      signal?.addEventListener('abort', () => this.cancel(id, signal.reason), { once: true });
    });
  }

  private cancel(id: number, reason: unknown): void {
    const call = this.pending.get(id);
    if (call === undefined) return;
    this.pending.delete(id);
    this.engine.note(`${this.lane}: ${call.method} cancelled`);
    call.reject(reason);
    // Headers answer soon; whatever reads values may go on for minutes and must be ended. Others that wait are asked again.
    if (this.lane === 'view') return;
    this.restart();
  }

  private start(): void {
    const worker = this.spawn();
    this.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker.onerror = (event) => this.crashed(event.message);
    this.send({ type: 'start', module: this.module });
  }
  private restart(): void {
    this.worker?.terminate();
    this.readBefore += this.read;
    this.read = 0;
    this.opened.clear();
    this.start();
    const ended = new AssayError(Status.internal, 'restarted', 'another request ended the worker; ask again', '', {});
    for (const call of this.pending.values()) call.reject(ended);
    this.pending.clear();
    this.engine.changed();
  }
  private crashed(message: string): void {
    this.engine.note(`${this.lane}: crashed: ${message}`);
    const crash = new EngineCrash(this.engine.report);
    for (const call of this.pending.values()) call.reject(crash);
    this.pending.clear();
    this.restart();
    this.engine.dispatchEvent(new CustomEvent('crash', { detail: crash }));
  }
  private send(message: ToWorker, transfer: Transferable[] = []): void {
    this.worker?.postMessage(message, transfer);
  }

  private receive(message: FromWorker): void {
    if (message.type === 'read') return void this.readFor(message);
    if (message.type === 'code') return void this.sendCode();
    const call = this.pending.get(message.id);
    this.read = message.bytesRead;
    if (message.type === 'progress') {
      for (const part of message.parts) call?.onPart?.(part as never);
      call?.onProgress?.(message.progress);
      this.engine.changed();
      return;
    }
    this.pending.delete(message.id);
    if (message.type === 'result') {
      this.engine.mode = message.mode;
      call?.resolve(message.result);
    } else {
      const { crash, status, code, message: text, hint, where } = message.failure;
      if (crash) {
        if (call !== undefined) this.pending.set(message.id, call);
        return this.crashed(text);
      }
      this.engine.note(`${this.lane}: ${call?.method ?? '?'} failed: ${code}`);
      call?.reject(new AssayError(status, code, text, hint, where));
    }
    this.engine.changed();
  }
  private async sendCode(): Promise<void> {
    const worker = this.worker;
    let answer: ToWorker;
    try {
      answer = { type: 'code', module: await this.engine.deferred() };
    } catch (error) {
      answer = { type: 'code', module: null, why: `the rest of the core cannot be started: ${String(error)}` };
    }
    if (worker === this.worker) this.send(answer);
  }
  private async readFor({ id, blob, offset, length }: Extract<FromWorker, { type: 'read' }>): Promise<void> {
    const worker = this.worker;
    let answer: ToWorker;
    try {
      answer = { type: 'bytes', id, bytes: await readForWorker(blob, offset, length) };
    } catch (error) {
      answer = { type: 'bytes', id, bytes: null, why: error instanceof Error ? error.message : String(error) };
    }
    if (worker === this.worker) this.send(answer, answer.type === 'bytes' && answer.bytes !== null ? [answer.bytes] : []);
  }
}
