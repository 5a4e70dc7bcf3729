// SPDX-License-Identifier: Apache-2.0
// Opens a safetensors file in core.wasm range by range, as a page does, reads a tensor, and scans the file, which core.deferred.wasm does
// where the core was split: node wasm_smoke.mjs core.wasm
import assert from 'node:assert/strict';
import fs from 'node:fs';

const [, , name1] = process.argv;
const name2 = name1.replace(/\.wasm$/, '.deferred.wasm');
const first = new WebAssembly.Module(fs.readFileSync(name1));
const second = fs.existsSync(name2) ? new WebAssembly.Module(fs.readFileSync(name2)) : undefined;
const early = () => assert.fail('it needs deferred code');
const core = new WebAssembly.Instance(first, {
  assay: { read: () => 1, watch: () => 1 }, // and nothing else: no WASI
  deferred: Object.fromEntries(WebAssembly.Module.imports(first).filter(({ module }) => module === 'deferred').map(({ name }) => [name, early])),
}).exports;
core._initialize();

const forSecond = new Set(second === undefined ? [] : WebAssembly.Module.imports(second).map(({ name }) => name));
const extra = Object.keys(core).filter((name) => !/^(assay_\w+|malloc|free|memory|_initialize)$/.test(name) && !forSecond.has(name));
assert.equal(extra.length, 0, `exports beyond the API: ${extra.slice(0, 5)}`);

const view = () => new DataView(core.memory.buffer);
const u32 = (address) => view().getUint32(address, true);
const put = (bytes) => {
  const address = core.malloc(bytes.length || 1);
  new Uint8Array(core.memory.buffer, address, bytes.length).set(bytes);
  return address;
};
const text = (string) => put(new TextEncoder().encode(string + '\0'));
const string = (address) => {
  const bytes = new Uint8Array(core.memory.buffer, address);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
};

const header = new TextEncoder().encode('{"w":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}');
const file = new Uint8Array(8 + header.length + 8);
new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
file.set(header, 8);
file.set([0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38, 0xff, 0x7b], 8 + header.length); // 1, -2, 0.5, 65504

const out = core.malloc(4), failed = core.malloc(4), name = text('w.safetensors'), needRange = 7;
assert.equal(core.assay_files_new(0, out, 0), 0);
const files = u32(out);
assert.equal(core.assay_files_add(files, name, BigInt(file.length), 0), 0);

function untilFed(call) {
  for (let round = 0; round < 50; ++round) {
    const status = call();
    if (status !== needRange) {
      assert.equal(status, 0, status && string(core.assay_error_message(u32(failed))));
      return round;
    }
    const error = u32(failed);
    const offset = core.assay_error_offset(error), length = core.assay_error_length(error);
    assert.equal(string(core.assay_error_file(error)), 'w.safetensors');
    const range = put(file.subarray(Number(offset), Number(offset + length)));
    assert.equal(core.assay_files_add_range(files, name, offset, range, Number(length), 0), 0);
    core.free(range);
    core.assay_error_free(error);
  }
  assert.fail('no end of ranges');
}

assert.ok(untilFed(() => core.assay_files_open(files, 0, out, failed)) > 0);
const checkpoint = u32(out);
assert.equal(string(core.assay_checkpoint_format(checkpoint)), 'safetensors');
assert.equal(core.assay_tensor_count(checkpoint), 1);
assert.equal(string(core.assay_dtype_name(core.assay_tensor_dtype(checkpoint, 0))), 'F16');
assert.equal(core.assay_tensor_dim(checkpoint, 0, 1), 2n);
const values = core.malloc(16);
untilFed(() => core.assay_tensor_read_f32(checkpoint, 0, 0n, 4, values, failed));
assert.deepEqual([...new Float32Array(core.memory.buffer, values, 4)], [1, -2, 0.5, 65504]);
core.assay_close(checkpoint);

if (second !== undefined) new WebAssembly.Instance(second, { core });
untilFed(() => core.assay_report_scan(files, name, out, failed));
assert.match(string(core.assay_buffer_data(u32(out), 0)), /"verdict": "clean"/);
core.assay_files_free(files);
console.log('ok');
