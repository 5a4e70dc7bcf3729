// SPDX-License-Identifier: Apache-2.0
// A tensor as a .npy file: its own bytes where numpy has the type, else its values as F32.
import type { App } from '../app/app.js';
import { descrOf, npyHeader } from '../core/npy.js';
import type { Tensor } from '../core/protocol.js';
import { save } from '../ui/save.js';

const STEP = 2 ** 20; // elements

export async function saveNpy(app: App, tensor: Tensor): Promise<void> {
  const model = app.model;
  if (model === null) return;
  const descr = descrOf(tensor.dtype);
  const parts: Uint8Array<ArrayBuffer>[] = [npyHeader(descr ?? '<f4', tensor.shape)];
  try {
    for (let first = 0; first < tensor.numel; first += STEP) {
      const which = { model: model.id, tensor: tensor.index, first, n: Math.min(STEP, tensor.numel - first) };
      if (descr === null) parts.push(new Uint8Array(Float32Array.from(await app.engine.call('values', which)).buffer));
      else parts.push(new Uint8Array((await app.engine.call('raw', which)).bytes));
    }
    save(`${tensor.name}.npy`, new Blob(parts, { type: 'application/octet-stream' }));
  } catch (error) {
    app.fail(error, tensor.name);
  }
}
