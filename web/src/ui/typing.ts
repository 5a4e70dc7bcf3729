// SPDX-License-Identifier: Apache-2.0
// Which keys belong to the element that has the keyboard, and which to the page.

/** Inputs that hold no text: keys are not typed into them. */
const NO_TEXT: ReadonlySet<string> = new Set(['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit']);

/** Whether an element takes a key as text: a field does, a list to choose from takes letters, a chooser of files takes nothing. */
export function takesKey(element: { readonly localName?: string; readonly type?: string } | null | undefined, key: string): boolean {
  if (element?.localName === 'textarea') return true;
  if (element?.localName === 'select') return /^\p{L}$/u.test(key);
  return element?.localName === 'input' && !NO_TEXT.has(element.type ?? 'text');
}
