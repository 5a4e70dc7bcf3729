// SPDX-License-Identifier: Apache-2.0
// What reads a whole model, of files that are read by ranges: bounded memory, the documents of the program, first looks that are marked.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { Checkpoint, Core, Files, Job, runAsync } from '../dist/index.js';

const MIB = 2 ** 20;
const MOST_MEMORY = 96 * MIB;
const program = process.env.ASSAY && path.resolve(process.env.ASSAY);
const skip = program ? false : 'ASSAY does not name the program';
const wasm = (name) => fs.readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url));

/** Values that look like weights, the same for the same seed. */
function weights(n, seed) {
  const values = new Float32Array(n);
  for (let i = 0, state = seed; i < n; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state / 2 ** 32 - 0.5) * 0.05;
  }
  return values;
}

/** Tensors as [name, shape, make], written one after another: none of them all in memory. */
function write(file, tensors) {
  let end = 0;
  const header = {};
  for (const [name, shape] of tensors) header[name] = { dtype: 'F32', shape, data_offsets: [end, (end += 4 * shape.reduce((n, d) => n * d, 1))] };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const fd = fs.openSync(file, 'w');
  fs.writeSync(fd, length);
  fs.writeSync(fd, json);
  for (const [, shape, make] of tensors) fs.writeSync(fd, new Uint8Array(make(shape.reduce((n, d) => n * d, 1)).buffer));
  fs.closeSync(fd);
}

/**
 * A mixture of experts of 120 MiB: one tensor of 64 MiB with a NaN far behind and two dead rows, a copy of a tensor, four layers of eight
 * experts, of which one is dead, one is another's copy and one is another's with its neurons in another order.
 */
const [WIDE, INNER] = [512, 256];
function model(changed) {
  const plain = (seed) => (n) => weights(n, seed);
  const shuffled = (rows, cols, seed, byRows) => (n) => {
    const from = weights(n, seed);
    const to = new Float32Array(n);
    const place = (i, count) => (i * 37 + 5) % count;
    for (let r = 0; r < rows; ++r)
      for (let c = 0; c < cols; ++c) to[byRows ? place(r, rows) * cols + c : r * cols + place(c, cols)] = from[r * cols + c];
    return to;
  };
  const tensors = [
    [
      'model.embed_tokens.weight',
      [32768, 512],
      (n) => {
        const values = weights(n, 1);
        values[15_000_003] = NaN;
        values.fill(0, 512 * 100, 512 * 102);
        return values;
      },
    ],
    ['model.head.weight', [2048, 512], plain(2)],
    ['model.copy.weight', [2048, 512], plain(2)],
  ];
  for (let layer = 0; layer < 4; ++layer) {
    tensors.push([`model.layers.${layer}.mlp.gate.weight`, [8, WIDE], plain(50 + layer)]);
    for (let expert = 0; expert < 8; ++expert) {
      const base = `model.layers.${layer}.mlp.experts.${expert}`;
      const kind = layer === 1 ? { 3: 'dead', 5: 'copy', 6: 'shuffled' }[expert] : undefined;
      const seed = 1000 + 100 * layer + 10 * (kind === 'copy' || kind === 'shuffled' ? 2 : expert);
      for (const [i, projection] of ['gate_proj', 'up_proj', 'down_proj'].entries()) {
        const shape = i < 2 ? [INNER, WIDE] : [WIDE, INNER];
        let make = plain(seed + i);
        if (kind === 'dead') make = (n) => new Float32Array(n);
        if (kind === 'shuffled') make = shuffled(shape[0], shape[1], seed + i, i < 2);
        if (changed && layer === 2 && expert === 4) {
          const usual = make;
          make = (n) => usual(n).map((value, at) => (at % 3 === 0 ? value * 1.5 : value));
        }
        tensors.push([`${base}.${projection}.weight`, shape, make]);
      }
    }
  }
  if (changed) {
    const [embed, head] = tensors;
    const usual = embed[2];
    embed[2] = (n) => {
      const values = usual(n);
      for (let i = n / 2; i < n; ++i) values[i] += 0.05;
      return values;
    };
    head[0] = 'model.renamed.weight';
  }
  return tensors;
}

let folder;
const names = ['a.safetensors', 'b.safetensors'];
const handles = {};
before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-jobs-'));
  names.forEach((name, i) => write(path.join(folder, name), model(i === 1)));
  for (const name of names) handles[name] = await fs.promises.open(path.join(folder, name));
});
after(async () => {
  for (const handle of Object.values(handles)) await handle.close();
  fs.rmSync(folder, { recursive: true });
});

/** Of a core of their own, whose memory is then theirs. */
async function lent(...wanted) {
  const core = await Core.load(wasm('core'), { loadSync: () => wasm('core.deferred') });
  const sets = [];
  const feed = (need) => sets.find((files) => files.names.includes(need.file)).feed(need);
  const open = [];
  for (const name of wanted) {
    const read = async (offset, length) => (await handles[name].read(new Uint8Array(length), 0, length, offset)).buffer;
    const files = new Files(core, [{ name, size: fs.statSync(path.join(folder, name)).size, read }]);
    sets.push(files);
    open.push(await runAsync(Checkpoint.open(files), feed));
  }
  return { core, feed, open, read: () => sets.reduce((sum, files) => sum + files.bytesRead, 0), size: sets.reduce((sum, files) => sum + files.size, 0) };
}
const printed = (...args) => spawnSync(program, [...args, '--json'], { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 26 }).stdout;

for (const [command, times] of [['doctor', 2.8], ['moe', 1.4], ['verify', 0.1], ['stats', 2.1]]) {
  test(`${command} of 120 MiB in bounded memory is that of the program`, { skip }, async (t) => {
    const { core, feed, open, read, size } = await lent(names[0]);
    const text = await runAsync(open[0].reportText(command), feed);
    t.diagnostic(`memory ${(core.memoryBytes / MIB).toFixed(0)} MiB, ${(read() / size).toFixed(2)} times the file were read`);
    assert.equal(text, printed(command, names[0]));
    assert.ok(core.memoryBytes < MOST_MEMORY, `${core.memoryBytes}`);
    assert.ok(read() < times * size, `${read()} of ${size}`);
  });
}

/** An archive of arrays, 104 MiB in four members that are stored as they are. */
function archive(file) {
  const fd = fs.openSync(file, 'w');
  let at = 0;
  const put = (...parts) => parts.forEach((part) => (at += fs.writeSync(fd, part)));
  const numbers = (...pairs) => Buffer.concat(pairs.map(([size, value]) => (size === 2 ? Buffer.from(Uint16Array.of(value).buffer) : Buffer.from(Uint32Array.of(value).buffer))));
  const directory = [];
  for (let i = 0; i < 4; ++i) {
    const name = Buffer.from(`w${i}.npy`);
    const values = new Uint8Array(weights(6.5 * MIB, 7 + i).buffer);
    const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length / 4},), }`;
    const header = Buffer.concat([Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0]), Buffer.from(Uint16Array.of(118).buffer), Buffer.from(text.padEnd(117) + '\n')]);
    const size = header.length + values.length;
    const crc = zlib.crc32(values, zlib.crc32(header));
    const facts = [[2, 20], [2, 0], [2, 0], [4, 0x21], [4, crc], [4, size], [4, size], [2, name.length], [2, 0]];
    directory.push(numbers([4, 0x02014b50], [2, 20], ...facts, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), name);
    put(numbers([4, 0x04034b50], ...facts), name, header, values);
  }
  const start = at;
  put(...directory);
  put(numbers([4, 0x06054b50], [2, 0], [2, 0], [2, 4], [2, 4], [4, at - start], [4, start], [2, 0]));
  fs.closeSync(fd);
}

test('every member of an archive of 104 MiB is checked in bounded memory', { skip: skip || (zlib.crc32 === undefined && 'this Node has no zlib.crc32') }, async (t) => {
  const name = 'a.npz';
  archive(path.join(folder, name));
  handles[name] = await fs.promises.open(path.join(folder, name));
  const { core, feed, open, read, size } = await lent(name);
  const text = await runAsync(open[0].reportText('verify'), feed);
  t.diagnostic(`memory ${(core.memoryBytes / MIB).toFixed(0)} MiB, ${(read() / size).toFixed(2)} times the file were read`);
  assert.equal(text, printed('verify', name));
  assert.deepEqual(JSON.parse(text).members.map(({ state }) => state), ['matches', 'matches', 'matches', 'matches']);
  assert.ok(core.memoryBytes < MOST_MEMORY, `${core.memoryBytes}`);
});

test('the faults are found that were planted', { skip }, async () => {
  const { feed, open } = await lent(names[0]);
  const moe = await runAsync(open[0].report('moe'), feed);
  const layer = moe.layers[1];
  assert.deepEqual([layer.dead, layer.identical], [[3], [[2, 5]]]);
  assert.ok(layer.similar.some(({ a, b, aligned_cosine }) => a === 2 && b === 6 && aligned_cosine > 0.999));
  const { findings } = await runAsync(open[0].report('doctor'), feed);
  assert.deepEqual(
    ['nan', 'dead-rows', 'duplicate-content'].map((code) => findings.some((finding) => finding.code === code)),
    [true, true, true],
  );
  assert.equal(findings.find(({ code }) => code === 'nan').first, 15_000_003);
});

test('two files of 120 MiB are compared in bounded memory, as the program does', { skip }, async (t) => {
  const { core, feed, open, read, size } = await lent(...names);
  const job = Job.diff(open[0], open[1]);
  assert.ok(job.bytes > 0.9 * size && job.bytes <= size, `${job.bytes}`);
  const text = await runAsync(job.run(), feed);
  job.free();
  t.diagnostic(`memory ${(core.memoryBytes / MIB).toFixed(0)} MiB, ${(read() / size).toFixed(2)} times the files were read`);
  assert.equal(text, printed('diff', ...names));
  assert.ok(core.memoryBytes < MOST_MEMORY, `${core.memoryBytes}`);
  assert.ok(read() < 2.6 * size, `${read()} of ${size}`);
  const diff = JSON.parse(text);
  assert.deepEqual(diff.renamed.map(({ name_a, name_b }) => [name_a, name_b]), [['model.head.weight', 'model.renamed.weight']]);
  assert.equal(diff.changed.length, 4);
  // Nothing of a first look's marks.
  assert.ok(!('exact' in diff) && diff.changed.every((row) => !('exact' in row)));
});

test('a first look reads little, says so, and finds what is large', { skip }, async () => {
  const { feed, open, read, size } = await lent(...names);
  let before = read();
  const jobs = { doctor: Job.report(open[0], 'doctor', '', { sample: true }), moe: Job.report(open[0], 'moe', '', { sample: true }), diff: Job.diff(...open, true, { sample: true }) };
  const made = {};
  for (const [name, job] of Object.entries(jobs)) {
    made[name] = JSON.parse(await runAsync(job.run(), feed));
    // Reading ahead and around takes more than what is looked at.
    assert.ok(job.bytes < 0.6 * size);
    job.free();
    assert.equal(made[name].complete, true);
  }
  assert.ok(read() - before < 1.5 * size);
  // The embedding alone is above 16 MiB: everything else of doctor and diff is exact.
  assert.deepEqual([made.doctor.exact, made.doctor.sampled], [false, 1]);
  assert.ok(!made.doctor.findings.some(({ code }) => code === 'nan'), 'it is in no block that was looked at');
  const [worst] = made.diff.changed.filter((row) => row.exact === false);
  const exact = await runAsync(open[0].diff(open[1]), feed);
  const same = exact.changed.find(({ name_a }) => name_a === worst.name_a);
  assert.equal(worst.name_a, 'model.embed_tokens.weight');
  assert.ok(Math.abs(worst.rel_l2 / same.rel_l2 - 1) < 0.2, `${worst.rel_l2} ${same.rel_l2}`);
  assert.deepEqual([made.diff.exact, made.diff.renamed.length], [false, 0]);
});

test('of a first look at experts nothing is called identical', { skip }, async () => {
  const { feed, open } = await lent(names[0]);
  // Matrices of an expert are 512 KiB here: all are looked at, and so exact.
  const small = await runAsync(open[0].report('moe', '', undefined, { sample: true }), feed);
  assert.ok(!('exact' in small));
  assert.deepEqual(small.layers[1].identical, [[2, 5]]);
});

test('a watch ends the work, and a job that is freed midway leaves nothing behind', { skip }, async () => {
  const { core, feed, open } = await lent(...names);
  const part = await runAsync(open[0].report('moe', '', (done) => done < 2), feed);
  assert.equal(part.complete, false);
  assert.deepEqual(part.layers.map(({ each }) => each[0].measured), [true, true, false, false]);
  const grown = [];
  for (let i = 0; i < 20; ++i) {
    const job = Job.diff(open[0], open[1]);
    const steps = job.run();
    for (let n = 0; n < 4; ++n) {
      const { value } = steps.next();
      await feed(value);
    }
    job.free();
    grown.push(core.memoryBytes);
  }
  assert.equal(grown.at(-1), grown[9]);
});
