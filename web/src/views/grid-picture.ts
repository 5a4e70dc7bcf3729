// SPDX-License-Identifier: Apache-2.0
// A grid of cells on a canvas: drawn in the theme's colours, pointed at, walked by keys, entered.
import type { AppElement } from '../ui/element.js';
import { cellAfter, type Cell } from '../ui/grid-keys.js';
import { Sketch } from '../ui/sketch.js';
import { MapColors } from './colors.js';
import { cellAt, drawGrid, type Grid } from './grid-draw.js';

export class GridPicture {
  readonly colors: MapColors;
  cursor: Cell | null = null;
  private readonly sketch: Sketch;

  /** `grid` says what is drawn, without the cursor; `enter` is told the cell that was clicked, or on which Enter was pressed. */
  constructor(
    private readonly host: AppElement,
    selector: string,
    private readonly grid: () => Omit<Grid, 'cursor'> | null,
    private readonly enter?: (cell: Cell) => void,
  ) {
    this.colors = new MapColors(host);
    this.sketch = new Sketch(
      host,
      selector,
      (ctx, size, ink) => {
        const shown = this.grid();
        if (shown !== null) drawGrid(ctx, { ...shown, cursor: this.enter === undefined ? null : this.cursor }, size, ink);
      },
      this.colors.refresh,
    );
  }
  png(title: string): Promise<Blob> {
    return this.sketch.png({ title });
  }
  moveTo(cell: Cell | null): void {
    this.cursor = cell;
    this.host.requestUpdate();
  }

  private at(event: MouseEvent): Cell | null {
    const shown = this.grid();
    return shown === null ? null : cellAt(event.offsetX, event.offsetY, shown, this.sketch.size);
  }
  readonly onMove = (event: PointerEvent): void => {
    const cell = this.at(event);
    if (cell !== null && (cell.row !== this.cursor?.row || cell.col !== this.cursor.col)) this.moveTo(cell);
  };
  readonly onClick = (event: MouseEvent): void => {
    const cell = this.at(event);
    if (cell !== null) this.enter?.(cell);
  };
  readonly onKey = (event: KeyboardEvent): void => {
    const shown = this.grid();
    if (shown === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = cellAfter(event.key, this.cursor ?? shown.selected ?? null, shown.rows.length, shown.cols.length);
    if (next !== null) this.moveTo(next);
    else if (event.key === 'Enter' && this.cursor !== null) this.enter?.(this.cursor);
    else return;
    event.preventDefault();
  };
}
