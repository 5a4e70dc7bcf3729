// SPDX-License-Identifier: Apache-2.0

/**
 * How well a text answers to what was typed: letters in order, whole words before scattered ones. The less the better, null where it does not.
 */
export function fuzzy(typed: string, text: string): number | null {
  const wanted = typed.toLowerCase();
  const there = text.toLowerCase();
  const whole = there.indexOf(wanted);
  if (whole >= 0) return whole === 0 || /\W/.test(there[whole - 1]!) ? text.length / 1000 : 1 + text.length / 1000;
  let at = 0;
  let gaps = 0;
  for (const letter of wanted) {
    if (letter === ' ') continue;
    const found = there.indexOf(letter, at);
    if (found < 0) return null;
    gaps += found - at;
    at = found + 1;
  }
  return 2 + gaps + text.length / 1000;
}
