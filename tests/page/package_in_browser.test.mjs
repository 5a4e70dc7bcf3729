// SPDX-License-Identifier: Apache-2.0
// The npm package as a browser loads it: modules, the core beside them, a File that is read range by range.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './driver.mjs';

const dist = fileURLToPath(new URL('../../bindings/wasm/dist', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };

test('the five calls work in a page', async (t) => {
  const fetched = [];
  const server = http.createServer((request, response) => {
    fetched.push(path.basename(request.url));
    const file = path.join(dist, path.basename(request.url));
    const found = request.url !== '/' && fs.existsSync(file);
    response.writeHead(found || request.url === '/' ? 200 : 404, { 'content-type': TYPES[found ? path.extname(file) : '.html'] });
    response.end(found ? fs.readFileSync(file) : '<!doctype html><title>x</title>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await launch('chromium');
  t.after(async () => {
    await browser.close();
    server.close();
    server.closeAllConnections();
  });
  await browser.open(`http://127.0.0.1:${server.address().port}/`);
  const answer = await browser.evaluate(async () => {
    const { core, parseFile, runAsync, syntheticFile } = await import('/index.js');
    const file = new File([syntheticFile(core)], 'synthetic.safetensors');
    const model = await parseFile(file);
    const { values, stats } = await model.sample('lm_head.weight', 512 * 96);
    const grid = await model.gridOf(model.byName.get('lm_head.weight'), 16, 16);
    const early = core.isWhole;
    const feed = (need) => model.checkpoint.files.feed(need);
    const reports = [await runAsync(model.checkpoint.report('doctor'), feed), await runAsync(model.checkpoint.report('verify'), feed)];
    const buffer = parseFile(await file.arrayBuffer(), 'again');
    return {
      name: model.name,
      deferred: [early, core.isWhole],
      reports: reports.map(({ schema, complete }) => [schema, complete]),
      params: [model.totalParams, buffer.totalParams],
      moe: [model.moe.detected, model.moe.expertCount],
      sample: [values.length, stats.n, stats.zeros],
      grid: [grid.rows, grid.cols, grid.data.length, grid.amax === Math.max(...values.map(Math.abs))],
    };
  });
  assert.deepEqual(answer, {
    name: 'synthetic.safetensors',
    deferred: [false, true],
    reports: [['assay.doctor/1', true], ['assay.verify/1', true]],
    params: [1963872, 1963872],
    moe: [true, 8],
    sample: [49152, 49152, 0],
    grid: [16, 16, 256, true],
  });
  assert.equal(fetched.filter((name) => name === 'core.deferred.wasm').length, 1);
});
