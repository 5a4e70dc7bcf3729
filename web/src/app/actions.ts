// SPDX-License-Identifier: Apache-2.0
// What can be done, as a table: the keyboard, the palette and the key sheet come from it.
import { VIEWS } from '../views/views.js';
import type { App } from './app.js';
import { nextTheme } from './theme.js';

/** What actions need of the page besides the app. */
export interface Stage {
  chooseFiles(folder: boolean): void;
  focusFilter(): void;
  togglePalette(): void;
  toggleKeys(): void;
}
export interface Action {
  title: string;
  /** As KeyboardEvent.key says it; with "mod+" before it for Ctrl or ⌘. */
  key?: string;
  run(app: App, stage: Stage): void;
}

export const ACTIONS: readonly Action[] = [
  { title: 'Open files…', key: 'o', run: (_, stage) => stage.chooseFiles(false) },
  { title: 'Open a folder…', run: (_, stage) => stage.chooseFiles(true) },
  { title: 'Filter tensors', key: '/', run: (_, stage) => stage.focusFilter() },
  ...VIEWS.map((view): Action => ({ title: `Show ${view.title}`, key: view.key, run: (app) => app.show(view.id) })),
  { title: 'Next of its kind', key: ']', run: (app) => step(app, 1) },
  { title: 'Previous of its kind', key: '[', run: (app) => step(app, -1) },
  { title: 'Examine all values', run: (app) => (app.show('findings'), void app.reportOf('doctor', 'checkup')) },
  { title: 'Change the theme', key: 't', run: (app) => (nextTheme(), app.changed()) },
  { title: 'Cancel what runs', key: 'Escape', run: (app) => app.cancelJobs() },
  { title: 'Command palette', key: 'mod+k', run: (_, stage) => stage.togglePalette() },
  { title: 'Keys', key: '?', run: (_, stage) => stage.toggleKeys() },
];

/** Keys of elements that have the keyboard; the sheet lists them too. */
export const ELEMENT_KEYS: readonly { where: string; keys: string; what: string }[] = [
  { where: 'Tree', keys: '↑ ↓ j k', what: 'another row' },
  { where: 'Tree', keys: '← → h l', what: 'close or open, go to the parent or in' },
  { where: 'Tree', keys: 'Enter', what: 'look at the tensor' },
  { where: 'Tree', keys: 'Home End g G', what: 'first or last row' },
  { where: 'Tabs', keys: '← →', what: 'another view' },
];

function step(app: App, by: number): void {
  const { selection } = app;
  const next = selection?.peers[selection.peers.indexOf(selection.tensor.index) + by];
  if (selection !== null && next !== undefined) void app.select(next, selection.peers, selection.pattern);
}

export function keyOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}
/** As people read it. */
export function keyName(key: string): string {
  return key.replace('mod+', 'Ctrl+').replace('Escape', 'Esc').replace(/\+(\w)$/, (_, letter: string) => `+${letter.toUpperCase()}`);
}
