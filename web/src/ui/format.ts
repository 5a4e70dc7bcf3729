// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as the terminal writes them.

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const DECIMAL = ['', ' K', ' M', ' B', ' T'];

/** Rounding never shows "1024 KiB" or "1000 K". */
function scaled(value: number, step: number, units: readonly string[]): [number, number] {
  let unit = 0;
  while (value >= step - 0.5 && unit < units.length - 1) {
    value /= step;
    ++unit;
  }
  return [value, unit];
}

/** Three significant digits without trailing zeros; all digits of what is 1000 or more. */
function three(value: number): string {
  return String(Number(value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)));
}

/** "1.5 GiB" */
export function bytes(n: number): string {
  const [value, unit] = scaled(n, 1024, BINARY);
  return `${three(value)} ${BINARY[unit]!}`;
}
/** "7.24 B" */
export function count(n: number): string {
  const [value, unit] = scaled(n, 1000, DECIMAL);
  return three(value) + DECIMAL[unit]!;
}
/** "4096×4096", "scalar" */
export function shape(dims: readonly number[]): string {
  return dims.length === 0 ? 'scalar' : dims.join('×');
}
export function percent(part: number, whole: number): string {
  if (whole === 0) return '';
  const value = (100 * part) / whole;
  return value > 0 && value < 0.01 ? '< 0.01 %' : `${Number(value.toPrecision(3))} %`;
}
/** Exact, with thin spaces between thousands. */
export function exact(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, '\u2009');
}
/** Up to six significant digits: for reading, not for copying. */
export function number(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const text = Math.abs(value) >= 1e-4 && Math.abs(value) < 1e6 ? value.toPrecision(6) : value.toExponential(5);
  return text.replace(/(\.\d*?)0+(?=$|e)/, '$1').replace(/\.(?=$|e)/, '').replace('e+', 'e').replace(/^-/, '−');
}
export function hexOffset(offset: number): string {
  return `0x${offset.toString(16)}`;
}
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${exact(n)} ${n === 1 ? one : many}`;
}
/** "about 25 s" */
export function seconds(s: number): string {
  return s < 1 ? 'under a second' : s < 90 ? `about ${Math.round(s)} s` : `about ${Math.round(s / 60)} min`;
}
