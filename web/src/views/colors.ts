// SPDX-License-Identifier: Apache-2.0
// The core's colours, asked for once.
import type { Engine } from '../core/engine.js';
import type { Colors } from '../core/protocol.js';
import type { AppElement } from '../ui/element.js';
import { inkOf, isDark } from '../ui/sketch.js';
import { colorIndex, type Kind } from './picture-draw.js';

const known = new WeakMap<Engine, Map<string, Promise<Colors>>>();

export function colorsOf(engine: Engine, theme: 'dark' | 'light'): Promise<Colors> {
  const themes = known.get(engine) ?? new Map<string, Promise<Colors>>();
  known.set(engine, themes);
  const asked = themes.get(theme) ?? engine.call('colors', { theme });
  themes.set(theme, asked);
  return asked;
}

/** The colour maps as an element's theme has them: null until the core told, asked for again by `refresh` when the theme may have changed. */
export class MapColors {
  now: Colors | null = null;
  /** Of which theme `now` is. */
  theme = '';
  constructor(private readonly host: AppElement) {}

  readonly refresh = (): void => {
    const theme = isDark(inkOf(this.host).page) ? 'dark' : 'light';
    void colorsOf(this.host.app.engine, theme).then((colors) => {
      if (this.now === colors) return;
      this.now = colors;
      this.theme = theme;
      this.host.requestUpdate();
    });
  };
  /** As CSS, of a value in [-limit, limit] or [0, limit]. */
  css(kind: Kind, value: number, limit: number): string | null {
    if (this.now === null) return null;
    const map = this.now[kind];
    const i = 3 * colorIndex(kind, value, limit);
    return `rgb(${map[i]},${map[i + 1]},${map[i + 2]})`;
  }
}
