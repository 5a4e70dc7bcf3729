// SPDX-License-Identifier: Apache-2.0
// Questions about a whole model that have a first look: its answer is of a sample, is shown as such, and gives way to the exact one.
import type { Document, Look } from '../core/protocol.js';
import { CHECKUP, MEASURED_AT_ONCE, STARTS_BY_ITSELF, type App } from './app.js';
import type { OpenModel } from './model.js';

/** Titles of the jobs. */
export const LOOKS: Record<Look, { first: string; exact: string }> = {
  doctor: { first: 'a first look at values', exact: CHECKUP },
  moe: { first: 'a first look at experts', exact: 'measuring experts' },
};

/** The best answer there is. */
export const answerTo = (model: OpenModel, look: Look): Document | undefined => model.reports.get(look) ?? model.looks.get(look);
export const isSampled = (document: Document | undefined | null): boolean => document?.['exact'] === false;

export const ask = (app: App, look: Look, sample: boolean): Promise<void> => app.reportOf(look, LOOKS[look][sample ? 'first' : 'exact'], sample);

/** What starts by itself: a first look, where it is not much, and all of it where that is not. A first look that was cancelled ends it. */
export async function askByItself(app: App, look: Look): Promise<void> {
  const { model } = app;
  if (model === null || model.reports.has(look)) return;
  const all = await app.costOf(model, look, false);
  if (all > MEASURED_AT_ONCE) {
    if ((await app.costOf(model, look, true)) > STARTS_BY_ITSELF || app.model !== model) return;
    await ask(app, look, true);
    if (answerTo(model, look) === undefined) return;
  }
  if (all <= STARTS_BY_ITSELF && app.model === model) await ask(app, look, false);
}
