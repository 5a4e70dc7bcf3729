// SPDX-License-Identifier: Apache-2.0
// What the page says of whole models in Chromium: the first look, comparing, experts, links, exports.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { until } from './driver.mjs';
import { faulty, oneFault, sparseLayers } from './files.mjs';
import { accessible, begin, browser, choose, end, file, folder, open, other, page, says, saysOf, show, shown, textOf } from './stage.mjs';

before(begin);
after(end);

describe('overview', () => {
  test('names the layer that is odd in structure and the ones that are odd in values, unasked', async () => {
    await says('assay-overview', /What stands out warning 'model\.layers\.2\.self_attn\.v_proj\.weight' has 1 NaN among its 4096 values, the first at \[7, 0\]/);
    await says('assay-overview', /warning 'model\.layers\.3' has no 'k_norm\.weight'/);
    await says('assay-overview', /has 1 of 64 rows that is all 0: 20/);
    await accessible('overview with what stands out');
    await browser.page.getByRole('button', { name: 'model.layers.2.self_attn.v_proj.weight' }).first().click();
    await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.2.self_attn.v_proj.weight' && document.querySelector('assay-root').app.view === 'tensor');
    // It stands beside the others of its role.
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.selection.peers.length), 6);
  });
  test('a layer scaled as a whole, one of another dtype and a dead expert are each one line', async () => {
    await open(faulty(folder));
    await says('assay-overview', /'model\.layers\.6' is F32 in 3 tensors that are BF16 in the layers beside it/);
    await says('assay-overview', /all 3 weights of 'model\.layers\.4' have another standard deviation than in the layers around it/);
    await says('assay-overview', /'moe\.2\.experts\.1\.w' is all 0/);
    await open(file);
  });
  const counted = (tag) => browser.evaluate(`() => (${saysOf})('${tag}').match(/(\\d+) findings? to look at/)?.[1] ?? 'none'`);
  test('findings and overview say the same, of rows of zeros, of a copied layer, and of what is only unlike', async () => {
    for (const [name, pattern, count] of [
      [oneFault(folder, 'rows'), /'model\.layers\.9\.w\.weight' has 16 of 32 rows that are all 0: 0-15/, '1'],
      [oneFault(folder, 'copy'), /'model\.layers\.8' holds the same values as 'model\.layers\.7' in all its 2 tensors/, '1'],
      [oneFault(folder, 'wide'), /'model\.layers\.5\.w\.weight' has a standard deviation of 0\.05\d+, the layers around it/, '1'],
      [oneFault(folder, 'none'), /Healthy: all values were examined\./, 'none'],
    ]) {
      await open(name);
      await says('assay-overview', pattern);
      await says('assay-overview', /ll values were examined/);
      assert.equal(await counted('assay-overview'), count);
      await browser.evaluate(show, 'findings');
      await says('assay-findings', pattern);
      assert.equal(await counted('assay-findings'), count);
      assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.model.reports.has('doctor')), true, 'examined unasked');
      await accessible('findings');
    }
    // What stands out is said beside the tensor too, in the same words.
    await open(path.join(folder, 'wide.safetensors'));
    await browser.evaluate(show, 'matrix');
    await says('assay-matrix', /Stands out by standard deviation layer 5 w /);
    await browser.evaluate(choose, 'model.layers.5.w.weight', 'tensor');
    await says('assay-facts', /Findings warning 'model\.layers\.5\.w\.weight' has a standard deviation/);
    // Both layers of a copy are a click away.
    await open(path.join(folder, 'copy.safetensors'));
    await says('assay-overview', /holds the same values/);
    await browser.page.getByRole('button', { name: 'model.layers.7', exact: true }).click();
    await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name.startsWith('model.layers.7.') && document.querySelector('assay-root').app.view === 'tensor');
    await open(file);
    // Layers names what is wrong whatever it is coloured by.
    await browser.evaluate(show, 'matrix');
    await says('assay-matrix', /Stands out by standard deviation layer 2 self_attn\.v_proj .* has 1 NaN among its 4096 values/);
    await open(path.join(folder, 'rows.safetensors'));
    await browser.evaluate(show, 'matrix');
    await browser.page.getByLabel('statistic').selectOption('absmax');
    await says('assay-matrix', /Wrong by another measure layer 9 w '\S+' has 16 of 32 rows/);
    await accessible('matrix with findings');
    await browser.page.getByLabel('statistic').selectOption('std');
    await open(file);
    await browser.evaluate(show, 'overview');
  });
});

describe('code', () => {
  after(() => open(file));
  // Protocol 0: posix.system('echo x') where it is loaded; nothing of it runs here.
  const evil = "cposix\nsystem\n(S'echo x'\ntR.";
  test('what would run is said beside what the file holds', async () => {
    await says('assay-overview', /It holds no code: nothing would run/);
    const name = path.join(folder, 'evil.pkl');
    fs.writeFileSync(name, evil);
    await open(name);
    await says('assay-overview', /Dangerous code would run if it were loaded would call posix\.system\('echo x'\)/);
    await accessible('a dangerous file');
    await browser.page.getByRole('button', { name: 'Where' }).click();
    await says('assay-scan', /would call posix\.system\('echo x'\) at byte/);
  });
  test('also of what cannot be opened', async () => {
    const name = path.join(folder, 'broken.safetensors');
    // No checkpoint of any kind: a gzip of it.
    fs.writeFileSync(name, zlib.gzipSync(evil));
    await browser.setFiles('header input[type=file]', [name]);
    const problem = await until(browser, () => document.querySelector('assay-root').app.opening === '' && document.querySelector('assay-root').app.problem);
    assert.match(problem.text, /Dangerous code would run if it were loaded: would call posix\.system\('echo x'\)\.$/);
    assert.match(problem.hint, /do not load it/);
  });
});

describe('a model of which only a sample is read by itself', () => {
  // 10 layers of 40 MiB that cost nothing on disk: zeros, but for a layer of ones where the sample looks.
  before(() => open(sparseLayers(folder)));
  after(() => open(file));
  const bytesRead = () => document.querySelector('assay-root').app.bytesRead;

  test('the first look is marked, and says how to be exact', async () => {
    await says('assay-overview', /≈ from a sample \(one MiB in sixteen of large tensors\): 10 tensors compared .*not looked at yet/);
    await browser.page.getByRole('button', { name: /^Examine all 400 MiB exactly \(about/ }).waitFor();
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('assay-overview').shadowRoot.querySelectorAll('.good').length), 1, 'what was not looked at is not called fine: only that there is no code');
    assert.ok((await browser.evaluate(bytesRead)) < 64 * 2 ** 20, 'far less than the 400 MiB of the file');
    await browser.evaluate(show, 'matrix');
    await says('assay-matrix', /≈ from a sample: one MiB in sixteen/);
    await accessible('sampled matrix');
    await browser.evaluate(show, 'ridge');
    await says('assay-ridge', /≈ 10 tensors counted in part/);
    await accessible('sampled ridge');
    assert.ok((await browser.evaluate(bytesRead)) < 128 * 2 ** 20);
  });
  test('the exact pass replaces it, and can be cancelled', async () => {
    await browser.evaluate(show, 'matrix');
    await browser.page.getByRole('button', { name: /^Measure all .* exactly/ }).click();
    await browser.page.getByRole('button', { name: 'Cancel', exact: true }).first().click();
    await says('assay-matrix', /≈ from a sample/);
    await browser.page.getByRole('button', { name: /^Measure all .* exactly/ }).click();
    await until(browser, () => document.querySelector('assay-root').app.model.measured.state === 'exact', [], { timeout: 60000 });
    assert.ok(!/≈/.test(await browser.evaluate(saysOf, 'assay-matrix')));
  });
});

describe('compare', () => {
  const view = 'assay-compare';
  const part = (tag, key) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.[key];

  test('asks for a second file, and names what changed', async () => {
    await browser.evaluate(show, 'compare');
    await until(browser, (tag) => /second checkpoint/.test(document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent ?? ''), [view]);
    await accessible('nothing to compare with');
    await browser.setFiles('assay-compare input[type=file]', [other]);
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).pair?.parts.length === 1, [view]);
    const seen = await browser.evaluate((tag) => {
      const { diff, pair } = document.querySelector('assay-root').shadowRoot.querySelector(tag);
      const { grid } = pair.parts[0].pictures.delta;
      return { a: diff.only_a, b: diff.only_b, changed: diff.changed.map((row) => row.name_a), identical: diff.identical, absmax: grid.absmax, cells: grid.data.filter((value) => value !== 0).length, exact: grid.exact };
    }, view);
    assert.ok(Math.abs(seen.absmax - 0.25) < 1e-6);
    assert.deepEqual(seen, { ...seen, a: ['model.layers.0.k_norm.weight'], b: ['model.extra'], changed: ['model.layers.4.self_attn.q_proj.weight'], identical: 27, cells: 16 * 24, exact: true });
    await accessible('compared');
  });

  test('flickers by key', async () => {
    await browser.page.locator('assay-compare canvas.picture').focus();
    assert.equal(await browser.evaluate(part, view, 'mode'), 'delta');
    const modes = [];
    for (const key of ['b', 'b', 'd']) {
      await browser.press(key);
      modes.push(await browser.evaluate(part, view, 'mode'));
    }
    assert.deepEqual(modes, ['a', 'b', 'delta']);
    await browser.press('+');
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).view.rows < 64, [view]);
  });
});

describe('compare and the rest of the page', () => {
  const view = 'assay-compare';
  const shownRow = () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair?.row.name_a;
  before(async () => {
    await open(file);
    await browser.evaluate(choose, 'model.layers.0.self_attn.k_proj.weight', 'compare');
    await browser.setFiles('assay-compare input[type=file]', [other]);
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).pair?.parts.length === 1, [view]);
  });
  after(() => open(file));

  test('the tensor that is compared is the one that is selected', async () => {
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.selection.tensor.name), 'model.layers.4.self_attn.q_proj.weight');
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.view), 'compare');
    await browser.evaluate(choose, 'model.layers.1.self_attn.q_proj.weight');
    await says(view, /model\.layers\.1\.self_attn\.q_proj\.weight is the same in both\. The picture stands for both\./);
    await until(browser, (row) => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair?.row.name_a === row && document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair.parts.length === 1, ['model.layers.1.self_attn.q_proj.weight']);
    // Its own picture, and nothing of the one before.
    const shown = () => browser.evaluate(() => {
      const { pair, mode } = document.querySelector('assay-root').shadowRoot.querySelector('assay-compare');
      return [mode, Object.keys(pair.parts[0].pictures).join(), pair.parts[0].pictures.a.grid.sourceRows];
    });
    assert.deepEqual(await shown(), ['a', 'a', 64]);
    assert.equal(await browser.page.locator(view).getByRole('button', { name: 'B', exact: true }).isDisabled(), true);
    assert.equal(await browser.page.locator(`${view} tr.on`).count(), 0);
    await accessible('the same in both');
    await browser.evaluate(choose, 'model.layers.0.k_norm.weight');
    await says(view, /model\.layers\.0\.k_norm\.weight is in A only\. The picture is that of A\./);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair?.parts[0]?.pictures.a?.grid.sourceRows === 1);
    assert.deepEqual(await shown(), ['a', 'a', 1]);
    await browser.evaluate(choose, 'model.layers.4.self_attn.q_proj.weight');
    await until(browser, shownRow);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-compare').pair?.parts[0]?.pictures.delta !== undefined);
    assert.equal((await shown())[0], 'delta');
  });
  test('what is identical is named, a rank that is not low is not, and nothing is cut off', async () => {
    const text = await browser.evaluate(saysOf, view);
    assert.match(text, /1 tensor changed, 27 identical JSON/);
    assert.match(text, /27 tensors identical in both/);
    assert.doesNotMatch(text, /null|not related/);
    const [inner, outer] = await browser.evaluate((tag) => {
      const box = document.querySelector('assay-root').shadowRoot.querySelector(tag).shadowRoot.querySelector('.scroll');
      return [box.scrollWidth, box.clientWidth];
    }, view);
    assert.ok(inner <= outer, `${inner} of ${outer}`);
  });
  test('A and B are swapped', async () => {
    await browser.page.getByRole('button', { name: 'Swap A and B' }).click();
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).pair?.parts.length === 1, [view]);
    const diff = await browser.evaluate((tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).diff, view);
    assert.deepEqual([diff.only_a, diff.only_b], [['model.extra'], ['model.layers.0.k_norm.weight']]);
    await says('assay-compare', /A tuned\.safetensors B planted\.safetensors/);
    const download = browser.page.waitForEvent('download');
    await browser.page.locator(view).getByRole('button', { name: 'CSV' }).click();
    assert.equal((await download).suggestedFilename(), 'planted.safetensors-vs-tuned.safetensors.diff.csv');
  });
});

describe('experts', () => {
  test('a model without any says so', async () => {
    await browser.evaluate(show, 'experts');
    await until(browser, (tag) => /no mixture of experts/.test(document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent ?? ''), ['assay-experts']);
  });

  test('the pairs of the built-in model are found', async () => {
    await browser.open(page);
    await until(browser, shown);
    await browser.evaluate(show, 'experts');
    await until(browser, () => document.querySelector('assay-root').app.model.reports.has('moe'));
    await until(browser, (tag) => /16 similar pairs/.test(document.querySelector('assay-root').shadowRoot.querySelector(tag).shadowRoot.textContent), ['assay-experts']);
    await browser.page.locator('assay-experts canvas.all').focus();
    await browser.press('ArrowRight');
    assert.match(await browser.evaluate(textOf, 'assay-experts'), /layer 0, expert 1 · L2 norm .* like 5 \(cosine 0\.98/);
    await accessible('experts');
    await browser.press('Enter');
    await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.0.block_sparse_moe.experts.1.w1.weight');
  });
});

describe('links', () => {
  before(() => open(file));

  test('a link leads back to tensor, view, filter and place, and holds no value', async () => {
    await browser.evaluate(choose, 'model.layers.2.self_attn.v_proj.weight', 'tensor');
    await browser.evaluate(() => document.querySelector('assay-root').app.setFilter('layer:2'));
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.overview != null);
    await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.move({ row: 4, col: 8, rows: 20, cols: 16 }));
    await until(browser, () => location.hash.includes('r=4%2C8%2C20%2C16'));
    const link = await browser.evaluate(() => location.hash);
    assert.deepEqual([...new URLSearchParams(link.slice(1)).keys()], ['f', 'sz', 'h', 't', 'v', 'q', 'r']);
    await browser.open('about:blank');
    await browser.open(page + link);
    await until(browser, shown);
    await browser.setFiles('header input[type=file]', [file]);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.view.rows === 20);
    const { app } = await browser.evaluate(() => {
      const { selection, view, filter, wanted, problem } = document.querySelector('assay-root').app;
      return { app: [selection.tensor.name, view, filter, wanted, problem] };
    });
    assert.deepEqual(app, ['model.layers.2.self_attn.v_proj.weight', 'tensor', 'layer:2', null, null]);
  });

  test('another file of the same name is told from it', async () => {
    const link = await browser.evaluate(() => location.hash.replace(/h=[0-9a-f]{8}/, 'h=00000000'));
    await browser.open('about:blank');
    await browser.open(page + link);
    await until(browser, shown);
    await browser.setFiles('header input[type=file]', [file]);
    await until(browser, () => document.querySelector('assay-root').app.problem?.code === 'another-file');
    await browser.evaluate(() => document.querySelector('assay-root').app.forgive());
  });
});

describe('exports', () => {
  async function download(press) {
    const [found] = await Promise.all([browser.page.waitForEvent('download'), press()]);
    return { name: found.suggestedFilename(), bytes: fs.readFileSync(await found.path()) };
  }
  before(async () => {
    await browser.evaluate(choose, 'model.layers.2.self_attn.v_proj.weight', 'tensor');
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.census != null);
  });

  test('.npy holds the tensor byte for byte', async () => {
    const { name, bytes } = await download(() => browser.page.getByRole('button', { name: '.npy' }).click());
    assert.equal(name, 'model.layers.2.self_attn.v_proj.weight.npy');
    const head = 10 + bytes.readUInt16LE(8);
    assert.match(bytes.subarray(10, head).toString('latin1'), /'descr': '<f4', 'fortran_order': False, 'shape': \(64, 64\)/);
    assert.equal(bytes.length, head + 4 * 64 * 64);
    assert.equal(bytes.readFloatLE(head + 4 * (5 * 64 + 9)), 12.5);
  });

  test('a picture is a PNG at twice its size, a histogram a table of its values', async () => {
    const png = await download(() => browser.page.locator('assay-tensor').getByRole('button', { name: 'PNG' }).first().click());
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    const width = await browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelector('canvas').clientWidth);
    assert.equal(png.bytes.readUInt32BE(16), 2 * width);
    const csv = (await download(() => browser.page.getByRole('button', { name: 'CSV' }).click())).bytes.toString().trim().split('\r\n');
    assert.equal(csv[0], 'value,count');
    assert.equal(csv.slice(1).reduce((sum, line) => sum + Number(line.split(',')[1]), 0), 4095); // one is NaN
  });

  test('tables of the palette', async () => {
    const saved = async (title) => {
      await browser.press('Control+k');
      await browser.page.keyboard.type(title);
      return download(() => browser.press('Enter'));
    };
    const tensors = (await saved('list of tensors as CSV')).bytes.toString().trim().split('\r\n');
    assert.equal(tensors.length, 1 + 29);
    assert.match(tensors[0], /^name,dtype,shape/);
    const stats = JSON.parse((await saved('statistics of all tensors as JSON')).bytes.toString());
    assert.equal(stats.tensors.find((row) => row.name === 'model.layers.2.self_attn.v_proj.weight').absmax, 12.5);
  });
});

test('nothing of this was an error', () => assert.deepEqual(browser.errors, []));
