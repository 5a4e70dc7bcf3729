// SPDX-License-Identifier: Apache-2.0
// Layers by roles: one statistic of every tensor at a glance, and what stands out of its role.
import { css, html, nothing, type TemplateResult } from 'lit';
import type { OpenModel } from '../app/model.js';
import { grave, isAbout } from '../core/findings.js';
import { healthOf } from '../core/health.js';
import type { Finding, MeasuredStats } from '../core/protocol.js';
import { against, combined, deviations, leastSpread, median, rolesOf, shortRoles, STATS, type Roles, type StatName } from '../core/roles.js';
import { namesByTensor } from '../tree/rows.js';
import { base, pictureBar } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import type { Cell } from '../ui/grid-keys.js';
import { csvOf, save, saveText } from '../ui/save.js';
import { styled } from '../ui/styled.js';
import { gridHeight, type Grid } from './grid-draw.js';
import { GridPicture } from './grid-picture.js';
import { measureOffer } from './measure-offer.js';

/** Slanted labels of so many characters need this height. */
const headFor = (labels: readonly string[]) => Math.min(130, 20 + Math.ceil(5.8 * Math.max(...labels.map((label) => label.length))));
/** A deviation has its full colour here, and is worth naming from here. */
const FAR = 6;
/** From here a difference is seen in the picture: the furthest are named even where none is far. */
const SEEN = 3;
const MOST_NAMED = 12;
const MOST_SEEN = 3;
const SPREAD = 'the usual spread of a column: 1.48 × the median distance of its layers from their median, which is the standard deviation of what is normally distributed';

/** What is drawn, of one model, statistic and way of colouring. */
interface Sheet {
  roles: Roles;
  short: string[];
  values: (number | null)[];
  deviations: (number | null)[];
  /** The median of each column. */
  usual: number[];
  largest: number;
  /** Cells of which only a sample was read. */
  approximate: boolean[];
  /** What is wrong in a cell by any measure. */
  told: (Finding | undefined)[];
}

export class MatrixView extends AppElement {
  static override properties = { ...AppElement.properties, stat: { state: true }, relative: { state: true } };
  declare stat: StatName;
  declare relative: boolean;
  static override kept = ['stat', 'relative'];
  private roles: Roles | null = null;
  private model: OpenModel | null = null;
  private sheet: Sheet | null = null;
  private readonly picture = new GridPicture(this, 'canvas', () => this.grid(), (cell) => void this.enter(cell));

  constructor() {
    super();
    this.stat = 'std';
    this.relative = true;
  }

  override render(): TemplateResult {
    const { model } = this.app;
    if (model === null) return html``;
    if (model !== this.model) {
      this.model = model;
      this.roles = rolesOf(model.names);
      this.picture.cursor = null;
      queueMicrotask(() => void this.app.lookAround());
    }
    const roles = this.roles!;
    if (roles.layers.length < 2) return html`<p class="muted">No layers repeat in this file: there is nothing to compare by layer. The tree and the tensor view show each tensor.</p>`;
    const { stats, state } = model.measured;
    if (stats.length === 0) return this.app.measuring ? html`<p class="muted">Looking at every tensor…</p>` : html`<p>One cell for each layer and tensor in it, coloured by a statistic: what is unlike its neighbours is seen at once. Values have to be read for that.</p>${measureOffer(this.app)}`;
    this.sheet = this.measured(roles, stats);
    const grid = this.grid();
    return html`
      <div class="bar" role="toolbar" aria-label="matrix">
        <select aria-label="statistic" @change=${(e: Event) => (this.stat = (e.target as HTMLSelectElement).value as StatName)}>
          ${Object.entries(STATS).map(([id, text]) => html`<option value=${id} ?selected=${id === this.stat}>${text}</option>`)}
        </select>
        <label><input type="checkbox" .checked=${this.relative} @change=${() => (this.relative = !this.relative)} /> against the same tensor in other layers</label>
        <span class="gap"></span>
        <button @click=${() => void this.savePng()}>PNG</button>
        <button @click=${() => this.saveCsv()}>CSV</button>
      </div>
      ${state === 'exact' ? nothing : measureOffer(this.app)}
      <canvas
        ${styled({ height: `${gridHeight(grid ?? { head: 0, rows: [] })}px` })}
        tabindex="0"
        role="application"
        aria-roledescription="grid of layers and their tensors"
        aria-label="${roles.layers.length} layers by ${roles.roles.length} tensors of each, ${STATS[this.stat]}; arrow keys move, Enter shows the tensor"
        @pointermove=${this.picture.onMove}
        @click=${this.picture.onClick}
        @keydown=${this.picture.onKey}
      ></canvas>
      <p class="readout mono" role="status">${this.words()}</p>
      ${this.scaleBar()} ${this.outliers(roles)}
      ${roles.outside > 0 ? html`<p class="muted">${format.plural(roles.outside, 'tensor')} in no repeated layer ${roles.outside === 1 ? 'is' : 'are'} not shown.</p>` : nothing}
    `;
  }
  private measured(roles: Roles, stats: readonly (MeasuredStats | null | undefined)[]): Sheet {
    const { layers, cells } = roles;
    const across = roles.roles.length;
    const values = Array.from({ length: layers.length * across }, (_, i) => combined(this.stat, (cells.get(i) ?? []).map((tensor) => stats[tensor])));
    const usual: number[] = [];
    const far: (number | null)[] = new Array<number | null>(values.length).fill(null);
    for (let role = 0; role < across; ++role) {
      const own = layers.map((_, layer) => values[layer * across + role]!);
      const known = own.filter((value) => value !== null);
      usual.push(known.length === 0 ? 0 : median(known));
      const stds = layers.flatMap((_, layer) => (cells.get(layer * across + role) ?? []).map((tensor) => stats[tensor]?.std ?? 0));
      const column = deviations(own, leastSpread(this.stat, stds.length === 0 ? 0 : median(stds)));
      column.forEach((value, layer) => (far[layer * across + role] = value));
    }
    const largest = values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    const approximate = Array.from(values, (_, i) => (cells.get(i) ?? []).some((tensor) => stats[tensor]?.sampled === true));
    const nameOf = namesByTensor(this.model!.names);
    const findings = grave(healthOf(this.model!).findings);
    const told = Array.from(values, (_, i) => findings.find((finding) => (cells.get(i) ?? []).some((tensor) => isAbout(finding, nameOf.get(tensor)!))));
    return { roles, short: shortRoles(roles.roles), values, deviations: far, usual, largest, approximate, told };
  }
  private grid(): Omit<Grid, 'cursor'> | null {
    const { sheet } = this;
    if (sheet === null) return null;
    const { roles, values, deviations: far, largest, approximate, told } = sheet;
    const across = roles.roles.length;
    const kind = this.relative || this.stat === 'mean' ? 'diverging' : 'sequential';
    return {
      selected: this.selectedCell(roles),
      rows: roles.layers.map(String),
      cols: sheet.short,
      head: headFor(sheet.short),
      color: (row, col) => {
        const value = this.relative ? far[row * across + col]! : values[row * across + col]!;
        return value === null ? null : this.picture.colors.css(kind, value, this.relative ? FAR : largest);
      },
      approximate: (row, col) => approximate[row * across + col]!,
      sign: (row, col) => {
        const value = far[row * across + col]!;
        if (value !== null && Math.abs(value) >= FAR) return value > 0 ? '▲' : '▼';
        return told[row * across + col] === undefined ? '' : '!';
      },
    };
  }
  /** The cell of the tensor that is looked at. */
  private selectedCell(roles: Roles): Cell | null {
    const index = this.app.selection?.tensor.index;
    if (index === undefined) return null;
    for (const [cell, tensors] of roles.cells) if (tensors.includes(index)) return { row: Math.floor(cell / roles.roles.length), col: cell % roles.roles.length };
    return null;
  }
  private words(): string {
    const { sheet } = this;
    const { cursor } = this.picture;
    if (sheet === null) return '';
    const cell = cursor ?? this.selectedCell(sheet.roles);
    if (cell === null) return 'point at a cell, or go through them with the arrow keys';
    return `${cursor === null ? 'selected: ' : ''}${this.wordsOf(sheet, cell)}`;
  }
  private wordsOf(sheet: Sheet, cursor: Cell): string {
    const { roles, values, usual } = sheet;
    const i = cursor.row * roles.roles.length + cursor.col;
    const tensors = roles.cells.get(i) ?? [];
    if (tensors.length === 0) return `layer ${roles.layers[cursor.row]!} has no ${sheet.short[cursor.col]!}`;
    const about = sheet.approximate[i] === true ? '≈ ' : '';
    const several = tensors.length > 1 ? ` · ${tensors.length} tensors together` : '';
    const value = values[i] ?? null;
    const finding = sheet.told[i] === undefined ? '' : ` · ${sheet.told[i].message}`;
    return `layer ${roles.layers[cursor.row]!} · ${sheet.short[cursor.col]!} · ${STATS[this.stat]} ${about}${value === null ? 'unknown' : against(this.stat, value, usual[cursor.col]!)}${several}${finding}`;
  }
  private scaleBar(): TemplateResult {
    const { sheet } = this;
    const text = this.relative ? html`colour: distance from the column’s median, full at ${FAR} times <span class="term" title=${SPREAD}>the usual spread</span>; ▲ ▼ from there on; ! something else is wrong there` : `colour: up to ${format.number(sheet?.largest ?? 0)}`;
    return html`<p class="muted small">${text}; a line where there is no tensor${sheet !== null && this.selectedCell(sheet.roles) !== null ? '; ▸ framed: the tensor that is selected' : ''}${sheet?.approximate.includes(true) === true ? '; ≈ hatched where a sample was read' : ''}</p>`;
  }
  private outliers(roles: Roles): TemplateResult {
    const { deviations: far, values, usual, short, approximate, told } = this.sheet!;
    const across = roles.roles.length;
    const link = (i: number, words: string) => html`<li>
      <button class="plain link" @click=${() => void this.enter({ row: Math.floor(i / across), col: i % across })}>layer ${roles.layers[Math.floor(i / across)]} ${short[i % across]}</button>
      ${words}
    </li>`;
    const seen = far
      .map((value, i) => [i, Math.abs(value ?? 0)] as const)
      .filter(([, value]) => value >= SEEN)
      .sort((a, b) => b[1] - a[1]);
    // What is wrong and is seen by this measure stands out by it, however far the column's others lie apart.
    const named = seen.filter(([i, value]) => value >= FAR || told[i] !== undefined);
    const others = told.flatMap((finding, i) => (finding === undefined || named.some(([other]) => other === i) ? [] : [[i, finding] as const]));
    const by = STATS[this.stat];
    const list = (heading: string, items: readonly TemplateResult[], most: number) => html`<h3>${heading}</h3>
      <ul>
        ${items.slice(0, most)}
      </ul>
      ${most === MOST_NAMED && items.length > most ? html`<p class="muted">and ${items.length - most} more</p>` : nothing}`;
    const measured = (cells: typeof seen) => cells.map(([i]) => link(i, `${approximate[i] === true ? '≈ ' : ''}${against(this.stat, values[i]!, usual[i % across]!)}${told[i] === undefined ? '' : ` · ${told[i].message}`}`));
    const alike = html`<p class=${others.length === 0 ? 'good' : 'muted'}>By ${by}, every layer is like the others.</p>`;
    const furthest = () => (named.length > 0 ? list(`Stands out by ${by}`, measured(named), MOST_NAMED) : list(`Nothing is far out by ${by}; the furthest`, measured(seen), MOST_SEEN));
    return html`${seen.length === 0 ? alike : furthest()}
      ${others.length === 0 ? nothing : list('Wrong by another measure', others.map(([i, { message }]) => link(i, message)), MOST_NAMED)}`;
  }

  /** Shows a cell's tensor, with the others of its role as its peers. */
  private async enter({ row, col }: Cell): Promise<void> {
    const { roles } = this.sheet!;
    const across = roles.roles.length;
    const [tensor] = roles.cells.get(row * across + col) ?? [];
    if (tensor === undefined) return;
    const peers = roles.layers.flatMap((_, layer) => roles.cells.get(layer * across + col) ?? []);
    await this.app.select(tensor, peers, roles.roles[col]);
    this.app.show('tensor');
  }
  private async savePng(): Promise<void> {
    save(`${this.model!.label}.${this.stat}.png`, await this.picture.png(`${this.model!.label} · ${STATS[this.stat]} by layer`));
  }
  private saveCsv(): void {
    const { roles, values } = this.sheet!;
    const across = roles.roles.length;
    saveText(`${this.model!.label}.${this.stat}.csv`, csvOf([['layer', ...roles.roles], ...roles.layers.map((layer, row) => [layer, ...values.slice(row * across, (row + 1) * across)])]), 'text/csv');
  }

  static override styles = [
    base,
    pictureBar,
    css`
      canvas {
        cursor: pointer;
      }
      .readout {
        min-height: 3em;
        margin: 4px 0 0;
        max-width: none;
      }
      .small {
        font-size: 12px;
      }
      ul {
        margin: 0;
        padding: 0;
        list-style: none;
      }
    `,
  ];
}
customElements.define('assay-matrix', MatrixView);
