// SPDX-License-Identifier: Apache-2.0
// The files that the tests of the page open, written where they are needed.
import fs from 'node:fs';
import path from 'node:path';

/** A safetensors file: tensors are [dtype, shape, bytes, data?]; where data is absent the file is sparse. */
export function safetensors(file, tensors, metadata) {
  let end = 0;
  const entries = metadata === undefined ? [] : [['__metadata__', metadata]];
  const places = [];
  for (const [name, dtype, shape, bytes, data] of tensors) {
    entries.push([name, { dtype, shape, data_offsets: [end, end + bytes] }]);
    places.push([end, data]);
    end += bytes;
  }
  const json = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(json.length));
  const fd = fs.openSync(file, 'w');
  fs.writeSync(fd, size);
  fs.writeSync(fd, json);
  const start = 8 + json.length;
  for (const [at, data] of places) if (data !== undefined) fs.writeSync(fd, data, 0, data.length, start + at);
  fs.ftruncateSync(fd, start + end);
  fs.closeSync(fd);
  return file;
}

/** 100,000 tensors without bytes worth reading: a header of about 10 MB. */
export function manyTensors(folder, count = 100_000) {
  const tensors = [];
  const per = 10;
  for (let i = 0; i < count; ++i)
    tensors.push([`model.layers.${Math.floor(i / 1000)}.experts.${Math.floor(i / per) % 100}.w${i % per}.weight`, 'BF16', [4, 4], 32]);
  return safetensors(path.join(folder, 'many.safetensors'), tensors);
}

/** A layered model in which layer 3 lacks a norm and layer 2 has an outlier, a NaN and a dead row. */
export function planted(folder) {
  const rng = random(1);
  const tensors = [];
  const matrix = (rows, cols, change = () => undefined) => {
    const values = Float32Array.from({ length: rows * cols }, () => 0.02 * gaussian(rng));
    change(values);
    return Buffer.from(values.buffer);
  };
  for (let layer = 0; layer < 6; ++layer) {
    for (const role of ['q_proj', 'k_proj', 'v_proj', 'o_proj']) {
      const data = matrix(64, 64, (values) => {
        if (layer !== 2 || role !== 'v_proj') return;
        values[5 * 64 + 9] = 12.5;
        values[7 * 64] = NaN;
        values.fill(0, 20 * 64, 21 * 64);
      });
      tensors.push([`model.layers.${layer}.self_attn.${role}.weight`, 'F32', [64, 64], data.length, data]);
    }
    if (layer !== 3) {
      const data = matrix(1, 64);
      tensors.push([`model.layers.${layer}.k_norm.weight`, 'F32', [64], data.length, data]);
    }
  }
  return safetensors(path.join(folder, 'planted.safetensors'), tensors, { format: 'pt', note: '{"trained":{"steps":1000}}' });
}

/** Eight layers of three matrices and, apart, of two experts: layer 4 is scaled by 4, layer 6 is F32 among BF16, expert 1 of layer 2 is zero. */
export function faulty(folder) {
  const rng = random(3);
  const tensors = [];
  for (let layer = 0; layer < 8; ++layer) {
    for (const role of ['q', 'k', 'v']) {
      const values = Float32Array.from({ length: 48 * 48 }, () => (layer === 4 ? 0.08 : 0.02) * gaussian(rng));
      const wide = layer === 6;
      const data = wide ? Buffer.from(values.buffer) : Buffer.from(Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16).buffer);
      tensors.push([`model.layers.${layer}.${role}.weight`, wide ? 'F32' : 'BF16', [48, 48], data.length, data]);
    }
  }
  for (let layer = 0; layer < 8; ++layer)
    for (let expert = 0; expert < 2; ++expert) {
      const values = Float32Array.from({ length: 32 * 32 }, () => (layer === 2 && expert === 1 ? 0 : 0.02 * gaussian(rng)));
      tensors.push([`moe.${layer}.experts.${expert}.w`, 'F32', [32, 32], 4096, Buffer.from(values.buffer)]);
    }
  return safetensors(path.join(folder, 'faulty.safetensors'), tensors);
}

/**
 * Twelve layers of three matrices and a norm with a fault of each kind: a NaN, +Inf, an all-zero matrix, a zero row, a layer scaled by 4,
 * one value far out. One value of layer 8 is further out than any other layer's, and a norm is wide: neither is a fault.
 */
export function manyFaults(folder) {
  const rng = random(5);
  const size = 48;
  const tensors = [];
  for (let layer = 0; layer < 12; ++layer) {
    for (const role of 'kqv') {
      const values = Float32Array.from({ length: size * size }, () => (layer === 4 ? 0.08 : 0.02) * gaussian(rng));
      const at = `${role}${layer}`;
      if (at === 'v2') values[7 * size + 11] = NaN;
      if (at === 'v6') values[1 * size + 2] = Infinity;
      if (at === 'k9') values.fill(0);
      if (at === 'k3') values.fill(0, 5 * size, 6 * size);
      if (at === 'q7') values[3 * size + 5] = 9;
      if (at === 'q8') values[0] = 0.4;
      tensors.push([`h.${layer}.${role}.weight`, 'F32', [size, size], 4 * size * size, Buffer.from(values.buffer)]);
    }
    const norm = Float32Array.from({ length: size }, () => 1 + (layer === 5 ? 0.4 : 0.02) * gaussian(rng));
    tensors.push([`h.${layer}.norm.weight`, 'F32', [size], 4 * size, Buffer.from(norm.buffer)]);
  }
  return safetensors(path.join(folder, 'many-faults.safetensors'), tensors);
}

/** Twelve layers of two matrices and a fresh norm, healthy but for one fault: zero rows in layer 9, layer 8 a copy of 7, layer 5 three times as wide. */
export function oneFault(folder, fault) {
  const rng = random(3);
  const [rows, cols] = [32, 48];
  const layers = Array.from({ length: 12 }, () => ['v', 'w'].map(() => Float32Array.from({ length: rows * cols }, () => 0.02 * gaussian(rng))));
  if (fault === 'rows') layers[9][1].fill(0, 0, 16 * cols);
  if (fault === 'copy') layers[8] = layers[7];
  if (fault === 'wide') layers[5][1].forEach((value, i, all) => (all[i] = 3 * value));
  const tensors = layers.flatMap((own, layer) => own.map((values, i) => [`model.layers.${layer}.${'vw'[i]}.weight`, 'F32', [rows, cols], 4 * rows * cols, Buffer.from(values.buffer)]));
  const ones = Float32Array.from({ length: cols }, () => 1);
  tensors.push(['model.norm.weight', 'F32', [cols], 4 * cols, Buffer.from(ones.buffer)]);
  return safetensors(path.join(folder, `${fault}.safetensors`), tensors);
}

/** A folder of three shards with index and configuration: layer i has "a" of 10 i and "b" of 10 i + 5. */
export function shards(folder) {
  fs.mkdirSync(folder, { recursive: true });
  const filled = (value) => Buffer.from(Float32Array.from({ length: 16 }, () => value).buffer);
  const map = {};
  for (let layer = 0; layer < 3; ++layer) {
    const name = `model-0000${layer + 1}-of-00003.safetensors`;
    const tensors = ['a', 'b'].map((role, i) => [`model.layers.${layer}.${role}.weight`, 'F32', [4, 4], 64, filled(10 * layer + 5 * i)]);
    safetensors(path.join(folder, name), tensors);
    for (const [tensor] of tensors) map[tensor] = name;
  }
  fs.writeFileSync(path.join(folder, 'model.safetensors.index.json'), JSON.stringify({ metadata: { total_size: 384 }, weight_map: map }));
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ model_type: 'llama', num_hidden_layers: 3 }));
  return folder;
}

/** Ten layers of 40 MiB, sparse on disk: zeros, each with some ones at the start. */
export function sparseLayers(folder) {
  const ones = Buffer.from(Uint16Array.from({ length: 4096 }, () => 0x3f80).buffer);
  return safetensors(
    path.join(folder, 'layers.safetensors'),
    Array.from({ length: 10 }, (_, layer) => [`layers.${layer}.w`, 'BF16', [5120, 4096], 40 * 2 ** 20, ones]),
  );
}

/** Four layers of eight experts, 768 MiB that cost nothing on disk: zeros, but of expert 5 some ones at the start of each matrix. */
export function sparseExperts(folder) {
  const ones = Buffer.from(Uint16Array.from({ length: 4096 }, (_, i) => (i % 3 === 0 ? 0x3f80 : 0x3e80)).buffer);
  const tensors = [];
  for (let layer = 0; layer < 4; ++layer) {
    const base = `model.layers.${layer}.mlp`;
    tensors.push([`${base}.gate.weight`, 'BF16', [8, 1024], 2 ** 14]);
    for (let expert = 0; expert < 8; ++expert)
      for (const projection of ['gate_proj', 'up_proj', 'down_proj'])
        tensors.push([`${base}.experts.${expert}.${projection}.weight`, 'BF16', projection === 'down_proj' ? [1024, 4096] : [4096, 1024], 8 * 2 ** 20, expert === 5 ? ones : undefined]);
  }
  return safetensors(path.join(folder, 'experts.safetensors'), tensors);
}

/** The planted model after a small training: one matrix changed in a block, one norm less, one tensor more. */
export function tuned(folder) {
  const size = 64;
  const file = planted(folder);
  const bytes = fs.readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString());
  const tensors = Object.entries(header)
    .filter(([name]) => name !== '__metadata__' && name !== 'model.layers.0.k_norm.weight')
    .map(([name, { dtype, shape, data_offsets: [from, to] }]) => [name, dtype, shape, to - from, Buffer.from(bytes.subarray(8 + length + from, 8 + length + to))]);
  const [, , , , changed] = tensors.find(([name]) => name === 'model.layers.4.self_attn.q_proj.weight');
  for (let row = 8; row < 24; ++row) for (let col = 16; col < 40; ++col) changed.writeFloatLE(changed.readFloatLE(4 * (size * row + col)) + 0.25, 4 * (size * row + col));
  tensors.push(['model.extra', 'F32', [3], 12, Buffer.alloc(12)]);
  return safetensors(path.join(folder, 'tuned.safetensors'), tensors);
}

/** 6 GB that cost nothing on disk, with numbers at the far end. */
export function sparse(folder) {
  const data = Buffer.from(Float32Array.from({ length: 16 }, (_, i) => i - 5).buffer);
  return safetensors(path.join(folder, 'sparse.safetensors'), [
    ['big', 'BF16', [3, 2 ** 30], 6 * 2 ** 30],
    ['end', 'F32', [4, 4], 64, data],
  ]);
}

/** One 8192 x 8192 BF16 tensor of noise. */
export function square(folder) {
  const rng = random(2);
  const row = Buffer.alloc(128 * 2 ** 20);
  for (let i = 0; i < row.length; i += 2) row.writeUInt16LE(((rng() & 1) << 15) | (0x3c00 + (rng() % 0x280)), i);
  return safetensors(path.join(folder, 'square.safetensors'), [['w', 'BF16', [8192, 8192], row.length, row]]);
}

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    return (z ^ (z >>> 13)) >>> 0;
  };
}
function gaussian(rng) {
  return Math.sqrt(-2 * Math.log((rng() + 1) / 2 ** 32)) * Math.cos((2 * Math.PI * rng()) / 2 ** 32);
}
