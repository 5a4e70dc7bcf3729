// SPDX-License-Identifier: Apache-2.0
// The head of a .npy file (version 1.0), and which of numpy's types a tensor's own bytes are.

/** Of dtypes that numpy has; the others are widened to F32, which holds each of their values. */
const DESCR: Record<string, string> = {
  BOOL: '|b1', U8: '|u1', I8: '|i1', I16: '<i2', U16: '<u2', I32: '<i4', U32: '<u4', I64: '<i8', U64: '<u8',
  F16: '<f2', F32: '<f4', F64: '<f8', C64: '<c8', C128: '<c16',
};

export function descrOf(dtype: string): string | null {
  return DESCR[dtype] ?? null;
}

export function npyHeader(descr: string, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const dims = shape.length === 1 ? `${shape[0]!},` : shape.join(', ');
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims}), }`;
  const total = Math.ceil((10 + text.length + 1) / 64) * 64;
  const bytes = new Uint8Array(total).fill(0x20);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, (total - 10) & 255, (total - 10) >> 8]);
  bytes.set(new TextEncoder().encode(text), 10);
  bytes[total - 1] = 0x0a;
  return bytes;
}
