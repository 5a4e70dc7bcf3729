// SPDX-License-Identifier: Apache-2.0
// assay: look inside a model checkpoint, in Node and in browsers. Importing it compiles the core once;
// the code of what goes through all values is loaded when it is first wanted.
//
//   import { parseFile } from 'assay';
//   const model = await parseFile(file, file.name);
//   console.log(model.totalParams, model.moe.detected);
//   const { stats } = await model.sample('lm_head.weight', 4096);
import { blobSource, type Source } from './files.js';
import { parseBuffer, parseSource, type FileModel, type Model } from './model.js';
import { Core, type Code } from './module.js';

export * from './census.js';
export * from './checkpoint.js';
export * from './errors.js';
export * from './files.js';
export * from './heatmap.js';
export * from './job.js';
export * from './model.js';
export * from './module.js';
export * from './stats.js';

async function fetched(url: URL): Promise<Code> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.href}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}
async function loadBeside(): Promise<Core> {
  const first = new URL('./core.wasm', import.meta.url);
  const deferred = new URL('./core.deferred.wasm', import.meta.url);
  if (first.protocol !== 'file:') return Core.load(await fetched(first), { load: () => fetched(deferred) });
  const fs = await import('node:fs');
  return Core.load(fs.readFileSync(first), { loadSync: () => fs.readFileSync(deferred) });
}

/** The instance that `parseFile` uses. */
export const core: Core = await loadBeside();

/** "0.1.0" */
export const version: string = core.version;

/**
 * Opens a checkpoint from its headers. A buffer is read in place and everything about it is synchronous; of a File (or any Blob, or a
 * `Source` that reads as you say) only the ranges are read that an answer needs, and everything is a promise. `name` is for messages. Throws
 * an `AssayError` that says what the bytes are when they are no checkpoint; a damaged one opens, with `complete` false and findings
 * that say why.
 */
export function parseFile(file: ArrayBuffer | ArrayBufferView, name?: string): Model;
export function parseFile(file: Blob | Source, name?: string): Promise<FileModel>;
export function parseFile(file: ArrayBuffer | ArrayBufferView | Blob | Source, name?: string): Model | Promise<FileModel> {
  if (file instanceof Blob) return parseSource(core, blobSource(name ?? (file as Partial<File>).name ?? 'file', file));
  if (file instanceof ArrayBuffer || ArrayBuffer.isView(file)) return parseBuffer(core, file, name ?? 'memory');
  return parseSource(core, name === undefined ? file : { ...file, name });
}
