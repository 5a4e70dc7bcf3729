// SPDX-License-Identifier: Apache-2.0
// How a model is, in a line: the same above every view that speaks of it. What was not looked at is never called fine.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { answerTo, ask, LOOKS } from '../app/looks.js';
import { healthOf, type Health } from '../core/health.js';
import * as format from '../ui/format.js';
import { lookOffer } from './measure-offer.js';

const COMPARED = 'NaN, zeros, spread, largest magnitude and mean';

function lookedAt({ looked, compared }: Health): string {
  if (looked === 'headers') return 'Values have not been read.';
  if (looked === 'glanced') return '';
  const how = looked === 'sampled' ? '≈ from a sample (one MiB in sixteen of large tensors): ' : '';
  const what = compared === 0 ? `${how}no layers repeat that could be compared.` : `${how}${format.plural(compared, 'tensor')} compared with the same one in other layers by ${COMPARED}.`;
  return `${what} Rows of zeros, copies and the rest of the checkup: not looked at yet.`;
}

/** `odd`: what the view shows besides the findings. */
export function healthLine(app: App, odd = 0): TemplateResult {
  const model = app.model!;
  const health = healthOf(model);
  const bad = health.grave + odd;
  const count = bad === 0 ? nothing : html`<b class="warning">${format.plural(bad, 'finding')} to look at.</b>`;
  const notes = health.findings.length - health.grave;
  const besides = notes === 0 ? nothing : html`<span class="muted">${format.plural(notes, 'note')}.</span>`;
  if (health.looked === 'examined') {
    if (bad > 0) return html`<p>${count} ${besides} <span class="muted">All values were examined.</span></p>`;
    return html`<p class="good">Healthy: all values were examined. ${besides}</p>`;
  }
  const glanced = Number(answerTo(model, 'doctor')?.['sampled'] ?? 0);
  return html`<p>${count} ${besides} <span class="muted">${lookedAt(health)}</span></p>
    ${lookOffer(app, {
      verb: 'Examine',
      doing: 'Examining all values',
      ...LOOKS.doctor,
      sampled: health.looked === 'glanced',
      sample: `one MiB in sixteen of ${format.plural(glanced, 'large tensor')}; rows of zeros and copies are not looked for there`,
      firstBytes: app.bytesOf('doctor', true),
      bytes: app.tensorBytes,
      run: (sample) => void ask(app, 'doctor', sample),
    })}`;
}
