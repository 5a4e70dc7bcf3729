// SPDX-License-Identifier: Apache-2.0
// What is known of all tensors by now, how exactly, and the buttons that measure better: the same above every view that compares them.
import { html, nothing, type TemplateResult } from 'lit';
import { FIRST_LOOK, MEASURING, type App } from '../app/app.js';
import * as format from '../ui/format.js';

export function measureOffer(app: App): TemplateResult | typeof nothing {
  const { model } = app;
  if (model === null || model.measured.state === 'exact') return nothing;
  const job = app.jobs.find(({ title }) => title === FIRST_LOOK || title === MEASURING);
  if (job !== undefined) {
    const done = job.progress === null || job.progress.of === 0 ? '' : ` ${Math.floor((100 * job.progress.done) / job.progress.of)} %`;
    return html`<p class="muted" role="status">${job.title === FIRST_LOOK ? 'A first look' : 'Measuring'}${done}… <button @click=${job.cancel}>Cancel</button></p>`;
  }
  const all = app.tensorBytes;
  const exact = html`<button class=${model.measured.state === 'none' ? '' : 'primary'} @click=${() => void app.measure(false)}>Measure all ${format.bytes(all)} exactly (${app.estimate(all)})</button>`;
  if (model.measured.state === 'sampled') return html`<p class="approximate">≈ from a sample: one MiB in sixteen of large tensors. ${exact}</p>`;
  const first = app.firstLookBytes();
  return html`<p>
    ${first === null || first >= all ? nothing : html`<button class="primary" @click=${() => void app.measure(true)}>A first look, ≈ ${format.bytes(first)} (${app.estimate(first)})</button>`} ${exact}
  </p>`;
}
