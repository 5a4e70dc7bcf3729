// SPDX-License-Identifier: Apache-2.0
// What must work in every engine, from a server and from a disk. ASSAY_BROWSER names the engine.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { planted, safetensors, shards, sparse } from './files.mjs';

const engine = process.env.ASSAY_BROWSER ?? 'chromium';
const page = fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url));
const data = fileURLToPath(new URL('../data', import.meta.url));
const FILES = 'header input[type=file]';

// Functions for the page: they are sent as text.
const shown = () => performance.getEntriesByName('assay-shown').length > 0;
const state = () => {
  const { app } = document.querySelector('assay-root');
  return {
    label: app.model?.label,
    format: app.model?.format,
    tensors: app.model?.tensorCount,
    problem: app.problem,
    read: app.engine.bytesRead,
    mode: app.engine.mode,
    opening: app.opening,
  };
};
const settled = (label) => {
  const { app } = document.querySelector('assay-root');
  return app.opening === '' && (app.model?.label === label || app.problem !== null);
};

let browser, server, listener, folder;
let requests = [];
let connections = 0;
const address = (s) => `http://127.0.0.1:${s.address().port}`;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-page-'));
  server = http.createServer((request, response) => {
    requests.push(request.url);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(request.url === '/assay.html' ? fs.readFileSync(page) : '');
  });
  // Somebody who listens: any byte that leaves the page would arrive here.
  listener = net.createServer((socket) => {
    ++connections;
    socket.destroy();
  });
  for (const one of [server, listener]) await new Promise((resolve) => one.listen(0, '127.0.0.1', resolve));
  browser = await launch(engine);
});
after(async () => {
  await browser?.close();
  server?.close();
  server?.closeAllConnections();
  listener?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

async function open(files, label = path.basename(files[0])) {
  await browser.setFiles(FILES, files);
  await until(browser, settled, [label], { what: `${label} is open` });
  return browser.evaluate(state);
}

for (const [kind, url] of [['from a disk', () => pathToFileURL(page).href], ['from a server', () => `${address(server)}/assay.html`]]) {
  describe(`${engine} ${kind}`, () => {
    test('shows the built-in model', async () => {
      requests = [];
      connections = 0;
      await browser.open(url());
      await until(browser, shown);
      assert.deepEqual(await browser.evaluate(() => document.querySelector('assay-root').app.model.moe.expert_count), 8);
      const { label, tensors, problem } = await browser.evaluate(state);
      assert.deepEqual([label, tensors, problem], ['synthetic.safetensors', 127, null]);
    });

    test('opens files of other formats', async () => {
      for (const [name, format] of [['torch/dtypes.pt', 'torch-zip'], ['torch/deflated.pt', 'torch-zip'], ['old/legacy2.pt', 'torch-legacy'], ['safetensors/layers.safetensors', 'safetensors']]) {
        const opened = await open([path.join(data, name)]);
        assert.deepEqual([opened.problem, opened.format], [null, format], name);
      }
    });

    const whole = (label) => {
      const { app } = document.querySelector('assay-root');
      return app.opening === '' && app.model?.label === label && { tensors: app.model.tensorCount, complete: app.model.complete, files: app.model.files.files.length };
    };
    test('opens shards that are chosen together, with their index and configuration', async () => {
      const model = shards(path.join(folder, 'llama'));
      await browser.setFiles(FILES, fs.readdirSync(model).map((name) => path.join(model, name)));
      const seen = await until(browser, whole, ['model-00001-of-00003.safetensors'], { what: 'the shards are open' });
      assert.deepEqual(seen, { tensors: 6, complete: true, files: 5 });
    });

    test('opens a folder that is chosen', async (t) => {
      // Of the drivers one chooses folders; the others' own words: "Is directory", and none.
      if (engine !== 'chromium') return t.skip(`the driver of ${engine} chooses no folders`);
      await browser.setFiles('#open-folder', [shards(path.join(folder, 'llama'))]);
      assert.deepEqual(await until(browser, whole, ['llama']), { tensors: 6, complete: true, files: 5 });
    });

    test('measures what the program measures', async (t) => {
      if (!process.env.ASSAY) return t.skip('ASSAY does not name the program');
      const file = planted(folder);
      await open([file]);
      const stats = await browser.evaluate(async (name) => {
        const { app } = document.querySelector('assay-root');
        const tensor = await app.engine.call('find', { model: app.model.id, name });
        return app.engine.call('stats', { model: app.model.id, tensor });
      }, 'model.layers.2.self_attn.v_proj.weight');
      const { stdout } = spawnSync(process.env.ASSAY, ['stats', file, 'model.layers.2.self_attn.v_proj.weight', '--json'], { encoding: 'utf8' });
      assert.deepEqual(stats, { ...JSON.parse(stdout).tensors[0], sampled: false, share: 1 });
      assert.equal(stats.nan, 1);
    });

    test('examines all values, and compares a model with itself', async () => {
      await open([planted(folder)]);
      const [codes, identical] = await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        const { findings } = await app.engine.call('report', { model: app.model.id, command: 'doctor' });
        const { model: other } = await app.engine.open(app.model.files);
        const diff = await app.engine.call('diff', { model: app.model.id, other, values: true });
        app.engine.close(other);
        return [findings.map((finding) => finding.code), diff.identical];
      });
      assert.deepEqual(codes.sort(), ['dead-rows', 'missing-tensor', 'nan', 'odd-spread']);
      assert.equal(identical, 29);
    });

    test('reads 6 GB where it is asked to, and nowhere else', async (t) => {
      const opened = await open([sparse(folder)]);
      assert.equal(opened.problem, null);
      const values = await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        const tensor = await app.engine.call('find', { model: app.model.id, name: 'end' });
        return [...(await app.engine.call('values', { model: app.model.id, tensor, first: 0, n: 16 }))];
      });
      assert.deepEqual(values, Array.from({ length: 16 }, (_, i) => i - 5));
      const { read, mode } = await browser.evaluate(state);
      assert.ok(read < 64 * 2 ** 20, `${read} bytes were read`);
      t.diagnostic(`files are read by the ${mode}; ${read} bytes read in all`);
    });

    test('reads all of what is larger than it may hold', async () => {
      // 320 MiB of zeros that cost nothing on disk, and a few numbers at the end.
      const numbers = Buffer.from(Uint16Array.from([0x3f80, 0x4000, 0x7fc0, 0xc040]).buffer);
      const name = safetensors(path.join(folder, 'large.safetensors'), [
        ['large', 'BF16', [160, 2 ** 20], 320 * 2 ** 20],
        ['end', 'BF16', [4], 8, numbers],
      ]);
      const fd = fs.openSync(name, 'r+');
      fs.writeSync(fd, numbers, 0, numbers.length, fs.fstatSync(fd).size - 16);
      fs.closeSync(fd);
      assert.equal((await open([name])).problem, null);
      const { stats, doctor, first, same } = await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        const { id } = app.model;
        const stats = await app.engine.call('stats', { model: id, tensor: 0 });
        const first = await app.engine.call('report', { model: id, command: 'doctor', sample: true });
        const doctor = await app.engine.call('report', { model: id, command: 'doctor' });
        const { model: other } = await app.engine.open(app.model.files);
        const same = await app.engine.call('diff', { model: id, other, values: true, sample: true });
        app.engine.close(other);
        return { stats, doctor, first, same };
      });
      assert.deepEqual([stats.zeros, stats.nan, stats.max, stats.min, stats.exact], [160 * 2 ** 20 - 4, 1, 2, -3, true]);
      assert.deepEqual(doctor.findings.filter(({ code }) => code === 'nan').map(({ tensor, first }) => [tensor, first]), [['large', 160 * 2 ** 20 - 2], ['end', 2]]);
      assert.deepEqual([first.exact, first.sampled, doctor.exact], [false, 1, undefined]);
      assert.deepEqual([same.exact, same.identical, same.changed], [false, 2, []]);
    });

    test('says what bytes are that are no checkpoint', async () => {
      const pointer = path.join(folder, 'model.safetensors');
      fs.writeFileSync(pointer, `version https://git-lfs.github.com/spec/v1\noid sha256:${'ab'.repeat(32)}\nsize 4976698592\n`);
      const { problem } = await open([pointer], 'no model');
      assert.equal(problem.code, 'git-lfs-pointer');
      assert.match(problem.text, /LFS/);
      assert.match(problem.hint, /git lfs pull/);
    });

    test('draws the views', async () => {
      await open([planted(folder)]);
      const drawn = await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        const pause = (ms) => new Promise((done) => setTimeout(done, ms));
        const colors = (tag) => {
          const canvas = document.querySelector('assay-root').shadowRoot.querySelector(tag)?.shadowRoot.querySelector('canvas');
          if (!canvas || canvas.width === 0) return 0;
          return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
        };
        await app.select(await app.engine.call('find', { model: app.model.id, name: 'model.layers.2.self_attn.v_proj.weight' }));
        const seen = {};
        for (const view of ['tensor', 'bytes', 'matrix', 'ridge']) {
          app.show(view);
          for (const end = performance.now() + 8000; performance.now() < end && !(seen[view] > 8); ) {
            await pause(50);
            seen[view] = colors(`assay-${view}`);
          }
        }
        return { seen, problem: app.problem };
      });
      assert.equal(drawn.problem, null);
      for (const [view, colors] of Object.entries(drawn.seen)) assert.ok(colors > 8, `${view}: ${colors} colours`);
    });

    test('scans for code', async () => {
      await open([path.join(data, 'torch/special.pt')]);
      const verdicts = await browser.evaluate(async () => {
        const { app } = document.querySelector('assay-root');
        return (await app.engine.call('scan', { files: app.model.files })).map((document) => [document.schema, document.status]);
      });
      assert.deepEqual(verdicts, [['assay.scan/1', 'complete']]);
    });

    test('lets nothing out', async () => {
      const target = address(listener);
      const tried = await browser.evaluate(async (where) => {
        const outcome = async (action) => {
          try {
            await action();
            return 'went through';
          } catch {
            return 'refused';
          }
        };
        const image = () =>
          new Promise((resolve, reject) => {
            const element = new Image();
            element.onload = resolve;
            element.onerror = reject;
            element.src = `${where}/x.png`;
          });
        const inWorker = () =>
          new Promise((resolve, reject) => {
            const source = `fetch('${where}/w').then(() => postMessage(1), () => postMessage(0))`;
            const worker = new Worker(URL.createObjectURL(new Blob([source])));
            worker.onmessage = ({ data }) => (data ? resolve() : reject());
            worker.onerror = reject;
          });
        const socket = () =>
          new Promise((resolve, reject) => {
            const s = new WebSocket(where.replace('http', 'ws'));
            s.onopen = resolve;
            s.onerror = reject;
          });
        navigator.sendBeacon?.(`${where}/beacon`, 'x');
        return [await outcome(() => fetch(`${where}/fetch`)), await outcome(image), await outcome(inWorker), await outcome(socket)];
      }, target);
      assert.deepEqual(tried, ['refused', 'refused', 'refused', 'refused']);
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(connections, 0);
      // A server hears of the page itself, and of an icon where a browser asks for one on its own.
      assert.ok(requests.filter((one) => one !== '/favicon.ico').length <= 1, requests.join(' '));
    });
  });
}

test('nothing went wrong behind the scenes', () => {
  // What the last test tried is refused with a line on the console.
  assert.deepEqual(browser.errors.filter((line) => !/Content.Security.Policy|Refused to|violates the following|127\.0\.0\.1/i.test(line)), []);
});

test('the page holds no other way out', () => {
  const source = fs.readFileSync(page, 'utf8');
  assert.match(source, /connect-src 'none'/);
  for (const pattern of [/preconnect/, /RTCPeerConnection/, /window\.open/, /location\s*=[^=]/, /location\.(assign|replace)/, /XMLHttpRequest/, /WebSocket/])
    assert.doesNotMatch(source.replace(/<script type="text\/plain"[^]*?<\/script>/, ''), pattern);
});
