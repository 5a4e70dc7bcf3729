// SPDX-License-Identifier: Apache-2.0
// Links that lead back to what is looked at. They hold names, a size and numbers, never content: whoever opens one needs the file.

export interface Link {
  /** Of the model as it was called, and its bytes: to know it again. */
  file: string;
  size: number;
  tensor?: string;
  view?: string;
}

/** "#f=model.safetensors&sz=123&t=lm_head.weight&v=tensor" */
export function writeLink(link: Link): string {
  const parts = new URLSearchParams({ f: link.file, sz: String(link.size) });
  if (link.tensor !== undefined) parts.set('t', link.tensor);
  if (link.view !== undefined) parts.set('v', link.view);
  return `#${parts.toString()}`;
}

export function readLink(hash: string): Link | null {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const file = parts.get('f');
  const size = Number(parts.get('sz'));
  if (file === null || file === '' || !Number.isSafeInteger(size)) return null;
  const tensor = parts.get('t');
  const view = parts.get('v');
  return { file, size, ...(tensor === null ? {} : { tensor }), ...(view === null ? {} : { view }) };
}
