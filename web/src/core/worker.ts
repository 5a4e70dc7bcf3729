// SPDX-License-Identifier: Apache-2.0
// One worker: an instance of the core, the models opened in it, and an answer for every request.
import { census, countWithin, readWindow } from '../../../bindings/wasm/src/census.js';
import { Checkpoint, scanFile, syntheticFile } from '../../../bindings/wasm/src/checkpoint.js';
import { AssayError, Status } from '../../../bindings/wasm/src/errors.js';
import { sampleOf } from '../../../bindings/wasm/src/model.js';
import { Files } from '../../../bindings/wasm/src/files.js';
import { colorMap, Heatmap, markColors } from '../../../bindings/wasm/src/heatmap.js';
import { Job } from '../../../bindings/wasm/src/job.js';
import { StatsJob } from '../../../bindings/wasm/src/stats.js';
import { Core, runAsync, type Steps, type Watch } from '../../../bindings/wasm/src/module.js';
import type { Args, Failure, FromWorker, Method, ModelFiles, Opened, Part, Picture, ReadMode, Result, ToWorker, TreeNode } from './protocol.js';
import { BlockCache, canRead, SMALL_BLOCK, ShorterFile, sourceOf } from './reading.js';

interface Model {
  files: Files;
  checkpoint: Checkpoint;
  mode: ReadMode;
  /** Tensors in natural order of their names; made when first asked for. */
  order?: Uint32Array;
}

const cache = new BlockCache();
/** Of scans: headers and pickles, here and there. */
const scanCache = new BlockCache(64, SMALL_BLOCK);
const bytesRead = () => cache.bytesRead + scanCache.bytesRead;
const models = new Map<number, Model>();
let core: Core;
let mode: ReadMode = 'worker';

const post = (message: FromWorker, transfer: Transferable[] = []) =>
  (self as unknown as { postMessage(message: FromWorker, transfer: Transferable[]): void }).postMessage(message, transfer);

// --- bytes by way of the page

const waiting = new Map<number, { resolve: (bytes: ArrayBuffer) => void; reject: (why: Error) => void }>();
let nextRead = 1;
function readByPage(blob: Blob, offset: number, length: number): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    waiting.set(nextRead, { resolve, reject });
    post({ type: 'read', id: nextRead++, blob, offset, length });
  });
}

// --- the core's deferred code, which the page compiles once for all workers

let settleCode: (answer: Extract<ToWorker, { type: 'code' }>) => void;
const codeCame = new Promise<WebAssembly.Module>((resolve, reject) => {
  settleCode = ({ module, why }) => (module !== null ? resolve(module) : reject(new Error(why)));
});
function codeByPage(): Promise<WebAssembly.Module> {
  post({ type: 'code' });
  return codeCame;
}

// --- models

function filesOf(model: number, set: ModelFiles, blocks = cache): { files: Files; mode: ReadMode } {
  mode = set.files.every((file) => file.blob.size === 0 || canRead(file.blob)) ? 'worker' : 'page';
  const sources = set.files.map((file) => sourceOf(model, file, mode, blocks, readByPage));
  return { files: new Files(core, sources, { label: set.label, whole: set.whole }), mode };
}

/** Runs steps on a model's files. What had to be fetched is forgotten afterwards. */
async function run<T>(files: Files, steps: Steps<T>): Promise<T> {
  try {
    return await runAsync(steps, (need) => files.feed(need));
  } finally {
    if (mode === 'page') files.drop();
  }
}

/** Steps that look at few places far apart: a page at the end of a file is no reason to read the megabytes around it. */
function* sparsely<T>(steps: Steps<T>): Steps<T> {
  cache.sparse = true;
  try {
    return yield* steps;
  } finally {
    cache.sparse = false;
  }
}
const runSparsely = <T>(files: Files, steps: Steps<T>): Promise<T> => run(files, sparsely(steps));
/** Of a sample, if it is one. */
const sampling = <T>(sample: boolean | undefined, steps: Steps<T>): Steps<T> => (sample === true ? sparsely(steps) : steps);
/** What reads all values: none of it is read again soon. */
async function through<T>(running: Promise<T>): Promise<T> {
  try {
    return await running;
  } finally {
    cache.forget();
  }
}

function modelOf(id: number): Model {
  const model = models.get(id);
  if (model === undefined) throw new Error(`model ${id} is not open in this worker`);
  return model;
}

async function open({ model: id, files: set }: Args<'open'>): Promise<Opened> {
  const { files, mode } = filesOf(id, set);
  return run(
    files,
    (function* () {
      const checkpoint = yield* Checkpoint.open(files);
      close(id);
      models.set(id, { files, checkpoint, mode });
      return {
        format: checkpoint.format,
        complete: checkpoint.complete,
        tensorCount: checkpoint.tensorCount,
        info: yield* sparsely(checkpoint.report('info')),
        tree: (yield* checkpoint.report('tree'))['tree'] as TreeNode,
        moe: yield* checkpoint.report('moe-structure'),
      };
    })(),
  );
}

function close(id: number): null {
  const model = models.get(id);
  models.delete(id);
  model?.checkpoint.close();
  model?.files.free();
  cache.forget();
  return null;
}

function orderOf(model: Model): Uint32Array {
  model.order ??= model.checkpoint.order('name');
  return model.order;
}

/** Looks at a heat map to its end. */
function* pictureOf(making: Steps<Heatmap>, watch: Watch): Steps<Picture> {
  const heatmap = yield* making;
  try {
    while (!(yield* heatmap.step())) watch(heatmap.progress, 1);
    return { grid: heatmap.grid(), rows: heatmap.profile(0), cols: heatmap.profile(1) };
  } finally {
    heatmap.free();
  }
}

/** Runs steps on two models, each of which has the ranges it asks for. */
async function runOnTwo<T>(a: Model, b: Model, steps: Steps<T>): Promise<T> {
  try {
    return await runAsync(steps, async (need) => {
      // Both may have a file of this name; which of them asks is not said.
      for (const { files } of [a, b]) if (files.has(need)) await files.feed(need);
    });
  } finally {
    for (const model of [a, b]) if (model.mode === 'page') model.files.drop();
  }
}

async function scan({ files: set }: Args<'scan'>, watch: Watch): Promise<Result<'scan'>> {
  const { files } = filesOf(-1, set, scanCache);
  const documents: Result<'scan'> = [];
  try {
    for (const [i, file] of set.files.entries()) {
      watch(i, set.files.length);
      documents.push(await run(files, scanFile(files, file.name)));
    }
  } finally {
    files.free();
    scanCache.forget();
  }
  return documents;
}

const everyTensor = (checkpoint: Checkpoint) => Array.from({ length: checkpoint.tensorCount }, (_, i) => i);
/** What a job would read, which then is not done. */
function costOf(job: { bytes: number; free(): void }): number {
  try {
    return job.bytes;
  } finally {
    job.free();
  }
}

type Answers = { [M in Method]: (args: Args<M>, watch: Watch, tell: (part: Part<M>) => void) => Promise<Result<M>> | Result<M> };
const answers: Answers = {
  open,
  close: ({ model }) => close(model),
  tree: async ({ model: id, filter }) => {
    const { files, checkpoint } = modelOf(id);
    return (await run(files, checkpoint.report('tree', filter)))['tree'] as TreeNode;
  },
  names: ({ model: id }) => {
    const model = modelOf(id);
    const order = orderOf(model);
    return { order, names: Array.from(order, (tensor) => model.checkpoint.tensorName(tensor)) };
  },
  select: ({ model: id, filter }) => {
    const model = modelOf(id);
    return model.checkpoint.select(filter, orderOf(model));
  },
  largest: ({ model: id, n }) => modelOf(id).checkpoint.order('size').slice(0, n),
  tensors: ({ model: id, indices }) => {
    const { checkpoint } = modelOf(id);
    return Array.from(indices, (index) => checkpoint.tensor(index));
  },
  find: ({ model: id, name }) => modelOf(id).checkpoint.find(name),
  values: ({ model: id, tensor, first, n }) => {
    const { files, checkpoint } = modelOf(id);
    return run(files, checkpoint.readF64(tensor, first, n));
  },
  raw: ({ model: id, tensor, first, n }) => {
    const { files, checkpoint } = modelOf(id);
    return run(files, checkpoint.readRaw(tensor, first, n));
  },
  window: ({ model: id, tensor, window }) => {
    const { files, checkpoint } = modelOf(id);
    return run(files, readWindow(checkpoint, tensor, window));
  },
  picture: async ({ model: id, tensor, options }, watch) => {
    const { files, checkpoint } = modelOf(id);
    const steps = pictureOf(Heatmap.of(checkpoint, tensor, options), watch);
    return options.sample === true ? runSparsely(files, steps) : run(files, steps);
  },
  difference: ({ model: id, tensor, other, otherTensor, options }, watch) => {
    const a = modelOf(id);
    const b = modelOf(other);
    return runOnTwo(a, b, sampling(options.sample, pictureOf(Heatmap.ofDifference(a.checkpoint, tensor, b.checkpoint, otherTensor, options), watch)));
  },
  census: ({ model: id, tensor, window }, watch) => {
    const { files, checkpoint } = modelOf(id);
    const steps = census(checkpoint, tensor, window, watch);
    return Array.isArray(window) ? runSparsely(files, steps) : run(files, steps);
  },
  within: ({ model: id, tensor, window, step, from, to }, watch) => {
    const { files, checkpoint } = modelOf(id);
    return run(files, countWithin(checkpoint, tensor, window, step, from, to, watch));
  },
  colors: ({ theme }) => ({ diverging: colorMap(core, 'diverging', theme), sequential: colorMap(core, 'sequential', theme), marks: markColors(core) }),
  stats: ({ model: id, tensor }) => {
    const { files, checkpoint } = modelOf(id);
    return run(files, checkpoint.stats(tensor));
  },
  sample: async ({ model: id, tensor, n }) => {
    const { files, checkpoint } = modelOf(id);
    return (await runSparsely(files, sampleOf(checkpoint, checkpoint.tensor(tensor), n))).stats;
  },
  measure: async ({ model: id, sample }, watch, tell): Promise<true> => {
    const { files, checkpoint } = modelOf(id);
    const steps = checkpoint.statsOf(everyTensor(checkpoint), { sample, quantiles: false }, (tensor, stats) => tell([tensor, stats]), watch);
    await through(run(files, sampling(sample, steps)));
    return true;
  },
  cost: ({ model: id, of, sample }) => {
    const { checkpoint } = modelOf(id);
    return costOf(of === 'measure' ? StatsJob.of(checkpoint, everyTensor(checkpoint), { sample, quantiles: false }) : Job.report(checkpoint, of, '', { sample }));
  },
  diffCost: async ({ model: id, other, sample }) => {
    await runAsync(core.whole());
    return costOf(Job.diff(modelOf(id).checkpoint, modelOf(other).checkpoint, true, { sample }));
  },
  report: async ({ model: id, command, filter, sample }, watch) => {
    const { files, checkpoint } = modelOf(id);
    return through(run(files, sampling(sample, checkpoint.report(command, filter ?? '', watch, { sample: sample === true }))));
  },
  diff: async ({ model: id, other, values, sample }, watch) => {
    const a = modelOf(id);
    const b = modelOf(other);
    return through(runOnTwo(a, b, sampling(sample, a.checkpoint.diff(b.checkpoint, values, watch, { sample: sample === true }))));
  },
  scan,
  synthetic: ({ seed }) => syntheticFile(core, seed),
};

// --- messages

/** Browsers name permissions when a file is not what it was when it was chosen. */
const CHANGED = 'the file cannot be read any more: it changed on disk since it was opened, or was moved';
const isChanged = (error: unknown) =>
  (error instanceof DOMException && ['NotReadableError', 'NotFoundError'].includes(error.name)) || error instanceof ShorterFile;

function failureOf(error: unknown): Failure {
  if (isChanged(error) || (error instanceof AssayError && isChanged(error.cause)))
    return { crash: false, status: Status.io, code: 'file-changed', message: CHANGED, hint: 'drop it again', where: {} };
  if (error instanceof AssayError) {
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return { crash: false, status: error.status, code: error.code, message: error.message + cause, hint: error.hint, where: error.where };
  }
  const crash = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  const message = error instanceof Error ? (crash ? (error.stack ?? error.message) : error.message) : String(error);
  return { crash, status: Status.internal, code: 'internal', message, hint: '', where: {} };
}

async function call(id: number, method: Method, args: unknown): Promise<void> {
  let last = 0;
  let progress = { done: 0, of: 0 };
  const parts: unknown[] = [];
  const say = () => post({ type: 'progress', id, progress, parts: parts.splice(0), bytesRead: bytesRead() });
  const watch: Watch = (done, of) => {
    progress = { done, of };
    const now = performance.now();
    if (now - last < 50) return;
    last = now;
    say();
  };
  try {
    const answer = answers[method] as (args: unknown, watch: Watch, tell: (part: unknown) => void) => unknown;
    const result = await answer(args, watch, (part) => parts.push(part));
    if (parts.length > 0) say();
    post({ type: 'result', id, result, bytesRead: bytesRead(), mode });
  } catch (error) {
    post({ type: 'failure', id, failure: failureOf(error), bytesRead: bytesRead() });
  }
}

let started: Promise<void> = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === 'start') {
    started = Core.load(data.module, { load: codeByPage }).then((loaded) => {
      core = loaded;
    });
  } else if (data.type === 'bytes') {
    const read = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.bytes !== null) read?.resolve(data.bytes);
    else read?.reject(new Error(data.why ?? 'the file cannot be read'));
  } else if (data.type === 'code') {
    settleCode(data);
  } else {
    void started.then(() => call(data.id, data.method, data.args));
  }
};
