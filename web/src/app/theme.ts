// SPDX-License-Identifier: Apache-2.0
// System, light or dark; the choice is the only thing that is stored.
const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'assay.theme';

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be refused
  }
}
let current: Theme = THEMES.find((name) => name === stored()) ?? 'system';

export function theme(): Theme {
  return current;
}
export function applyTheme(): void {
  if (current === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = current;
}
export function nextTheme(): void {
  current = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]!;
  try {
    localStorage.setItem(KEY, current);
  } catch {
    // It then lasts as long as the page.
  }
  applyTheme();
}
