// SPDX-License-Identifier: Apache-2.0
// First looks in Chromium: experts, findings and comparisons of a sample, marked as such, until all has been read; and when the core fails.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from './driver.mjs';
import { sparseExperts, sparseLayers } from './files.mjs';
import { accessible, begin, browser, end, folder, idle, open, says, saysOf, show } from './stage.mjs';

before(begin);
after(end);

const MIB = 2 ** 20;
const app = (fn, ...args) => browser.evaluate(`(...args) => (${fn})(document.querySelector('assay-root').app, ...args)`, ...args);
const button = (name) => browser.page.getByRole('button', { name }).first();
/** Cells that are hatched have more colours than there are values. */
const canvasColors = (tag, canvas) => {
  const node = document.querySelector('assay-root').shadowRoot.querySelector(tag).shadowRoot.querySelector(canvas);
  const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
  return new Set(new Uint32Array(data.buffer)).size;
};
/** As a defect of the core would end it, in the midst of what runs. */
const crash = (a) => a.engine.lanes.job.worker.onerror(new ErrorEvent('error', { message: 'planted' }));

async function crashes(verb, tag) {
  await button(new RegExp(`^${verb} all .* exactly`)).click();
  await until(browser, () => document.querySelector('assay-root').app.jobs.some(({ progress }) => progress !== null));
  await app(crash);
  const alert = browser.page.getByRole('alert');
  await alert.getByText(/started again/).waitFor();
  await until(browser, idle);
  // What was known is still shown, with a way to go on.
  await says(tag, new RegExp(`≈ from a sample.*${verb} all .* exactly`));
  await alert.getByRole('button', { name: 'Dismiss' }).click();
}

describe('experts', () => {
  before(() => open(sparseExperts(folder)));

  test('a first look starts by itself, reads little, and is marked', async () => {
    const before = await app((a) => a.bytesRead);
    await browser.evaluate(show, 'experts');
    await says('assay-experts', /≈ from a sample: 64 KiB of each MiB of an expert’s matrices\. Measure all 768(\.\d)? MiB exactly/);
    await until(browser, idle);
    const read = (await app((a) => a.bytesRead)) - before;
    assert.ok(read < 128 * MIB, `${read / MIB} MiB`);
    await says('assay-experts', /≈ 28 dead experts/);
    const { layers, exact } = await app((a) => a.model.looks.get('moe'));
    assert.deepEqual([exact, layers[0].exact, layers[0].identical.length], [false, false, 0]);
    assert.match(layers[0].each[0].dead, /as far as a sample shows/);
    await browser.page.locator('assay-experts canvas.all').focus();
    for (let i = 0; i < 5; ++i) await browser.press('ArrowRight');
    await says('assay-experts', /layer 0, expert 5 · L2 norm ≈ /);
    assert.ok((await browser.evaluate(canvasColors, 'assay-experts', 'canvas.all')) > 2);
    await accessible('experts of a sample');
  });
  test('the exact pass can be cancelled, and a crash leaves the first look', async () => {
    await button(/^Measure all .* exactly/).click();
    await button('Cancel').click();
    await until(browser, idle);
    await says('assay-experts', /≈ from a sample/);
    await crashes('Measure', 'assay-experts');
    browser.errors.splice(0);
  });
});

describe('findings', () => {
  before(() => open(sparseLayers(folder)));

  test('what is known at once, then a first look, marked where it rests on one', async () => {
    await browser.evaluate(show, 'findings');
    await says('assay-findings', /A first look, ≈ 3\d MiB \(.*\) Examine all 400 MiB exactly/);
    await button(/^A first look/).click();
    await says('assay-findings', /≈ from a sample: one MiB in sixteen of 10 large tensors/);
    await until(browser, idle);
    assert.equal(await app((a) => a.model.looks.get('doctor').exact), false);
    await accessible('findings of a sample');
  });
  test('a crash leaves it, and the exact checkup replaces it', async () => {
    await crashes('Examine', 'assay-findings');
    browser.errors.splice(0);
    await button(/^Examine all .* exactly/).click();
    await until(browser, () => document.querySelector('assay-root').app.model.reports.has('doctor'), [], { timeout: 120000 });
    const words = await browser.evaluate(saysOf, 'assay-findings');
    assert.ok(!/≈ (from a )?sample/.test(words), words);
    const { exact, findings } = await app((a) => a.model.reports.get('doctor'));
    assert.deepEqual([exact, findings.some(({ sampled }) => sampled)], [undefined, false]);
  });
});

describe('compare', () => {
  before(async () => {
    await open(sparseLayers(folder));
    fs.mkdirSync(path.join(folder, 'second'));
    const second = sparseLayers(path.join(folder, 'second'));
    // Twos where all else is zero, in the middle of the last layer, longer than what lies between two looks.
    const fd = fs.openSync(second, 'r+');
    fs.writeSync(fd, Buffer.from(Uint16Array.from({ length: 10 * MIB }, () => 0x4000).buffer), 0, 20 * MIB, fs.fstatSync(fd).size - 30 * MIB);
    fs.closeSync(fd);
    await browser.evaluate(show, 'compare');
    await browser.setFiles('assay-compare input[type=file]', [second]);
  });
  const diff = () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').diff;

  test('structure at once, then values of a sample, marked', async () => {
    await says('assay-compare', /≈ from a sample: one MiB in sixteen of large tensors.*Compare all 800 MiB exactly/);
    await until(browser, idle);
    const sampled = await browser.evaluate(diff);
    assert.deepEqual([sampled.exact, sampled.changed.map(({ name_a, exact }) => [name_a, exact]), sampled.identical], [false, [['layers.9.w', false]], 9]);
    await says('assay-compare', /≈ 1 tensor changed, 9 the same where they were looked at/);
    await accessible('compared in part');
  });
  test('a crash leaves it, and the exact comparison replaces it', async () => {
    await crashes('Compare', 'assay-compare');
    browser.errors.splice(0);
    await button(/^Compare all .* exactly/).click();
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').diff.exact === undefined, [], { timeout: 120000 });
    const exact = await browser.evaluate(diff);
    assert.deepEqual(exact.changed.map(({ name_a, changed_elements }) => [name_a, changed_elements]), [['layers.9.w', 10 * MIB]]);
    await says('assay-compare', /1 tensor changed, 9 identical/);
  });
});
