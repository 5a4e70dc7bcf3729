// SPDX-License-Identifier: Apache-2.0
// The members of a zip: where each lies, and whether its bytes are those that its check sum was made of, once that is asked for.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import { crcText, crcWords, isDamaged, knownMembers, worstFirst, type CrcState, type Member } from '../core/members.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { csvOf, saveText } from '../ui/save.js';
import { partAt } from './bytes-draw.js';
import type { FileMap } from './bytes-view.js';

const CHECKING = 'checking CRC-32';
const MOST = 300;
const CLASS: Record<CrcState, string> = { unchecked: 'muted', unknown: 'muted', matches: 'good', differs: 'danger', unread: 'danger' };

export class MembersPanel extends AppElement {
  static override properties = { ...AppElement.properties, map: { attribute: false } };
  declare map: FileMap;
  private asked: OpenModel | null = null;

  override render(): TemplateResult {
    const { app, map } = this;
    const { model } = app;
    if (model === null) return html``;
    const members = knownMembers(model.reports, map.name);
    if (members === null) {
      if (this.asked !== model) queueMicrotask(() => void app.reportOf('verify-headers', 'listing members'));
      this.asked = model;
      return html`<p class="muted">Listing the members of the zip…</p>`;
    }
    const shown = worstFirst(members).slice(0, MOST);
    return html`
      <p class="state" role="status">${this.summary(members)} <button aria-label="members as CSV" @click=${() => this.saveCsv(members)}>CSV</button></p>
      <details ?open=${members.some(isDamaged)}>
      <summary>Members of the zip: check sums, headers, data</summary>
      <div class="list" tabindex="0" role="region" aria-label="members of the zip">
        <table class="mono">
          <tr><th scope="col">member</th><th scope="col">CRC-32</th><th scope="col">stored</th><th scope="col">holds</th><th scope="col">method</th><th scope="col" class="number">size</th><th scope="col">local header</th><th scope="col">data</th></tr>
          ${shown.map((member) => this.row(member))}
        </table>
      </div></details>
      ${members.length > MOST ? html`<p class="muted">and ${format.exact(members.length - MOST)} more: the CSV has all</p>` : nothing}
    `;
  }
  private summary(members: readonly Member[]): TemplateResult {
    const { app } = this;
    const count = (state: CrcState) => members.filter((member) => member.state === state).length;
    const unknown = count('unknown');
    const without = unknown === 0 ? nothing : html` <span class="muted">${format.plural(unknown, 'member')} without a check sum (0 in the directory): nothing to compare with.</span>`;
    if (!app.model!.reports.has('verify')) {
      const toCheck = members.filter((member) => member.state === 'unchecked');
      if (toCheck.length === 0) return html`${format.plural(members.length, 'member')}.${without}`;
      // Every file of the model is checked in one go.
      const bytes = (app.model!.reports.get('verify-headers')!['members'] as Member[]).reduce((sum, { packed }) => sum + packed, 0);
      const running = app.jobs.some((job) => job.title === CHECKING);
      return html`${format.plural(members.length, 'member')}; their bytes have not been compared with their check sums.${without}
        <button class="primary" ?disabled=${running} @click=${() => void app.reportOf('verify', CHECKING)}>
          ${running ? 'Checking…' : `Check ${format.plural(toCheck.length, 'member')}, ${format.bytes(bytes)} (${app.estimate(bytes)})`}
        </button>`;
    }
    const bad = count('differs') + count('unread');
    return bad > 0
      ? html`<b class="danger">${format.plural(bad, 'member')} of ${format.exact(members.length)} ${bad === 1 ? 'is' : 'are'} damaged.</b> Fetch the file again: the bytes are not those that were written.${without}`
      : html`<b class="good">${format.plural(count('matches'), 'member')} ${count('matches') === 1 ? 'matches' : 'match'}.</b>${without}`;
  }
  private row(member: Member): TemplateResult {
    const to = (offset: number) => html`<button class="plain" aria-label="show byte ${format.hexOffset(offset)}" @click=${() => this.go(offset)}>${format.hexOffset(offset)}</button>`;
    return html`<tr>
      <td>${member.name}</td>
      <td class="crc ${CLASS[member.state]}">${crcWords(member)}</td>
      <td>${member.state === 'unknown' ? '–' : crcText(member.crc_32)}</td>
      <td>${this.holds(member)}</td>
      <td>${member.method}</td>
      <td class="number">${format.bytes(member.packed)}${member.packed === member.size ? '' : ` → ${format.bytes(member.size)}`}</td>
      <td>${to(member.header_offset)}</td>
      <td>${to(member.offset)}</td>
    </tr>`;
  }
  /** The tensor that a member is, or what else its bytes are. */
  private holds(member: Member): TemplateResult | string {
    const part = this.map.parts[partAt(this.map.parts, member.offset)];
    if (part === undefined || member.packed === 0) return '';
    if (part.kind !== 'tensor' || part.name === undefined) return part.kind === 'member' ? '' : part.kind;
    return html`<button class="plain" @click=${() => this.go(member.offset)}>${part.name}</button>${(part.tensors ?? 0) > 1 ? ` +${part.tensors! - 1}` : ''}`;
  }
  private go(offset: number): void {
    this.dispatchEvent(new CustomEvent('go', { detail: offset }));
  }
  private saveCsv(members: readonly Member[]): void {
    const rows = members.map((member) => [member.name, crcText(member.crc_32), crcWords(member), member.method, member.packed, member.size, member.header_offset, member.offset]);
    saveText(`${this.map.name}.members.csv`, csvOf([['member', 'crc_32', 'state', 'method', 'packed', 'size', 'header_offset', 'offset'], ...rows]), 'text/csv');
  }

  static override styles = [
    base,
    css`
      .list {
        max-height: 260px;
        overflow: auto;
      }
      .state {
        max-width: none;
      }
      details {
        margin-bottom: 10px;
      }
      td {
        padding: 1px 12px 1px 0;
        white-space: nowrap;
      }
      .crc {
        min-width: 130px;
        white-space: normal;
      }
      td button {
        min-height: 24px;
        padding: 0 4px;
        text-decoration: underline;
      }
    `,
  ];
}
customElements.define('assay-members', MembersPanel);
