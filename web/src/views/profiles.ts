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
  const kinds: [string, string, Profile, 0 | 1][] = [
    ['row', 'rows', picture.rows, 0],
    ['column', 'columns', picture.cols, 1],
  ];
  const lines = kinds.flatMap(([one, many, profile, axis]) => [
    ...(profile.hotCount > 0 ? [html`<p><b class="warning">${format.plural(profile.hotCount, `hot ${one}`, `hot ${many}`)}</b> ${profile.hot.slice(0, MOST_NAMED).map(({ index, ratio }) => html`<button class="plain" @click=${() => go(axis, index)}>${index} (${ratio.toPrecision(3)}× the median rms)</button>`)}</p>`] : []),
    ...(profile.deadCount > 0 ? [html`<p><b class="warning">${format.plural(profile.deadCount, `dead ${one}`, `dead ${many}`)}</b> ${profile.dead.slice(0, MOST_NAMED).map((index) => html`<button class="plain" @click=${() => go(axis, index)}>${index}</button>`)} <span class="muted">all zero</span></p>`] : []),
  ]);
  return lines.length === 0 ? nothing : html`<div class="notes">${lines}</div>`;
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
  .notes button {
    min-height: 24px;
    padding: 0 6px;
  }
  .notes p {
    margin: 0;
    max-width: none;
  }
`;
