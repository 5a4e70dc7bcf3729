// SPDX-License-Identifier: Apache-2.0
// The table of views. To add one: an element in a file of this folder, and a row in views.ts.
import type { TemplateResult } from 'lit';
import type { App } from '../app/app.js';

export interface View {
  id: string;
  /** On its tab. */
  title: string;
  /** What it is for, in a line. */
  what: string;
  /** Why it has nothing to show of a model; '' where it has. */
  empty?(app: App): string;
  /** The key that shows it. */
  key: string;
  /** Whether it is about the selected tensor, the whole model, or two models. */
  about: 'model' | 'tensor' | 'pair';
  render(app: App): TemplateResult;
}
