// SPDX-License-Identifier: Apache-2.0
// What every element of the page is: drawn again when the app says that something changed.
import { LitElement, type CSSResultGroup } from 'lit';
import type { App } from '../app/app.js';
import { base } from './base-styles.js';

export abstract class AppElement extends LitElement {
  static override properties = { app: { attribute: false } };
  declare app: App;
  static override styles: CSSResultGroup = base;

  private readonly onChange = () => this.requestUpdate();
  override connectedCallback(): void {
    super.connectedCallback();
    this.app.addEventListener('change', this.onChange);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.app.removeEventListener('change', this.onChange);
  }
}
