// SPDX-License-Identifier: Apache-2.0
// Where each view was scrolled to: whoever comes back to one finds it as it was left.
import type { OpenModel } from './model.js';

/** What a view draws may still grow for so many frames. */
const MOST_FRAMES = 40;

export class Scrolls {
  private places = new Map<string, number>();
  private model: OpenModel | null = null;
  private view = '';
  private restoring = 0;

  /** `panel` holds the view and scrolls; on a narrow page, where `host` does not hide what is beyond it, the page scrolls. */
  constructor(
    private readonly host: HTMLElement,
    private readonly panel: () => HTMLElement | null,
  ) {}

  private get scroller(): Element | null {
    return getComputedStyle(this.host).overflowY === 'visible' ? document.scrollingElement : this.panel();
  }
  /** Before another view is drawn. */
  leave(view: string, model: OpenModel | null): void {
    if (model !== this.model) {
      this.model = model;
      this.places = new Map();
      this.view = '';
    }
    if (view === this.view) return;
    const { scroller } = this;
    if (this.view !== '' && scroller !== null) this.places.set(this.view, scroller.scrollTop);
  }
  /** After it was; `afresh` where something in it is wanted, wherever it was left. */
  arrive(view: string, afresh: boolean): void {
    if (view === this.view) return;
    this.view = view;
    const { scroller } = this;
    if (scroller === null) return;
    // What was never seen begins at its top, below what is above it on a narrow page.
    const top = scroller === this.panel() ? 0 : (this.panel()?.parentElement?.offsetTop ?? 0);
    const to = (afresh ? undefined : this.places.get(view)) ?? Math.min(scroller.scrollTop, top);
    const turn = ++this.restoring;
    let last = -1;
    const step = (left: number) => {
      // Another view was chosen meanwhile, or somebody scrolls.
      if (turn !== this.restoring || (last >= 0 && Math.abs(scroller.scrollTop - last) > 1)) return;
      scroller.scrollTop = to;
      last = scroller.scrollTop;
      if (Math.abs(last - to) > 1 && left > 0) requestAnimationFrame(() => step(left - 1));
    };
    step(MOST_FRAMES);
  }
}
