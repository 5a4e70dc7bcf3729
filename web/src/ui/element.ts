// SPDX-License-Identifier: Apache-2.0
// What every element of the page is: drawn again when the app says that something changed.
import { LitElement, type CSSResultGroup } from 'lit';
import type { App } from '../app/app.js';
import { base } from './base-styles.js';

export abstract class AppElement extends LitElement {
  static override properties = { app: { attribute: false } };
  declare app: App;
  static override styles: CSSResultGroup = base;

  /** Properties that keep their values while another view is shown. */
  static kept: readonly string[] = [];
  private get kept(): [key: string, name: string][] {
    return (this.constructor as typeof AppElement).kept.map((name) => [`${this.localName} ${name}`, name]);
  }

  private readonly onChange = () => this.requestUpdate();
  override connectedCallback(): void {
    super.connectedCallback();
    for (const [key, name] of this.kept) if (this.app.choices.has(key)) Object.assign(this, { [name]: this.app.choices.get(key) });
    this.app.addEventListener('change', this.onChange);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const [key, name] of this.kept) this.app.choices.set(key, this[name as keyof this]);
    this.app.removeEventListener('change', this.onChange);
  }
}
