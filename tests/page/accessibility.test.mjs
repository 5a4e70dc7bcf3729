// SPDX-License-Identifier: Apache-2.0
// axe in every state of the page, light, dark and in forced colours: no serious finding.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, until } from './driver.mjs';
import { planted } from './files.mjs';

const file = fileURLToPath(new URL('../../web/dist/assay.html', import.meta.url));
const axe = fs.readFileSync(createRequire(fileURLToPath(new URL('../../web/package.json', import.meta.url))).resolve('axe-core/axe.min.js'), 'utf8');

async function check(browser, state) {
  const serious = await browser.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target.flat().join(' ')} ${node.failureSummary}`).join(' | ')}`);
  });
  assert.deepEqual(serious, [], state);
}

for (const look of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'dark', forcedColors: 'active' }, { colorScheme: 'light', width: 640, height: 900 }]) {
  const name = Object.values(look).join(' ');
  test(`no serious finding, ${name}`, async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-axe-'));
    const browser = await launch('chromium', look);
    t.after(async () => {
      await browser.close();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    await browser.open(pathToFileURL(file).href);
    await until(browser, () => performance.getEntriesByName('assay-shown').length > 0);
    // The page's policy refuses script elements; what the driver evaluates is not one.
    await browser.page.evaluate(axe);
    await check(browser, 'landing');

    await browser.page.locator('header input[type=file]').setInputFiles(planted(folder));
    await until(browser, () => document.querySelector('assay-root').app.model?.label === 'planted.safetensors');
    await browser.evaluate(() => document.querySelector('assay-root').app.select(8));
    await until(browser, () => document.querySelector('assay-root').app.model.stats.has(8));
    for (const tab of await browser.page.getByRole('tab').all()) {
      await tab.click();
      await browser.evaluate(() => new Promise((resolve) => setTimeout(resolve, 150)));
      await check(browser, `view ${await tab.innerText()}`);
    }
    await browser.evaluate(() => document.querySelector('assay-root').app.reportOf('doctor', 'checkup'));
    await browser.page.getByRole('tab', { name: /Findings/ }).click();
    await check(browser, 'findings');

    fs.writeFileSync(path.join(folder, 'page.safetensors'), '<!doctype html><title>Sign in</title>');
    await browser.page.locator('header input[type=file]').setInputFiles(path.join(folder, 'page.safetensors'));
    await browser.page.getByRole('alert').getByText(/web page/i).first().waitFor();
    await check(browser, 'error');
  });
}
