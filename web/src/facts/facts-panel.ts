// SPDX-License-Identifier: Apache-2.0
// The facts of the selected tensor, from its header at once and from its values when they are asked for.
import { css, html, nothing, type TemplateResult } from 'lit';
import { STARTS_BY_ITSELF } from '../app/app.js';
import { isAbout, spotOf } from '../core/findings.js';
import { healthOf } from '../core/health.js';
import type { Finding, SampleStats, Stats, Tensor } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { instanceLabel } from '../tree/rows.js';

/** Elements of a first look. */
const SAMPLE = 65536;

export class FactsPanel extends AppElement {
  private asked: Tensor | null = null;
  /** A first look at a tensor that is too large to be measured unasked. */
  private sampled: { tensor: Tensor; stats: SampleStats } | null = null;

  override render(): TemplateResult {
    const { selection, model } = this.app;
    if (selection === null || model === null) return html`<p class="muted">Choose a tensor to see its facts.</p>`;
    const { tensor, peers } = selection;
    const stats = model.stats.get(tensor.index) ?? null;
    if (stats === null) this.measureSmall(tensor);
    return html`
      <h2 class="mono">${tensor.name}</h2>
      ${peers.length > 1 ? this.stepper(tensor, peers) : nothing}
      <dl>
        ${this.fact('dtype', tensor.dtype + (tensor.sourceDtype === tensor.dtype ? '' : ` (${tensor.sourceDtype})`))}
        ${this.fact('shape', format.shape(tensor.shape))}
        ${tensor.contiguous ? nothing : this.fact('strides', tensor.stride.join(', '))}
        ${this.fact('elements', format.exact(tensor.numel))}
        ${this.fact('size', `${format.bytes(tensor.nbytes)} (${format.exact(tensor.nbytes)} B)`)}
        ${this.fact('file', tensor.file)}
        ${tensor.offset === null ? nothing : this.fact('at byte', `${format.exact(tensor.offset)} (${format.hexOffset(tensor.offset)})`)}
        ${this.sharing(tensor)}
      </dl>
      ${this.findings(healthOf(model).findings, tensor)}
      <h3>Values</h3>
      ${tensor.readable ? (stats === null ? html`${this.approximate(tensor)}${this.offer(tensor)}` : this.numbers(stats)) : html`<p class="damage">They cannot be read: see Findings.</p>`}
    `;
  }

  private fact(name: string, value: string): TemplateResult {
    return html`<dt>${name}</dt><dd>${value}</dd>`;
  }
  private stepper(tensor: Tensor, peers: readonly number[]): TemplateResult {
    const at = peers.indexOf(tensor.index);
    const go = (to: number) => void this.app.select(peers[to]!, peers, this.app.selection!.pattern);
    return html`<p class="stepper">
      <button aria-label="previous of its kind" ?disabled=${at <= 0} @click=${() => go(at - 1)}>◀</button>
      <span>${instanceLabel(this.app.selection!.pattern.split('.'), tensor.name)} <span class="muted">(${at + 1} of ${peers.length})</span></span>
      <button aria-label="next of its kind" ?disabled=${at + 1 >= peers.length} @click=${() => go(at + 1)}>▶</button>
    </p>`;
  }
  private sharing(tensor: Tensor): TemplateResult | typeof nothing {
    if (tensor.storage === null) return this.fact('bytes', 'none in this file');
    return tensor.storageOffset === 0 ? nothing : this.fact('storage', `from element ${format.exact(tensor.storageOffset)} of storage ${tensor.storage}`);
  }
  private findings(all: readonly Finding[], tensor: Tensor): TemplateResult | typeof nothing {
    const own = all.filter((finding) => isAbout(finding, tensor.name));
    if (own.length === 0) return nothing;
    return html`<h3>Findings</h3>
      ${own.map((finding) => html`<p><b class=${finding.severity}>${finding.severity}</b> ${finding.message} ${this.way(finding, tensor)}</p>`)}`;
  }
  private way(finding: Finding, tensor: Tensor): TemplateResult | typeof nothing {
    const spot = finding.tensor === tensor.name ? spotOf(finding) : undefined;
    return spot === undefined ? nothing : html`<button class="plain link" @click=${() => void this.app.lookAt(tensor.index, spot)}>show</button>`;
  }
  private measureSmall(tensor: Tensor): void {
    if (this.asked === tensor || !tensor.readable) return;
    this.asked = tensor;
    if (tensor.nbytes > STARTS_BY_ITSELF / 4) void this.sample(tensor);
    else queueMicrotask(() => void this.app.statsOf(tensor));
  }
  private async sample(tensor: Tensor): Promise<void> {
    const { model } = this.app;
    const stats = await this.app.engine.call('sample', { model: model!.id, tensor: tensor.index, n: SAMPLE }).catch(() => null);
    if (stats === null || this.asked !== tensor) return;
    this.sampled = { tensor, stats };
    this.requestUpdate();
  }
  private approximate(tensor: Tensor): TemplateResult | typeof nothing {
    if (this.sampled?.tensor !== tensor) return nothing;
    const { stats } = this.sampled;
    return html`<div class="approximate">
      <p>≈ from ${format.exact(stats.n)} of ${format.exact(tensor.numel)} elements</p>
      <dl class="numbers">
        ${(['min', 'max', 'mean', 'std'] as const).map((name) => this.fact(name, `≈ ${format.number(stats[name])}`))}
        ${this.fact('zeros', `≈ ${format.percent(stats.zeros, stats.n) || '0 %'}`)}
      </dl>
    </div>`;
  }
  private offer(tensor: Tensor): TemplateResult {
    const running = this.app.jobs.some((job) => job.title === `statistics of ${tensor.name}`);
    if (running) return html`<p class="muted">Measuring…</p>`;
    return html`<p>
      <button @click=${() => void this.app.statsOf(tensor)}>Measure ${format.bytes(tensor.nbytes)} (${this.app.estimate(tensor.nbytes)})</button>
    </p>`;
  }
  private numbers(stats: Stats): TemplateResult {
    const share = (n: number) => (n === 0 ? '0' : `${format.exact(n)} (${format.percent(n, stats.measured)})`);
    const rows: [string, string][] = [
      ['min', format.number(stats.min)],
      ['max', format.number(stats.max)],
      ['mean', format.number(stats.mean)],
      ['std', format.number(stats.std)],
      ['absmax', format.number(stats.absmax)],
      ['L2 norm', format.number(stats.l2)],
      ['skew', format.number(stats.skew)],
      ['kurtosis', format.number(stats.kurtosis)],
      ['zeros', share(stats.zeros)],
      ['NaN', share(stats.nan)],
      ['±Inf', share(stats.pos_inf + stats.neg_inf)],
      ['subnormal', share(stats.subnormal)],
      ...(stats.distinct === null ? [] : ([['distinct', format.exact(stats.distinct)]] as [string, string][])),
    ];
    const quantiles = Object.entries(stats.quantiles);
    return html`
      <p class="muted">${stats.exact ? `exact, all ${format.exact(stats.measured)} elements` : `≈ from ${format.exact(stats.measured)} elements`}</p>
      <dl class="numbers">${rows.map(([name, value]) => this.fact(name, value))}</dl>
      ${quantiles.length === 0
        ? nothing
        : html`<h3>Quantiles</h3>
            <dl class="numbers">${quantiles.map(([p, value]) => this.fact(`${Number((100 * Number(p)).toPrecision(6))} %`, format.number(value)))}</dl>`}
    `;
  }

  static override styles = [
    base,
    css`
      :host {
        padding: 12px 14px;
        overflow: auto;
      }
      h2 {
        overflow-wrap: anywhere;
        font-size: 13px;
      }
      dl {
        display: grid;
        grid-template-columns: max-content minmax(0, 1fr);
        gap: 2px 12px;
        margin: 0;
        font-size: 13px;
      }
      dt {
        color: var(--muted);
      }
      dd {
        margin: 0;
        overflow-wrap: anywhere;
        font-variant-numeric: tabular-nums;
      }
      p {
        overflow-wrap: anywhere;
      }
      .approximate {
        margin-bottom: 8px;
      }
      .stepper {
        display: flex;
        gap: 8px;
        align-items: center;
      }
      .stepper button {
        min-width: 28px;
        padding: 0;
      }
    `,
  ];
}
customElements.define('assay-facts', FactsPanel);
