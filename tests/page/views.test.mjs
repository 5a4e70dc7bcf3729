// SPDX-License-Identifier: Apache-2.0
// The views of tensors and layers in Chromium: what they show of models whose contents are known, by mouse and by keyboard.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from './driver.mjs';
import { accessible, begin, browser, choose, colorsOf, end, file, folder, open, opened, page, says, show, textOf } from './stage.mjs';

before(begin);
after(end);

describe('tensor', () => {
  const known = (part) => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.[part] != null;
  before(async () => {
    await browser.evaluate(choose, 'model.layers.2.self_attn.v_proj.weight');
    for (const part of ['overview', 'census', 'stats']) await until(browser, known, [part]);
  });

  test('shows the planted faults', async () => {
    const seen = await browser.evaluate(() => {
      const { look } = document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor');
      const { grid, rows, cols } = look.overview.picture;
      return { exact: grid.exact, nan: grid.nan, absmax: grid.absmax, dead: rows.dead, hot: cols.hot[0].index, counted: look.census.n, censusNan: look.census.nan, most: look.census.values.at(-1) };
    });
    assert.deepEqual(seen, { exact: true, nan: 1, absmax: 12.5, dead: [20], hot: 9, counted: 4096, censusNan: 1, most: 12.5 });
    assert.ok((await browser.evaluate(colorsOf, ['assay-tensor', 'canvas.picture'])) > 50);
    assert.match(await browser.evaluate(textOf, 'assay-tensor'), /1 dead row/);
  });

  test('the profiles beside the picture tell rows and columns, and lead to them', async () => {
    const box = await browser.page.locator('canvas.picture').boundingBox();
    const said = () => browser.evaluate(() => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').said);
    const x = box.x + 46 + (9.5 / 64) * (box.width - 46 - 34);
    await browser.page.mouse.move(x, box.y + 15);
    assert.match(await said(), /^column 9 · rms 1\.5\d+, 78\.\d times the median of columns · click shows it$/);
    await browser.page.mouse.click(x, box.y + 15);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.cursor?.col === 9);
    await browser.page.getByRole('button', { name: 'Fit' }).click();
    await browser.page.mouse.move(box.x + box.width - 10, box.y + 30 + (20.5 / 64) * (box.height - 30 - 20));
    assert.match(await said(), /^row 20 · rms 0, all zero/);
    await browser.evaluate(() => void (document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.cursor = null));
  });

  test('zooms by keys down to the bits of one number', async () => {
    await browser.page.locator('canvas.picture').focus();
    await browser.press('ArrowRight');
    for (let i = 0; i < 8; ++i) await browser.press('+');
    await until(browser, known, ['numbers']);
    await browser.press('ArrowLeft');
    await until(browser, () => /\[32, 32\] · .* F32 0x[0-9a-f]{8} = [01] [01]{8} [01]{23} · .*%ile · byte 0x/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').said));
    await browser.page.getByRole('button', { name: 'Table' }).click();
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelectorAll('td').length > 20);
    await accessible('zoomed in, with the table');
    await browser.press('0');
  });

  test('a range of values lights up its cells, an area has its histogram', async () => {
    await browser.evaluate(async () => {
      await document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.chooseRange({ from: 12, to: 13 });
    });
    const hits = await browser.evaluate(() => {
      const { hits } = document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.overview;
      return { sum: hits.reduce((a, b) => a + b), at: hits.indexOf(1) };
    });
    assert.deepEqual(hits, { sum: 1, at: 5 * 64 + 9 });
    const area = await browser.evaluate(async () => {
      const { look } = document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor');
      await look.chooseRange(null);
      await look.chooseArea({ row: 20, rows: 1, col: 3, cols: 10 });
      return { n: look.areaCensus.n, values: [...look.areaCensus.values] };
    });
    assert.deepEqual(area, { n: 10, values: [0] });
  });

  test('brushing by mouse on the histogram, and by typing', async () => {
    await browser.page.locator('assay-histogram canvas').scrollIntoViewIfNeeded();
    const box = await browser.page.locator('assay-histogram canvas').boundingBox();
    await browser.page.mouse.move(box.x + box.width * 0.6, box.y + 40);
    await browser.page.mouse.down();
    await browser.page.mouse.move(box.x + box.width * 0.7, box.y + 40, { steps: 4 });
    await browser.page.mouse.up();
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range !== null);
    await browser.page.getByLabel('values from').fill('12');
    await browser.press('Tab');
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range?.from === 12 || document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range?.to === 12);
    await accessible('brushed');
  });

  const look = (read) => browser.evaluate(`() => (${read})(document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look)`);
  test('a quantile is taken by its handle, and the picture shows its tail', async () => {
    await browser.evaluate(choose, 'model.layers.1.self_attn.q_proj.weight', 'tensor');
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look?.stats != null);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelector('assay-histogram').quantiles?.length > 0);
    const canvas = browser.page.locator('assay-histogram canvas');
    await canvas.scrollIntoViewIfNeeded();
    const at = await browser.evaluate(() => {
      const panel = document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelector('assay-histogram');
      const { edges } = panel.bins;
      const [, p99] = panel.quantiles.find(([label]) => label === 'p99');
      const width = panel.shadowRoot.querySelector('canvas').clientWidth - 46 - 12;
      return { p99, x: 46 + ((p99 - edges[0]) / (edges.at(-1) - edges[0])) * width };
    });
    const box = await canvas.boundingBox();
    await browser.page.mouse.move(box.x + at.x, box.y + 18);
    await browser.page.mouse.down();
    await browser.page.mouse.up();
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.overview.hits !== null);
    // 1 % of 4096 values, those equal to the quantile among them.
    const lit = await look(({ range, overview }) => ({ from: range.from, lit: overview.hits.reduce((a, b) => a + b) }));
    assert.equal(lit.from, at.p99);
    assert.ok(lit.lit >= 40 && lit.lit <= 43, String(lit.lit));
    await browser.page.mouse.move(box.x + at.x, box.y + 18);
    await browser.page.mouse.down();
    await browser.page.mouse.move(box.x + at.x - 40, box.y + 18, { steps: 4 });
    await browser.page.mouse.up();
    await until(browser, (from) => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range.from < from, [at.p99]);
    assert.ok((await look(({ overview }) => overview.hits?.reduce((a, b) => a + b) ?? 0)) > lit.lit || (await look(({ range }) => range.from)) < at.p99);
  });

  test('values are lit by name, and by magnitude on a log axis', async () => {
    await browser.page.getByLabel('mark in the picture').selectOption('highest 1 %');
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range?.magnitudes !== true && document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.overview.hits?.reduce((a, b) => a + b) < 50);
    await browser.page.getByLabel('scale of values').first().selectOption('log');
    await browser.page.locator('assay-histogram canvas').scrollIntoViewIfNeeded();
    const box = await browser.page.locator('assay-histogram canvas').boundingBox();
    await browser.page.mouse.move(box.x + box.width - 60, box.y + 60);
    await browser.page.mouse.down();
    await browser.page.mouse.move(box.x + box.width - 13, box.y + 60, { steps: 4 });
    await browser.page.mouse.up();
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.range?.magnitudes === true);
    await until(browser, () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').look.overview.hits !== null);
    const { range, census, hits } = await look(({ range, census, overview }) => ({ range, census: [[...census.values], [...census.counts]], hits: overview.hits.reduce((a, b) => a + b) }));
    // F32 is counted by leading bits, hits exactly: near, and both signs.
    const counted = census[0].reduce((sum, value, i) => sum + (Math.abs(value) >= range.from && Math.abs(value) <= range.to ? census[1][i] : 0), 0);
    assert.ok(hits > 0 && Math.abs(hits - counted) <= 0.3 * counted + 3, `${hits} lit, ${counted} counted`);
    await browser.page.getByLabel('scale of values').first().selectOption('linear');
    await browser.page.getByRole('button', { name: 'Clear' }).first().click();
  });

  test('other layers of the role and pinned tensors are drawn over it', async () => {
    const panel = () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor').shadowRoot.querySelector('assay-histogram');
    await until(browser, `() => (${panel})().overlays.peers((${panel})().look.tensor).length === 5`);
    await browser.page.getByRole('button', { name: 'Keep this curve' }).click();
    await browser.evaluate(choose, 'model.layers.1.self_attn.k_proj.weight', 'tensor');
    await until(browser, `() => (${panel})()?.scene(600)?.curves.filter(({ style }) => style === 0).length === 1`);
    const curves = await browser.evaluate(`() => (${panel})().scene(600).curves.map(({ total, style }) => [total, style])`);
    assert.ok(curves.every(([total]) => total === 4096 || total === 4095), JSON.stringify(curves));
    await accessible('with overlays');
    await browser.page.getByRole('button', { name: /^do not keep / }).click();
    await until(browser, () => document.querySelector('assay-root').app.model.pins.length === 0);
  });
});

describe('bytes', () => {
  before(() => browser.evaluate(choose, 'model.layers.2.self_attn.v_proj.weight', 'bytes'));
  const view = 'assay-bytes';

  test('accounts for every byte and shows values beside them', async () => {
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.page?.values.size > 0, [view]);
    const seen = await browser.evaluate(async (tag) => {
      const { page, map } = document.querySelector('assay-root').shadowRoot.querySelector(tag);
      const { app } = document.querySelector('assay-root');
      const { tensor } = app.selection;
      const first = await app.engine.call('values', { model: app.model.id, tensor: tensor.index, first: 0, n: 2 });
      return { at: page.offset === tensor.offset, whole: map.parts.reduce((sum, part) => sum + part.length, 0) === map.size, unowned: map.unowned, values: page.values.get(0), first: [...first] };
    }, view);
    assert.deepEqual(seen, { ...seen, at: true, whole: true, unowned: 0 });
    assert.deepEqual(seen.values.slice(0, 2), seen.first);
    await accessible('bytes');
  });

  test('goes from part to part by keys and by mouse', async () => {
    await browser.page.locator('assay-bytes canvas').focus();
    await browser.press('Home');
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag).offset === 0, [view]);
    const box = await browser.page.locator('assay-bytes canvas').boundingBox();
    await browser.page.mouse.click(box.x + box.width - 20, box.y + box.height - 10);
    await until(browser, () => document.querySelector('assay-root').app.selection.tensor.name.startsWith('model.layers.5.'));
  });
});

describe('members of a zip', () => {
  const panel = () => document.querySelector('assay-root').shadowRoot.querySelector('assay-bytes').shadowRoot.querySelector('assay-members');
  const text = `() => (${panel})()?.shadowRoot.textContent.replace(/\\s+/g, ' ') ?? ''`;
  const says = async (pattern) => {
    await until(browser, `(pattern) => new RegExp(pattern).test((${text})())`, [pattern]).catch(async (error) => {
      throw new Error(`${error.message}; it says: ${await browser.evaluate(text)}`);
    });
  };
  /** A torch file of which one byte in a storage was changed, or its check sum made unknown. */
  const changed = (name, change) => {
    const bytes = fs.readFileSync(fileURLToPath(new URL('../data/torch/tensor.pt', import.meta.url)));
    change(bytes);
    const file = path.join(folder, name);
    fs.writeFileSync(file, bytes);
    return file;
  };
  after(() => open(file));

  test('check sums are listed at once, and compared when asked for', async () => {
    await open(changed('damaged.pt', (bytes) => (bytes[704] ^= 1)));
    await browser.evaluate(show, 'bytes');
    await says('7 members; their bytes have not been compared');
    await says('tensor/data/0 not checked 30c8bc70');
    await browser.page.getByRole('button', { name: /^Check 7 members/ }).click();
    await says('1 member of 7 is damaged');
    await says('tensor/data/0 wrong: the bytes give [0-9a-f]{8}, not 30c8bc70');
    await accessible('members, one damaged');
    await browser.evaluate(show, 'findings');
    await until(browser, () => /crc-mismatch/.test(document.querySelector('assay-root').shadowRoot.querySelector('assay-findings')?.shadowRoot.textContent ?? ''));
  });

  test('a member without a check sum is said to be unknown, not right', async () => {
    await open(
      changed('unknown.pt', (bytes) => {
        // Its directory entry: the CRC is 16 bytes in.
        for (let at = 0; (at = bytes.indexOf('PK\x01\x02', at, 'latin1')) >= 0; at += 4) if (bytes.toString('latin1', at + 46, at + 59) === 'tensor/data/0') bytes.writeUInt32LE(0, at + 16);
      }),
    );
    await browser.evaluate(show, 'bytes');
    await says('1 member without a check sum');
    await browser.page.getByRole('button', { name: /^Check 6 members/ }).click();
    await says('6 members match. 1 member without a check sum');
    await says('tensor/data/0 unknown: none was stored');
  });
});

describe('layers', () => {
  before(async () => {
    await browser.evaluate(show, 'matrix');
    await until(browser, () => document.querySelector('assay-root').app.model.measured.state === 'exact');
  });

  test('the layer with the planted outlier stands out, and leads to its tensor', async () => {
    await until(browser, (tag) => /Stands out/.test(document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent ?? ''), ['assay-matrix']);
    await accessible('matrix');
    await browser.page.locator('assay-matrix canvas').focus();
    await browser.press('Home');
    await browser.press('PageDown');
    assert.match(await browser.evaluate(textOf, 'assay-matrix'), /layer 5 · k_norm/);
    assert.ok((await browser.evaluate(colorsOf, ['assay-matrix', 'canvas'])) > 20);
    await browser.page.getByRole('button', { name: 'layer 2 self_attn.v_proj' }).click();
    await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.2.self_attn.v_proj.weight' && document.querySelector('assay-root').app.view === 'tensor');
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.selection.peers.length), 6);
  });

  test('a range of values is counted in every layer of a role', async () => {
    await browser.evaluate(show, 'ridge');
    const view = 'assay-ridge';
    await until(browser, (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.censuses.size === 6, [view]);
    await browser.evaluate((tag) => {
      document.querySelector('assay-root').shadowRoot.querySelector(tag).range = { from: 1, to: 20 };
    }, view);
    await until(browser, (tag) => /from 1 to 20:\s*2 1\s*0 elsewhere/.test(document.querySelector('assay-root').shadowRoot.querySelector(tag).shadowRoot.textContent.replace(/\s+/g, ' ')), [view]);
    await browser.page.locator('assay-ridge canvas').focus();
    await browser.press('Home');
    for (let i = 0; i < 2; ++i) await browser.press('ArrowDown');
    assert.match(await browser.evaluate(textOf, view), /2 · 4\u2009096 values from .* to 12.5 · 1 NaN/);
    await accessible('ridge');
  });
});

test('every tensor of real writers can be looked at, whatever its dtype, strides and shape', async () => {
  const looked = [];
  for (const name of ['torch/dtypes.pt', 'torch/views.pt', 'torch/sparse.pt', 'torch/conj_neg.pt', 'torch/quantized.pt', 'torch/empties.pt', 'torch/deflated.pt', 'safetensors/values.safetensors']) {
    await browser.setFiles('header input[type=file]', [fileURLToPath(new URL(`../data/${name}`, import.meta.url))]);
    await until(browser, opened, [path.basename(name)]);
    looked.push(
      ...(await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        const look = () => document.querySelector('assay-root').shadowRoot.querySelector('assay-tensor')?.look;
        const seen = [];
        for (const index of app.model.names.order) {
          await app.select(index);
          app.show('tensor');
          const { tensor } = app.selection;
          if (!tensor.readable || tensor.numel === 0) continue;
          const end = performance.now() + 15000;
          while (!(look()?.tensor === tensor && look().overview !== null && look().census !== null) && app.problem === null && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
          const right = app.problem === null && look()?.census?.n === tensor.numel && look().overview.picture.grid.exact;
          seen.push(right ? tensor.dtype : `${app.model.label} ${tensor.name} ${tensor.dtype} ${tensor.shape}: ${app.problem?.text ?? 'not shown'}`);
          app.forgive();
        }
        return seen;
      })),
    );
  }
  assert.deepEqual(looked.filter((what) => what.includes(' ')), []);
  assert.ok(new Set(looked).size > 15, `only ${[...new Set(looked)]}`);
});

test('nothing of this was an error', () => assert.deepEqual(browser.errors, []));
