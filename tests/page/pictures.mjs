// SPDX-License-Identifier: Apache-2.0
// Takes the pictures of docs/page.md anew: node tests/page/pictures.mjs [FOLDER]. Look at them before they are committed.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { faulty, planted, sparseExperts, tuned } from './files.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const out = process.argv[2] ?? path.join(root, 'docs/images');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-pictures-'));
fs.mkdirSync(out, { recursive: true });

for (const colorScheme of ['light', 'dark']) {
  const browser = await launch('chromium', { colorScheme, width: 1200, height: 720 });
  const { page } = browser;
  const app = (fn, ...args) => browser.evaluate(`(...args) => (${fn})(document.querySelector('assay-root').app, ...args)`, ...args);
  const still = async () => {
    await until(browser, () => document.querySelector('assay-root').app.jobs.length === 0, [], { timeout: 60000 });
    await page.waitForTimeout(700);
  };
  const picture = async (name) => {
    await app((a) => a.forgive()); // offers to compare with the file of another picture
    await still();
    await until(browser, () => !/looked at…/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-ridge')?.shadowRoot.textContent ?? ''));
    // JPEG: an eighth of the bytes, and nobody measures these.
    await page.screenshot({ path: path.join(out, `page-${name}-${colorScheme}.jpg`), type: 'jpeg', quality: 50 });
  };
  await page.goto(pathToFileURL(path.join(root, 'web/dist/assay.html')).href);
  await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
  await picture('landing');
  const views = await browser.evaluate(() => [...document.querySelector('assay-root').shadowRoot.querySelectorAll('[role=tab]')].map((tab) => tab.id.slice(4)));
  await page.getByRole('row', { name: /experts/ }).first().click();
  for (const view of views.filter((id) => ['experts', 'matrix', 'ridge'].includes(id))) {
    await app((a, id) => a.show(id), view);
    await still();
    const button = page.getByRole('button', { name: /^(Measure|Read|Examine|Scan)/ }).first();
    if (await button.count()) await button.click();
    await picture(view);
  }
  await page.locator('header input[type=file]').setInputFiles(faulty(folder));
  await until(browser, () => document.querySelector('assay-root').app.model?.reports.has('doctor') && document.querySelector('assay-root').app.model.label === 'faulty.safetensors');
  await picture('overview');
  await page.getByRole('button', { name: /^model\.layers\.4\./ }).first().click();
  await page.setViewportSize({ width: 1200, height: 900 });
  await picture('odd');
  await page.setViewportSize({ width: 1200, height: 720 });
  await page.locator('header input[type=file]').setInputFiles(fileURLToPath(new URL('../data/torch/train.pt', import.meta.url)));
  await until(browser, () => document.querySelector('assay-root').app.model?.label === 'train.pt');
  await app((a) => a.show('bytes'));
  await still();
  await page.getByRole('button', { name: /^Check/ }).click();
  await still();
  await page.locator('assay-members summary').click();
  await page.setViewportSize({ width: 1200, height: 900 });
  await picture('members');
  await page.setViewportSize({ width: 1200, height: 720 });
  await page.locator('header input[type=file]').setInputFiles(planted(folder));
  await until(browser, () => document.querySelector('assay-root').app.model?.label === 'planted.safetensors');
  const other = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-pictures-'));
  await page.setViewportSize({ width: 1200, height: 900 });
  await app((a) => a.show('compare'));
  await page.locator('assay-compare input[type=file]').setInputFiles(tuned(other));
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair?.parts.length === 1);
  await picture('compare');
  fs.rmSync(other, { recursive: true });
  await app(async (a) => {
    const tensor = await a.engine.call('find', { model: a.model.id, name: 'model.layers.2.self_attn.v_proj.weight' });
    await a.select(tensor);
  });
  for (const view of views.filter((id) => ['tensor', 'bytes', 'metadata'].includes(id))) {
    await app((a, id) => a.show(id), view);
    // The histogram is below the picture on a narrow page.
    await page.setViewportSize({ width: 1200, height: view === 'tensor' ? 900 : 720 });
    await picture(view);
  }
  await app((a) => a.reportOf('doctor', 'checkup').then(() => a.show('findings')));
  await picture('findings');
  await page.locator('header input[type=file]').setInputFiles(sparseExperts(folder));
  await until(browser, () => document.querySelector('assay-root').app.model?.label === 'experts.safetensors');
  await app((a) => a.show('experts'));
  await until(browser, () => document.querySelector('assay-root').app.model.looks.has('moe'));
  await picture('sampled');
  await browser.close();
}
fs.rmSync(folder, { recursive: true });
