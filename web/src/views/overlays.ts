// SPDX-License-Identifier: Apache-2.0
// Histograms over that of the tensor that is looked at: other layers of its role, and tensors that were pinned.
import type { App } from '../app/app.js';
import { SAMPLE_BYTES } from '../core/matrix.js';
import type { Census, Tensor } from '../core/protocol.js';

/** Others are counted unasked where that is cheap. */
const CHEAP = 32 * 2 ** 20;
const MOST_PEERS = 24;
const WHOLE = 2 * SAMPLE_BYTES;

export interface Overlay {
  tensor: number;
  name: string;
  census: Census;
}

/** At most `most` of the others, evenly spread, the nearest neighbours always among them. */
export function spread(peers: readonly number[], own: number, most: number): number[] {
  const at = peers.indexOf(own);
  const others = peers.filter((peer) => peer !== own);
  if (others.length <= most) return others;
  const chosen = new Set([peers[at - 1], peers[at + 1]].filter((peer) => peer !== undefined).slice(0, most));
  for (let i = 0; chosen.size < most && i < most; ++i) chosen.add(others[Math.floor((i * others.length) / most)]!);
  return others.filter((peer) => chosen.has(peer));
}

export class Overlays {
  /** Null: as it costs. */
  private wished: boolean | null = null;
  private shown: { tensor: number; peers: Overlay[] } | null = null;
  private reading = 0;

  constructor(
    private readonly app: App,
    private readonly changed: () => void,
  ) {}

  /** Whether the others of the role are drawn; reads them when they are and it has not. */
  shows(tensor: Tensor): boolean {
    return this.wished ?? this.cost(tensor) <= CHEAP;
  }
  toggle(tensor: Tensor): void {
    this.wished = !this.shows(tensor);
    this.changed();
  }
  private chosen(tensor: Tensor): number[] {
    const { selection } = this.app;
    if (selection === null || selection.tensor !== tensor || selection.peers.length < 2) return [];
    return spread(selection.peers, tensor.index, MOST_PEERS);
  }
  /** Others are counted in part where all of them would be much. */
  sampled(tensor: Tensor): boolean {
    return tensor.nbytes > WHOLE;
  }
  /** Bytes that drawing them reads. */
  cost(tensor: Tensor): number {
    return this.chosen(tensor).length * (this.sampled(tensor) ? SAMPLE_BYTES : tensor.nbytes);
  }
  count(tensor: Tensor): number {
    return this.chosen(tensor).length;
  }
  peers(tensor: Tensor): readonly Overlay[] {
    if (!this.shows(tensor)) return [];
    if (this.shown?.tensor !== tensor.index) void this.read(tensor);
    return this.shown?.peers ?? [];
  }
  private async read(tensor: Tensor): Promise<void> {
    const { model } = this.app;
    const shown = { tensor: tensor.index, peers: [] as Overlay[] };
    this.shown = shown;
    const turn = ++this.reading;
    if (model === null) return;
    for (const facts of await this.app.engine.call('tensors', { model: model.id, indices: this.chosen(tensor) })) {
      if (turn !== this.reading || this.app.model !== model) return;
      if (!facts.readable || facts.numel === 0) continue;
      const census = await this.app.censusOf(facts, this.sampled(tensor));
      if (census === null) return;
      shown.peers.push({ tensor: facts.index, name: facts.name, census });
      if (turn === this.reading) this.changed();
    }
  }

  // --- pins

  get pins(): readonly Overlay[] {
    return this.app.model?.pins ?? [];
  }
  isPinned(tensor: Tensor): boolean {
    return this.pins.some((pin) => pin.tensor === tensor.index);
  }
  togglePin(tensor: Tensor, census: Census): void {
    const { model } = this.app;
    if (model === null) return;
    model.pins = this.isPinned(tensor) ? model.pins.filter((pin) => pin.tensor !== tensor.index) : [...model.pins.slice(-3), { tensor: tensor.index, name: tensor.name, census }];
    this.app.changed();
  }
}
