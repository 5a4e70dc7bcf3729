// SPDX-License-Identifier: Apache-2.0
// What the page knows, and what can be done: one object that every element is given. It says "change" when something is different.
import { Engine, EngineCrash, type CallOptions } from '../core/engine.js';
import { areSame, filesOf, modelsOf } from '../core/dropped.js';
import type { Args, Census, Command, Method, ModelFile, ModelFiles, Part, Result, Stats, Tensor } from '../core/protocol.js';
import type { Job, Notice, OpenModel, Selection } from './model.js';
import { problemOf, type Problem } from './problems.js';
import { sumOf, writeLink, type Link, type Place } from './link.js';
import { roleOf } from '../core/roles.js';
import { matrixOf, sampleWindows } from '../core/matrix.js';
import type { Spot } from '../core/findings.js';
import { verdictOf, WORDS } from '../core/scans.js';
import { explained } from '../tree/differences.js';
import * as format from '../ui/format.js';

/** Nothing that reads more than this starts by itself. */
export const STARTS_BY_ITSELF = 256 * 2 ** 20;
/** Requests that read up to this are made without saying so in the status bar. */
export const QUIET = 16 * 2 ** 20;
/** Distinct values of all censuses that are kept, 16 bytes each: 48 MiB. */
const MOST_COUNTED = 3 * 2 ** 20;
export const SCANNING = 'scanning for code';
export const CHECKUP = 'checkup';
/** Titles of jobs that measure every tensor. */
export const FIRST_LOOK = 'a first look at all tensors';
export const MEASURING = 'measuring all tensors';
/** Of what is larger a sample comes first: reading all of it would make whoever looks at a tensor wait. */
export const MEASURED_AT_ONCE = 64 * 2 ** 20;
/** Models of more tensors are measured when asked for only. */
const MOST_LOOKED_AT = 20_000;
/** Documents that need no values. */
const HEADERS_ONLY: ReadonlySet<Command> = new Set<Command>(['map', 'verify-headers']);
/** Views that a chosen tensor is not seen in: choosing one leaves them. */
const ABOUT_ALL = new Set(['overview', 'matrix', 'experts', 'findings', 'scan', 'metadata']);
/** Bytes a second, to estimate before anything was measured. */
const USUAL_SPEED = 400 * 2 ** 20;

export class App extends EventTarget {
  model: OpenModel | null = null;
  /** What the first is compared with. */
  other: OpenModel | null = null;
  selection: Selection | null = null;
  view = 'overview';
  filter = '';
  /** Tensors that the last filter chose which was understood (`chosenBy`), null without one. */
  chosen: Uint32Array | null = null;
  chosenBy = '';
  /** Why the filter is not understood. */
  filterProblem = '';
  opening = '';
  /** What the address asked for, until its file is there. */
  wanted: Link | null = null;
  /** The part of a tensor that is seen, where it is not all of it. */
  seen: { tensor: number; place: Place } | null = null;
  private linkTimer = 0;
  problem: Problem | null = null;
  notice: Notice | null = null;
  /** The files that were open before these: to compare with, unread until that is wanted. */
  before: ModelFiles | null = null;
  /** What is to be seen of a tensor as soon as it is drawn. */
  goal: { tensor: number; spot: Spot } | null = null;
  jobs: Job[] = [];
  /** What was chosen in views, by element and property: kept while another is shown. */
  readonly choices = new Map<string, unknown>();
  private nextJob = 1;
  private readBefore = 0;
  private lookedAround: OpenModel | null = null;
  private scanned: OpenModel | null = null;
  /** Bytes that work would read, by model, work, and how exact. */
  private readonly costs = new Map<string, number>();
  private speed = USUAL_SPEED;

  constructor(readonly engine: Engine) {
    super();
    engine.addEventListener('change', () => this.changed());
    engine.addEventListener('crash', (event) => this.fail((event as CustomEvent<EngineCrash>).detail));
  }

  changed(): void {
    this.keepLink();
    this.dispatchEvent(new Event('change'));
  }

  // --- links

  /** The address says what is looked at, without any content. Soon: browsers refuse an address that changes with every step of a drag. */
  keepLink(): void {
    clearTimeout(this.linkTimer);
    this.linkTimer = window.setTimeout(() => {
      if (this.model === null || this.model.sample || this.opening !== '') return;
      const link = this.link();
      if (location.href !== link) history.replaceState(null, '', link);
    }, 150);
  }
  /** The address of what is looked at. */
  link(): string {
    const { model, selection, seen } = this;
    if (model === null) return location.href;
    const tensor = selection?.tensor;
    return new URL(
      writeLink({
        file: model.label,
        size: this.fileSize,
        sum: model.sum,
        view: this.view,
        filter: this.filter,
        ...(tensor === undefined ? {} : { tensor: tensor.name }),
        ...(seen === null || seen.tensor !== tensor?.index ? {} : { place: seen.place }),
      }),
      location.href,
    ).href;
  }
  private get fileSize(): number {
    return (this.model?.info['file_size'] as number | undefined) ?? 0;
  }
  /** Goes where the link leads once its file is open; another file is another matter. */
  private async followLink(): Promise<void> {
    const { wanted, model } = this;
    if (wanted === null || model === null || model.sample) return;
    this.wanted = null;
    if (wanted.file !== model.label) return;
    if (wanted.size !== this.fileSize || (wanted.sum !== undefined && wanted.sum !== model.sum)) {
      this.problem = {
        title: 'This is another file than the link was made of',
        text: `The link leads into a ${wanted.file} of ${format.exact(wanted.size)} bytes; this one has ${format.exact(this.fileSize)}${wanted.size === this.fileSize ? ' too, but other tensors' : ''}.`,
        hint: 'It is open all the same.',
        code: 'another-file',
        report: '',
      };
      return;
    }
    if (wanted.filter !== undefined) await this.setFilter(wanted.filter);
    if (wanted.view !== undefined) this.view = wanted.view;
    const index = wanted.tensor === undefined ? -1 : await this.engine.call('find', { model: model.id, name: wanted.tensor });
    if (index >= 0) {
      this.seen = wanted.place === undefined ? null : { tensor: index, place: wanted.place };
      await this.select(index);
      if (wanted.view !== undefined) this.view = wanted.view;
    }
    this.changed();
  }

  // --- opening

  async openTransfer(transfer: DataTransfer): Promise<void> {
    try {
      const files = await filesOf(transfer);
      if (files.length > 0) return await this.openFiles(files);
      this.problem = { title: 'There is nothing in what was dropped', text: 'No file was found in it.', hint: 'Drop a checkpoint, or a folder that holds one.', code: 'nothing-dropped', report: '' };
      this.changed();
    } catch (error) {
      this.fail(error, 'What was dropped');
    }
  }
  async openFiles(files: readonly ModelFile[]): Promise<void> {
    const [first, second, ...rest] = modelsOf(files);
    if (first === undefined) return;
    await this.openModel(first);
    if (second === undefined) return this.offerBefore(first);
    await this.openOther(second);
    const { model, other } = this;
    if (model === null || other === null) return;
    const left = rest.length === 0 ? '' : ` Two is the most; not opened: ${rest.map(({ label }) => label).join(', ')}.`;
    const text = `Two models are open: ${model.label}, shown here (A), and ${other.label} to compare it with (B).${left}`;
    this.notice = { text, view: 'compare', button: 'Compare them', act: () => this.show('compare') };
    this.changed();
  }
  async openModel(files: ModelFiles, sample = false): Promise<void> {
    const readBefore = this.engine.bytesRead;
    this.opening = files.label;
    this.problem = null;
    this.changed();
    try {
      const model = await this.load(files, sample);
      if (this.model !== null && !this.model.sample && !areSame(this.model.files, files)) this.before = this.model.files;
      for (const old of [this.model, this.other]) {
        if (old === null) continue;
        for (const job of this.jobs) if (job.model === old.id) job.cancel();
        this.engine.close(old.id);
      }
      this.model = model;
      this.readBefore = readBefore;
      this.notice = null;
      this.other = null;
      this.selection = null;
      this.goal = null;
      this.view = 'overview';
      this.filter = '';
      this.chosen = null;
      this.filterProblem = '';
    } catch (error) {
      this.fail(error, files.label);
      await this.warnOf(files);
    } finally {
      this.opening = '';
      await this.followLink();
      this.changed();
    }
  }
  /** Who opens one file after the other often wants to know what changed. */
  private offerBefore(now: ModelFiles): void {
    const { before, model } = this;
    if (before === null || model?.files !== now || areSame(before, now)) return;
    const which = before.label === now.label ? 'another file of this name' : before.label;
    this.notice = { text: `Before this, ${which} was open.`, view: 'compare', button: 'Compare with it', act: () => void this.compareWithBefore() };
    this.changed();
  }
  async compareWithBefore(): Promise<void> {
    const { before } = this;
    if (before === null) return;
    this.show('compare');
    await this.openOther(before);
  }
  /** What is no checkpoint, or is beyond reading, may still run something where it is loaded. */
  private async warnOf(files: ModelFiles): Promise<void> {
    const { problem } = this;
    const scans = await this.engine.call('scan', { files }).catch(() => []);
    const { verdict, words } = verdictOf(scans);
    if (verdict === 'clean' || problem === null || this.problem !== problem) return;
    this.problem = { ...problem, text: `${problem.text} ${WORDS[verdict]} if it were loaded: ${words.slice(0, 3).join('; ')}.`, hint: `do not load it with Python${problem.hint === '' ? '' : `; ${problem.hint}`}` };
    this.changed();
  }
  async openOther(files: ModelFiles): Promise<void> {
    try {
      this.other = await this.load(files, false);
    } catch (error) {
      this.fail(error, files.label);
    }
    this.changed();
  }
  /** What is compared with becomes what is looked at, and the other way round. */
  swap(): void {
    if (this.model === null || this.other === null) return;
    [this.model, this.other] = [this.other, this.model];
    this.selection = null;
    this.filter = '';
    this.chosen = null;
    this.filterProblem = '';
    this.changed();
  }
  /** Bytes read since the model was opened, by all workers; what several of them read counts for each. */
  get bytesRead(): number {
    return this.engine.bytesRead - this.readBefore;
  }
  private async load(files: ModelFiles, sample: boolean): Promise<OpenModel> {
    const { model: id, opened } = await this.engine.open(files);
    const names = await this.engine.call('names', { model: id });
    return { ...opened, tree: explained(opened.tree), id, label: files.label, files, sample, names, sum: sumOf(names), stats: new Map(), reports: new Map(), looks: new Map(), scans: null, measured: { stats: [], state: 'none' }, censuses: new Map(), pins: [] };
  }

  // --- looking

  show(view: string): void {
    this.view = view;
    if (this.notice?.view === view) this.notice = null;
    this.changed();
  }
  /** Looks at a tensor by number; `peers` and their pattern where the tree knows them, else those of its role. */
  async select(index: number, peers?: readonly number[], pattern?: string): Promise<void> {
    const model = this.model;
    if (model === null) return;
    const role = peers === undefined ? roleOf(model.names, index) : { peers, pattern };
    const [tensor] = await this.engine.call('tensors', { model: model.id, indices: [index] });
    if (tensor === undefined || this.model !== model) return;
    this.selection = { tensor, peers: role.peers, pattern: role.pattern ?? tensor.name };
    if (ABOUT_ALL.has(this.view)) this.view = 'tensor';
    this.changed();
  }
  /** Shows a tensor, at a place in it where that is given. */
  async lookAt(index: number, spot?: Spot): Promise<void> {
    this.goal = spot === undefined ? null : { tensor: index, spot };
    if (this.selection?.tensor.index !== index) await this.select(index);
    this.show('tensor');
  }
  async setFilter(text: string): Promise<void> {
    this.filter = text;
    const model = this.model;
    if (model === null || text.trim() === '') {
      this.chosen = null;
      this.filterProblem = '';
      return this.changed();
    }
    try {
      const chosen = await this.engine.call('select', { model: model.id, filter: text });
      if (this.filter !== text) return;
      this.chosen = chosen;
      this.chosenBy = text;
      this.filterProblem = '';
    } catch (error) {
      if (this.filter !== text) return;
      this.filterProblem = error instanceof Error ? error.message : String(error);
    }
    this.changed();
  }

  /** Looks at the first tensor that the filter chooses. */
  async openFirst(): Promise<void> {
    if (this.chosenBy !== this.filter) await this.setFilter(this.filter);
    const first = this.filterProblem === '' ? this.chosen?.[0] : undefined;
    if (first === undefined) return;
    await this.select(first);
    this.show('tensor');
  }

  // --- work that reads values

  /** Runs a request as a job that the status bar shows and that can be cancelled; null when it was, or failed. */
  async run<M extends Method>(title: string, method: M, args: Args<M>, bytes = 0, onPart?: (part: Part<M>) => void): Promise<Result<M> | null> {
    const controller = new AbortController();
    const job: Job = { id: this.nextJob++, title, progress: null, started: performance.now(), model: 'model' in args ? args.model : null, cancel: () => controller.abort() };
    const options: CallOptions<M> = {
      signal: controller.signal,
      ...(onPart === undefined ? {} : { onPart }),
      onProgress: (progress) => {
        job.progress = progress;
        this.changed();
      },
    };
    this.jobs = [...this.jobs, job];
    this.changed();
    try {
      const result = await this.engine.call(method, args, options);
      const took = (performance.now() - job.started) / 1000;
      if (bytes > 2 ** 24 && took > 0.05) this.speed = bytes / took;
      return result;
    } catch (error) {
      if (!controller.signal.aborted && !this.isClosed(args) && !(error instanceof EngineCrash)) this.fail(error, title);
      return null;
    } finally {
      this.jobs = this.jobs.filter((other) => other !== job);
      this.changed();
    }
  }
  /** Of a model that was closed meanwhile nobody waits for an answer. */
  private isClosed(args: object): boolean {
    return 'model' in args && ![this.model?.id, this.other?.id].includes(args.model as number);
  }
  cancelJobs(): void {
    for (const job of this.jobs) job.cancel();
  }
  /** "about 25 s" for so many bytes, by what was measured last. */
  estimate(bytes: number): string {
    return format.seconds(bytes / this.speed);
  }
  get tensorBytes(): number {
    return (this.model?.info['tensor_bytes'] as number | undefined) ?? 0;
  }

  /** Exact statistics, once for each tensor. */
  async statsOf(tensor: Tensor): Promise<Stats | null> {
    const model = this.model;
    if (model === null) return null;
    const known = model.stats.get(tensor.index);
    if (known !== undefined) return known;
    const stats = await this.run(`statistics of ${tensor.name}`, 'stats', { model: model.id, tensor: tensor.index }, tensor.nbytes);
    if (stats !== null) model.stats.set(tensor.index, stats);
    this.changed();
    return stats;
  }
  /**
   * Measures every tensor for what compares them: all of it, or a sample of the large ones for a first look. What was measured before is
   * shown until it is measured better.
   */
  async measure(sample: boolean): Promise<void> {
    const model = this.model;
    if (model === null || this.measuring) return;
    const { measured } = model;
    // A sample's places are far apart: its speed says nothing of reading all.
    const bytes = sample ? 0 : this.tensorBytes;
    const done = await this.run(sample ? FIRST_LOOK : MEASURING, 'measure', { model: model.id, sample }, bytes, ([tensor, stats]) => (measured.stats[tensor] = stats));
    if (done === null) return;
    measured.state = measured.stats.some((stats) => stats?.sampled === true) ? 'sampled' : 'exact';
    this.changed();
  }
  /** Starts what starts by itself: measuring and examining a small model, a first look at a larger one. Once for each model. */
  async lookAround(): Promise<void> {
    const model = this.model;
    if (model === null || this.lookedAround === model || model.measured.state !== 'none') return;
    this.lookedAround = model;
    if (model.tensorCount > MOST_LOOKED_AT) return;
    if (this.tensorBytes <= MEASURED_AT_ONCE) {
      const { measured } = model;
      await this.measure(false);
      if (this.model === model && measured.state === 'exact') await this.reportOf('doctor', CHECKUP);
      return;
    }
    if ((await this.costOf(model, 'measure', true)) <= STARTS_BY_ITSELF && this.model === model) await this.measure(true);
  }
  get measuring(): boolean {
    return this.jobs.some(({ title, model }) => model === this.model?.id && (title === FIRST_LOOK || title === MEASURING));
  }
  /** Bytes that work would read, once they are known; null until then. */
  bytesOf(of: Args<'cost'>['of'], sample: boolean): number | null {
    const { model } = this;
    if (model === null) return null;
    const known = this.costs.get(`${model.id} ${of} ${sample}`);
    if (known === undefined)
      void this.costOf(model, of, sample).then(
        () => this.changed(),
        () => undefined, // a failure of the core is told by itself
      );
    return known ?? null;
  }
  async costOf(model: OpenModel, of: Args<'cost'>['of'], sample: boolean): Promise<number> {
    const key = `${model.id} ${of} ${sample}`;
    const bytes = this.costs.get(key) ?? (await this.engine.call('cost', { model: model.id, of, sample }));
    this.costs.set(key, bytes);
    return bytes;
  }

  /**
   * How often each value occurs in a tensor, counted once; null when it was cancelled, or failed. `sample`: of some of it, where that is
   * enough for a first look; its `n` then is less than the tensor's elements.
   */
  async censusOf(tensor: Tensor, sample = false): Promise<Census | null> {
    const model = this.model;
    if (model === null) return null;
    const known = model.censuses.get(tensor.index);
    if (known !== undefined && (sample || known.n >= tensor.numel)) return known;
    const windows = sample ? sampleWindows(matrixOf(tensor.shape), tensor.nbytes / tensor.numel) : null;
    const bytes = windows === null ? tensor.nbytes : 0;
    const args = { model: model.id, tensor: tensor.index, ...(windows === null ? {} : { window: windows }) };
    const census = await this.quietly(`histogram of ${tensor.name}`, 'census', args, bytes, tensor.name);
    if (census === null) return null;
    model.censuses.set(tensor.index, census);
    this.forgetCensuses(model);
    return census;
  }
  /** The oldest first, once they come to much. */
  private forgetCensuses({ censuses }: OpenModel): void {
    let values = [...censuses.values()].reduce((sum, census) => sum + census.values.length, 0);
    for (const [tensor, census] of censuses) {
      if (values <= MOST_COUNTED || censuses.size === 1) return;
      values -= census.values.length;
      censuses.delete(tensor);
    }
  }
  /** A request that reads `bytes`; what reads much is a job that the status bar shows. Null when it was cancelled, or failed. */
  async quietly<M extends Method>(title: string, method: M, args: Args<M>, bytes: number, about: string): Promise<Result<M> | null> {
    if (bytes > QUIET) return this.run(title, method, args, bytes);
    try {
      return await this.engine.call(method, args);
    } catch (error) {
      if (!this.isClosed(args) && !(error instanceof EngineCrash)) this.fail(error, about);
      return null;
    }
  }
  /** A document about the whole model, once; of a sample in `looks`, unless that was all there is. */
  async reportOf(command: Exclude<Command, 'info' | 'tree' | 'tensors' | 'moe-structure'>, title: string, sample = false): Promise<void> {
    const model = this.model;
    if (model === null || model.reports.has(command) || (sample && model.looks.has(command))) return;
    const document = await this.run(title, 'report', { model: model.id, command, sample }, sample || HEADERS_ONLY.has(command) ? 0 : this.tensorBytes);
    if (document !== null) (document['exact'] === false ? model.looks : model.reports).set(command, document);
    this.changed();
  }
  /** Looks for code in the model's files, once: pickles are small and at known places, whatever the size of the file. */
  async scan(again = false): Promise<void> {
    const model = this.model;
    if (model === null || model.scans !== null || (this.scanned === model && !again)) return;
    this.scanned = model;
    model.scans = await this.run(SCANNING, 'scan', { files: model.files });
    this.changed();
  }

  // --- problems

  fail(error: unknown, about = ''): void {
    this.problem = problemOf(error, about);
    this.changed();
  }
  forgive(): void {
    this.problem = null;
    this.notice = null;
    this.changed();
  }
}
