// SPDX-License-Identifier: Apache-2.0
// Every byte of the file: the whole to scale, and a window of it as hex with the values that the bytes are.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import { crcWords, isDamaged, knownMembers, memberAt, type Member } from '../core/members.js';
import type { Tensor } from '../core/protocol.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { saveJson } from '../ui/save.js';
import { Sketch } from '../ui/sketch.js';
import { drawTape, offsetAt, ownersOf, partAt, QUIET, UNOWNED, type Owner, type Part } from './bytes-draw.js';
import './members-panel.js';
import { short } from './picture-draw.js';

export interface FileMap {
  name: string;
  size: number;
  described: boolean;
  unowned: number;
  bytes: Record<string, number>;
  parts: Part[];
  overlaps: { offset: number; length: number; a: string; b: string }[];
  overlap_count: number;
}
/** What the hex shows: bytes, and the values that begin in each row. */
interface Page {
  file: string;
  offset: number;
  bytes: Uint8Array;
  /** Bytes in a row. */
  across: number;
  values: Map<number, number[]>;
}

const LINES = 20;
/** Below this width of the view, bytes come eight in a row so that the values still fit beside them. */
const WIDE = 800;

export class BytesView extends AppElement {
  static override properties = { ...AppElement.properties, file: { state: true }, offset: { state: true }, page: { state: true }, hovered: { state: true } };
  declare file: number;
  declare offset: number;
  declare page: Page | null;
  declare hovered: Part | null;
  private shownTensor: Tensor | null = null;
  private turn = 0;
  private asked: OpenModel | null = null;
  private readonly tape = new Sketch(this, 'canvas', (ctx, size, ink) => {
    const map = this.map;
    if (map === undefined) return;
    const damaged = (knownMembers(this.app.model!.reports, map.name) ?? []).filter(isDamaged).map(({ offset, packed }) => ({ offset, length: packed }));
    drawTape(ctx, { size: map.size, parts: map.parts, selected: this.span(map), damaged, window: { offset: this.offset, length: this.window } }, size, ink);
  });

  constructor() {
    super();
    this.file = 0;
    this.offset = 0;
    this.page = null;
    this.hovered = null;
  }
  private get across(): number {
    return this.tape.size.width >= WIDE ? 16 : 8;
  }
  private get window(): number {
    return this.across * LINES;
  }
  private get maps(): FileMap[] | undefined {
    return this.app.model?.reports.get('map')?.['files'] as FileMap[] | undefined;
  }
  private get map(): FileMap | undefined {
    return this.maps?.[Math.min(this.file, this.maps.length - 1)];
  }
  private span(map: FileMap): { offset: number; length: number } | null {
    const tensor = this.app.selection?.tensor;
    return tensor?.offset == null || tensor.file !== map.name ? null : { offset: tensor.offset, length: tensor.nbytes };
  }

  override render(): TemplateResult {
    const { model, selection } = this.app;
    if (model === null) return html``;
    const { map } = this;
    if (map === undefined) {
      if (this.asked !== model) queueMicrotask(() => void this.app.reportOf('map', 'mapping bytes'));
      this.asked = model;
      return html`<p class="muted">Looking at what each byte is for…</p>`;
    }
    if (selection !== null && selection.tensor !== this.shownTensor) this.follow(selection.tensor);
    if (this.page === null || this.page.file !== map.name || this.page.offset !== this.offset) queueMicrotask(() => void this.read(model, map));
    const part = map.parts[partAt(map.parts, this.offset)];
    return html`
      <div class="bar" role="toolbar" aria-label="bytes">
        ${this.maps!.length > 1
          ? html`<select aria-label="file" @change=${(e: Event) => this.go(0, Number((e.target as HTMLSelectElement).value))}>
              ${this.maps!.map((one, i) => html`<option value=${i} ?selected=${i === this.file}>${one.name}</option>`)}
            </select>`
          : html`<b class="mono">${map.name}</b>`}
        <span class="muted">${format.exact(map.size)} bytes, ${map.unowned === 0 ? 'each of them accounted for' : html`<b class="danger">${format.exact(map.unowned)} of them nobody’s</b>`}</span>
        <span class="gap"></span>
        <button @click=${() => saveJson(`${map.name}.map.json`, model.reports.get('map'))}>JSON</button>
      </div>
      <canvas
        tabindex="0"
        role="application"
        aria-roledescription="map of the file"
        aria-label="${map.name} to scale, ${format.plural(map.parts.length, 'part')}; left and right go from part to part"
        @click=${this.onClick}
        @pointermove=${this.onMove}
        @pointerleave=${() => (this.hovered = null)}
        @keydown=${this.onKey}
      ></canvas>
      <p class="readout mono" role="status">${this.words(this.hovered ?? part)}</p>
      <div class="kinds">${Object.entries(map.bytes).map(([kind, n]) => html`<span><i class="swatch ${UNOWNED.has(kind) ? 'unowned' : kind}"></i>${kind} ${format.bytes(n)} <span class="muted">${format.percent(n, map.size)}</span></span>`)}</div>
      ${map.overlap_count > 0 ? html`<p class="danger">${format.plural(map.overlap_count, 'overlap')}: ${map.overlaps.slice(0, 3).map(({ a, b, offset }) => html`<span class="mono">${a} and ${b} at ${format.hexOffset(offset)}</span> `)}</p>` : nothing}
      ${map.described ? nothing : html`<p class="muted">The format does not say what its own parts are: only tensors are known.</p>`}
      ${map.bytes['local-header'] === undefined
        ? nothing
        : html`<assay-members .app=${this.app} .map=${map} @go=${(e: CustomEvent<number>) => this.enter(map, partAt(map.parts, e.detail))}></assay-members>`}
      ${this.hex(map, part)}
    `;
  }
  /** Of the zip, where the file is one and its members are listed. */
  private memberAt(offset: number): Member | undefined {
    const { map } = this;
    const { model } = this.app;
    return map === undefined || model === null ? undefined : memberAt(knownMembers(model.reports, map.name) ?? [], offset);
  }
  private words(part: Part | undefined): string {
    if (part === undefined) return '';
    const several = (part.tensors ?? 0) > 1 ? ` and ${part.tensors! - 1} more on the same bytes` : '';
    const member = this.memberAt(part.offset);
    const crc = member === undefined || (part.kind !== 'tensor' && part.kind !== 'member' && part.kind !== 'pickle') ? '' : ` · CRC-32 ${crcWords(member)}`;
    return `${format.hexOffset(part.offset)}–${format.hexOffset(part.offset + part.length - 1)} · ${part.kind}${part.name === undefined ? '' : ` ${part.name}`}${several} · ${format.plural(part.length, 'byte')}${crc}`;
  }
  private hex(map: FileMap, part: Part | undefined): TemplateResult {
    const { page } = this;
    const step = (by: number) => this.go(this.offset + by);
    return html`<div class="bar" role="toolbar" aria-label="hex">
        <label>at byte <input class="mono" .value=${format.hexOffset(this.offset)} @change=${(e: Event) => this.typed((e.target as HTMLInputElement).value)} /></label>
        <button aria-label="back" ?disabled=${this.offset === 0} @click=${() => step(-this.window)}>◀</button>
        <button aria-label="on" ?disabled=${this.offset + this.window >= map.size} @click=${() => step(this.window)}>▶</button>
        ${part === undefined ? nothing : html`<button @click=${() => this.go(part.offset)}>Start of this part</button>`}
      </div>
      ${page === null
        ? html`<p class="muted">reading…</p>`
        : html`<div class="hex" tabindex="0" role="region" aria-label="bytes in hex">
            <table class="mono">
              <tr><th scope="col">byte</th><th scope="col">hex</th><th scope="col">text</th><th scope="col">values</th></tr>
              ${Array.from({ length: Math.ceil(page.bytes.length / page.across) }, (_, i) => this.line(page, i * page.across, map))}
            </table>
          </div>`}`;
  }
  private line(page: Page, at: number, map: FileMap): TemplateResult {
    const row = page.bytes.subarray(at, at + page.across);
    const owners = ownersOf(map.parts, page.offset + at, row.length);
    const selected = this.app.selection?.tensor.name;
    const run = ({ part, number, from, to }: Owner) => {
      const text = Array.from(row.subarray(from, to), (byte, i) => `${from + i === 8 ? ' ' : ''}${byte.toString(16).padStart(2, '0')}`).join(' ');
      const kind = part === null ? '' : part.kind === 'tensor' ? 'tensor' : UNOWNED.has(part.kind) ? 'unowned' : QUIET.has(part.kind) ? 'quiet' : 'own';
      return html`<span class="run ${kind} ${number % 2 === 0 ? '' : 'odd'} ${part?.name !== undefined && part.name === selected ? 'chosen' : ''}" title=${this.words(part ?? undefined)} @click=${() => this.enter(map, number)}>${text}</span>`;
    };
    const text = Array.from(row, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
    const begin = owners.filter(({ part }) => part !== null && (at === 0 || part.offset >= page.offset + at));
    return html`${begin.length === 0 ? nothing : html`<tr class="whose"><td colspan="4">${begin.map(({ part, number }) => html`<button class="plain" @click=${() => this.enter(map, number)}>${this.words(part!)}</button>`)}</td></tr>`}<tr>
      <td class="muted">${(page.offset + at).toString(16).padStart(map.size.toString(16).length, '0')}</td>
      <td class="bytes">${owners.map(run)}</td>
      <td>${text}</td>
      <td>${(page.values.get(at) ?? []).map(short).join('  ')}</td>
    </tr>`;
  }

  // --- moving

  private follow(tensor: Tensor): void {
    this.shownTensor = tensor;
    if (tensor.offset === null) return;
    const file = this.maps!.findIndex((map) => map.name === tensor.file);
    queueMicrotask(() => this.go(tensor.offset!, Math.max(0, file)));
  }
  private go(offset: number, file = this.file): void {
    this.file = file;
    const size = this.map?.size ?? 0;
    this.offset = Math.max(0, Math.min(offset, Math.max(0, size - 1)));
    this.tape.redraw();
  }
  private typed(text: string): void {
    const offset = Number(text.trim().replaceAll('_', ''));
    if (Number.isInteger(offset) && offset >= 0) this.go(offset);
    else this.requestUpdate();
  }
  private readonly onMove = (event: PointerEvent) => {
    const map = this.map!;
    this.hovered = map.parts[partAt(map.parts, offsetAt(event.offsetX, event.offsetY, map.size, this.tape.size))] ?? null;
  };
  private readonly onClick = (event: MouseEvent) => {
    const map = this.map!;
    this.enter(map, partAt(map.parts, offsetAt(event.offsetX, event.offsetY, map.size, this.tape.size)));
  };
  private readonly onKey = (event: KeyboardEvent) => {
    const map = this.map!;
    const at = partAt(map.parts, this.offset);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: map.parts.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (to >= 0 && to < map.parts.length) this.enter(map, to);
  };
  /** Goes to a part, and chooses the tensor that it is. */
  private enter(map: FileMap, number: number): void {
    const part = map.parts[number];
    const model = this.app.model;
    if (part === undefined || model === null) return;
    this.hovered = null;
    this.go(part.offset);
    if (part.kind !== 'tensor' || part.name === undefined) return;
    void this.app.engine.call('find', { model: model.id, name: part.name }).then((index) => (index >= 0 ? this.app.select(index) : undefined));
  }

  // --- reading

  private async read(model: OpenModel, map: FileMap): Promise<void> {
    const { offset, across } = this;
    const turn = ++this.turn;
    const blob = model.files.files.find((file) => file.name === map.name)?.blob ?? (model.files.files.length === 1 ? model.files.files[0]!.blob : undefined);
    if (blob === undefined) return;
    try {
      const bytes = new Uint8Array(await blob.slice(offset, offset + this.window).arrayBuffer());
      if (turn !== this.turn) return;
      this.page = { file: map.name, offset, bytes, across, values: new Map() };
      const values = await this.valuesIn(model, map, offset, bytes.length, across);
      if (turn === this.turn) this.page = { file: map.name, offset, bytes, across, values };
    } catch (error) {
      if (this.app.model === model) this.app.fail(error, map.name);
    }
  }
  /** The values that begin in each row, of tensors whose elements lie one behind the other. */
  private async valuesIn(model: OpenModel, map: FileMap, offset: number, length: number, across: number): Promise<Map<number, number[]>> {
    const found = new Map<number, number[]>();
    for (let i = Math.max(0, partAt(map.parts, offset)); i < map.parts.length && map.parts[i]!.offset < offset + length; ++i) {
      const part = map.parts[i]!;
      if (part.kind !== 'tensor' || part.name === undefined) continue;
      const index = await this.app.engine.call('find', { model: model.id, name: part.name });
      if (index < 0) continue;
      const [tensor] = await this.app.engine.call('tensors', { model: model.id, indices: [index] });
      if (tensor?.offset == null || !tensor.contiguous || !tensor.readable || tensor.numel === 0) continue;
      const size = tensor.nbytes / tensor.numel;
      if (size < 1) continue;
      const first = Math.max(0, Math.ceil((offset - tensor.offset) / size));
      const n = Math.min(tensor.numel, Math.ceil((offset + length - tensor.offset) / size)) - first;
      if (n <= 0) continue;
      const values = await this.app.engine.call('values', { model: model.id, tensor: index, first, n });
      values.forEach((value, k) => {
        const line = Math.floor((tensor.offset! + (first + k) * size - offset) / across) * across;
        found.set(line, [...(found.get(line) ?? []), value]);
      });
    }
    return found;
  }

  static override styles = [
    base,
    css`
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 6px 10px;
        align-items: center;
        margin: 0 0 8px;
      }
      .gap {
        flex: 1;
      }
      .bar input,
      .bar select {
        min-height: 28px;
        border: 1px solid var(--line-strong);
        border-radius: 6px;
        background: var(--raised);
      }
      .bar input {
        width: 130px;
        padding: 2px 6px;
      }
      canvas {
        display: block;
        width: 100%;
        height: 195px;
        cursor: pointer;
      }
      .readout {
        margin: 6px 0;
        min-height: 1.5em;
        max-width: none;
        overflow-wrap: anywhere;
      }
      .kinds {
        display: flex;
        flex-wrap: wrap;
        gap: 2px 16px;
        margin-bottom: 10px;
        font-size: 12px;
      }
      .swatch {
        display: inline-block;
        width: 10px;
        height: 10px;
        margin-right: 5px;
        background: var(--good);
      }
      .swatch.tensor {
        background: var(--share);
      }
      .swatch.padding,
      .swatch.unused {
        background: var(--line-strong);
      }
      .swatch.unowned {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 4px);
      }
      @media (forced-colors: active) {
        .swatch {
          border: 1px solid CanvasText;
          forced-color-adjust: none;
          background: repeating-linear-gradient(135deg, CanvasText 0 3px, Canvas 3px 4px);
        }
        .swatch.tensor {
          background: CanvasText;
        }
        .swatch.padding,
        .swatch.unused {
          background: GrayText;
        }
      }
      .hex {
        overflow: auto;
      }
      .hex td {
        padding: 1px 14px 1px 0;
        border: 0;
        white-space: pre;
      }
      .run {
        display: inline-block;
        padding: 0 3px;
        margin-left: -3px;
        border-bottom: 2px solid var(--good);
        cursor: pointer;
      }
      .run + .run {
        margin-left: 2px;
      }
      .run.tensor {
        border-bottom-color: var(--share);
        background: color-mix(in srgb, var(--share) 18%, transparent);
      }
      .run.tensor.odd {
        background: color-mix(in srgb, var(--share) 8%, transparent);
      }
      .run.quiet {
        border-bottom-color: var(--line-strong);
        color: var(--muted);
      }
      .run.unowned {
        border-bottom: 2px dotted var(--bad);
      }
      .run.chosen {
        background: color-mix(in srgb, var(--share) 40%, transparent);
      }
      .whose td {
        padding-top: 5px;
      }
      .whose button {
        min-height: 20px;
        padding: 0 3px;
        margin-left: -3px;
        font-size: 11px;
        color: var(--muted);
      }
    `,
  ];
}
customElements.define('assay-bytes', BytesView);
