// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clamped, indexOf, revealing, sampleRoom, sliceOf, wheelZoom, whole, windowOf, zoomed } from '../src/views/space.js';

const space = { rows: 100, cols: 40 };
const least = { rows: 8, cols: 5 };

test('zooming keeps the place under the pointer', () => {
  const view = zoomed(whole(space), space, least, 4, { row: 50, col: 10 });
  assert.deepEqual(view, { row: 37.5, col: 7.5, rows: 25, cols: 10 });
  assert.deepEqual(zoomed(view, space, least, 1e-9, { row: 50, col: 10 }), whole(space));
  const closest = zoomed(view, space, least, 1e9, { row: 50, col: 10 });
  assert.deepEqual([closest.rows, closest.cols], [8, 5]);
});

test('the view stays inside, and a space smaller than the least is shown whole', () => {
  assert.deepEqual(clamped({ row: 95, col: -3, rows: 10, cols: 10 }, space, least), { row: 90, col: 0, rows: 10, cols: 10 });
  assert.deepEqual(clamped({ row: 0, col: 0, rows: 1, cols: 1 }, { rows: 3, cols: 2 }, least), { row: 0, col: 0, rows: 3, cols: 2 });
});

test('the cursor is brought into view by the least move', () => {
  const view = { row: 10, col: 10, rows: 10, cols: 10 };
  assert.deepEqual(revealing(view, space, { row: 12, col: 12 }), view);
  assert.deepEqual(revealing(view, space, { row: 20, col: 9 }), { ...view, row: 11, col: 9 });
});

test('a viewport touches whole elements', () => {
  assert.deepEqual(windowOf({ row: 2.5, col: 0, rows: 2, cols: 40 }, space), { row: 2, col: 0, rows: 3, cols: 40 });
  assert.deepEqual(windowOf({ row: 2, col: 3, rows: 2, cols: 1 }, space), { row: 2, col: 3, rows: 2, cols: 1 });
});

test('a window is a slice of the tensor, or lies in one', () => {
  const window = { row: 5, rows: 3, col: 2, cols: 4 };
  assert.deepEqual(sliceOf([100, 40], window), { slice: '[5:8, 2:6]', window });
  assert.deepEqual(sliceOf([40], { row: 0, rows: 1, col: 2, cols: 4 }), { slice: '[2:6]', window: { row: 0, rows: 1, col: 2, cols: 4 } });
  // 4 x 10 rows: 15 to 17 are within index 1, 5 to 12 are not within one.
  assert.deepEqual(sliceOf([4, 10, 40], { ...window, row: 15 }), { slice: '[1, 5:8, 2:6]', window: { ...window, row: 15 } });
  assert.deepEqual(sliceOf([4, 10, 40], { ...window, row: 5, rows: 8 }), { slice: '[0:2, :, 2:6]', window: { ...window, row: 0, rows: 20 } });
  assert.deepEqual(sliceOf([2, 3, 5, 7], { row: 17, rows: 6, col: 0, cols: 7 }), { slice: '[1, 0:2, :, 0:7]', window: { row: 15, rows: 10, col: 0, cols: 7 } });
});

test('a place in the matrix is an index of the tensor', () => {
  assert.deepEqual(indexOf([4, 10, 40], 17, 3), [1, 7, 3]);
  assert.deepEqual(indexOf([40], 0, 3), [3]);
  assert.deepEqual(indexOf([], 0, 0), []);
});

test('a first look at a large tensor reads 64 MiB at most', () => {
  const room = { rows: 300, cols: 500 };
  // Rows that are read whole: 256 of them at a block each, fewer where a row is larger.
  assert.deepEqual(sampleRoom({ rows: 128256, cols: 4096 }, 2, room), { rows: 256, cols: 500 });
  assert.deepEqual(sampleRoom({ rows: 9000, cols: 65536 }, 8, room), { rows: 128, cols: 500 });
  // Places far apart: 256 of them.
  for (const space of [{ rows: 3, cols: 2 ** 30 }, { rows: 1, cols: 2 ** 31 }, { rows: 70000, cols: 2 ** 20 }]) {
    const { rows, cols } = sampleRoom(space, 2, room);
    assert.ok(rows * cols <= 256 && rows * cols >= 200 && rows <= space.rows, `${rows} ${cols}`);
  }
});

test('the wheel scrolls the page until a picture is clicked, and where it cannot zoom out further', () => {
  const wheel = (deltaY: number, ctrlKey = false) => ({ deltaY, ctrlKey, metaKey: false });
  assert.equal(wheelZoom(wheel(100), false, true), null);
  assert.equal(wheelZoom(wheel(-100), false, true), null);
  assert.equal(wheelZoom(wheel(100), true, true), null);
  assert.ok(wheelZoom(wheel(-100), true, true)! > 1);
  assert.ok(wheelZoom(wheel(100), true, false)! < 1);
  assert.ok(wheelZoom(wheel(-100, true), false, true)! > 1);
  assert.ok(wheelZoom(wheel(100, true), false, true)! < 1);
});
