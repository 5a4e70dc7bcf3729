// SPDX-License-Identifier: Apache-2.0
// What somebody who has never seen the page tries first, in Chromium: keys at once, Enter, the wheel, a filter, and back again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from './driver.mjs';
import { begin, browser, choose, end, file, open, saysOf, show } from './stage.mjs';

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

test('nothing of this was an error', () => assert.deepEqual(browser.errors, []));
