// SPDX-License-Identifier: Apache-2.0
// From what a person drops or chooses to models: one file, a folder, shards with their index, two models to compare.
import { AssayError, Status } from '../../../bindings/wasm/src/errors.js';
import type { ModelFile, ModelFiles } from './protocol.js';

/** Files that stand beside weights and are no model by themselves. */
const BESIDE = /\.(json|md|txt|model|py|jinja|ya?ml|gitattributes|gitignore|msgpack\.index|tiktoken|png|jpe?g|pdf|csv)$|(^|\/)\.[^/]*$|(^|\/)(LICENSE|latest$)/i;
/** Parts of one model: shards, ranks of a distributed checkpoint, ranks of DeepSpeed's. */
const SHARD = /[-_.]\d+[-_]of[-_]\d+|consolidated\.\d+|\.distcp$|\d+\.part\d*|(^|_)[mp]p_rank_\d+_/i;
const INDEX = /\.index\.json$/i;

export function isBeside(name: string): boolean {
  return BESIDE.test(name) && !INDEX.test(name);
}

const base = (name: string) => name.slice(name.lastIndexOf('/') + 1);
const folder = (name: string) => name.slice(0, name.lastIndexOf('/') + 1);

/**
 * The models among the files: the second is what to compare the first with. Names are paths within what was dropped. In the order in which
 * they were chosen; of a folder, where optimizers and the like lie beside weights, the largest first. None when there are no files.
 */
export function modelsOf(files: readonly ModelFile[]): ModelFiles[] {
  const weights = files.filter((file) => !isBeside(file.name) && !INDEX.test(file.name));
  if (weights.length === 0) return files.length === 0 ? [] : [one(files[0]!, files)];
  const groups = new Map<string, ModelFile[]>();
  for (const file of weights) {
    const place = folder(file.name);
    const sharded = SHARD.test(base(file.name)) || files.some((other) => INDEX.test(other.name) && folder(other.name) === place);
    const key = sharded ? `set ${place}` : `file ${file.name}`;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const found = [...groups.values()];
  if (files.some(({ name }) => name.includes('/'))) found.sort((a, b) => total(b) - total(a));
  return found.map((group) => (group.length === 1 ? one(group[0]!, files) : set(group, files)));
}

const total = (group: readonly ModelFile[]) => group.reduce((sum, file) => sum + file.blob.size, 0);

/** A file with its neighbours in reach. */
function one(file: ModelFile, all: readonly ModelFile[]): ModelFiles {
  const place = folder(file.name);
  const neighbours = all.filter((other) => other !== file && folder(other.name) === place && (isBeside(other.name) || INDEX.test(other.name)));
  return { label: base(file.name), whole: false, files: [file, ...neighbours].map((f) => ({ name: f.name.slice(place.length), blob: f.blob })) };
}

/** A folder of shards. */
function set(group: readonly ModelFile[], all: readonly ModelFile[]): ModelFiles {
  const place = folder(group[0]!.name);
  const inside = all.filter((file) => file.name.startsWith(place));
  const label = place === '' ? group[0]!.name : place.slice(0, -1);
  return { label, whole: true, files: inside.map((file) => ({ name: file.name.slice(place.length), blob: file.blob })) };
}

/** Whether they are the same files, as far as names, sizes and times tell. */
export function areSame(a: ModelFiles, b: ModelFiles): boolean {
  const words = ({ label, files }: ModelFiles) => [label, ...files.map(({ name, blob }) => `${name} ${blob.size} ${(blob as Partial<File>).lastModified ?? ''}`)].join('\n');
  return words(a) === words(b);
}

const MOST_FILES = 10_000;

/** What Chromium has besides entries; on pages from a disk its entries cannot be read, these can. */
interface FolderHandle {
  readonly kind: 'directory';
  entries(): AsyncIterable<[string, FolderHandle | FileHandle]>;
}
interface FileHandle {
  readonly kind: 'file';
  getFile(): Promise<File>;
}
type WithHandle = DataTransferItem & { getAsFileSystemHandle?: () => Promise<FolderHandle | FileHandle | null> };

interface Dropped {
  file: File | null;
  entry: FileSystemEntry | null;
  handle: Promise<FolderHandle | FileHandle | null> | null;
}

/** Files and folders of a drop or a paste, folders with what is in them. Fails where the browser does not let a page look into a folder. */
export async function filesOf(transfer: DataTransfer): Promise<ModelFile[]> {
  // All must be taken before the first await: the list is emptied when the event ends.
  const items = [...transfer.items].filter((item) => item.kind === 'file').map((item): Dropped => {
    const entry = item.webkitGetAsEntry?.() ?? null;
    const handle = entry?.isDirectory === true ? ((item as WithHandle).getAsFileSystemHandle?.() ?? null) : null;
    // Whoever waits for it is told.
    handle?.catch(() => undefined);
    return { file: item.getAsFile(), entry, handle };
  });
  const found: ModelFile[] = [];
  for (const { file, entry, handle } of items) {
    if (entry?.isDirectory === true) await openFolder(entry as FileSystemDirectoryEntry, handle, found);
    else if (file !== null) found.push({ name: file.name, blob: file });
  }
  return found;
}

async function openFolder(entry: FileSystemDirectoryEntry, asked: Dropped['handle'], found: ModelFile[]): Promise<void> {
  const before = found.length;
  try {
    const handle = await asked?.catch(() => null);
    if (handle?.kind === 'directory') await walkHandle(handle, entry.name, found);
    else await walkEntry(entry, found);
  } catch (error) {
    found.length = before;
    const why = error instanceof Error ? error.message : String(error);
    throw new AssayError(Status.io, 'folder-refused', `the browser does not let this page look into the folder “${entry.name}”: ${why}`, 'use “choose a folder”, or drop the files that are in it', {});
  }
}
async function walkHandle(folder: FolderHandle, name: string, found: ModelFile[]): Promise<void> {
  const waiting: [FolderHandle, string][] = [[folder, name]];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    for await (const [own, inside] of next[0].entries()) {
      if (found.length >= MOST_FILES) return;
      const path = `${next[1]}/${own}`;
      if (inside.kind === 'directory') waiting.push([inside, path]);
      else found.push({ name: path, blob: await inside.getFile() });
    }
}
async function walkEntry(folder: FileSystemDirectoryEntry, found: ModelFile[]): Promise<void> {
  const waiting: FileSystemEntry[] = [folder];
  for (let entry = waiting.shift(); entry !== undefined && found.length < MOST_FILES; entry = waiting.shift()) {
    const own = entry;
    if (own.isFile) {
      const file = await new Promise<File>((resolve, reject) => (own as FileSystemFileEntry).file(resolve, reject));
      found.push({ name: own.fullPath.replace(/^\//, ''), blob: file });
      continue;
    }
    const reader = (own as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (part.length === 0) break;
      waiting.push(...part);
    }
  }
}

/** Files of a file input, a folder's with their paths. */
export function filesOfInput(list: FileList): ModelFile[] {
  return [...list].map((file) => ({ name: file.webkitRelativePath || file.name, blob: file }));
}
