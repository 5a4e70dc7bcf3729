// SPDX-License-Identifier: Apache-2.0
// How exactly something is known by now, and the buttons that make it better: the same above every view that reads much.
import { html, nothing, type TemplateResult } from 'lit';
import { FIRST_LOOK, MEASURING, type App } from '../app/app.js';
import * as format from '../ui/format.js';

export interface Offer {
  /** "Measure", "Measuring" */
  verb: string;
  doing: string;
  /** Titles of the jobs. */
  first: string;
  exact: string;
  /** What is shown is of a first look, which looked at this: "one MiB in sixteen of large tensors". */
  sampled: boolean;
  sample: string;
  /** Bytes that they read; null while that is not known. */
  firstBytes: number | null;
  bytes: number | null;
  run(sample: boolean): void;
}

export function lookOffer(app: App, { verb, doing, first, exact, sampled, sample, firstBytes, bytes, run }: Offer): TemplateResult {
  const job = app.jobs.find(({ title }) => title === first || title === exact);
  const running =
    job === undefined
      ? nothing
      : html`${job.title === first ? 'A first look' : doing}${job.progress === null || job.progress.of === 0 ? '' : ` ${Math.floor((100 * job.progress.done) / job.progress.of)} %`}… <button @click=${job.cancel}>Cancel</button>`;
  if (sampled) return html`<p class="approximate">≈ from a sample: ${sample}. ${job === undefined ? exactly(true) : html`<span role="status">${running}</span>`}</p>`;
  if (job !== undefined) return html`<p class="muted" role="status">${running}</p>`;
  const offersFirst = firstBytes !== null && bytes !== null && firstBytes < bytes;
  return html`<p class="offer">
    ${offersFirst ? html`<button class="primary" @click=${() => run(true)}>A first look, ≈ ${format.bytes(firstBytes)} (${app.estimate(firstBytes)})</button>` : nothing}
    ${exactly(!offersFirst)}
  </p>`;

  function exactly(primary: boolean): TemplateResult {
    const price = bytes === null ? '' : ` ${format.bytes(bytes)}`;
    return html`<button class=${primary ? 'primary' : ''} @click=${() => run(false)}>${verb} all${price} exactly${bytes === null ? '' : ` (${app.estimate(bytes)})`}</button>`;
  }
}

/** Of the statistics of all tensors. */
export function measureOffer(app: App): TemplateResult | typeof nothing {
  const { model } = app;
  if (model === null || model.measured.state === 'exact') return nothing;
  return lookOffer(app, {
    verb: 'Measure',
    doing: 'Measuring',
    first: FIRST_LOOK,
    exact: MEASURING,
    sampled: model.measured.state === 'sampled',
    sample: 'one MiB in sixteen of large tensors',
    firstBytes: app.bytesOf('measure', true),
    bytes: app.tensorBytes,
    run: (sample) => void app.measure(sample),
  });
}
