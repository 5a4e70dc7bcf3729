// SPDX-License-Identifier: Apache-2.0
// What somebody who has never seen the page tries first, in Chromium: keys at once, Enter, the wheel, a filter, and back again.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { until } from './driver.mjs';
import { accessible, begin, browser, choose, end, file, folder, open, other, saysOf, show } from './stage.mjs';

before(begin);
after(end);

const app = (fn, ...args) => browser.evaluate(`(...args) => (${fn})(document.querySelector('assay-root').app, ...args)`, ...args);
const look = (read) => browser.evaluate(`() => (${read})(document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look)`);
const shownTensor = () => until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.overview != null);

test('keys work right after a file was chosen, and after a list or a box was used', async () => {
  await browser.page.locator('header input[type=file]').focus();
  await browser.press('2');
  await until(browser, () => document.querySelector('assay-root').app.view === 'matrix');
  await until(browser, () => document.querySelector('assay-root').app.model.measured.state === 'exact');
  await browser.page.getByLabel('statistic').focus();
  await browser.press('4');
  await until(browser, () => document.querySelector('assay-root').app.view === 'tensor');
  await browser.page.locator('header input[type=file]').focus();
  await browser.press('?');
  assert.equal(await browser.page.locator('assay-keys dialog').isVisible(), true);
  await browser.press('Escape');
});

test('what was chosen in a view is still chosen when one comes back', async () => {
  await browser.evaluate(show, 'matrix');
  await browser.page.getByLabel('statistic').selectOption('zeros');
  await browser.evaluate(show, 'overview');
  await browser.evaluate(show, 'matrix');
  assert.equal(await browser.page.getByLabel('statistic').inputValue(), 'zeros');
  await browser.page.getByLabel('statistic').selectOption('std');
});

test('Enter in the filter opens what it found, beside its like in all layers', async () => {
  await browser.evaluate(show, 'matrix');
  await browser.press('/');
  await browser.page.keyboard.type('layer:4 v_proj');
  await browser.press('Enter');
  await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.4.self_attn.v_proj.weight' && document.querySelector('assay-root').app.view === 'tensor');
  assert.equal(await app((a) => a.selection.peers.length), 6);
  // A row of the filtered tree too.
  await app((a) => a.setFilter('layer:2 q_proj'));
  await browser.page.locator('assay-tree').getByRole('row', { name: /q_proj/ }).click();
  await until(browser, () => document.querySelector('assay-root').app.selection.tensor.name === 'model.layers.2.self_attn.q_proj.weight');
  assert.match(await browser.evaluate(saysOf, 'assay-facts'), /◀ 2 \(3 of 6\) ▶/);
  await app((a) => a.setFilter(''));
});

test('the tree tells which of many is shown, also where it was chosen elsewhere', async () => {
  await browser.evaluate(choose, 'model.layers.5.self_attn.o_proj.weight', 'tensor');
  const row = browser.page.locator('assay-tree [aria-selected=true]');
  await row.waitFor();
  assert.match((await row.textContent()).replace(/\s+/g, ' '), /o_proj\.weight ×6 5/);
  // Out of sight, in what is closed: it is opened.
  await browser.page.locator('assay-tree .twist').first().click();
  assert.equal(await row.count(), 0);
  await browser.evaluate(choose, 'model.layers.1.self_attn.o_proj.weight');
  await row.waitFor();
  assert.match((await row.textContent()).replace(/\s+/g, ' '), /×6 1/);
});

test('a row of the tree leads from the layers to its picture', async () => {
  await browser.evaluate(show, 'matrix');
  await browser.page.locator('assay-tree').getByRole('row', { name: /k_proj/ }).click();
  await until(browser, () => document.querySelector('assay-root').app.view === 'tensor');
});

test('the wheel scrolls past a picture, and zooms one that was clicked', async () => {
  await browser.evaluate(choose, 'model.layers.1.self_attn.q_proj.weight', 'tensor');
  await shownTensor();
  await browser.page.setViewportSize({ width: 1280, height: 420 });
  const scrolled = () => browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop);
  const zoom = () => look((l) => l.zoom);
  const box = await browser.page.locator('assay-tensor canvas.picture').boundingBox();
  await browser.page.mouse.move(box.x + box.width / 2, box.y + 60);
  await browser.page.mouse.wheel(0, 120);
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop > 0);
  assert.ok(Math.abs((await zoom()) - 1) < 0.01);
  await browser.page.mouse.wheel(0, -400);
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop === 0);
  assert.ok(Math.abs((await zoom()) - 1) < 0.01);
  await browser.page.mouse.click(box.x + box.width / 2, box.y + 60);
  await browser.page.mouse.wheel(0, -120);
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.zoom > 1.3);
  assert.equal(await scrolled(), 0);
  // Outwards until all of it is seen, then the page goes on.
  for (let i = 0; i < 4; ++i) await browser.page.mouse.wheel(0, 120);
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop > 0);
  assert.ok(Math.abs((await zoom()) - 1) < 0.01);
  await browser.page.setViewportSize({ width: 1280, height: 800 });
});

test('by standard deviation a layer of which half the rows are zero is named, by zeros a single one is not', async () => {
  await open(file);
  await browser.evaluate(show, 'matrix');
  await until(browser, () => document.querySelector('assay-root').app.model.measured.state === 'exact');
  await app(async (a) => {
    const at = (name) => a.engine.call('find', { model: a.model.id, name });
    const [half, one] = [await at('model.layers.3.self_attn.v_proj.weight'), await at('model.layers.1.self_attn.q_proj.weight')];
    a.model.measured.stats[half].zeros = 2048;
    a.model.measured.stats[half].std *= 0.71;
    a.model.measured.stats[one].zeros = 1;
    a.changed();
  });
  await browser.page.getByLabel('statistic').selectOption('std');
  await until(browser, `() => /layer 3 self_attn\\.v_proj [\\d.]+, 0\\.7\\d? × the median of all layers/.test((${saysOf})('assay-matrix'))`);
  await browser.page.getByLabel('statistic').selectOption('zeros');
  await until(browser, `() => /layer 3 self_attn\\.v_proj 50 %/.test((${saysOf})('assay-matrix'))`);
  const text = await browser.evaluate(saysOf, 'assay-matrix');
  assert.doesNotMatch(text, /layer 1 self_attn\.q_proj|e\+?\d\d/);
});

test('numbers are listed at once, from what is seen, and zeros of many rows are one range', async () => {
  await browser.evaluate(choose, 'model.layers.2.self_attn.v_proj.weight', 'tensor');
  await shownTensor();
  const view = browser.page.locator('assay-tensor');
  await view.getByRole('button', { name: 'Table' }).click();
  await until(browser, `() => /the first 24 rows and 12 columns of what is seen/.test((${saysOf})('assay-tensor'))`);
  const cell = await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelector('td').title);
  assert.match(cell, /^0x[0-9a-f]{8}$/);
  assert.equal(await view.locator('.table').isVisible(), true);
  await view.getByRole('button', { name: 'Table' }).click();
  assert.match(await browser.evaluate(saysOf, 'assay-tensor'), /1 dead row 20 \(all values 0\)/);
});

test('a saved picture has its title and its colours', async () => {
  const download = browser.page.waitForEvent('download');
  await browser.page.locator('assay-tensor').getByRole('button', { name: 'PNG' }).first().click();
  const png = fs.readFileSync(await (await download).path());
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const box = await browser.page.locator('assay-tensor canvas.picture').boundingBox();
  assert.equal(width, Math.round(2 * box.width));
  assert.ok(height >= 2 * (Math.round(box.height) + 28 + 34) - 4, `${height} of ${box.height}`);
});

test('help says what each view is for, and a view with nothing to show says so on its tab', async () => {
  await browser.press('?');
  const text = await browser.evaluate(saysOf, 'assay-keys');
  for (const words of ['one number of every tensor', 'the histograms of one tensor in all layers', 'count from 0']) assert.ok(text.includes(words), words);
  await browser.press('Escape');
  assert.equal(await browser.page.getByRole('tab', { name: /Experts/ }).getAttribute('title'), 'this model has no experts');
  assert.doesNotMatch(await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('header').textContent), /⌘/);
});

test('of three models that are chosen two are open, in that order, and the third is named', async () => {
  const third = path.join(folder, 'third.safetensors');
  fs.copyFileSync(file, third);
  await browser.setFiles('header input[type=file]', [other, file, third]);
  await until(browser, () => document.querySelector('assay-root').app.notice !== null);
  assert.deepEqual(await app((a) => [a.model.label, a.other.label]), ['tuned.safetensors', 'planted.safetensors']);
  assert.match(await browser.evaluate(saysOf, 'assay-problem'), /not opened: third\.safetensors/);
  await browser.page.getByRole('button', { name: 'Compare them' }).click();
  await until(browser, () => document.querySelector('assay-root').app.view === 'compare' && document.querySelector('assay-root').app.notice === null);
});

test('who opens one file after another is offered to compare them, and nothing is read for that before', async () => {
  await open(file);
  assert.equal(await app((a) => a.notice), null, 'the built-in model is nothing to compare with');
  await until(browser, () => document.querySelector('assay-root').app.model.reports.has('doctor'));
  await browser.setFiles('header input[type=file]', [other]);
  await until(browser, () => document.querySelector('assay-root').app.model.label === 'tuned.safetensors' && document.querySelector('assay-root').app.notice !== null);
  assert.match(await browser.evaluate(saysOf, 'assay-problem'), /Before this, planted\.safetensors was open\. Compare with it Dismiss/);
  assert.deepEqual(await app((a) => [a.other, [...a.engine.models.values()].map(({ label }) => label)]), [null, ['tuned.safetensors']]);
  await accessible('the offer to compare');
  // Put away, it is still in Compare.
  await browser.page.getByRole('button', { name: 'Dismiss' }).click();
  await browser.evaluate(show, 'compare');
  await browser.page.getByRole('button', { name: 'Compare with planted.safetensors, open before' }).click();
  await until(browser, `() => /1 tensor changed, 27 identical/.test((${saysOf})('assay-compare'))`);
  assert.deepEqual(await app((a) => [a.model.label, a.other.label]), ['tuned.safetensors', 'planted.safetensors']);
  // The same file once more is no other one.
  await open(file);
  await browser.setFiles('header input[type=file]', [file]);
  await until(browser, () => document.querySelector('assay-root').app.opening === '' && document.querySelector('assay-root').app.before === null);
  assert.equal(await app((a) => a.notice), null);
});

/** Pixels of a canvas that are nearly of the colour of what is selected. */
const accented = (path) => {
  let node = document.querySelector('assay-root');
  const probe = document.createElement('span');
  probe.style.color = 'var(--focus)';
  document.body.append(probe);
  const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  for (const part of path) node = node.shadowRoot.querySelector(part);
  const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) n += Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 6 && data[i + 3] === 255 ? 1 : 0;
  return n;
};
test('the tensor that is selected is marked in Layers and Histograms', async () => {
  await open(file);
  for (const [view, tag] of [['matrix', 'assay-matrix'], ['ridge', 'assay-ridge']]) {
    await browser.evaluate(show, view);
    await browser.page.locator(`${tag} canvas`).waitFor();
    await until(browser, () => document.querySelector('assay-root').app.model.measured.state === 'exact' && document.querySelector('assay-root').app.jobs.length === 0);
    assert.doesNotMatch(await browser.evaluate(saysOf, tag), /selected: /);
    const before = await browser.evaluate(accented, [tag, 'canvas']);
    await browser.evaluate(choose, 'model.layers.4.self_attn.o_proj.weight', view);
    await until(browser, `(tag) => /selected: (layer )?4 · /.test((${saysOf})(tag))`, [tag]);
    await until(browser, `(path, before) => (${accented})(path) > before + 100`, [[tag, 'canvas'], before]);
    await app((a) => ((a.selection = null), a.changed()));
  }
  // Keys start there.
  await browser.evaluate(choose, 'model.layers.4.self_attn.o_proj.weight', 'matrix');
  await browser.page.locator('assay-matrix canvas').focus();
  await browser.press('ArrowDown');
  await until(browser, `() => /layer 5 · self_attn\\.o_proj/.test((${saysOf})('assay-matrix'))`);
});

test('each view is found where it was left', async () => {
  await open(file);
  await until(browser, () => document.querySelector('assay-root').app.model.reports.has('doctor'));
  for (const [width, height] of [[1280, 420], [390, 700]]) {
    await browser.page.setViewportSize({ width, height });
    const scroller = (to) => {
      const root = document.querySelector('assay-root');
      const one = getComputedStyle(root).overflowY === 'visible' ? document.scrollingElement : root.shadowRoot.querySelector('#view');
      if (to !== undefined) one.scrollTop = to;
      return one.scrollTop;
    };
    const at = () => browser.evaluate(scroller);
    await browser.evaluate(show, 'overview');
    await browser.page.waitForTimeout(100);
    await browser.evaluate(scroller, 320);
    await browser.evaluate(show, 'metadata');
    await browser.page.waitForTimeout(100);
    const first = await at();
    assert.ok(first < 200, `${width}: ${first}, a new view begins at its top`);
    await browser.evaluate(show, 'overview');
    await until(browser, `() => (${scroller})() === 320`, [], { what: `${width}: 320 again` });
    await browser.evaluate(show, 'findings');
    await browser.page.waitForTimeout(100);
    assert.ok((await at()) < 200);
  }
  await browser.page.setViewportSize({ width: 1280, height: 800 });
});

test('a filter that is said is understood, and one that finds nothing says how it is meant', async () => {
  await open(file);
  await app((a) => a.setFilter('layer 4'));
  assert.deepEqual(await app((a) => [...a.chosen].map((tensor) => a.model.names.names[a.model.names.order.indexOf(tensor)]).filter((name) => !name.startsWith('model.layers.4.'))), []);
  assert.equal(await app((a) => a.chosen.length), 5);
  await app((a) => a.setFilter('laier 4'));
  await until(browser, `() => /No tensor matches: words are parts of names\\. By number: layer:11, expert:3/.test((${saysOf})('assay-tree'))`);
  await app((a) => a.setFilter(''));
});

test('on a narrow page the view comes first; tensors and facts are a button away', async () => {
  await open(file);
  await browser.page.setViewportSize({ width: 800, height: 900 });
  const top = (tag) => browser.page.locator(tag).boundingBox().then((box) => box?.y ?? null);
  assert.ok((await top('assay-overview')) < 200);
  assert.equal(await top('assay-tree'), null);
  const heads = await browser.evaluate(() => [...document.querySelector('assay-root').shadowRoot.querySelectorAll('header > *')].map((part) => part.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2));
  assert.ok(Math.max(...heads) - Math.min(...heads) < 8, 'one line');
  await browser.page.getByRole('button', { name: /^. Tensors$/ }).click();
  await browser.page.locator('assay-tree').getByRole('row', { name: /v_proj/ }).click();
  await until(browser, () => document.querySelector('assay-root').app.view === 'tensor');
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tree').clientHeight === 0);
  await browser.page.getByRole('button', { name: /^. Facts/ }).click();
  assert.ok((await top('assay-facts')) < 200);
  await browser.page.setViewportSize({ width: 1280, height: 800 });
  assert.ok((await top('assay-tree')) !== null);
});

test('nothing of this was an error', () => assert.deepEqual(browser.errors, []));
