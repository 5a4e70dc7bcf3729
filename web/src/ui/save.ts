// SPDX-License-Identifier: Apache-2.0
// Handing something to the person as a file. It goes to the browser's downloads and nowhere else.

export function save(name: string, data: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(data);
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
export function saveText(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type }));
}
export function saveJson(name: string, value: unknown): void {
  saveText(name, `${JSON.stringify(value, null, 2)}\n`, 'application/json');
}

/** Rows of cells by RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}
function csvCell(cell: string | number | null): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without what a file system refuses. */
export function fileName(name: string): string {
  return name.replace(/[\u0000-\u001f/\\:*?"<>|]+/g, '_').slice(0, 180) || 'file';
}
