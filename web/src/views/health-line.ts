// SPDX-License-Identifier: Apache-2.0
// How a model is, in a line: the same above every view that speaks of it. What was not looked at is never called fine.
import { html, nothing, type TemplateResult } from 'lit';
import { CHECKUP, type App } from '../app/app.js';
import { healthOf, type Health } from '../core/health.js';
import * as format from '../ui/format.js';

const COMPARED = 'NaN, zeros, spread, largest magnitude and mean';

function lookedAt({ looked, compared }: Health): string {
  if (looked === 'headers') return 'Values have not been read.';
  const how = looked === 'sampled' ? '≈ from a sample (one MiB in sixteen of large tensors): ' : '';
  const what = compared === 0 ? `${how}no layers repeat that could be compared.` : `${how}${format.plural(compared, 'tensor')} compared with the same one in other layers by ${COMPARED}.`;
  return `${what} Rows of zeros, copies and the rest of the checkup: not looked at yet.`;
}

/** `odd`: what the view shows besides the findings. */
export function healthLine(app: App, odd = 0): TemplateResult {
  const model = app.model!;
  const health = healthOf(model);
  const job = app.jobs.find(({ title, model: about }) => title === CHECKUP && about === model.id);
  const bad = health.grave + odd;
  const count = bad === 0 ? nothing : html`<b class="warning">${format.plural(bad, 'finding')} to look at.</b>`;
  if (job !== undefined) {
    const done = job.progress === null || job.progress.of === 0 ? '' : ` ${Math.floor((100 * job.progress.done) / job.progress.of)} %`;
    return html`<p role="status">${count} <span class="muted">Examining all values${done}…</span> <button @click=${job.cancel}>Cancel</button></p>`;
  }
  const notes = health.findings.length - health.grave;
  const besides = notes === 0 ? nothing : html`<span class="muted">${format.plural(notes, 'note')}.</span>`;
  if (health.looked === 'examined') {
    if (bad > 0) return html`<p>${count} ${besides} <span class="muted">All values were examined.</span></p>`;
    return html`<p class="good">Nothing serious: all values were examined. ${besides}</p>`;
  }
  const bytes = app.tensorBytes;
  return html`<p>${count} ${besides} <span class="muted">${lookedAt(health)}</span></p>
    <p><button class="primary" @click=${() => void app.reportOf('doctor', CHECKUP)}>Examine all ${format.bytes(bytes)} (${app.estimate(bytes)})</button></p>`;
}
