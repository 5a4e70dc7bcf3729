// SPDX-License-Identifier: Apache-2.0
// Styles from data. The page's policy refuses style attributes, lit's styleMap writes one at first: this goes through the CSSOM.
import { nothing } from 'lit';
import { Directive, directive, type ElementPart, PartType, type PartInfo } from 'lit/directive.js';

class Styled extends Directive {
  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error('styled() stands in a tag: <div ${styled({…})}>');
  }
  override render(_styles: Record<string, string>): unknown {
    return nothing;
  }
  override update(part: ElementPart, [styles]: [Record<string, string>]): unknown {
    const { style } = part.element as HTMLElement;
    for (const [name, value] of Object.entries(styles)) if (style.getPropertyValue(name) !== value) style.setProperty(name, value);
    return nothing;
  }
}
/** `<div ${styled({ width: '40%', '--share': '0.4' })}>` */
export const styled = directive(Styled);
