// SPDX-License-Identifier: Apache-2.0
// The whole page: bar, tree, view, facts, status. Knows where things stand, not what they say.
import { css, html, nothing, type TemplateResult } from 'lit';
import '../facts/facts-panel.js';
import '../tree/tree-view.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';
import { takesKey } from '../ui/typing.js';
import { VIEWS } from '../views/views.js';
import { filesOfInput } from '../core/dropped.js';
import { ACTIONS, keyName, keyOf, type Stage } from './actions.js';
import './landing.js';
import './palette.js';
import type { KeySheet, Palette } from './palette.js';
import './problem.js';
import { Scrolls } from './scrolls.js';
import './status-bar.js';
import { nextTheme, theme } from './theme.js';

declare global {
  interface HTMLElementTagNameMap {
    'assay-palette': Palette;
    'assay-keys': KeySheet;
  }
}

export class Root extends AppElement implements Stage {
  static override properties = { ...AppElement.properties, over: { state: true }, drawer: { state: true } };
  /** Something is dragged over the page. */
  declare over: boolean;
  /** What is open beside the view where there is no room for all three. */
  declare drawer: '' | 'tree' | 'facts';
  private followed: unknown = null;
  private readonly scrolls = new Scrolls(this, () => this.renderRoot.querySelector('#view'));
  constructor() {
    super();
    this.over = false;
    this.drawer = '';
  }
  override updated(): void {
    this.scrolls.arrive(this.app.view, this.app.goal !== null);
  }
  override willUpdate(): void {
    this.scrolls.leave(this.app.view, this.app.model);
    const tensor = this.app.selection?.tensor ?? null;
    if (tensor === this.followed) return;
    this.followed = tensor;
    // Whoever chose a tensor wants to see it.
    if (this.drawer === 'tree') this.drawer = '';
  }
  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener('dragover', this.onDragOver);
    addEventListener('dragleave', this.onDragLeave);
    addEventListener('drop', this.onDrop);
    addEventListener('paste', this.onPaste);
    addEventListener('keydown', this.onKey);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('dragover', this.onDragOver);
    removeEventListener('dragleave', this.onDragLeave);
    removeEventListener('drop', this.onDrop);
    removeEventListener('paste', this.onPaste);
    removeEventListener('keydown', this.onKey);
  }
  private readonly onDragOver = (event: DragEvent) => {
    event.preventDefault();
    this.over = true;
  };
  private readonly onDragLeave = (event: DragEvent) => {
    if (event.relatedTarget === null) this.over = false;
  };
  private readonly onDrop = (event: DragEvent) => {
    event.preventDefault();
    this.over = false;
    if (event.dataTransfer !== null) void this.app.openTransfer(event.dataTransfer);
  };
  private readonly onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData !== null && event.clipboardData.files.length > 0) void this.app.openTransfer(event.clipboardData);
  };
  private readonly onKey = (event: KeyboardEvent) => {
    const target = event.composedPath()[0] as HTMLElement;
    const key = keyOf(event);
    const typing = takesKey(target as HTMLInputElement, key);
    if (key === 'Escape') {
      // What the browser closes with it (a dialog) comes first.
      if (this.renderRoot.querySelector('assay-palette')!.dialog.open || this.renderRoot.querySelector('assay-keys')!.dialog.open) return;
      if (this.app.jobs.length > 0) this.app.cancelJobs();
      else if (typing) target.blur();
      return;
    }
    if (event.altKey || (typing && !key.startsWith('mod+'))) return;
    const action = ACTIONS.find((one) => one.key === key);
    if (action === undefined) return;
    action.run(this.app, this);
    event.preventDefault();
  };

  // --- what actions need of the page
  chooseFiles(folder: boolean): void {
    this.renderRoot.querySelector<HTMLInputElement>(folder ? '#open-folder' : '#open-files')!.click();
  }
  focusFilter(): void {
    this.renderRoot.querySelector<HTMLInputElement>('#filter')!.focus();
  }
  togglePalette(): void {
    this.renderRoot.querySelector('assay-palette')!.toggle();
  }
  toggleKeys(): void {
    this.renderRoot.querySelector('assay-keys')!.toggle();
  }

  override render(): TemplateResult {
    const { app } = this;
    const { model } = app;
    return html`
      <header>
        <span class="brand">assay</span>
        ${model === null
          ? nothing
          : html`<span class="title" title=${model.label}
              ><b>${model.label}</b> ${model.sample ? html`<span class="tag">synthetic</span>` : nothing}
              <span class="muted">${format.count(model.info['parameters'] as number)} params · ${format.bytes(model.info['file_size'] as number)}</span></span
            >`}
        ${this.filterBox()}
        <label class="open">Open…<input id="open-files" type="file" multiple aria-label="open checkpoint files" @change=${this.opened} /></label>
        <button class="plain" title="find an action or a tensor" aria-label="${keyName('mod+k')}, command palette" @click=${() => this.togglePalette()}>${keyName('mod+k')}</button>
        <button class="plain" title="help: views and keys (?)" aria-label="help" @click=${() => this.toggleKeys()}>?</button>
        <button class="plain" title="theme: ${theme()}" aria-label="theme: ${theme()}" @click=${() => (nextTheme(), this.requestUpdate())}>◐</button>
      </header>
      ${model === null || model.sample ? html`<assay-landing .app=${app}></assay-landing>` : nothing}
      <assay-problem .app=${app}></assay-problem>
      <p class="drawers">
        ${(['tree', 'facts'] as const).map(
          (name) => html`<button aria-pressed=${String(this.drawer === name)} @click=${() => (this.drawer = this.drawer === name ? '' : name)}>
            ${this.drawer === name ? '▾' : '▸'} ${name === 'tree' ? 'Tensors' : html`Facts <span class="muted">${app.selection?.tensor.name ?? ''}</span>`}
          </button>`,
        )}
      </p>
      <main class=${this.drawer}>
        <assay-tree .app=${app}></assay-tree>
        <section class="centre">
          <div class="tabs" role="tablist" aria-label="views" @keydown=${this.onTabKey}>
            ${VIEWS.map(
              (view) => html`<button
                role="tab"
                id="tab-${view.id}"
                aria-selected=${String(view.id === app.view)}
                aria-controls="view"
                tabindex=${view.id === app.view ? 0 : -1}
                class=${(view.empty?.(app) ?? '') === '' ? '' : 'empty'}
                title=${view.empty?.(app) || view.what}
                @click=${() => app.show(view.id)}
              >
                ${view.title} <kbd aria-hidden="true">${view.key}</kbd>
              </button>`,
            )}
          </div>
          <div id="view" role="tabpanel" tabindex="0" aria-labelledby="tab-${app.view}">${VIEWS.find((view) => view.id === app.view)?.render(app)}</div>
        </section>
        <assay-facts .app=${app} tabindex="0" role="region" aria-label="facts of the tensor"></assay-facts>
      </main>
      <assay-status .app=${app}></assay-status>
      <input id="open-folder" type="file" webkitdirectory hidden aria-label="open a folder" @change=${this.opened} />
      <assay-palette .app=${app} .stage=${this}></assay-palette>
      <assay-keys .app=${app}></assay-keys>
      ${this.over ? html`<div class="over">Drop to open</div>` : nothing}
    `;
  }
  private filterBox(): TemplateResult {
    const { app } = this;
    const total = app.model?.tensorCount ?? 0;
    const shown = app.filterProblem !== '' ? app.filterProblem : app.chosen === null ? '' : `${format.exact(app.chosen.length)} of ${format.exact(total)}`;
    return html`<span class="filter">
      <input
        id="filter"
        type="search"
        aria-label="filter tensors"
        aria-describedby="filter-says"
        placeholder="filter: q_proj layer:0-3 dtype:bf16 size>1M -bias"
        spellcheck="false"
        .value=${app.filter}
        @input=${(event: Event) => void app.setFilter((event.target as HTMLInputElement).value)}
        @keydown=${(event: KeyboardEvent) => event.key === 'Enter' && void app.openFirst()}
      /><span id="filter-says" role="status" class=${app.filterProblem === '' ? 'muted' : 'warning'}>${shown}</span>
    </span>`;
  }
  private readonly opened = (event: Event) => {
    const input = event.target as HTMLInputElement;
    if (input.files !== null && input.files.length > 0) void this.app.openFiles(filesOfInput(input.files));
    input.value = '';
  };
  private readonly onTabKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = VIEWS.findIndex((view) => view.id === this.app.view);
    const next = VIEWS[(at + step + VIEWS.length) % VIEWS.length]!;
    this.app.show(next.id);
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus());
  };

  static override styles = [
    base,
    css`
      :host {
        display: flex;
        flex-direction: column;
        height: 100vh;
        overflow: hidden;
      }
      header {
        display: flex;
        gap: 14px;
        align-items: center;
        padding: 6px 12px;
        border-bottom: 1px solid var(--line);
        background: var(--panel);
      }
      .brand {
        font-weight: 700;
        letter-spacing: 0.02em;
      }
      header > * {
        flex: none;
      }
      header .title {
        flex: 0 1 auto;
        min-width: 0;
        overflow: hidden;
        white-space: nowrap;
        text-overflow: ellipsis;
      }
      .drawers {
        display: none;
        margin: 0;
      }
      header .filter {
        flex: 1 1 auto;
        display: flex;
        gap: 8px;
        align-items: center;
        min-width: 160px;
      }
      .filter input {
        flex: 1;
        min-width: 120px;
        max-width: 460px;
        min-height: 30px;
        padding: 2px 8px;
        border: 1px solid var(--line-strong);
        border-radius: 6px;
        background: var(--page);
      }
      .filter [role='status'] {
        font-size: 12px;
      }
      .open {
        position: relative;
        padding: 4px 12px;
        border: 1px solid var(--line-strong);
        border-radius: 6px;
        cursor: pointer;
      }
      .open:hover {
        background: var(--hover);
      }
      .open:focus-within {
        outline: 2px solid var(--focus);
      }
      .open input {
        position: absolute;
        inset: 0;
        opacity: 0;
        cursor: pointer;
        width: 100%;
      }
      main {
        flex: 1;
        display: grid;
        grid-template-columns: minmax(250px, 28%) minmax(0, 1fr) minmax(200px, 21%);
        min-height: 0;
      }
      assay-tree,
      assay-facts {
        background: var(--panel);
        min-height: 0;
      }
      assay-tree {
        border-right: 1px solid var(--line);
      }
      assay-facts {
        border-left: 1px solid var(--line);
      }
      .centre {
        display: flex;
        flex-direction: column;
        min-height: 0;
        min-width: 0;
      }
      .tabs {
        display: flex;
        flex-wrap: wrap;
        gap: 2px;
        padding: 4px 10px 0;
        border-bottom: 1px solid var(--line);
      }
      .tabs button {
        padding: 2px 7px;
        border: 0;
        border-bottom: 2px solid transparent;
        border-radius: 0;
        padding: 2px 7px;
        background: none;
      }
      .tabs .empty {
        color: var(--muted);
        font-style: italic;
      }
      .tabs button[aria-selected='true'] {
        border-bottom-color: var(--accent);
        font-weight: 600;
      }
      @media (forced-colors: active) {
        .tabs button {
          border-color: Canvas;
        }
        .tabs button[aria-selected='true'] {
          forced-color-adjust: none;
          border-color: Highlight;
          background: Highlight;
          color: HighlightText;
        }
        .tabs button[aria-selected='true'] kbd {
          color: HighlightText;
        }
      }
      kbd {
        font: 11px var(--mono);
        color: var(--muted);
      }
      #view {
        flex: 1;
        overflow: auto;
        padding: 14px 18px;
        min-height: 0;
      }
      #view:focus-visible {
        outline-offset: -2px;
      }
      .over {
        position: fixed;
        inset: 0;
        display: grid;
        place-items: center;
        background: color-mix(in srgb, var(--page) 80%, transparent);
        border: 4px dashed var(--accent);
        font-size: 24px;
        pointer-events: none;
      }
      @media (max-width: 900px) {
        :host {
          height: auto;
          min-height: 100vh;
          overflow: visible;
        }
        header {
          gap: 8px;
        }
        .title .muted {
          display: none;
        }
        header .title {
          max-width: 30%;
        }
        .drawers {
          display: flex;
          gap: 8px;
          max-width: none;
          padding: 4px 12px;
          border-bottom: 1px solid var(--line);
          background: var(--panel);
        }
        .drawers button {
          min-width: 0;
          overflow: hidden;
          white-space: nowrap;
          text-overflow: ellipsis;
        }
        main {
          grid-template-columns: minmax(0, 1fr);
        }
        main assay-tree,
        main assay-facts {
          display: none;
          border: 0;
          border-bottom: 1px solid var(--line);
        }
        main.tree assay-tree {
          display: flex;
          height: 45vh;
        }
        main.facts assay-facts {
          display: block;
          order: -1;
          max-height: 50vh;
        }
        .tabs {
          position: sticky;
          top: 0;
          z-index: 1;
          background: var(--page);
        }
      }
      @media (max-width: 560px) {
        header {
          flex-wrap: wrap;
        }
      }
    `,
  ];
}
customElements.define('assay-root', Root);
