// SPDX-License-Identifier: Apache-2.0
// Starts the page: unpacks the core, makes the engine, shows the built-in model.
import { App } from './app/app.js';
import './app/root.js';
import type { Root } from './app/root.js';
import { readLink } from './app/link.js';
import { applyTheme } from './app/theme.js';
import { Engine } from './core/engine.js';
// The worker's program as a text: from disk only a worker made of a blob may start.
import workerSource from 'inline:core/worker.ts';

/** A module that the page holds, packed. */
async function unpacked(id: 'core' | 'deferred'): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(document.getElementById(id)!.textContent!.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function refuse(text: string): void {
  const message = document.createElement('p');
  message.setAttribute('role', 'alert');
  message.textContent = text;
  document.body.prepend(message);
}

async function start(): Promise<void> {
  applyTheme();
  let module: WebAssembly.Module;
  let deferred: Promise<WebAssembly.Module> | undefined;
  try {
    module = await unpacked('core');
  } catch (error) {
    return refuse(
      `This browser cannot run the page: it needs WebAssembly with SIMD (Chrome 123, Firefox 125, Safari 17.5 or newer). ${String(error)}`,
    );
  }
  const url = URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }));
  const engine = new Engine(module, () => (deferred ??= unpacked('deferred')), () => new Worker(url));
  const app = new App(engine);
  app.wanted = readLink(location.hash);
  const root = document.createElement('assay-root') as Root;
  root.app = app;
  document.body.append(root);
  performance.mark('assay-ready');
  const bytes = await engine.call('synthetic', { seed: 7 });
  // Unless somebody was faster with a model of their own.
  if (app.model === null && app.opening === '') {
    const name = 'synthetic.safetensors';
    await app.openModel({ label: name, whole: false, files: [{ name, blob: new Blob([bytes]) }] }, true);
  }
  performance.mark('assay-shown');
}

void start();
