// SPDX-License-Identifier: Apache-2.0
// One verdict on a model in the page and in the program, in one order; and the way from a finding to the very value.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from './driver.mjs';
import { faulty, manyFaults, oneFault } from './files.mjs';
import { accessible, begin, browser, choose, end, file, folder, open, page, says, saysOf, show, shown } from './stage.mjs';

let faults;
before(async () => {
  await begin();
  faults = manyFaults(folder);
});
after(end);

const app = (fn, ...args) => browser.evaluate(`(...args) => (${fn})(document.querySelector('assay-root').app, ...args)`, ...args);
const examined = () => until(browser, () => document.querySelector('assay-root').app.model.reports.has('doctor'));
const look = (read) => browser.evaluate(`() => (${read})(document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look)`);
const legend = () => browser.page.locator('assay-tensor canvas.legend').getAttribute('aria-label');
/** Messages of the findings, as the view lists them. */
const listed = () => {
  const view = document.querySelector('assay-root').shadowRoot.querySelector('assay-findings').shadowRoot;
  return [...view.querySelectorAll('.finding:not(.unlike)')].map((one) => one.querySelector('span:nth-child(2)').firstChild.parentNode.textContent.trim());
};

test('the program and the page say the same of a file, and in one order', async (t) => {
  if (!process.env.ASSAY) return t.skip('ASSAY does not name the program');
  const program = path.resolve(fileURLToPath(new URL('../..', import.meta.url)), process.env.ASSAY);
  const synthetic = path.join(folder, 'synth.safetensors');
  spawnSync(program, ['synth', synthetic]);
  const cut = path.join(folder, 'cut.safetensors');
  fs.writeFileSync(cut, fs.readFileSync(file).subarray(0, 200_000));
  const torch = fileURLToPath(new URL('../data/torch/train.pt', import.meta.url));
  for (const name of [synthetic, file, faults, faulty(folder), oneFault(folder, 'none'), oneFault(folder, 'copy'), torch, cut]) {
    const { stdout, status } = spawnSync(program, ['doctor', name, '--json'], { encoding: 'utf8' });
    const { findings, healthy } = JSON.parse(stdout);
    const printed = spawnSync(program, ['doctor', name, '--width', '0', '--color', 'never'], { encoding: 'utf8' }).stdout;
    await open(name);
    await examined();
    await browser.evaluate(show, 'findings');
    await browser.page.locator('assay-findings').getByText(/values were examined/).waitFor();
    const messages = await browser.evaluate(listed);
    assert.equal(messages.length, findings.length, name);
    // The program prints the first eight of a kind, in the same order.
    const places = messages.map((text) => findings.find(({ message }) => text.startsWith(message))?.message).map((message) => printed.indexOf(`  ${message}\n`)).filter((at) => at >= 0);
    assert.ok(places.length > 0 || messages.length === 0, name);
    assert.deepEqual(places, [...places].sort((a, b) => a - b), `${name}: ${printed}`);
    assert.equal(/Healthy: all values were examined\./.test(await browser.evaluate(saysOf, 'assay-findings')), healthy, name);
    // What is cut cannot be answered fully.
    assert.equal(status, healthy ? 0 : name === cut ? 2 : 1, name);
  }
});

test('the built-in model is healthy, and what is unlike in it is no warning', async () => {
  await browser.open(page);
  await until(browser, shown);
  await says('assay-overview', /What stands out Healthy: all values were examined\. Unlike the other layers, which is no fault by itself layer 1, expert \d: \S+ has 4\.7 times the usual largest magnitude/);
  assert.equal(await browser.page.locator('assay-overview .warning-line').count(), 0);
  await accessible('what is unlike');
});

test('few values far out and a wide norm are no findings; NaN comes before a spread', async () => {
  await open(faults);
  await examined();
  await browser.evaluate(show, 'findings');
  await says('assay-findings', /6 findings to look at\. All values were examined\. warning 'h\.2\.v\.weight' has 1 NaN .* warning 'h\.6\.v\.weight' has 1 infinity .* 'h\.9\.k\.weight' is all 0.* 'h\.3\.k\.weight' has 1 of 48 rows .* all 3 weights of 'h\.4' have another standard deviation .*'h\.7\.q\.weight' has a standard deviation .*a few values far out make it so, of up to 9 .*Unlike the other layers, which is no fault by itself .*layer 8: q has \d\.\d times the usual largest magnitude/);
  // Severity and advice stand once at each kind.
  assert.equal((await browser.evaluate(saysOf, 'assay-findings')).match(/scaled twice, not dequantised/g).length - 1, 0);
  await accessible('findings in order');
});

test('a finding of a NaN leads to it, and it stays pinned', async () => {
  await browser.page.locator('assay-findings').getByRole('button', { name: 'h.2.v.weight' }).click();
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.cursor != null);
  assert.deepEqual(await look(({ cursor }) => cursor), { row: 7, col: 11 });
  await says('assay-tensor', /\[7, 11\] · NaN F32 0x7fc00000/);
  assert.ok(await look(({ view }) => view.rows < 12 && view.row <= 7 && view.row + view.rows > 7), 'zoomed to it');
  await until(browser, () => /r=\d/.test(location.hash));
  const box = await browser.page.locator('assay-tensor canvas.picture').boundingBox();
  await browser.page.mouse.move(box.x + 100, box.y + 60);
  await until(browser, () => !/NaN/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').said));
  await browser.page.mouse.move(box.x + 100, box.y - 40);
  await says('assay-tensor', /pinned: \[7, 11\] · NaN F32/);
  await accessible('a pinned value');
});

test('also from beside the tensor, where all of it is seen again', async () => {
  await browser.page.getByRole('button', { name: 'Fit' }).click();
  await browser.page.locator('assay-facts').getByRole('button', { name: 'show' }).click();
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.view.rows < 12);
  assert.deepEqual(await look(({ cursor }) => cursor), { row: 7, col: 11 });
});

test('the picture is in sight, also where the view was scrolled past it', async () => {
  await browser.page.setViewportSize({ width: 1280, height: 500 });
  const scrolled = () => browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop);
  await browser.evaluate(() => (document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop = 400));
  assert.ok((await scrolled()) > 250);
  await browser.evaluate(show, 'findings');
  await browser.page.locator('assay-findings').getByRole('button', { name: 'h.2.v.weight' }).click();
  await says('assay-tensor', /\[7, 11\] · NaN F32/);
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('#view').scrollTop < 200);
  await browser.page.setViewportSize({ width: 1280, height: 800 });
});

test('before the checkup has told where, a NaN is found in the picture', async () => {
  await app((a) => a.lookAt(a.selection.tensor.index, { marks: 7 }));
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.cursor != null);
  assert.deepEqual(await look(({ cursor }) => cursor), { row: 7, col: 11 });
  // What is not there is not found, and nobody is led astray.
  await app((a) => a.lookAt(a.selection.tensor.index, { marks: 6 }));
  await says('assay-tensor', /what the finding is about is not in the sample that is shown/);
});

test('the legend names what is there only: NaN, infinities of one sign, neither', async () => {
  assert.match(await legend(), /NaN: 1; no Inf$/);
  await browser.evaluate(choose, 'h.6.v.weight');
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look?.overview != null);
  assert.match(await legend(), /\+Inf: 1; no NaN$/);
  assert.doesNotMatch(await legend(), /−Inf/);
  await browser.evaluate(choose, 'h.1.v.weight');
  await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look?.overview != null);
  assert.match(await legend(), /; no NaN or Inf$/);
});

test('of a tensor of zeros it is said once', async () => {
  await browser.evaluate(choose, 'h.9.k.weight');
  await says('assay-tensor', /all values are 0/);
  assert.doesNotMatch(await browser.evaluate(saysOf, 'assay-tensor'), /dead (row|column)/);
  await says('assay-facts', /Findings warning 'h\.9\.k\.weight' is all 0/);
  assert.equal((await browser.evaluate(saysOf, 'assay-facts')).match(/warning/g).length, 1);
});

test('nothing of this was an error', () => assert.deepEqual(browser.errors, []));
