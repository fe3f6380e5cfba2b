// The position of each flame graph node: left and right edge as shares of the whole, and its row.
import { firstPlace } from "../drawing/span";
import type { FlameTree } from "./tree";

export type Width = "value" | "baseline";

export interface Layout {
  left: Float64Array;
  right: Float64Array;
  depth: Int32Array;
  rows: Int32Array[]; // the nodes of each row, from left to right, without those of zero width
  first_child: Int32Array; // the widest child, which is leftmost; -1 if there is none
  next: Int32Array; // the right neighbour with the same parent; -1 at the end
  previous: Int32Array;
}

// Children are ordered from widest to narrowest. If rounding makes children larger than their
// parent, they are scaled to fit.
export function layOut(tree: FlameTree, width: Width): Layout {
  const count = tree.parent.length;
  const weight = width === "value" ? tree.value : tree.baseline;
  const left = new Float64Array(count);
  const right = new Float64Array(count);
  const depth = new Int32Array(count);
  const first_child = new Int32Array(count).fill(-1);
  const next = new Int32Array(count).fill(-1);
  const previous = new Int32Array(count).fill(-1);

  const starts = new Int32Array(count + 1);
  const sums = new Float64Array(count);
  for (let node = 1; node < count; ++node) {
    ++starts[tree.parent[node] + 1];
    sums[tree.parent[node]] += weight[node];
  }
  for (let node = 0; node < count; ++node) starts[node + 1] += starts[node];
  const children = new Int32Array(Math.max(0, count - 1));
  const filled = starts.slice();
  for (let node = 1; node < count; ++node) children[filled[tree.parent[node]]++] = node;

  right[0] = weight[0] > 0 ? 1 : 0;
  let deepest = 0;
  for (let node = 0; node < count; ++node) {
    const own = children.subarray(starts[node], starts[node + 1]);
    if (own.length === 0) continue;
    own.sort((one, other) => weight[other] - weight[one] || one - other);
    const whole = Math.max(weight[node], sums[node]);
    const scale = whole > 0 ? (right[node] - left[node]) / whole : 0;
    let at = left[node];
    first_child[node] = own[0];
    own.forEach((child, index) => {
      left[child] = at;
      at += weight[child] * scale;
      right[child] = at;
      depth[child] = depth[node] + 1;
      if (right[child] > left[child]) deepest = Math.max(deepest, depth[child]);
      if (index > 0) {
        previous[child] = own[index - 1];
        next[own[index - 1]] = child;
      }
    });
  }

  const sizes = new Int32Array(deepest + 1);
  for (let node = 0; node < count; ++node) if (right[node] > left[node]) ++sizes[depth[node]];
  const rows = Array.from(sizes, (size) => new Int32Array(size));
  const used = new Int32Array(deepest + 1);
  for (let node = 0; node < count; ++node)
    if (right[node] > left[node]) rows[depth[node]][used[depth[node]]++] = node;
  for (const row of rows) row.sort((one, other) => left[one] - left[other]);
  return { left, right, depth, rows, first_child, next, previous };
}

// The index in the row of the first node that ends right of `share`.
export function firstAfter(layout: Layout, row: Int32Array, share: number): number {
  return firstPlace(row.length, (place) => layout.right[row[place]] > share);
}

// The node at a position; -1 if there is none.
export function nodeAt(layout: Layout, share: number, depth: number): number {
  const row = layout.rows[depth];
  if (!row) return -1;
  const index = firstAfter(layout, row, share);
  return index < row.length && layout.left[row[index]] <= share ? row[index] : -1;
}

export function isWithin(tree: FlameTree, node: number, ancestor: number): boolean {
  let place = node;
  while (place > ancestor) place = tree.parent[place];
  return place === ancestor;
}
