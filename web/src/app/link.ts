// SPDX-License-Identifier: Apache-2.0
// Links that lead back to what is looked at. They hold names, a size and numbers, never content: whoever opens one needs the file.

import type { Names } from '../tree/rows.js';

/** A part of a tensor as a matrix. */
export interface Place {
  row: number;
  col: number;
  rows: number;
  cols: number;
}
export interface Link {
  /** Of the model as it was called, and its bytes: to know it again. */
  file: string;
  size: number;
  /** sumOf its names: another file of the same name and size is known by it. */
  sum?: string;
  tensor?: string;
  view?: string;
  filter?: string;
  place?: Place;
}

/** "#f=model.safetensors&sz=123&t=lm_head.weight&v=tensor" */
export function writeLink(link: Link): string {
  const parts = new URLSearchParams({ f: link.file, sz: String(link.size) });
  for (const [key, value] of [['h', link.sum], ['t', link.tensor], ['v', link.view], ['q', link.filter]] as const) if (value !== undefined && value !== '') parts.set(key, value);
  const { place } = link;
  if (place !== undefined) parts.set('r', [place.row, place.col, place.rows, place.cols].map((x) => String(Number(x.toFixed(2)))).join(','));
  return `#${parts.toString()}`;
}

export function readLink(hash: string): Link | null {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const file = parts.get('f');
  const size = Number(parts.get('sz'));
  if (file === null || file === '' || !Number.isSafeInteger(size)) return null;
  const link: Link = { file, size };
  for (const [key, field] of [['h', 'sum'], ['t', 'tensor'], ['v', 'view'], ['q', 'filter']] as const) {
    const value = parts.get(key);
    if (value !== null) link[field] = value;
  }
  const numbers = (parts.get('r') ?? '').split(',').map(Number);
  const [row, col, rows, cols] = numbers as [number, number, number, number];
  if (numbers.length === 4 && numbers.every((x) => Number.isFinite(x) && x >= 0) && rows > 0 && cols > 0) link.place = { row, col, rows, cols };
  return link;
}

/** FNV-1a over all names in natural order. */
export function sumOf({ names }: Pick<Names, 'names'>): string {
  let sum = 0x811c9dc5;
  for (const name of names) {
    for (let i = 0; i < name.length; ++i) sum = Math.imul(sum ^ name.charCodeAt(i), 0x01000193);
    sum = Math.imul(sum ^ 0x0a, 0x01000193);
  }
  return (sum >>> 0).toString(16).padStart(8, '0');
}
