// SPDX-License-Identifier: Apache-2.0
// Where it starts: one sentence, and a place to drop files that is a button as well.
import { css, html, nothing, type TemplateResult } from 'lit';
import { filesOfInput } from '../core/dropped.js';
import { base } from '../ui/base-styles.js';
import { AppElement } from '../ui/element.js';
import * as format from '../ui/format.js';

export class Landing extends AppElement {
  /** Opens the file chooser, from anywhere. */
  choose(folder = false): void {
    this.renderRoot.querySelector<HTMLInputElement>(folder ? '#folder' : '#files')!.click();
  }
  private readonly chosen = (event: Event) => {
    const input = event.target as HTMLInputElement;
    if (input.files !== null && input.files.length > 0) void this.app.openFiles(filesOfInput(input.files));
    input.value = '';
  };
  override render(): TemplateResult {
    return html`
      <div class="words">
        <h1>See what is inside a model checkpoint</h1>
        ${this.app.wanted === null
          ? nothing
          : html`<p role="status" class="wanted">
              This link leads into <b>${this.app.wanted.file}</b> (${format.bytes(this.app.wanted.size)})${this.app.wanted.tensor === undefined ? '' : html`, <code>${this.app.wanted.tensor}</code>`}: drop it here
              to go on.
            </p>`}
        <p>Files stay on your machine: the page reads the bytes it needs, runs nothing of the file, and the browser lets nothing out.</p>
      </div>
      <button class="drop" @click=${() => this.choose()}>
        <b>Drop a checkpoint here, or choose files</b>
        <span>safetensors, PyTorch .pt .pth .bin .ckpt, NumPy .npy .npz, shards with their index; two models to compare</span>
      </button>
      <p class="or">
        <button class="plain" @click=${() => this.choose(true)}>choose a folder</button>
        <span class="muted">Below is a small synthetic mixture of experts to try things on.</span>
      </p>
      <input id="files" type="file" multiple hidden aria-label="checkpoint files" @change=${this.chosen} />
      <input id="folder" type="file" webkitdirectory hidden aria-label="checkpoint folder" @change=${this.chosen} />
    `;
  }
  static override styles = [
    base,
    css`
      :host {
        display: grid;
        grid-template-columns: minmax(220px, 1fr) minmax(260px, 1.2fr);
        gap: 4px 24px;
        align-items: center;
        padding: 14px 18px;
        border-bottom: 1px solid var(--line);
        background: var(--panel);
      }
      h1 {
        margin: 0 0 4px;
        font-size: 19px;
      }
      p {
        margin: 0;
      }
      .drop {
        display: flex;
        flex-direction: column;
        gap: 4px;
        align-items: center;
        padding: 18px;
        border: 2px dashed var(--line-strong);
        border-radius: 10px;
        background: none;
        text-align: center;
      }
      .drop:hover {
        border-color: var(--accent);
      }
      .drop span {
        color: var(--muted);
        font-size: 12px;
      }
      .or {
        grid-column: 1 / -1;
        font-size: 12px;
      }
      @media (max-width: 700px) {
        :host {
          grid-template-columns: 1fr;
        }
      }
    `,
  ];
}
customElements.define('assay-landing', Landing);
