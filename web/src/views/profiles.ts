// SPDX-License-Identifier: Apache-2.0
// The profiles beside a picture: which rows and columns are hot or dead, by name, and what one of them holds.
import { css, html, nothing, type TemplateResult } from 'lit';
import { median } from '../core/roles.js';
import type { Picture, Profile } from '../core/protocol.js';
import * as format from '../ui/format.js';
import { short } from './picture-draw.js';

const MOST_NAMED = 6;

/** A row (axis 0) or a column (1). */
export interface Strip {
  axis: 0 | 1;
  index: number;
}

export function profileNotes(picture: Picture | undefined, go: (axis: 0 | 1, index: number) => void): TemplateResult | typeof nothing {
  if (picture === undefined) return nothing;
  const { grid } = picture;
  // Of zeros only no row is told besides.
  if (grid.exact && grid.sourceRows > 0 && picture.rows.deadCount === grid.sourceRows) return html`<div class="notes"><p><b class="warning">all values are 0</b></p></div>`;
  const kinds: [string, string, Profile, 0 | 1][] = [
    ['row', 'rows', picture.rows, 0],
    ['column', 'columns', picture.cols, 1],
  ];
  const lines = kinds.flatMap(([one, many, profile, axis]) => [
    ...(profile.hotCount > 0 ? [html`<p><b class="warning term" title="its root mean square is at least 6 times the median of all ${many}; fewer times is not told here, and may still stand out from other layers">${format.plural(profile.hotCount, `hot ${one}`, `hot ${many}`)}</b> ${profile.hot.slice(0, MOST_NAMED).map(({ index, ratio }) => html`<button class="plain link" @click=${() => go(axis, index)}>${index}</button> <span class="muted">${ratio.toPrecision(3)} × the median rms</span> `)}${profile.hotCount > MOST_NAMED ? `and ${format.exact(profile.hotCount - MOST_NAMED)} more` : nothing}</p>`] : []),
    ...(profile.deadCount > 0 ? [html`<p><b class="warning">${format.plural(profile.deadCount, `dead ${one}`, `dead ${many}`)}</b> ${runs(profile.dead, go, axis, profile.deadCount)} <span class="muted">(all values 0)</span></p>`] : []),
  ]);
  return lines.length === 0 ? nothing : html`<div class="notes">${lines}</div>`;
}

/** "0–31", "3 7 9 and 12 more", each with a way to its first. */
function runs(dead: readonly number[], go: (axis: 0 | 1, index: number) => void, axis: 0 | 1, count: number): TemplateResult {
  const found = runsOf(dead);
  const shown = found.slice(0, MOST_NAMED);
  const left = count - shown.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return html`${shown.map(([from, to]) => html`<button class="plain link" @click=${() => go(axis, from)}>${from === to ? from : `${from}–${to}`}</button> `)}${left > 0 ? `and ${format.exact(left)} more` : nothing}`;
}
/** Numbers that follow each other as one: [0, 1, 2, 7] are [0, 2] and [7, 7]. */
export function runsOf(sorted: readonly number[]): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (const n of sorted) {
    const last = found.at(-1);
    if (last !== undefined && last[1] + 1 === n) last[1] = n;
    else found.push([n, n]);
  }
  return found;
}

const usuals = new WeakMap<Float32Array, number>();
function usualOf(rms: Float32Array): number {
  const known = usuals.get(rms) ?? median([...rms]);
  usuals.set(rms, known);
  return known;
}

/** "column 9 · rms 1.57, 78.6 times the median of columns · click shows it" */
export function stripWords({ rows, cols }: Pick<Picture, 'rows' | 'cols'>, { axis, index }: Strip): string {
  const { rms } = axis === 0 ? rows : cols;
  const value = rms?.[index];
  const [one, many] = axis === 0 ? ['row', 'rows'] : ['column', 'columns'];
  if (rms == null || value === undefined) return `${one} ${index}`;
  const usual = usualOf(rms);
  const words = value === 0 ? 'all zero' : usual > 0 ? `${Number((value / usual).toPrecision(3))} times the median of ${many}` : '';
  return `${one} ${index} · rms ${short(value)}${words === '' ? '' : `, ${words}`} · click shows it`;
}

export const profileStyles = css`
  .notes {
    display: flex;
    flex-wrap: wrap;
    gap: 0 18px;
  }
  .notes p {
    margin: 0;
    max-width: none;
  }
`;
