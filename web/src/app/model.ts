// SPDX-License-Identifier: Apache-2.0
// What the page keeps of a model that is open, of what is looked at in it, and of what runs. Types only.
import type { Census, Document, MeasuredStats, ModelFiles, Opened, Progress, Stats, Tensor } from '../core/protocol.js';
import type { Names } from '../tree/rows.js';

/** An open model and what is known of it by now. */
export interface OpenModel extends Opened {
  id: number;
  label: string;
  files: ModelFiles;
  /** The model that is built in. */
  sample: boolean;
  names: Names;
  /** Of its names, to know it again. */
  sum: string;
  stats: Map<number, Stats>;
  /** Documents of whole-model jobs that have run, by command. */
  reports: Map<string, Document>;
  /** The same of first looks: of a sample, and marked so. */
  looks: Map<string, Document>;
  scans: Document[] | null;
  /** Statistics of every tensor, as far as they have been measured. */
  measured: Measured;
  /** How often each value occurs, of tensors that were counted. */
  censuses: Map<number, Census>;
  /** Tensors whose histograms are kept beside that of the one that is looked at. */
  pins: readonly { tensor: number; name: string; census: Census }[];
}

/** By tensor: undefined where it has not been measured, null where it cannot be. */
export interface Measured {
  stats: (MeasuredStats | null | undefined)[];
  /** Whether all of them are there, and all of them exact. */
  state: 'none' | 'sampled' | 'exact';
}

/** What is looked at: one tensor, and the others of its role where the tree shows them as one. */
export interface Selection {
  tensor: Tensor;
  /** Tensors of the same place in other layers or experts, natural order, the selected one among them. */
  peers: readonly number[];
  /** Their pattern: "model.layers.*.self_attn.q_proj.weight"; the name where there is one only. */
  pattern: string;
}

export interface Job {
  id: number;
  title: string;
  progress: Progress | null;
  started: number;
  /** The model that it reads. */
  model: number | null;
  cancel: () => void;
}

/** What somebody should know without having done anything wrong, and what it offers to do. */
export interface Notice {
  text: string;
  button: string;
  act(): void;
  /** The view that it leads to: it goes away once that is shown. */
  view: string;
}
