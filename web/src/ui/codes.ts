// SPDX-License-Identifier: Apache-2.0
// The bits of an element, by the fields of its type.

/** Bits of exponent and significand, of types that have a sign before them. */
const FLOATS: Record<string, [number, number]> = {
  F64: [11, 52], F32: [8, 23], F16: [5, 10], BF16: [8, 7],
  F8_E4M3: [4, 3], F8_E4M3FNUZ: [4, 3], F8_E5M2: [5, 2], F8_E5M2FNUZ: [5, 2],
  F6_E2M3: [2, 3], F6_E3M2: [3, 2], F4: [2, 1],
};

/** "0xbc57" of little-endian bytes. */
export function hexOf(code: Uint8Array): string {
  return `0x${[...code].reverse().map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
/** "1 01111000 1010111": sign, exponent, significand; the plain bits of other types. */
export function bitsOf(code: Uint8Array, dtype: string): string {
  const bits = [...code].reverse().map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const fields = FLOATS[dtype];
  if (fields === undefined) return bits.replace(/(.{8})(?=.)/g, '$1 ');
  const [exponent, significand] = fields;
  const own = bits.slice(-(1 + exponent + significand));
  return `${own[0]!} ${own.slice(1, 1 + exponent)} ${own.slice(1 + exponent)}`;
}
