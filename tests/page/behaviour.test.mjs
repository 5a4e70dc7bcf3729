// SPDX-License-Identifier: Apache-2.0
// What a person does with the page, by mouse and by keyboard, in Chromium; and what the page does when something fails.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { planted, safetensors } from './files.mjs';

const file = fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url));
const FILES = 'header input[type=file]';
let folder, browser, page;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-behaviour-'));
  browser = await launch('chromium');
  ({ page } = browser);
  await page.goto(pathToFileURL(file).href);
  await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
});
after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});
afterEach(() => assert.deepEqual(browser.errors.splice(0), []));

const app = (fn, ...args) => browser.evaluate(`(...args) => (${fn})(document.querySelector('assay-root').app, ...args)`, ...args);
async function open(...files) {
  const label = path.basename(files[0]);
  await page.locator(FILES).setInputFiles(files);
  await until(browser, (wanted) => { const { app } = document.querySelector('assay-root'); return app.opening === '' && (app.problem !== null || app.model?.label === wanted); }, [label]);
}
/** What an element shows, its blanks as one. */
const textOf = (tag) => page.locator(tag).evaluate((element) => element.shadowRoot.textContent.replace(/\s+/g, ' '));

test('the drop area is a button that opens files', async () => {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: /Drop a checkpoint/ }).click();
  await (await chooser).setFiles([planted(folder)]);
  await page.getByText('planted.safetensors').first().waitFor();
  // A model of one's own takes the place of the landing.
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-landing') === null);
});

test('files that are dropped open', async () => {
  const bytes = [...fs.readFileSync(planted(folder))];
  await browser.evaluate((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(content)], 'dropped.safetensors'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, bytes);
  await until(browser, () => document.querySelector('assay-root').app.model?.label === 'dropped.safetensors');
});

test('shards with their index and configuration are one model, and a missing one is told', async () => {
  const ones = Buffer.from(Float32Array.from({ length: 16 }, () => 1).buffer);
  const [a, b] = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'].map((name, i) =>
    safetensors(path.join(folder, name), [[`model.layers.${i}.w.weight`, 'F32', [4, 4], 64, ones]]),
  );
  const index = path.join(folder, 'model.safetensors.index.json');
  fs.writeFileSync(index, JSON.stringify({ metadata: { total_size: 128 }, weight_map: { 'model.layers.0.w.weight': path.basename(a), 'model.layers.1.w.weight': path.basename(b) } }));
  const config = path.join(folder, 'config.json');
  fs.writeFileSync(config, '{"model_type": "llama", "num_hidden_layers": 2}');
  const opened = async (files) => {
    await page.locator(FILES).setInputFiles(files);
    await until(browser, (n) => { const { app } = document.querySelector('assay-root'); return app.opening === '' && app.model?.files.files.length === n; }, [files.length]);
    return app((one) => ({ complete: one.model.complete, tensors: one.model.tensorCount, problem: one.problem }));
  };
  assert.deepEqual(await opened([a, b, index, config]), { complete: true, tensors: 2, problem: null });
  const stats = await app((one) => one.engine.call('stats', { model: one.model.id, tensor: 1 }).then(({ mean }) => mean));
  assert.equal(stats, 1);
  const cut = await opened([a, index, config]);
  assert.deepEqual([cut.complete, cut.problem], [false, null]);
  await page.getByRole('tab', { name: /Findings/ }).click();
  assert.match(await textOf('assay-findings'), /model-00002-of-00002/);
});

test('the odd layer is named', async () => {
  await open(planted(folder));
  assert.match(await textOf('assay-tree'), /layers\s*×6/);
  assert.match(await textOf('assay-tree'), /k_norm\.weight[^]*not in 3/);
  assert.match(await textOf('assay-overview'), /not in 3|'model\.layers\.3' has no 'k_norm\.weight'/);
});

test('a row opens to each layer, and facts are those of the chosen one', async () => {
  await page.getByRole('row', { name: /v_proj\.weight/ }).locator('.twist').click();
  await page.getByRole('row', { name: /^2 / }).first().click();
  const facts = page.locator('assay-facts');
  await facts.getByText('model.layers.2.self_attn.v_proj.weight').first().waitFor();
  await facts.getByText(/exact, all 4.096 elements/).waitFor();
  const text = await textOf('assay-facts');
  assert.match(text, /max ?12\.5/);
  assert.match(text, /NaN ?1 /);
  await facts.getByRole('button', { name: 'next of its kind' }).click();
  await facts.getByText('model.layers.3.self_attn.v_proj.weight').first().waitFor();
});

test('everything by keyboard', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('k_proj layer:4');
  await until(browser, () => document.querySelector('assay-root').app.chosen?.length === 1);
  await page.keyboard.press('Escape');
  await page.locator('assay-tree [role=row][tabindex="0"]').focus();
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tree').shadowRoot.querySelectorAll('[role=row]').length < 6);
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.4.self_attn.k_proj.weight');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowLeft');
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tree').shadowRoot.querySelectorAll('[role=row]').length === 1);
  await app((a) => a.setFilter(''));
});

test('the palette finds actions and tensors by a few letters', async () => {
  await page.keyboard.press('Control+k');
  await page.keyboard.type('findi');
  assert.match(await textOf('assay-palette'), /Show Findings ?7/);
  await page.keyboard.press('Enter');
  await until(browser, () => document.querySelector('assay-root').app.view === 'findings');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('layers.5.self_attn.o');
  await page.keyboard.press('Enter');
  await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.5.self_attn.o_proj.weight');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('assay-palette dialog').isVisible(), false);
});

test('the key sheet lists every key', async () => {
  await page.keyboard.press('?');
  const sheet = await textOf('assay-keys');
  for (const word of ['Overview', 'Filter tensors', 'Command palette', 'Esc', 'Ctrl+K']) assert.ok(sheet.includes(word), word);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('assay-keys dialog').isVisible(), false);
});

test('a link leads back to a tensor once its file is there', async () => {
  await until(browser, () => location.hash.endsWith('&v=tensor'));
  const url = page.url();
  assert.match(url, /#f=planted\.safetensors&sz=\d+&h=[0-9a-f]{8}&t=model\.layers\.5\.self_attn\.o_proj\.weight&v=tensor$/);
  await page.goto('about:blank');
  await page.goto(url);
  await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
  assert.match(await textOf('assay-landing'), /This link leads into planted\.safetensors/);
  await open(planted(folder));
  await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.5.self_attn.o_proj.weight');
});

test('a word that the filter does not know is named', async () => {
  await page.locator('#filter').fill('size>banana');
  await page.locator('#filter-says').getByText(/banana/).waitFor();
  await page.locator('#filter').fill('');
});

test('a small model is examined unasked, and what was planted is found', async () => {
  await page.getByRole('tab', { name: /Findings/ }).click();
  const view = page.locator('assay-findings');
  await until(browser, () => document.querySelector('assay-root').app.model.reports.has('doctor'));
  await view.getByText(/to look at/).waitFor();
  const text = await textOf('assay-findings');
  assert.match(text, /NaN/);
  assert.match(text, /layers\.2\.self_attn\.v_proj/);
  // From a finding to its tensor.
  await view.getByRole('button', { name: 'model.layers.2.self_attn.v_proj.weight' }).first().click();
  await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.2.self_attn.v_proj.weight');
});

test('metadata is searched, and JSON in a text is laid out', async () => {
  await page.getByRole('tab', { name: /Metadata/ }).click();
  const view = page.locator('assay-metadata');
  await view.getByText('JSON in a text, laid out').waitFor();
  await view.getByRole('searchbox').fill('format');
  await until(browser, () => !document.querySelector('assay-root').shadowRoot.querySelector('assay-metadata').shadowRoot.textContent.includes('laid out'));
});

test('code is scanned for', async () => {
  await open(fileURLToPath(new URL('../data/torch/packages.pt', import.meta.url)));
  await page.getByRole('tab', { name: /Code/ }).click();
  await page.locator('assay-scan').getByText(/would run/).nth(1).waitFor();
});

test('a long job shows how far it is, is cancelled with Escape, and the page goes on', async () => {
  await open(safetensors(path.join(folder, 'long.safetensors'), Array.from({ length: 40 }, (_, i) => [`t${i}`, 'F32', [2 ** 23], 2 ** 25])));
  const done = app((a) => a.run('everything', 'report', { model: a.model.id, command: 'stats' }, 1).then((r) => r === null));
  await until(browser, () => /everything \d+ %/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-status').shadowRoot.textContent));
  assert.match(await textOf('assay-status'), /read .* of 1\.25 GiB/);
  // Short requests are answered while it runs.
  assert.equal(await app((a) => a.engine.call('find', { model: a.model.id, name: 't7' })), 7);
  await page.locator('#view').focus();
  await page.keyboard.press('Escape');
  assert.equal(await done, true);
  assert.equal(await app((a) => a.problem), null);
  // The lane is there again.
  const document_ = await app((a) => a.run('one', 'report', { model: a.model.id, command: 'stats', filter: 't3' }).then((r) => r.tensors[0].zeros));
  assert.equal(document_, 2 ** 23);
});

test('cancelling one request does not cost another its answer', async () => {
  const answers = await app(async (a) => {
    const cancel = new AbortController();
    const gone = a.engine.call('stats', { model: a.model.id, tensor: 1 }, { signal: cancel.signal }).then(() => 'answered', (error) => error.name);
    const kept = a.engine.call('stats', { model: a.model.id, tensor: 2 });
    setTimeout(() => cancel.abort(), 20);
    return [await gone, (await kept).name];
  });
  assert.deepEqual(answers, ['AbortError', 't2']);
});

test('a core that crashes is started again, with a report and without the file', async () => {
  await open(planted(folder));
  // More than there is is an answer, not a crash.
  const refused = await app((a) => a.engine.call('values', { model: a.model.id, tensor: 0, first: 0, n: 2 ** 31 }).then(() => 'fine', (error) => error.code));
  assert.equal(refused, 'usage');
  // A request that breaks the worker, as a defect of it would.
  const crash = await app((a) => a.engine.call('values', { model: a.model.id, tensor: 0, first: NaN, n: 1 }).then(() => 'fine', (error) => error.name));
  assert.equal(crash, 'EngineCrash');
  const alert = page.getByRole('alert');
  await alert.getByText(/started again/).waitFor();
  assert.equal(await app((a) => a.engine.call('find', { model: a.model.id, name: 'model.layers.0.self_attn.q_proj.weight' })), 0);
  await alert.getByRole('button', { name: 'Dismiss' }).click();
  browser.errors.splice(0);
});

test('a file that cannot be read any more is said to have changed', async () => {
  const name = path.join(folder, 'changing.safetensors');
  fs.copyFileSync(planted(folder), name);
  await open(name);
  fs.truncateSync(name, 100);
  const error = await app((a) => a.engine.call('stats', { model: a.model.id, tensor: 3 }).then(() => null, (e) => e.message));
  assert.match(error, /could not (be )?read|changed|NotReadable/i);
});
