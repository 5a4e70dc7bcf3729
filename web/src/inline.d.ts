// SPDX-License-Identifier: Apache-2.0
/** A script of this folder, bundled, as a text. */
declare module 'inline:*' {
  const source: string;
  export default source;
}
