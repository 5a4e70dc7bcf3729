// SPDX-License-Identifier: Apache-2.0
// The page in Chromium with the planted model open, and how tests look at what it shows. `begin` and `end` stand around them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { planted, tuned } from './files.mjs';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
export const page = pathToFileURL(fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url))).href;
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The browser, a folder of the test's own, and in it the planted model and the same after a training. */
export let browser, folder, file, other;

export async function begin() {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-views-'));
  other = tuned(folder);
  file = planted(folder);
  browser = await launch('chromium');
  await browser.page.context().addInitScript(axe);
  await open(file);
}
export async function end() {
  await browser?.close();
  fs.rmSync(folder, { recursive: true, force: true });
}

// --- functions for the page, sent as text

export const shown = () => performance.getEntriesByName('assay-shown').length > 0;
export const opened = (label) => document.querySelector('assay-root').app.model?.label === label;
export const choose = async (name, view) => {
  const { app } = document.querySelector('assay-root');
  await app.select(await app.engine.call('find', { model: app.model.id, name }));
  if (view !== undefined) app.show(view);
};
export const show = (view) => document.querySelector('assay-root').app.show(view);
export const textOf = (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent ?? '';
export const idle = () => document.querySelector('assay-root').app.jobs.length === 0;
/** How many different colours a canvas of a view has. */
export const colorsOf = (path) => {
  let node = document.querySelector('assay-root');
  for (const part of path) node = node.shadowRoot.querySelector(part);
  const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
  return new Set(new Uint32Array(data.buffer)).size;
};

export async function open(name) {
  await browser.open(page);
  await until(browser, shown);
  await browser.setFiles('header input[type=file]', [name]);
  await until(browser, opened, [path.basename(name)]);
}
/** Nothing serious may be found in what is shown. */
export async function accessible(what) {
  const found = await browser.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary ?? ''}`);
  });
  assert.deepEqual(found, [], what);
}

/** What a view says, in one line. */
export const saysOf = (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent.replace(/\s+/g, ' ').trim() ?? '';
export async function says(tag, pattern) {
  await until(browser, `(tag, pattern) => new RegExp(pattern).test((${saysOf})(tag))`, [tag, pattern.source]).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await browser.evaluate(saysOf, tag)}`);
  });
}
