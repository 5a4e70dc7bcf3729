// SPDX-License-Identifier: Apache-2.0
// A canvas of an element: drawn at the screen's resolution, again when its size, its data or the theme changes, and as a PNG.
import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** Height of the line above an exported picture, in CSS pixels. */
const HEAD = 28;

export interface Size {
  width: number;
  height: number;
}
/** The page's colours as a canvas takes them. */
export interface Ink {
  page: string;
  panel: string;
  text: string;
  muted: string;
  line: string;
  strong: string;
  accent: string;
  share: string;
  bad: string;
  warn: string;
  good: string;
  dark: boolean;
  font: string;
  mono: string;
}
/** Draws everything, from nothing but its arguments. Sizes are CSS pixels. */
export type Draw = (ctx: CanvasRenderingContext2D, size: Size, ink: Ink) => void;

const NAMES = { page: '--page', panel: '--panel', text: '--text', muted: '--muted', line: '--line', strong: '--line-strong', accent: '--focus', share: '--share', bad: '--bad', warn: '--warn', good: '--good' } as const;

/** The custom properties of an element as plain colours: a canvas knows no var() and no light-dark(). */
export function inkOf(element: HTMLElement): Ink {
  const probe = document.createElement('span');
  (element.shadowRoot ?? element).append(probe);
  // Where the person's own colours are forced, a canvas has to take them by name.
  const forced = matchMedia('(forced-colors: active)').matches;
  probe.style.setProperty('forced-color-adjust', 'none');
  const color = (key: string, name: string) => {
    probe.style.color = !forced ? `var(${name})` : key === 'page' || key === 'panel' ? 'Canvas' : key === 'accent' ? 'Highlight' : 'CanvasText';
    return getComputedStyle(probe).color;
  };
  const colors = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, color(key, name)])) as Record<keyof typeof NAMES, string>;
  const { fontFamily } = getComputedStyle(document.body);
  const mono = getComputedStyle(document.documentElement).getPropertyValue('--mono') || 'monospace';
  probe.remove();
  return { ...colors, dark: isDark(colors.page), font: `12px ${fontFamily}`, mono: `11px ${mono}` };
}

export function isDark(color: string): boolean {
  const [r = 255, g = 255, b = 255] = (color.match(/[\d.]+/g) ?? []).map(Number);
  const scale = color.startsWith('color(') ? 255 : 1;
  return (0.299 * r + 0.587 * g + 0.114 * b) * scale < 128;
}

type Host = ReactiveControllerHost & HTMLElement & { renderRoot: ParentNode };

export class Sketch implements ReactiveController {
  private canvas: HTMLCanvasElement | null = null;
  private waiting = false;
  private readonly sizes = new ResizeObserver(() => {
    this.onSize?.(this.size);
    this.redraw();
  });
  private readonly scheme = matchMedia('(prefers-color-scheme: dark)');
  private readonly contrast = matchMedia('(forced-colors: active)');
  private readonly theme = new MutationObserver(() => this.themed());

  constructor(
    private readonly host: Host,
    private readonly selector: string,
    private readonly draw: Draw,
    /** Told when the canvas has another size or another theme. */
    private readonly onSize?: (size: Size) => void,
  ) {
    host.addController(this);
  }
  hostConnected(): void {
    this.scheme.addEventListener('change', this.themed);
    this.contrast.addEventListener('change', this.themed);
    this.theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  }
  hostDisconnected(): void {
    this.scheme.removeEventListener('change', this.themed);
    this.contrast.removeEventListener('change', this.themed);
    this.theme.disconnect();
    this.sizes.disconnect();
    this.canvas = null;
  }
  hostUpdated(): void {
    const found = this.host.renderRoot.querySelector<HTMLCanvasElement>(this.selector);
    if (found !== this.canvas) {
      this.sizes.disconnect();
      this.canvas = found;
      if (found !== null) this.sizes.observe(found);
    }
    this.redraw();
  }
  private readonly themed = () => {
    this.onSize?.(this.size);
    this.redraw();
  };

  get size(): Size {
    return { width: this.canvas?.clientWidth ?? 0, height: this.canvas?.clientHeight ?? 0 };
  }
  get ratio(): number {
    return Math.min(devicePixelRatio || 1, 2);
  }
  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.canvas !== null) this.paint(this.canvas, this.ratio);
    });
  }
  /** As a picture at twice the size, on the page's colour; with a line above that says what it is, and another canvas below, its legend. */
  async png({ title = '', below }: { title?: string; below?: Sketch } = {}): Promise<Blob> {
    const parts = [this, ...(below === undefined ? [] : [below])].map((sketch) => {
      const part = document.createElement('canvas');
      sketch.paint(part, 2, true);
      return part;
    });
    const canvas = document.createElement('canvas');
    const ink = inkOf(this.host);
    const head = title === '' ? 0 : 2 * HEAD;
    canvas.width = Math.max(...parts.map(({ width }) => width));
    canvas.height = head + parts.reduce((sum, { height }) => sum + height, 0);
    const ctx = canvas.getContext('2d')!;
    ctx.fillStyle = ink.page;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = ink.text;
    ctx.font = ink.font.replace('12px', '26px');
    ctx.textBaseline = 'middle';
    ctx.fillText(title, 16, head / 2, canvas.width - 32);
    let y = head;
    for (const part of parts) {
      ctx.drawImage(part, 0, y);
      y += part.height;
    }
    return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob === null ? reject(new Error('the picture is too large')) : resolve(blob)), 'image/png'));
  }
  private paint(canvas: HTMLCanvasElement, ratio: number, filled = false): void {
    const size = this.size;
    if (size.width === 0 || size.height === 0) return;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const ctx = canvas.getContext('2d')!;
    const ink = inkOf(this.host);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (filled) {
      ctx.fillStyle = ink.page;
      ctx.fillRect(0, 0, width, height);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.font = ink.font;
    ctx.textBaseline = 'middle';
    this.draw(ctx, size, ink);
  }
}
