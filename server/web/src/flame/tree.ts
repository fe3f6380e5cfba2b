// The tree of a flame graph: read from the API, inverted, searched. Draws nothing.
import type { Flame } from "../types";

export const kind_user = 0;
export const kind_kernel = 1;
export const kind_run_time = 2;
export const kind_state = 3;

export interface FlameTree {
  parent: Int32Array; // -1 for the root, which is node 0; parents come before their children
  name: Int32Array;
  value: Float64Array; // of the node and everything below it
  baseline: Float64Array;
  self: Float64Array; // of the node itself
  baseline_self: Float64Array;
  kind: Uint8Array;
  names: { function: string; module: string }[];
  total: number;
  baseline_total: number | null;
}

function withSelf(tree: Omit<FlameTree, "self" | "baseline_self">): FlameTree {
  const self = Float64Array.from(tree.value);
  const baseline_self = Float64Array.from(tree.baseline);
  for (let node = 1; node < tree.parent.length; ++node) {
    self[tree.parent[node]] -= tree.value[node];
    baseline_self[tree.parent[node]] -= tree.baseline[node];
  }
  for (let node = 0; node < self.length; ++node) {
    self[node] = Math.max(0, self[node]);
    baseline_self[node] = Math.max(0, baseline_self[node]);
  }
  return { ...tree, self, baseline_self };
}

// The nodes of a tree that is being built, each list in the order of nodes.
export interface NodeLists {
  parent: number[];
  name: number[];
  value: number[];
  baseline: number[];
  kind: number[];
}

// A tree of these nodes; the rest is that of `source`.
export function treeOfNodes(nodes: NodeLists, source: FlameTree, total = source.total): FlameTree {
  return withSelf({
    parent: Int32Array.from(nodes.parent),
    name: Int32Array.from(nodes.name),
    value: Float64Array.from(nodes.value),
    baseline: Float64Array.from(nodes.baseline),
    kind: Uint8Array.from(nodes.kind),
    names: source.names,
    total,
    baseline_total: source.baseline_total,
  });
}

// Throws if the answer is not a tree.
export function readTree(flame: Flame): FlameTree {
  const count = flame.nodes.length;
  if (count === 0) throw new Error("the profile has no root");
  const parent = new Int32Array(count);
  const name = new Int32Array(count);
  const value = new Float64Array(count);
  const baseline = new Float64Array(count);
  const kind = new Uint8Array(count);
  for (let node = 0; node < count; ++node) {
    const row = flame.nodes[node];
    parent[node] = node === 0 ? -1 : row[0];
    if (node > 0 && !(row[0] >= 0 && row[0] < node))
      throw new Error(`node ${node} of the profile stands before its parent`);
    if (!(row[1] >= 0 && row[1] < flame.names.length))
      throw new Error(`node ${node} of the profile has no name`);
    name[node] = row[1];
    value[node] = Math.max(0, row[2]);
    baseline[node] = Math.max(0, row[3]);
    kind[node] = row[4];
  }
  return withSelf({
    parent,
    name,
    value,
    baseline,
    kind,
    names: flame.names,
    total: flame.total,
    baseline_total: flame.baseline_total,
  });
}

// Callees on top and callers below, to see who uses a function's time. Nodes below `smallest_share`
// of the total are not expanded, which limits work and size.
export function invertTree(
  tree: FlameTree,
  smallest_share = 0.0002,
  most_nodes = 50000,
): FlameTree {
  const parent: number[] = [-1];
  const name: number[] = [tree.name[0]];
  const value: number[] = [0];
  const baseline: number[] = [0];
  const kind: number[] = [tree.kind[0]];
  interface Group {
    node: number;
    leaves: number[]; // where the time was spent
    places: number[]; // the ancestors of the leaves at this depth
  }
  const first: Group = { node: 0, leaves: [], places: [] };
  for (let node = 1; node < tree.parent.length; ++node) {
    if (tree.self[node] <= 0 && tree.baseline_self[node] <= 0) continue;
    first.leaves.push(node);
    first.places.push(node);
    value[0] += tree.self[node];
    baseline[0] += tree.baseline_self[node];
  }
  const smallest = Math.max(value[0], baseline[0]) * smallest_share;
  for (let queue = [first]; queue.length > 0;) {
    const next: Group[] = [];
    for (const group of queue) {
      const by_name = new Map<number, Group>();
      group.leaves.forEach((leaf, index) => {
        const place = group.places[index];
        if (place <= 0) return;
        const key = tree.name[place] * 4 + tree.kind[place];
        let found = by_name.get(key);
        if (!found) {
          if (parent.length >= most_nodes) return;
          found = { node: parent.length, leaves: [], places: [] };
          by_name.set(key, found);
          parent.push(group.node);
          name.push(tree.name[place]);
          value.push(0);
          baseline.push(0);
          kind.push(tree.kind[place]);
        }
        found.leaves.push(leaf);
        found.places.push(tree.parent[place]);
        value[found.node] += tree.self[leaf];
        baseline[found.node] += tree.baseline_self[leaf];
      });
      for (const found of by_name.values())
        if (Math.max(value[found.node], baseline[found.node]) >= smallest) next.push(found);
    }
    queue = next;
  }
  return treeOfNodes({ parent, name, value, baseline, kind }, tree, value[0]);
}

export interface Matches {
  found: Uint8Array; // 1 for a match
  nodes: number[];
  value: number; // of all matches, without counting nested ones twice
}

// Ignores case; "/.../" is a regular expression; "[sleep]" also finds the state "blocked: sleep".
// Null for an empty query, a message for an invalid one.
export function searchTree(tree: FlameTree, query: string): Matches | string | null {
  const text = query.trim();
  if (text === "") return null;
  let matches: (candidate: string) => boolean;
  if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
    try {
      const expression = new RegExp(text.slice(1, -1), "i");
      matches = (candidate) => expression.test(candidate);
    } catch (error) {
      return `not a regular expression: ${(error as Error).message}`;
    }
  } else {
    const lower = text.toLowerCase();
    const state = /^\[(.+)\]$/.exec(lower)?.[1] ?? null;
    matches = (candidate) => {
      const name = candidate.toLowerCase();
      return (
        name.includes(lower) || (state !== null && (name === state || name.endsWith(`: ${state}`)))
      );
    };
  }
  const by_name = tree.names.map((name) => matches(name.function) || matches(name.module));
  const found = new Uint8Array(tree.parent.length);
  const under = new Uint8Array(tree.parent.length);
  const nodes: number[] = [];
  let value = 0;
  for (let node = 1; node < tree.parent.length; ++node) {
    const above = under[tree.parent[node]];
    if (by_name[tree.name[node]]) {
      found[node] = 1;
      nodes.push(node);
      if (!above) value += tree.value[node];
      under[node] = 1;
    } else {
      under[node] = above;
    }
  }
  return { found, nodes, value };
}

// The match with the most time; -1 without matches.
export function largestMatch(tree: FlameTree, matches: Matches | null): number {
  return (matches?.nodes ?? []).reduce(
    (best, node) => (best < 0 || tree.value[node] > tree.value[best] ? node : best),
    -1,
  );
}

export interface TopStack {
  node: number;
  path: number[]; // innermost first, without the root
  value: number;
}

// The stacks with the most own time.
export function topStacks(tree: FlameTree, count: number): TopStack[] {
  const nodes: number[] = [];
  for (let node = 1; node < tree.parent.length; ++node) if (tree.self[node] > 0) nodes.push(node);
  nodes.sort((left, right) => tree.self[right] - tree.self[left]);
  return nodes.slice(0, count).map((node) => {
    const path: number[] = [];
    for (let place = node; place > 0; place = tree.parent[place]) path.push(place);
    return { node, path, value: tree.self[node] };
  });
}
