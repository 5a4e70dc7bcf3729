// SPDX-License-Identifier: Apache-2.0
// Three browsers behind one small face: open a page, run a function in it, give files to an input, press keys, take a picture.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(fileURLToPath(new URL('../../web/package.json', import.meta.url)));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What is missing for a browser, or '' when it can be driven. */
export function missing(name) {
  const needed = { chromium: ['/usr/bin/chromium'], firefox: ['/usr/bin/firefox-esr'], webkit: ['/usr/bin/WebKitWebDriver', '/usr/bin/Xvfb'] }[name];
  const absent = needed.find((file) => !fs.existsSync(file));
  if (absent !== undefined) return `${absent} is not installed`;
  try {
    require.resolve(name === 'chromium' ? 'playwright-core' : name === 'firefox' ? 'puppeteer-core' : 'esbuild');
  } catch {
    return 'the modules of web/ are not installed; run: cd web && npm ci';
  }
  return '';
}

export async function launch(name, options = {}) {
  return { chromium, firefox, webkit }[name](options);
}

const QUIET = ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--no-first-run', '--enable-precise-memory-info'];

async function chromium({ width = 1280, height = 800, colorScheme = 'light', forcedColors = 'none' }) {
  const browser = await require('playwright-core').chromium.launch({ executablePath: '/usr/bin/chromium', args: QUIET });
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, forcedColors, reducedMotion: 'reduce' });
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  return {
    name: 'chromium',
    page,
    errors,
    open: (url) => page.goto(url),
    evaluate: (fn, ...args) => page.evaluate(`(${fn})(...${JSON.stringify(args)})`),
    setFiles: (selector, files) => page.locator(selector).first().setInputFiles(files),
    press: (key) => page.keyboard.press(key),
    screenshot: (file) => page.screenshot({ path: file }),
    close: () => browser.close(),
  };
}

async function firefox({ width = 1280, height = 800 }) {
  const browser = await require('puppeteer-core').launch({
    browser: 'firefox',
    executablePath: '/usr/bin/firefox-esr',
    // Automation switches this off, and with it what users meet on pages from disk.
    extraPrefsFirefox: { 'security.fileuri.strict_origin_policy': true },
  });
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  return {
    name: 'firefox',
    errors,
    open: (url) => page.goto(url),
    evaluate: (fn, ...args) => page.evaluate(`(${fn})(...${JSON.stringify(args)})`),
    async setFiles(selector, files) {
      const handle = await page.evaluateHandle(`(${findDeep})(${JSON.stringify(selector)})`);
      await handle.uploadFile(...files);
    },
    press: (key) => page.keyboard.press(key),
    screenshot: (file) => page.screenshot({ path: file }),
    close: () => browser.close(),
  };
}

/** The first element of a selector, through shadow roots; sent to the browser as text. */
export function findDeep(selector, root = document) {
  const found = root.querySelector(selector);
  if (found !== null) return found;
  for (const element of root.querySelectorAll('*')) {
    const inside = element.shadowRoot && findDeep(selector, element.shadowRoot);
    if (inside) return inside;
  }
  return null;
}

async function webkit({ width = 1280, height = 800 }) {
  const display = `:${90 + (process.pid % 900)}`;
  const xvfb = spawn('/usr/bin/Xvfb', [display, '-screen', '0', `${width}x${height}x24`, '-nolisten', 'tcp'], { stdio: 'ignore' });
  const port = 20000 + (process.pid % 20000);
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-webkit-'));
  await sleep(500);
  const driver = spawn('/usr/bin/WebKitWebDriver', [`--port=${port}`], {
    stdio: 'ignore',
    env: { ...process.env, DISPLAY: display, HOME: home, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1', LIBGL_ALWAYS_SOFTWARE: '1', GDK_BACKEND: 'x11' },
  });
  const stop = () => {
    driver.kill();
    xvfb.kill();
    fs.rmSync(home, { recursive: true, force: true });
  };
  const send = async (method, where, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${where}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${where}: ${value.error}: ${value.message}`);
    return value;
  };
  try {
    let session;
    for (let attempt = 0; session === undefined; ++attempt) {
      try {
        const binary = ['/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser', '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.0/MiniBrowser'].find(fs.existsSync);
        ({ sessionId: session } = await send('POST', '/session', {
          capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': { binary, args: ['--automation'] } } },
        }));
      } catch (error) {
        if (attempt > 20) throw error;
        await sleep(250);
      }
    }
    const at = `/session/${session}`;
    await send('POST', `${at}/timeouts`, { script: 60000 });
    // The result comes through a callback so that promises can be waited for.
    const evaluate = async (fn, ...args) => {
      const answer = await send('POST', `${at}/execute/async`, {
        script: `const done = arguments[arguments.length - 1]; Promise.resolve().then(() => (${fn})(...${JSON.stringify(args)})).then((value) => done({ value }), (error) => done({ error: String(error) }));`,
        args: [],
      });
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.value;
    };
    return {
      name: 'webkit',
      errors: [],
      open: (url) => send('POST', `${at}/url`, { url }),
      evaluate,
      async setFiles(selector, files) {
        const element = await send('POST', `${at}/execute/sync`, { script: `return (${findDeep})(${JSON.stringify(selector)});`, args: [] });
        const id = Object.values(element)[0];
        await send('POST', `${at}/element/${id}/value`, { text: files.join('\n') });
      },
      async press(key) {
        const value = { Escape: '\uE00C', Enter: '\uE007', ArrowDown: '\uE015', ArrowUp: '\uE013', ArrowRight: '\uE014', ArrowLeft: '\uE012' }[key] ?? key;
        await send('POST', `${at}/actions`, { actions: [{ type: 'key', id: 'keyboard', actions: [{ type: 'keyDown', value }, { type: 'keyUp', value }] }] });
      },
      async screenshot(file) {
        fs.writeFileSync(file, Buffer.from(await send('GET', `${at}/screenshot`), 'base64'));
      },
      async close() {
        await send('DELETE', at).catch(() => undefined);
        stop();
      },
    };
  } catch (error) {
    stop();
    throw error;
  }
}

/** Waits until a function in the page gives something true, and gives it. */
export async function until(browser, fn, args = [], { timeout = 20000, what = String(fn) } = {}) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await browser.evaluate(fn, ...args);
    if (value) return value;
    if (Date.now() > end) throw new Error(`${browser.name}: after ${timeout} ms still not: ${what}`);
    await sleep(30);
  }
}
