// SPDX-License-Identifier: Apache-2.0
// What a document of two compared models says, in words. Pure.
import * as format from '../ui/format.js';

export interface Changed {
  name_a: string;
  name_b: string;
  dtype_a: string;
  dtype_b: string;
  shape_a: number[];
  shape_b: number[];
  max_abs: number | null;
  mean_abs: number | null;
  rel_l2: number | null;
  cosine: number | null;
  changed_elements: number | null;
  numel: number;
  /** Of a sample of `measured` elements, as all numbers are then. */
  exact?: false;
  measured?: number;
  /** Of the change of a matrix: its rank where that is low, and how many rows and columns it is in. */
  rank?: { estimate: number | null; rows: number; columns: number };
}

/** A change in at most this share of the rows or columns is told, as by the program. */
const FEW = 1 / 8;

/** What is special about a row: "F32 → BF16, Δ in 3 of 4096 rows"; '' for nothing. */
export function notes(row: Changed): string {
  return [
    row.dtype_a === row.dtype_b ? '' : `${row.dtype_a} → ${row.dtype_b}`,
    String(row.shape_a) === String(row.shape_b) ? '' : `${format.shape(row.shape_a)} → ${format.shape(row.shape_b)}`,
    row.rank === undefined ? '' : where(row.rank, row.shape_a),
  ].filter((text) => text !== '').join(', ');
}
function where({ estimate, rows, columns }: NonNullable<Changed['rank']>, [height = 0, width = 0]: readonly number[]): string {
  if (rows > 0 && rows <= FEW * height) return `Δ in ${rows} of ${format.plural(height, 'row')}`;
  if (columns > 0 && columns <= FEW * width) return `Δ in ${columns} of ${format.plural(width, 'column')}`;
  return estimate === null ? '' : `Δ has rank ${estimate}`;
}

/** Matrices of two trainings that began apart point in directions of their own: their cosines are about 0. */
const UNLIKE = 0.1;
const LEAST_MATRICES = 2;
/** "" or that the two have nothing in common but names. */
export function relation(changed: readonly Changed[], identical: number): string {
  const cosines = changed.filter(({ shape_a, cosine, numel }) => shape_a.length > 1 && cosine !== null && numel > 64).map(({ cosine }) => Math.abs(cosine!));
  if (cosines.length < LEAST_MATRICES || identical > cosines.length) return '';
  const unlike = cosines.filter((cosine) => cosine < UNLIKE).length;
  if (unlike < 0.9 * cosines.length) return '';
  return `These models are not related: ${unlike} of the ${cosines.length} matrices in both have nothing in common (cosine about 0), as of two trainings that began apart.`;
}

/** Names that both have and that did not change, where that is known from the names alone; else none. */
export function identicalNames(names: readonly string[], changed: readonly Changed[], onlyA: readonly string[], count: number): string[] {
  const others = new Set([...changed.map(({ name_a }) => name_a), ...onlyA]);
  const found = names.filter((name) => !others.has(name));
  return found.length === count ? found : [];
}
