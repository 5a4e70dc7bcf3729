// SPDX-License-Identifier: Apache-2.0
// What a person drops, as the browser itself hands it over: a folder of shards, several files in one drop, two folders to compare.
// Chromium only: its protocol can drag files in, as a file manager does. On a page from a disk its entries cannot be read, handles can.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { planted, safetensors, shards, tuned } from './files.mjs';

const page = pathToFileURL(fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url))).href;
let browser, folder, cdp;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-drops-'));
  browser = await launch('chromium');
  cdp = await browser.page.context().newCDPSession(browser.page);
});
after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});
afterEach(() => assert.deepEqual(browser.errors.splice(0), []));

/** Drags files and folders over the page and lets go; what the page shows meanwhile. */
async function drop(...files) {
  await browser.open(page);
  return dropHere(files);
}
async function dropHere(files) {
  await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
  const data = { items: [], files, dragOperationsMask: 1 };
  const at = { x: 640, y: 400 };
  for (const type of ['dragEnter', 'dragOver']) await cdp.send('Input.dispatchDragEvent', { type, ...at, data });
  const sign = await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('.over')?.textContent ?? '');
  await cdp.send('Input.dispatchDragEvent', { type: 'drop', ...at, data });
  return sign;
}
const state = () => {
  const { app } = document.querySelector('assay-root');
  return app.opening !== '' || app.model === null || (app.model.sample && app.problem === null)
    ? null
    : { label: app.model.label, sample: app.model.sample, tensors: app.model.tensorCount, files: app.model.info.files.map(({ name }) => name), complete: app.model.complete, other: app.other?.label ?? null, problem: app.problem?.title ?? null };
};
const opened = () => until(browser, state);

test('a folder of shards with its index and configuration is one model', async () => {
  const model = path.join(folder, 'llama');
  shards(model);
  assert.equal(await drop(model), 'Drop to open');
  const { label, tensors, files, complete, other, problem } = await opened();
  assert.deepEqual({ label, tensors, complete, other, problem }, { label: 'llama', tensors: 6, complete: true, other: null, problem: null });
  assert.equal(files.filter((name) => name.endsWith('.safetensors')).length, 3);
  assert.equal(await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('.over')), null, 'the sign is gone');
  // Its numbers are read from the shard that has them.
  const values = await browser.evaluate(async () => {
    const { app } = document.querySelector('assay-root');
    const tensor = await app.engine.call('find', { model: app.model.id, name: 'model.layers.2.b.weight' });
    return [...(await app.engine.call('values', { model: app.model.id, tensor, first: 0, n: 3 }))];
  });
  assert.deepEqual(values, [25, 25, 25]);
});

test('the same files in one drop, without their folder', async () => {
  const model = path.join(folder, 'llama');
  await drop(...fs.readdirSync(model).map((name) => path.join(model, name)));
  const { tensors, complete, other } = await opened();
  assert.deepEqual({ tensors, complete, other }, { tensors: 6, complete: true, other: null });
});

test('a shard that is missing is told, the rest is shown', async () => {
  const model = path.join(folder, 'cut');
  shards(model);
  fs.rmSync(path.join(model, 'model-00002-of-00003.safetensors'));
  await drop(model);
  const { label, tensors, complete } = await opened();
  assert.deepEqual({ label, complete }, { label: 'cut', complete: false });
  assert.ok(tensors >= 4);
  await browser.evaluate(() => document.querySelector('assay-root').app.show('findings'));
  await until(browser, () => /model-00002-of-00003\.safetensors/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-findings')?.shadowRoot.textContent ?? ''));
});

test('two files, and two folders, are compared', async () => {
  const files = [tuned(folder), planted(folder)];
  await drop(...files);
  const two = await until(browser, `() => { const now = (${state})(); return now?.other ? now : null; }`);
  assert.deepEqual([two.label, two.other].sort(), ['planted.safetensors', 'tuned.safetensors']);
  await drop(path.join(folder, 'llama'), path.join(folder, 'cut'));
  const folders = await until(browser, `() => { const now = (${state})(); return now?.other ? now : null; }`);
  assert.deepEqual([folders.label, folders.other].sort(), ['cut', 'llama']);
});

test('folders within folders, and a folder without any weights', async () => {
  const outer = path.join(folder, 'outer');
  fs.mkdirSync(path.join(outer, 'snapshots/abc'), { recursive: true });
  fs.copyFileSync(path.join(folder, 'planted.safetensors'), path.join(outer, 'snapshots/abc/model.safetensors'));
  fs.writeFileSync(path.join(outer, 'README.md'), '# a model\n');
  await drop(outer);
  assert.deepEqual([(await opened()).label, (await opened()).tensors], ['model.safetensors', 29]);
  const empty = path.join(folder, 'notes');
  fs.mkdirSync(empty);
  fs.writeFileSync(path.join(empty, 'README.md'), '# nothing\n');
  await drop(empty);
  const { sample, problem } = await opened();
  assert.ok(sample && problem !== null, 'it says that there is none');
});

test('a folder that is empty says so', async () => {
  const nothing = path.join(folder, 'nothing');
  fs.mkdirSync(nothing);
  await drop(nothing);
  assert.match((await opened()).problem, /nothing/i);
});

test('the button for folders opens one too', async () => {
  await browser.open(page);
  await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
  const chooser = browser.page.waitForEvent('filechooser');
  await browser.page.getByRole('button', { name: 'choose a folder' }).click();
  await (await chooser).setFiles(path.join(folder, 'llama'));
  const { label, tensors } = await opened();
  assert.deepEqual([label, tensors], ['llama', 6]);
});

test('many files in a folder are all seen: directories are listed in parts', async () => {
  // Chromium hands over at most 100 entries at a time.
  const many = path.join(folder, 'many');
  fs.mkdirSync(many);
  const ones = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
  for (let i = 1; i <= 150; ++i) safetensors(path.join(many, `model-${String(i).padStart(5, '0')}-of-00150.safetensors`), [[`layers.${i - 1}.w`, 'F32', [2, 2], 16, ones]]);
  await drop(many);
  const { label, tensors } = await opened();
  assert.deepEqual([label, tensors], ['many', 150]);
});

test('a browser without handles reads entries, and where it refuses both it says what to do', async () => {
  const html = fs.readFileSync(fileURLToPath(page));
  const server = http.createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const withoutHandles = () => void delete DataTransferItem.prototype.getAsFileSystemHandle;
    await browser.open(`http://127.0.0.1:${server.address().port}/`);
    await browser.evaluate(withoutHandles);
    await dropHere([path.join(folder, 'llama')]);
    const { label, tensors } = await opened();
    assert.deepEqual([label, tensors], ['llama', 6]);
    await browser.open(page);
    await browser.evaluate(withoutHandles);
    await dropHere([path.join(folder, 'llama')]);
    assert.equal((await opened()).sample, true);
    const { text, hint } = await browser.evaluate(() => document.querySelector('assay-root').app.problem);
    assert.match(text, /does not let this page look into the folder “llama”/);
    assert.match(hint, /choose a folder/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
