// SPDX-License-Identifier: Apache-2.0
// Why numbered siblings do not stand as one: in what a layer differs from most of the others. Pure.
import type { TreeNode } from '../core/protocol.js';
import * as format from '../ui/format.js';

const NUMBER_LIST = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;
const MOST_NAMED = 2;
const MANY = 4;
/** Where more differ there is no usual one. */
const MOST_EXPLAINED = 64;

interface Leaf {
  dtype: string;
  shape: string;
}
function leavesOf(node: TreeNode, path = '', found = new Map<string, Leaf>()): Map<string, Leaf> {
  for (const child of node.children) {
    const here = path === '' ? child.name : `${path}.${child.name}`;
    if (child.dtype !== undefined) found.set(here, { dtype: child.dtype, shape: format.shape(child.shape ?? []) });
    leavesOf(child, here, found);
  }
  if (node.dtype !== undefined && path === '') found.set('', { dtype: node.dtype, shape: format.shape(node.shape ?? []) });
  return found;
}
function named(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(', ');
  return names.length > MOST_NAMED ? `${shown} and ${names.length - MOST_NAMED} more` : shown;
}

/** "F32, not BF16", "lacks k_norm.weight", "has mlp.experts.0.w1 and 23 more" */
function difference(node: TreeNode, others: ReadonlyMap<string, Leaf>, times: number): string {
  const own = leavesOf(node);
  const lacks = [...others.keys()].filter((path) => !own.has(path));
  const more = [...own.keys()].filter((path) => !others.has(path));
  const common = [...own].filter(([path]) => others.has(path));
  const dtypes = common.filter(([path, { dtype }]) => dtype !== others.get(path)!.dtype);
  // Of a few, other shapes are how such models are: the layers of a perceptron, an optimizer's states.
  const shapes = times < MANY ? [] : common.filter(([path, { shape }]) => shape !== others.get(path)!.shape);
  const parts: string[] = [];
  if (dtypes.length > 0) {
    const [[path, { dtype }]] = dtypes as [[string, Leaf]];
    parts.push(`${dtypes.length === common.length ? '' : `${named(dtypes.map(([name]) => name))} `}${dtype}, not ${others.get(path)!.dtype}`);
  }
  if (shapes.length > 0) {
    const [[path, { shape }]] = shapes as [[string, Leaf]];
    parts.push(`${path} ${shape}, not ${others.get(path)!.shape}${shapes.length > 1 ? `, and ${format.plural(shapes.length - 1, 'other shape')}` : ''}`);
  }
  if (lacks.length > 0) parts.push(`lacks ${named(lacks)}`);
  if (more.length > 0) parts.push(`has ${named(more)}`);
  return parts.join('; ');
}

/** Writes `differs` into nodes that stand beside more of their kind, and gives the tree back. */
export function explained(root: TreeNode): TreeNode {
  const numbered = root.children.filter(({ name }) => NUMBER_LIST.test(name));
  const usual = numbered.reduce<TreeNode | null>((most, node) => (most === null || node.times > most.times ? node : most), null);
  if (usual !== null && usual.times > 1) {
    const others = leavesOf(usual);
    for (const node of numbered.filter((one) => one !== usual).slice(0, MOST_EXPLAINED)) {
      const what = difference(node, others, usual.times);
      if (what !== '') node.differs = what;
    }
  }
  for (const child of root.children) explained(child);
  return root;
}
