// SPDX-License-Identifier: Apache-2.0
// Every action and every tensor by a few letters of its name; and the sheet of keys. Both are dialogs of the browser.
import { css, html, nothing, type TemplateResult } from 'lit';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import { fuzzy } from '../ui/fuzzy.js';
import { VIEWS } from '../views/views.js';
import { ACTIONS, ELEMENT_KEYS, keyName, type Action, type Stage } from './actions.js';

const SHOWN = 12;

interface Entry {
  title: string;
  hint: string;
  run: () => void;
}

abstract class AppDialog extends AppElement {
  get dialog(): HTMLDialogElement {
    return this.renderRoot.querySelector('dialog')!;
  }
  toggle(): void {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }
  /** A click beside the dialog puts it away. */
  protected readonly onBackdrop = (event: Event) => {
    if (event.target === this.dialog) this.dialog.close();
  };
  static override styles = [
    base,
    css`
      dialog {
        width: min(640px, 90vw);
        max-height: 80vh;
        padding: 0;
        border: 1px solid var(--line-strong);
        border-radius: 10px;
        background: var(--panel);
        color: var(--text);
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      kbd {
        padding: 0 6px;
        border: 1px solid var(--line-strong);
        border-radius: 4px;
        font: 12px var(--mono);
        white-space: nowrap;
      }
    `,
  ];
}

export class Palette extends AppDialog {
  static override properties = { ...AppElement.properties, stage: { attribute: false }, typed: { state: true }, at: { state: true } };
  declare stage: Stage;
  declare typed: string;
  declare at: number;
  constructor() {
    super();
    this.typed = '';
    this.at = 0;
  }
  override toggle(): void {
    this.typed = '';
    this.at = 0;
    super.toggle();
  }

  private entries(): Entry[] {
    const typed = this.typed.trim();
    const scored: { score: number; entry: Entry }[] = [];
    const action = (one: Action): Entry => ({ title: one.title, hint: one.key === undefined ? '' : keyName(one.key), run: () => one.run(this.app, this.stage) });
    for (const one of ACTIONS) {
      const score = fuzzy(typed, one.title);
      if (score !== null && one.key !== 'mod+k' && (one.when?.(this.app) ?? true)) scored.push({ score, entry: action(one) });
    }
    const { model } = this.app;
    if (model !== null && typed.length > 1) {
      // Whole parts of names only: letters scattered over a hundred thousand names mean nothing.
      let found = 0;
      for (let i = 0; i < model.names.names.length && found < 200; ++i) {
        const name = model.names.names[i]!;
        if (!name.toLowerCase().includes(typed.toLowerCase())) continue;
        ++found;
        const index = model.names.order[i]!;
        scored.push({ score: 0.5 + fuzzy(typed, name)!, entry: { title: name, hint: 'tensor', run: () => void this.app.select(index).then(() => this.app.show('tensor')) } });
      }
    }
    // Before anything is typed, as the table has them: what is used most comes first.
    if (typed === '') return scored.slice(0, SHOWN).map(({ entry }) => entry);
    return scored
      .sort((a, b) => a.score - b.score)
      .slice(0, SHOWN)
      .map(({ entry }) => entry);
  }
  private run(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.dialog.close();
    entry.run();
  }

  override render(): TemplateResult {
    const entries = this.entries();
    const onKey = (event: KeyboardEvent) => {
      const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) this.at = (this.at + moves[event.key]! + entries.length) % Math.max(1, entries.length);
      else if (event.key === 'Enter') this.run(entries[this.at]);
      else return;
      event.preventDefault();
    };
    return html`<dialog aria-label="command palette" @click=${this.onBackdrop}>
      <input
        type="text"
        role="combobox"
        aria-label="what to do, or a tensor"
        aria-expanded="true"
        aria-controls="entries"
        aria-activedescendant=${entries.length > 0 ? `entry-${this.at}` : nothing}
        placeholder="what to do, or a tensor's name"
        spellcheck="false"
        .value=${this.typed}
        @input=${(event: Event) => {
          this.typed = (event.target as HTMLInputElement).value;
          this.at = 0;
        }}
        @keydown=${onKey}
      />
      <ul id="entries" role="listbox" aria-label="actions and tensors">
        ${entries.map(
          (entry, i) => html`<li id="entry-${i}" role="option" aria-selected=${String(i === this.at)} @click=${() => this.run(entry)}>
            <span>${entry.title}</span>${entry.hint === '' ? nothing : html`<kbd>${entry.hint}</kbd>`}
          </li>`,
        )}
      </ul>
      ${entries.length === 0 ? html`<p class="none muted">Nothing of that name.</p>` : nothing}
    </dialog>`;
  }
  static override styles = [
    ...AppDialog.styles,
    css`
      input {
        width: 100%;
        padding: 12px 14px;
        border: 0;
        border-bottom: 1px solid var(--line);
        outline: none;
        background: none;
        font-size: 16px;
      }
      ul {
        margin: 0;
        padding: 6px;
        list-style: none;
      }
      li {
        display: flex;
        justify-content: space-between;
        gap: 12px;
        padding: 5px 10px;
        border-radius: 6px;
        cursor: pointer;
      }
      li span {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      li[aria-selected='true'] {
        background: var(--select);
      }
      .none {
        padding: 0 16px 8px;
      }
    `,
  ];
}
customElements.define('assay-palette', Palette);

export class KeySheet extends AppDialog {
  override render(): TemplateResult {
    return html`<dialog aria-label="help" @click=${this.onBackdrop}>
      <div class="sheet" tabindex="0">
        <h2>Views</h2>
        <table>
          ${VIEWS.map((view) => html`<tr><td><kbd>${view.key}</kbd></td><td><b>${view.title}</b></td><td>${view.what}</td></tr>`)}
        </table>
        <p class="muted">Layers, experts, rows and columns count from 0, as in the names of tensors. ≈ marks what comes of a sample.</p>
        <h2>Keys</h2>
        <table>
          ${ACTIONS.filter((action) => action.key !== undefined && !action.title.startsWith('Show ')).map(
            (action) => html`<tr><td><kbd>${keyName(action.key!)}</kbd></td><td>${action.title}</td></tr>`,
          )}
          ${ELEMENT_KEYS.map((row) => html`<tr><td><kbd>${row.keys}</kbd></td><td>${row.where}: ${row.what}</td></tr>`)}
        </table>
      </div>
    </dialog>`;
  }
  static override styles = [
    ...AppDialog.styles,
    css`
      .sheet {
        padding: 16px 20px;
      }
      p {
        margin: 8px 0 14px;
      }
    `,
  ];
}
customElements.define('assay-keys', KeySheet);
