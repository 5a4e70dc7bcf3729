// SPDX-License-Identifier: Apache-2.0
// The core's colours, asked for once.
import type { Engine } from '../core/engine.js';
import type { Colors } from '../core/protocol.js';

const known = new WeakMap<Engine, Map<string, Promise<Colors>>>();

export function colorsOf(engine: Engine, theme: 'dark' | 'light'): Promise<Colors> {
  const themes = known.get(engine) ?? new Map<string, Promise<Colors>>();
  known.set(engine, themes);
  const asked = themes.get(theme) ?? engine.call('colors', { theme });
  themes.set(theme, asked);
  return asked;
}
