// SPDX-License-Identifier: Apache-2.0
// What is known of the model as files, and of a tensor as text to paste.
import type { Document, Tensor } from '../core/protocol.js';
import { csvOf, saveJson, saveText } from '../ui/save.js';
import { CHECKUP, type App } from './app.js';

type Report = 'info' | 'tensors' | 'stats' | 'doctor';

async function reportOf(app: App, command: Report): Promise<Document | null> {
  const { model } = app;
  if (model === null) return null;
  if (command === 'info') return model.info;
  if (command === 'tensors') return app.run('listing tensors', 'report', { model: model.id, command });
  await app.reportOf(command, command === 'doctor' ? CHECKUP : 'statistics of all tensors');
  return model.reports.get(command) ?? null;
}

/** As the program prints it. */
export async function saveReport(app: App, command: Report): Promise<void> {
  const document = await reportOf(app, command);
  if (document !== null) saveJson(`${app.model!.label}.${command}.json`, document);
}

const COLUMNS = {
  tensors: ['name', 'dtype', 'shape', 'numel', 'nbytes', 'file', 'offset', 'readable'],
  stats: ['name', 'dtype', 'shape', 'numel', 'exact', 'min', 'max', 'mean', 'std', 'absmax', 'l2', 'skew', 'kurtosis', 'zeros', 'nan', 'pos_inf', 'neg_inf', 'subnormal', 'distinct'],
};
export async function saveTable(app: App, command: 'tensors' | 'stats'): Promise<void> {
  const document = await reportOf(app, command);
  if (document === null) return;
  const rows = document['tensors'] as Record<string, unknown>[];
  const columns = COLUMNS[command];
  saveText(`${app.model!.label}.${command}.csv`, csvOf([columns, ...rows.map((row) => columns.map((key) => cell(row[key])))]), 'text/csv');
}
function cell(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' ? value : Array.isArray(value) ? value.join('x') : String(value);
}

const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** The command that shows a tensor. */
export function commandFor({ name, file }: Tensor): string {
  return `assay show ${shell(file)} ${shell(name)}`;
}
/** Python that reads a tensor, of formats that Python's own libraries read; null otherwise. */
export function pythonFor({ name, file }: Tensor, format: string): string | null {
  const [path, key] = [JSON.stringify(file), JSON.stringify(name)];
  if (format === 'safetensors') return `from safetensors import safe_open\nwith safe_open(${path}, "pt") as f:\n    x = f.get_tensor(${key})`;
  return format === 'torch-zip' || format === 'torch-legacy' ? `import torch\nx = torch.load(${path}, weights_only=True)[${key}]` : null;
}
export async function copy(app: App, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    app.fail(new Error(`the browser did not allow it; this is the text: ${text}`), 'Copying');
  }
}
