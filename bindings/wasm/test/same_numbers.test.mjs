// SPDX-License-Identifier: Apache-2.0
// The package against the program, bit for bit. ASSAY names the program; without it these are skipped.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Checkpoint, core, bufferSource, blobSource, Files, parseFile, runAsync, runSync, scanFile, syntheticFile } from '../dist/index.js';

const program = process.env.ASSAY && path.resolve(process.env.ASSAY);
const skip = program ? false : 'ASSAY does not name the program';
const data = fileURLToPath(new URL('../../../tests/data', import.meta.url));
// Single files: what belongs to a set would be read differently without its neighbours.
const files = ['old', 'safetensors', 'torch'].flatMap((folder) =>
  fs
    .readdirSync(path.join(data, folder))
    .filter((name) => /\.(safetensors|pt|pt2|npy|npz|pkl|tar)$/.test(name))
    .map((name) => path.join(data, folder, name)),
);

/** Runs the program where its first file is, and calls it by its name alone, as the package does. */
function assay(command, file, ...more) {
  const cwd = path.dirname(file);
  const { stdout, status } = spawnSync(program, [command, path.basename(file), ...more], { encoding: 'utf8', maxBuffer: 1 << 28, cwd });
  return { stdout, status };
}
const inMemory = (file) => new Files(core, [bufferSource(path.basename(file), fs.readFileSync(file))]);
const synthetic = syntheticFile(core);
const temporary = fs.mkdtempSync(path.join(fs.realpathSync(process.env.TMPDIR ?? '/tmp'), 'assay-wasm-'));
process.on('exit', () => fs.rmSync(temporary, { recursive: true }));

for (const command of ['info', 'tensors', 'tree', 'map', 'stats', 'doctor', 'moe', 'verify']) {
  test(`${command} --json is the same text`, { skip }, () => {
    let compared = 0;
    for (const file of files) {
      const { stdout } = assay(command, file, '--json');
      const printed = JSON.parse(stdout);
      const set = inMemory(file);
      try {
        const checkpoint = runSync(Checkpoint.open(set));
        assert.equal(runSync(checkpoint.reportText(command)), stdout, file);
        checkpoint.close();
        ++compared;
      } catch (error) {
        if (error.code === undefined || printed.error === undefined) throw error;
        assert.deepEqual([error.code, error.message], [printed.error.code, printed.error.message], file);
      } finally {
        set.free();
      }
    }
    assert.ok(compared > 20, `only ${compared} files were compared`);
  });
}

test('folders of distributed trainings open to the same text', { skip }, () => {
  const walk = (folder, base = '') =>
    fs.readdirSync(path.join(folder, base), { withFileTypes: true }).flatMap((entry) => {
      const name = path.posix.join(base, entry.name);
      return entry.isDirectory() ? walk(folder, name) : [name];
    });
  const folders = ['dist/sharded', 'dist/each_rank', 'dist/huggingface', 'deepspeed/stage1', 'deepspeed/stage2', 'deepspeed/stage3'];
  for (const folder of folders.map((name) => path.join(data, name))) {
    const set = new Files(core, walk(folder).map((name) => bufferSource(name, fs.readFileSync(path.join(folder, name)))), { label: path.basename(folder), whole: true });
    const checkpoint = runSync(Checkpoint.open(set));
    for (const command of ['info', 'tensors', 'stats']) {
      const { stdout } = spawnSync(program, [command, path.basename(folder), '--json'], { encoding: 'utf8', maxBuffer: 1 << 28, cwd: path.dirname(folder) });
      assert.equal(runSync(checkpoint.reportText(command)), stdout, `${command} ${folder}`);
    }
    checkpoint.close();
    set.free();
  }
});

test('scan --json is the same, of files that are no checkpoints too', { skip }, () => {
  for (const file of files) {
    const printed = JSON.parse(assay('scan', file, '--json').stdout);
    const set = inMemory(file);
    assert.deepEqual(runSync(scanFile(set, path.basename(file))), printed, file);
    set.free();
  }
});

test('diff --json is the same', { skip }, () => {
  const [a, b] = [path.join(temporary, 'a.safetensors'), path.join(temporary, 'b.safetensors')];
  fs.writeFileSync(a, synthetic);
  fs.writeFileSync(b, syntheticFile(core, 8));
  const printed = assay('diff', a, 'b.safetensors', '--json').stdout;
  const [x, y] = [a, b].map((name) => runSync(Checkpoint.open(inMemory(name))));
  assert.deepEqual(runSync(x.diff(y)), JSON.parse(printed));
});

test('the built-in model is what synth writes', { skip }, () => {
  const file = path.join(temporary, 'synth.safetensors');
  assert.equal(assay('synth', file).status, 0);
  assert.ok(fs.readFileSync(file).equals(synthetic));
});

test('samples, grids and their statistics are those of dump, heatmap and stats', { skip }, () => {
  const file = path.join(temporary, 'model.safetensors');
  fs.writeFileSync(file, synthetic);
  const model = parseFile(synthetic, file);
  const stats = JSON.parse(assay('stats', file, '--json').stdout).tensors;
  for (const name of ['lm_head.weight', 'model.layers.2.block_sparse_moe.experts.3.w2.weight', 'model.norm.weight']) {
    const tensor = model.byName.get(name);
    const printed = stats.find((row) => row.name === name);
    const { values, stats: own } = model.sample(name, tensor.numel);
    const { min, max, mean, std, zeros } = printed;
    assert.deepEqual(own, { min, max, mean, std, zeros, n: tensor.numel });
    const dumped = JSON.parse(assay('dump', file, name, '--json').stdout).tensors[0].values.flat(Infinity);
    assert.deepEqual([...values], dumped.map(Math.fround));

    const grid = model.gridOf(tensor, 24, 24);
    const map = JSON.parse(assay('heatmap', file, name, '--size', '24x24', '--json').stdout).grid;
    assert.deepEqual([grid.rows, grid.cols, Math.fround(grid.amax)], [map.rows, map.cols, Math.fround(map.absmax)]);
    assert.deepEqual([...grid.data], map.data.flat().map(Math.fround));
  }
});

test('read range by range, the numbers are the same', async () => {
  const whole = parseFile(synthetic, 'm.safetensors');
  const ranged = await parseFile(new Blob([synthetic]), 'm.safetensors');
  assert.equal(ranged.totalParams, whole.totalParams);
  assert.deepEqual(ranged.tensors, whole.tensors);
  assert.deepEqual(ranged.moe, whole.moe);
  for (const tensor of whole.tensors.slice(0, 20)) {
    assert.deepEqual(await ranged.stats(tensor), whole.stats(tensor));
    assert.deepEqual(await ranged.gridOf(tensor, 7, 9), whole.gridOf(tensor, 7, 9));
    assert.deepEqual(await ranged.sample(tensor, 100), whole.sample(tensor, 100));
  }
  const set = new Files(core, [blobSource('m.safetensors', new Blob([synthetic]))]);
  const checkpoint = await runAsync(Checkpoint.open(set), (need) => set.feed(need));
  const doctor = await runAsync(checkpoint.report('doctor'), (need) => set.feed(need));
  assert.equal(doctor.healthy, true);
});

test('files of a set are asked for by name, whoever needs them', async () => {
  // Two halves of a model with an index and a configuration, each read only range by range.
  const half = (layer) => {
    const header = Buffer.from(JSON.stringify({ [`model.layers.${layer}.w.weight`]: { dtype: 'F32', shape: [4, 4], data_offsets: [0, 64] } }));
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(header.length));
    return Buffer.concat([size, header, Buffer.from(Float32Array.from({ length: 16 }, (_, i) => i + layer).buffer)]);
  };
  const names = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const index = { metadata: {}, weight_map: { 'model.layers.0.w.weight': names[0], 'model.layers.1.w.weight': names[1] } };
  const contents = [half(0), half(1), Buffer.from(JSON.stringify(index)), Buffer.from('{"model_type":"llama","num_hidden_layers":2}')];
  const all = [...names, 'model.safetensors.index.json', 'config.json'];
  const whole = new Files(core, all.map((name, i) => bufferSource(name, contents[i])), { label: 'set', whole: true });
  const ranged = new Files(core, all.map((name, i) => blobSource(name, new Blob([contents[i]]))), { label: 'set', whole: true });
  const feed = (need) => ranged.feed(need);
  const [a, b] = [runSync(Checkpoint.open(whole)), await runAsync(Checkpoint.open(ranged), feed)];
  for (const command of ['info', 'tensors', 'tree', 'map', 'stats', 'doctor', 'moe', 'moe-structure', 'verify', 'verify-headers']) {
    ranged.drop();
    assert.equal(await runAsync(b.reportText(command), feed), runSync(a.reportText(command)), command);
  }
});
