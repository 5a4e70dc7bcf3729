// SPDX-License-Identifier: Apache-2.0
// The outline as rows: which are visible, what they stand for. Pure functions; the element only draws.
import type { TreeNode } from '../core/protocol.js';

export interface Row {
  /** Its place in the outline, stable while the outline is. */
  key: string;
  kind: 'branch' | 'leaf' | 'tensor';
  depth: number;
  label: string;
  node: TreeNode;
  /** Names of what it stands for: components, "*" for any number, "0-2,5" for some. */
  pattern: string[];
  /** Of one tensor: its number. */
  tensor: number | null;
  /** What breaks the pattern of its siblings: "not in 31". */
  odd: string;
  expandable: boolean;
  expanded: boolean;
  /** Of its siblings. */
  position: number;
  siblings: number;
}

const NUMBER_LIST = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;

/** The components that a node adds to the pattern. */
export function components(node: TreeNode): string[] {
  if (node.times === 1 || NUMBER_LIST.test(node.name)) return [node.name];
  return [node.name, '*'];
}

/** A node with its only children joined to it, as "lm_head" and "weight" are "lm_head.weight". */
function joined(node: TreeNode): { label: string; node: TreeNode; added: string[]; odd: string } {
  let label = node.name;
  let odd = oddity(node);
  const added = components(node);
  while (node.children.length === 1 && node.times === 1 && node.dtype === undefined) {
    const child = node.children[0]!;
    label += `.${child.name}`;
    added.push(...components(child));
    node = child;
    odd ||= oddity(node);
  }
  return { label, node, added, odd };
}

/** A regular expression for the names of a pattern. */
export function patternRegExp(pattern: readonly string[]): RegExp {
  const parts = pattern.map((part) => {
    if (part === '*') return '\\d+';
    if (!NUMBER_LIST.test(part) || /^\d+$/.test(part)) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const numbers = part.split(',').flatMap((piece) => {
      const [from, to = from] = piece.split('-').map(Number) as [number, number?];
      return Array.from({ length: Math.min(to! - from + 1, 100_000) }, (_, i) => from + i);
    });
    return `(?:${numbers.join('|')})`;
  });
  return new RegExp(`^${parts.join('\\.')}$`);
}

/** Whether a name is of the pattern, or of something below it. */
export function leadsTo(pattern: readonly string[], name: string): boolean {
  return patternRegExp(pattern).test(name.split('.').slice(0, pattern.length).join('.'));
}
/** What differs between names of one pattern: "0", "3.7". */
export function instanceLabel(pattern: readonly string[], name: string): string {
  const varying = name.split('.').filter((_, i) => pattern[i] === '*' || (NUMBER_LIST.test(pattern[i] ?? '') && !/^\d+$/.test(pattern[i]!)));
  return varying.join('.') || name;
}

/** Names in natural order beside their tensors' numbers. */
export interface Names {
  order: Uint32Array;
  names: readonly string[];
}

export const namesByTensor = ({ order, names }: Names): Map<number, string> => new Map(names.map((name, i) => [order[i]!, name]));

/** Tensors that a pattern stands for, in natural order. */
export function tensorsOf(pattern: readonly string[], { order, names }: Names): number[] {
  const expression = patternRegExp(pattern);
  const found: number[] = [];
  names.forEach((name, i) => {
    if (expression.test(name)) found.push(order[i]!);
  });
  return found;
}

export function visibleRows(root: TreeNode, expanded: ReadonlySet<string>, names: Names, nameOf: (tensor: number) => string): Row[] {
  const rows: Row[] = [];
  const walk = (nodes: readonly TreeNode[], depth: number, prefix: string[], parent: string) => {
    nodes.forEach((child, i) => {
      const { label, node, added, odd } = joined(child);
      const key = `${parent}/${i}`;
      const pattern = [...prefix, ...added];
      const leaf = node.dtype !== undefined;
      const open = expanded.has(key);
      const several = leaf && node.tensors > 1;
      rows.push({
        key,
        kind: leaf ? 'leaf' : 'branch',
        depth,
        label,
        node,
        pattern,
        tensor: null,
        odd,
        expandable: !leaf || several,
        expanded: open,
        position: i + 1,
        siblings: nodes.length,
      });
      if (!open) return;
      walk(node.children, depth + 1, pattern, key);
      if (!several) return;
      const tensors = tensorsOf(pattern, names);
      tensors.forEach((tensor, n) =>
        rows.push({
          key: `${key}#${tensor}`,
          kind: 'tensor',
          depth: depth + 1,
          label: instanceLabel(pattern, nameOf(tensor)),
          node,
          pattern,
          tensor,
          odd: '',
          expandable: false,
          expanded: false,
          position: n + 1,
          siblings: tensors.length,
        }),
      );
    });
  };
  walk(root.children, 0, [], '');
  return rows;
}

/** What is open at first: enough to see the model's shape, not more than a screen or two. */
export function firstExpanded(root: TreeNode, most = 40): Set<string> {
  const expanded = new Set<string>();
  let shown = root.children.length;
  let level = root.children.map((child, i) => ({ node: joined(child).node, key: `/${i}` }));
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { node, key } of level) {
      if (node.dtype !== undefined || shown + node.children.length > most) continue;
      expanded.add(key);
      shown += node.children.length;
      next.push(...node.children.map((child, i) => ({ node: joined(child).node, key: `${key}/${i}` })));
    }
    level = next;
  }
  return expanded;
}

/** "not in 31", "only in 0, 1": what breaks the pattern. */
export function oddity(node: TreeNode): string {
  if (node.missing !== undefined) return `not in ${node.missing.join(', ')}`;
  if (node.only !== undefined) return `only in ${node.only.join(', ')}`;
  if (node.present !== undefined) return `in ${node.present} of ${node.of}`;
  return node.differs ?? '';
}
