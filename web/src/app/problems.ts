// SPDX-License-Identifier: Apache-2.0
// Errors in words for people: what happened, where, and what to do. Pure.
import { AssayError } from '../../../bindings/wasm/src/errors.js';
import { EngineCrash } from '../core/engine.js';
import * as format from '../ui/format.js';

/** What went wrong, in words for people. */
export interface Problem {
  title: string;
  text: string;
  hint: string;
  code: string;
  /** Of a crash; without any content of files. */
  report: string;
}

export function problemOf(error: unknown, about: string): Problem {
  if (error instanceof EngineCrash) {
    return {
      title: 'The core stopped and was started again',
      text: 'What was running is lost; the page and your file are not. The report below holds no content of the file.',
      hint: '',
      code: 'crash',
      report: error.report,
    };
  }
  if (error instanceof AssayError) {
    const { where } = error;
    const at = where.offset === undefined ? '' : ` (byte ${format.exact(where.offset)}${where.file === undefined ? '' : ` of ${where.file}`})`;
    return { title: about === '' ? 'That did not work' : `${about} cannot be opened`, text: sentence(error.message) + at, hint: sentence(error.hint), code: error.code, report: '' };
  }
  const text = error instanceof Error ? error.message : String(error);
  const changed = error instanceof DOMException && error.name === 'NotReadableError';
  return {
    title: about === '' ? 'That did not work' : about,
    text: changed ? 'The browser cannot read the file any more: it changed on disk since it was opened, or was moved.' : sentence(text),
    hint: changed ? 'Drop it again.' : '',
    code: changed ? 'file-changed' : 'failed',
    report: '',
  };
}

function sentence(text: string): string {
  return text === '' ? '' : text[0]!.toUpperCase() + text.slice(1);
}
