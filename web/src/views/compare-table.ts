// SPDX-License-Identifier: Apache-2.0
// What changed between two models, the most changed first.
import { html, nothing, type TemplateResult } from 'lit';
import { isSampled } from '../app/looks.js';
import { notes, type Changed } from '../core/comparison.js';
import type { Document } from '../core/protocol.js';
import * as format from '../ui/format.js';
import { csvOf, saveText } from '../ui/save.js';
import { short } from './picture-draw.js';

/** What is drawn of many. */
const MOST_ROWS = 300;

const fewer = (value: number | null) => (value === null ? '–' : short(value));

/** `on` is the name of the row whose pictures are shown. Numbers of a sample have ≈ before them. */
export function changedTable(diff: Document, on: string | undefined, choose: (row: Changed) => void): TemplateResult {
  const changed = diff['changed'] as Changed[];
  if (changed.length === 0) return html``;
  return html`<h3>Most changed first</h3>
    <div class="scroll" tabindex="0" role="region" aria-label="changed tensors">
      <table>
        <tr>
          <th>tensor</th>
          <th class="number" title="length of the change divided by the length of A's tensor: 0 is no change; it is another number when A and B are swapped">‖Δ‖ / ‖A‖</th>
          <th class="number" title="1 where both point in the same direction, 0 where they have nothing in common">cosine</th>
          <th class="number" title="the largest change of an element">max |Δ|</th>
          <th class="number" title="elements that are not the same">changed</th>
        </tr>
        ${changed.slice(0, MOST_ROWS).map((row) => {
          const about = row.exact === false ? '≈ ' : '';
          return html`<tr class=${row.name_a === on ? 'on' : ''}>
            <td><button class="plain name mono" @click=${() => choose(row)}>${row.name_a}</button>${notes(row) === '' ? nothing : html`<div class="note muted">${notes(row)}</div>`}</td>
            <td class="number">${about}${fewer(row.rel_l2)}</td>
            <td class="number">${row.cosine === null ? '–' : `${about}${row.cosine.toFixed(about === '' ? 5 : 3)}`}</td>
            <td class="number">${about === '' ? '' : '≥ '}${fewer(row.max_abs)}</td>
            <td class="number">${row.changed_elements === null ? '–' : `${about}${format.percent(row.changed_elements, row.measured ?? row.numel)}`}</td>
          </tr>`;
        })}
      </table>
    </div>
    ${changed.length > MOST_ROWS ? html`<p class="muted">and ${format.exact(changed.length - MOST_ROWS)} more: the CSV has all</p>` : nothing}`;
}

export function nameList(title: string, all: readonly string[]): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  return html`<details><summary>${format.plural(all.length, 'tensor')} ${title}</summary><ul>${all.slice(0, MOST_ROWS).map((name) => html`<li class="mono">${name}</li>`)}</ul></details>`;
}

/** Of a tensor that is chosen, where there is no change to show. */
export function unchanged(diff: Document, name: string | undefined): TemplateResult | typeof nothing {
  if (name === undefined || diff['values_compared'] !== true || (diff['changed'] as Changed[]).some(({ name_a }) => name_a === name)) return nothing;
  const same = isSampled(diff) ? '≈ the same in both, as far as the sample shows' : 'the same in both';
  const only = (diff['only_a'] as string[]).includes(name);
  return html`<p><code>${name}</code> is ${only ? 'in A only' : same}. <span class="muted">${only ? 'The picture is that of A.' : 'The picture stands for both.'}</span></p>`;
}

export function saveChanges(file: string, changed: readonly Changed[]): void {
  const rows = changed.map((row) => [row.name_a, row.name_b, row.rel_l2, row.cosine, row.max_abs, row.mean_abs, row.changed_elements, row.numel, row.exact === false ? 'no' : 'yes', notes(row)]);
  saveText(`${file}.csv`, csvOf([['name_a', 'name_b', 'rel_l2', 'cosine', 'max_abs', 'mean_abs', 'changed_elements', 'numel', 'exact', 'note'], ...rows]), 'text/csv');
}
