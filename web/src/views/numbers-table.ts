// SPDX-License-Identifier: Apache-2.0
// The numbers of what is seen of a tensor as a table, for reading aloud and for copying.
import { html, type TemplateResult } from 'lit';
import * as format from '../ui/format.js';
import { indexOf, windowOf } from './space.js';
import type { TensorLook } from './tensor-look.js';

export const TABLE = { rows: 24, cols: 12 };

export function numbersTable(look: TensorLook): TemplateResult {
  const known = look.numbers ?? look.corner;
  const seen = windowOf(look.view, look.space);
  if (look.numbers === null && (known?.window.row !== seen.row || known.window.col !== seen.col)) void look.readCorner({ ...seen, rows: Math.min(seen.rows, TABLE.rows), cols: Math.min(seen.cols, TABLE.cols) });
  if (known === null) return html`<p class="muted">Reading the numbers…</p>`;
  const { window, values } = known;
  const rows = Math.min(window.rows, TABLE.rows);
  const cols = Math.min(window.cols, TABLE.cols);
  return html`<div class="table" tabindex="0" role="region" aria-label="numbers"><table class="mono">
    <caption>${rows < seen.rows || cols < seen.cols ? `the first ${rows} rows and ${cols} columns of what is seen; zoom or drag for others` : 'what is seen'}</caption>
    <tr><th></th>${Array.from({ length: cols }, (_, c) => html`<th scope="col" class="number">${window.col + c}</th>`)}</tr>
    ${Array.from({ length: rows }, (_, r) => html`<tr><th scope="row" class="number">${indexOf(look.tensor.shape, window.row + r, 0).slice(0, -1).join(',')}</th>
      ${Array.from({ length: cols }, (_, c) => html`<td class="number" title=${known.codes[r * window.cols + c]!}>${format.number(values[r * window.cols + c])}</td>`)}</tr>`)}
  </table></div>`;
}
