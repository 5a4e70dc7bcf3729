// SPDX-License-Identifier: Apache-2.0
// What can be done, as a table: the keyboard, the palette and the key sheet come from it.
import { VIEWS } from '../views/views.js';
import { CHECKUP, type App } from './app.js';
import { commandFor, copy, pythonFor, saveReport, saveTable } from './exports.js';
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
  /** Whether it means anything now; always, unless said. */
  when?(app: App): boolean;
}

const opened = (app: App) => app.model !== null;
const chosen = (app: App) => app.selection !== null;
const python = (app: App) => (app.selection === null ? null : pythonFor(app.selection.tensor, app.model!.format));

export const ACTIONS: readonly Action[] = [
  { title: 'Open files…', key: 'o', run: (_, stage) => stage.chooseFiles(false) },
  { title: 'Open a folder…', run: (_, stage) => stage.chooseFiles(true) },
  { title: 'Filter tensors', key: '/', run: (_, stage) => stage.focusFilter() },
  ...VIEWS.map((view): Action => ({ title: `Show ${view.title}`, key: view.key, run: (app) => app.show(view.id) })),
  { title: 'Next of its kind', key: ']', run: (app) => step(app, 1) },
  { title: 'Previous of its kind', key: '[', run: (app) => step(app, -1) },
  { title: 'Examine all values', run: (app) => (app.show('findings'), void app.reportOf('doctor', CHECKUP)) },
  { title: 'Copy a link to this place (it holds no values)', when: (app) => app.model?.sample === false, run: (app) => void copy(app, app.link()) },
  { title: 'Copy the tensor’s name', when: chosen, run: (app) => void copy(app, app.selection!.tensor.name) },
  { title: 'Copy the command that shows this tensor', when: chosen, run: (app) => void copy(app, commandFor(app.selection!.tensor)) },
  { title: 'Copy Python that reads this tensor', when: (app) => python(app) !== null, run: (app) => void copy(app, python(app)!) },
  { title: 'Save the summary as JSON', when: opened, run: (app) => void saveReport(app, 'info') },
  { title: 'Save the list of tensors as JSON', when: opened, run: (app) => void saveReport(app, 'tensors') },
  { title: 'Save the list of tensors as CSV', when: opened, run: (app) => void saveTable(app, 'tensors') },
  { title: 'Save statistics of all tensors as JSON', when: opened, run: (app) => void saveReport(app, 'stats') },
  { title: 'Save statistics of all tensors as CSV', when: opened, run: (app) => void saveTable(app, 'stats') },
  { title: 'Save findings as JSON', when: opened, run: (app) => void saveReport(app, 'doctor') },
  { title: 'Change the theme', key: 't', run: (app) => (nextTheme(), app.changed()) },
  { title: 'Cancel what runs', key: 'Escape', run: (app) => app.cancelJobs() },
  { title: 'Command palette', key: 'mod+k', run: (_, stage) => stage.togglePalette() },
  { title: 'Help: views and keys', key: '?', run: (_, stage) => stage.toggleKeys() },
];

/** Keys of elements that have the keyboard; the sheet lists them too. */
export const ELEMENT_KEYS: readonly { where: string; keys: string; what: string }[] = [
  { where: 'Tree', keys: '↑ ↓ j k', what: 'another row' },
  { where: 'Tree', keys: '← → h l', what: 'close or open, go to the parent or in' },
  { where: 'Tree', keys: 'Enter', what: 'look at the tensor' },
  { where: 'Tree', keys: 'Home End g G', what: 'first or last row' },
  { where: 'Tabs', keys: '← →', what: 'another view' },
  { where: 'Pictures', keys: '↑ ↓ ← →', what: 'another cell' },
  { where: 'Pictures', keys: '+ − 0', what: 'closer, further, all of it; so does the wheel after a click, or with Ctrl' },
  { where: 'Filter', keys: 'Enter', what: 'look at the first tensor found' },
  { where: 'Pictures', keys: 'Shift ↑ ↓ ← →', what: 'mark an area: its histogram is drawn over the whole' },
  { where: 'Histograms', keys: 'drag, ▼', what: 'mark a range of values in the picture; ▼ are percentiles' },
  { where: 'Layers, Histograms', keys: 'Enter', what: 'look at the tensor of the cell' },
  { where: 'Compare', keys: 'b d', what: 'between A and B, the change' },
];

function step(app: App, by: number): void {
  const { selection } = app;
  const next = selection?.peers[selection.peers.indexOf(selection.tensor.index) + by];
  if (selection !== null && next !== undefined) void app.select(next, selection.peers, selection.pattern);
}

export function keyOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}
/** Apple's keyboards have another key for it. */
const MAC = /Mac|iP(hone|ad)/.test(globalThis.navigator?.platform ?? '');
/** As people read it. */
export function keyName(key: string): string {
  return key.replace('mod+', MAC ? '⌘' : 'Ctrl+').replace('Escape', 'Esc').replace(/([+⌘])(\w)$/u, (_, mark: string, letter: string) => mark + letter.toUpperCase());
}
