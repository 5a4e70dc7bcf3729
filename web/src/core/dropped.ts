// SPDX-License-Identifier: Apache-2.0
// From what a person drops or chooses to models: one file, a folder, shards with their index, two models to compare.
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
 * The models among the files, at most two: the second is what to compare the first with. Names are paths within what was dropped.
 * None when there are no files.
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
  return [...groups.values()]
    .sort((a, b) => total(b) - total(a))
    .slice(0, 2)
    .map((group) => (group.length === 1 ? one(group[0]!, files) : set(group, files)));
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

const MOST_FILES = 10_000;

/** Files and folders of a drop or a paste, folders with what is in them. */
export async function filesOf(transfer: DataTransfer): Promise<ModelFile[]> {
  // Entries must be taken before the first await: the list is emptied when the event ends.
  const entries = [...transfer.items].filter((item) => item.kind === 'file').map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...transfer.files];
  if (entries.every((entry) => entry === null)) return plain.map((file) => ({ name: file.name, blob: file }));
  const found: ModelFile[] = [];
  const waiting = entries.filter((entry) => entry !== null);
  while (waiting.length > 0 && found.length < MOST_FILES) {
    const entry = waiting.shift()!;
    const name = entry.fullPath.replace(/^\//, '');
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      found.push({ name, blob: file });
    } else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (part.length === 0) break;
        waiting.push(...part);
      }
    }
  }
  return found;
}

/** Files of a file input, a folder's with their paths. */
export function filesOfInput(list: FileList): ModelFile[] {
  return [...list].map((file) => ({ name: file.webkitRelativePath || file.name, blob: file }));
}
