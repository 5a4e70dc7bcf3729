// SPDX-License-Identifier: Apache-2.0
// The views of the page in Chromium: what they show of models whose contents are known, by mouse and by keyboard.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { faulty, planted, sparseLayers, tuned } from './files.mjs';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const page = pathToFileURL(fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url))).href;
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let browser, folder, file, other;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-views-'));
  other = tuned(folder);
  file = planted(folder);
  browser = await launch('chromium');
  await browser.page.context().addInitScript(axe);
  await open(file);
});
after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

// --- functions for the page, sent as text

const shown = () => performance.getEntriesByName('assay-shown').length > 0;
const opened = (label) => document.querySelector('assay-root').app.model?.label === label;
const choose = async (name, view) => {
  const { app } = document.querySelector('assay-root');
  await app.select(await app.engine.call('find', { model: app.model.id, name }));
  if (view !== undefined) app.show(view);
};
const show = (view) => document.querySelector('assay-root').app.show(view);
const textOf = (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent ?? '';
const idle = () => document.querySelector('assay-root').app.jobs.length === 0;
/** How many different colours a canvas of a view has. */
const colorsOf = (path) => {
  let node = document.querySelector('assay-root');
  for (const part of path) node = node.shadowRoot.querySelector(part);
  const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
  return new Set(new Uint32Array(data.buffer)).size;
};

async function open(name) {
  await browser.open(page);
  await until(browser, shown);
  await browser.setFiles('header input[type=file]', [name]);
  await until(browser, opened, [path.basename(name)]);
}
/** Nothing serious may be found in what is shown. */
async function accessible(what) {
  const found = await browser.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary ?? ''}`);
  });
  assert.deepEqual(found, [], what);
}

/** What a view says, in one line. */
const saysOf = (tag) => document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.textContent.replace(/\s+/g, ' ').trim() ?? '';
async function says(tag, pattern) {
  await until(browser, `(tag, pattern) => new RegExp(pattern).test((${saysOf})(tag))`, [tag, pattern.source]).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await browser.evaluate(saysOf, tag)}`);
  });
}

describe('overview', () => {
  test('names the layer that is odd in structure and the ones that are odd in values, unasked', async () => {
    await says('assay-overview', /What stands out model\.layers ×6\.k_norm not in 3 layer 2 self_attn\.v_proj holds 1 NaN One NaN spreads/);
    await says('assay-overview', /layer 2 self_attn\.v_proj has [\d.]+ times the usual (standard deviation|largest magnitude)/);
    await accessible('overview with what stands out');
    await browser.page.getByRole('button', { name: 'layer 2' }).first().click();
    await until(browser, () => document.querySelector('assay-root').app.selection?.tensor.name === 'model.layers.2.self_attn.v_proj.weight' && document.querySelector('assay-root').app.view === 'tensor');
    // It stands beside the others of its role.
    assert.equal(await browser.evaluate(() => document.querySelector('assay-root').app.selection.peers.length), 6);
  });
  test('a layer scaled as a whole, one of another dtype and a dead expert are each one line', async () => {
    await open(faulty(folder));
    await says('assay-overview', /model\.layers\.6 F32, not BF16/);
    await says('assay-overview', /model\.layers\.4 all 3 of its tensors stand out: \S+ has 4(\.\d)? times the usual standard deviation/);
    await says('assay-overview', /moe\.2, expert 1 \S+ is all zero/);
    await open(file);
  });
});

describe('a model of which only a sample is read by itself', () => {
  // 10 layers of 40 MiB that cost nothing on disk: zeros, but for a layer of ones where the sample looks.
  before(() => open(sparseLayers(folder)));
  after(() => open(file));
  const bytesRead = () => document.querySelector('assay-root').app.bytesRead;

  test('the first look is marked, and says how to be exact', async () => {
    await says('assay-overview', /layer 3 w is ≈ all zero|≈ from a sample/);
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
    await browser.page.getByLabel('light up in the picture').selectOption('highest 1 %');
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
    await browser.page.getByRole('button', { name: 'Pin', exact: true }).click();
    await browser.evaluate(choose, 'model.layers.1.self_attn.k_proj.weight', 'tensor');
    await until(browser, `() => (${panel})()?.scene(600)?.curves.filter(({ style }) => style === 0).length === 1`);
    const curves = await browser.evaluate(`() => (${panel})().scene(600).curves.map(({ total, style }) => [total, style])`);
    assert.ok(curves.every(([total]) => total === 4096 || total === 4095), JSON.stringify(curves));
    await accessible('with overlays');
    await browser.page.getByRole('button', { name: /^unpin/ }).click();
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
    for (let i = 0; i < 3; ++i) await browser.press('ArrowDown');
    assert.match(await browser.evaluate(textOf, view), /2 · 4\u2009096 values from .* to 12.5 · 1 NaN/);
    await accessible('ridge');
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
          const end = performance.now() + 5000;
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
