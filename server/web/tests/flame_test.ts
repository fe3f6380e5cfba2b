import assert from "node:assert/strict";
import { test } from "node:test";
import { firstAfter, isWithin, layOut, nodeAt } from "../src/flame/layout";
import { foldTree, isLibc } from "../src/flame/fold";
import { invertTree, largestMatch, readTree, searchTree, topStacks } from "../src/flame/tree";
import type { Flame, FlameNode } from "../src/types";

const names = ["all", "main", "parse", "copy", "wait", "<script>"].map((name) => ({
  function: name,
  module: name === "copy" ? "/lib/libc.so" : "/bin/app",
}));
const flame = (nodes: FlameNode[]): Flame => ({
  unit: "ns",
  total: nodes[0][2],
  baseline_total: nodes[0][3],
  nodes,
  names,
  dropped: 0,
});

// main 100 = parse 60 (copy 40, itself 20) + wait 30 (copy 5) + itself 10
const sample = flame([
  [-1, 0, 100, 50, 3],
  [0, 1, 100, 50, 0],
  [1, 4, 30, 0, 3],
  [1, 2, 60, 50, 0],
  [3, 3, 40, 50, 0],
  [2, 3, 5, 0, 0],
]);

test("time of a node alone is its time without its children's", () => {
  const tree = readTree(sample);
  assert.deepEqual([...tree.self], [0, 10, 25, 20, 40, 5]);
  assert.equal(tree.baseline_self[4], 50);
});

test("what is no tree is refused", () => {
  assert.throws(
    () =>
      readTree(
        flame([
          [-1, 0, 1, 0, 0],
          [2, 1, 1, 0, 0],
          [0, 1, 1, 0, 0],
        ]),
      ),
    /before its parent/,
  );
  assert.throws(
    () =>
      readTree(
        flame([
          [-1, 0, 1, 0, 0],
          [1, 1, 1, 0, 0],
        ]),
      ),
    /before its parent/,
  );
  assert.throws(() => readTree(flame([[-1, 77, 1, 0, 0]])), /no name/);
  assert.throws(() => readTree({ ...sample, nodes: [] }), /no root/);
});

test("children stand side by side, the widest first, within their parent", () => {
  const tree = readTree(sample);
  const layout = layOut(tree, "value");
  assert.deepEqual([layout.left[3], layout.right[3]], [0, 0.6]);
  assert.deepEqual([layout.left[2], layout.right[2]], [0.6, 0.8999999999999999]);
  assert.deepEqual(
    layout.rows.map((row) => [...row]),
    [[0], [1], [3, 2], [4, 5]],
  );
  assert.equal(layout.first_child[1], 3);
  assert.equal(layout.next[3], 2);
  assert.equal(layout.previous[2], 3);
});

test("children that claim more than their parent share what it has", () => {
  const tree = readTree(
    flame([
      [-1, 0, 100, 0, 0],
      [0, 1, 90, 0, 0],
      [0, 2, 30, 0, 0],
    ]),
  );
  const layout = layOut(tree, "value");
  assert.equal(layout.right[1], 0.75);
  assert.equal(layout.right[2], 1);
});

test("by the normal runs' time, what they do not have has no width", () => {
  const layout = layOut(readTree(sample), "baseline");
  assert.deepEqual(
    layout.rows.map((row) => [...row]),
    [[0], [1], [3], [4]],
  );
  assert.equal(layout.right[4], 1);
});

test("the node at a place is found, and nothing where nothing is", () => {
  const layout = layOut(readTree(sample), "value");
  assert.equal(nodeAt(layout, 0.3, 2), 3);
  assert.equal(nodeAt(layout, 0.7, 2), 2);
  assert.equal(nodeAt(layout, 0.95, 2), -1);
  assert.equal(nodeAt(layout, 0.5, 3), -1); // parse's own time
  assert.equal(nodeAt(layout, 0.1, 9), -1);
  assert.equal(firstAfter(layout, layout.rows[2], 0.6), 1);
  assert.equal(isWithin(readTree(sample), 4, 3), true);
  assert.equal(isWithin(readTree(sample), 4, 2), false);
});

test("turned upside down, time of each function alone comes first and adds up", () => {
  const inverted = invertTree(readTree(sample));
  const label = (node: number) => names[inverted.name[node]].function;
  const tops = [...inverted.parent].flatMap((parent, node) =>
    parent === 0 ? [[label(node), inverted.value[node]]] : [],
  );
  assert.deepEqual(Object.fromEntries(tops), { main: 10, wait: 25, parse: 20, copy: 45 });
  assert.equal(inverted.total, 100);
  const copy = [...inverted.parent].findIndex(
    (parent, node) => parent === 0 && label(node) === "copy",
  );
  const callers = [...inverted.parent].flatMap((parent, node) =>
    parent === copy ? [[label(node), inverted.value[node]]] : [],
  );
  assert.deepEqual(Object.fromEntries(callers), { parse: 40, wait: 5 });
});

test("inverted trees stay within their limits", () => {
  const nodes: FlameNode[] = [[-1, 0, 1e9, 0, 0]];
  for (let index = 1; index < 20000; ++index)
    nodes.push([
      Math.floor((index - 1) / 3),
      index % names.length,
      Math.max(1, Math.floor(1e9 / index)),
      0,
      0,
    ]);
  const inverted = invertTree(readTree(flame(nodes)), 0, 5000);
  assert.equal(inverted.parent.length, 5000);
});

test("search counts time of matches within matches once", () => {
  const tree = readTree(
    flame([
      [-1, 0, 100, 0, 0],
      [0, 1, 80, 0, 0],
      [1, 2, 50, 0, 0],
      [2, 1, 20, 0, 0],
      [0, 4, 20, 0, 3],
    ]),
  );
  const found = searchTree(tree, "MAIN");
  assert.ok(found !== null && typeof found !== "string");
  assert.deepEqual(found.nodes, [1, 3]);
  assert.equal(found.value, 80);
});

test("search takes modules, expressions and any letters, and says what is wrong", () => {
  const tree = readTree(sample);
  const places = (query: string) => {
    const found = searchTree(tree, query);
    assert.ok(found !== null && typeof found !== "string", query);
    return found.nodes;
  };
  assert.deepEqual(places("libc"), [4, 5]);
  assert.deepEqual(places("/^(parse|wait)$/"), [2, 3]);
  assert.deepEqual(places("<script>"), []);
  assert.equal(searchTree(tree, "   "), null);
  assert.match(String(searchTree(tree, "/(/")), /regular expression/);
});

test("a state is found by its name in brackets and by the name of its node", () => {
  const tree = readTree({
    ...flame([
      [-1, 0, 100, 0, 3],
      [0, 1, 60, 0, 3],
      [0, 2, 40, 0, 3],
    ]),
    names: ["all", "blocked: sleep", "waits for a CPU"].map((name) => ({
      function: name,
      module: "",
    })),
  });
  for (const [query, nodes] of [
    ["[sleep]", [1]],
    ["blocked: sleep", [1]],
    ["[waits for a CPU]", [2]],
    ["[leep]", []],
  ] as const) {
    const found = searchTree(tree, query);
    assert.ok(found !== null && typeof found !== "string");
    assert.deepEqual(found.nodes, nodes, query);
  }
});

test("the match with the most time is the one to open at", () => {
  const tree = readTree(sample);
  const of = (query: string) => {
    const found = searchTree(tree, query);
    return largestMatch(tree, typeof found === "string" ? null : found);
  };
  assert.equal(of("libc"), 4);
  assert.equal(of("no such name"), -1);
  assert.equal(largestMatch(tree, null), -1);
});

// main → pthread_mutex_lock → __lll_lock_wait (both libc) → entry → do_syscall_64 → __x64_sys_futex
// → futex_wait (kernel) → blocked; the kernel is entered from main as well.
test("chains of kernel and libc frames are folded into the first that says something", () => {
  const rows: [string, string, number, number, number][] = [
    ["all", "", -1, 100, 3],
    ["main", "/bin/app", 0, 100, 0],
    ["pthread_mutex_lock", "/lib/libc.so.6", 1, 70, 0],
    ["__lll_lock_wait", "/lib/libc.so.6", 2, 65, 0],
    ["entry_SYSCALL_64", "[kernel]", 3, 60, 1],
    ["do_syscall_64", "[kernel]", 4, 60, 1],
    ["__x64_sys_futex", "[kernel]", 5, 60, 1],
    ["futex_wait", "[kernel]", 6, 55, 1],
    ["blocked: lock (futex)", "", 7, 50, 3],
    ["entry_SYSCALL_64", "[kernel]", 1, 20, 1],
    ["ksys_read", "[kernel]", 9, 20, 1],
    ["qsort", "/lib/libc.so.6", 1, 10, 0],
    ["compare", "/bin/app", 11, 8, 0],
    ["memcmp", "/lib/libc.so.6", 12, 3, 0],
  ];
  const tree = readTree({
    unit: "ns",
    total: 100,
    baseline_total: null,
    dropped: 0,
    names: rows.map(([name, module]) => ({ function: name, module })),
    nodes: rows.map(([, , parent, value, kind], index): FlameNode => [
      parent,
      index,
      value,
      0,
      kind,
    ]),
  });
  const folded = foldTree(tree);
  const shown = [...folded.name].map((name, node) => [
    folded.names[name].function,
    folded.value[node],
    node === 0 ? "" : folded.names[folded.name[folded.parent[node]]].function,
  ]);
  assert.deepEqual(shown, [
    ["all", 100, ""],
    ["main", 100, "all"],
    ["pthread_mutex_lock", 70, "main"],
    ["__x64_sys_futex", 60, "pthread_mutex_lock"],
    ["blocked: lock (futex)", 50, "__x64_sys_futex"],
    ["ksys_read", 20, "main"],
    ["qsort", 10, "main"],
    ["compare", 8, "qsort"],
    ["memcmp", 3, "compare"],
  ]);
  assert.deepEqual([...folded.self], [0, 0, 10, 10, 50, 20, 2, 5, 3]);
});

test("frames that folding joins are one node with the time of all", () => {
  const names = [
    ["all", ""],
    ["entry_a", "[kernel]"],
    ["entry_b", "[kernel]"],
    ["read", "[kernel]"],
  ].map(([name, module]) => ({ function: name, module }));
  const folded = foldTree(
    readTree({
      ...flame([
        [-1, 0, 10, 8, 3],
        [0, 1, 6, 5, 1],
        [0, 2, 4, 3, 1],
        [1, 3, 6, 5, 1],
        [2, 3, 4, 3, 1],
      ]),
      names,
    }),
  );
  assert.deepEqual([...folded.value], [10, 10]);
  assert.deepEqual([...folded.baseline], [8, 8]);
});

test("libc is known by its file in all its forms", () => {
  for (const name of [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/libpthread-2.31.so",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-musl-x86_64.so.1",
    "[vdso]",
  ])
    assert.ok(isLibc(name), name);
  for (const name of [
    "/usr/lib/libcurl.so.4",
    "/usr/bin/ldd",
    "/lib/libstdc++.so.6",
    "[kernel]",
    "",
    "/lib/libcrypt.so.1",
  ])
    assert.ok(!isLibc(name), name);
});

test("top stacks are those with the most time of their own, innermost first", () => {
  const top = topStacks(readTree(sample), 2);
  assert.deepEqual(
    top.map((stack) => [stack.value, stack.path]),
    [
      [40, [4, 3, 1]],
      [25, [2, 1]],
    ],
  );
});

test("50,000 nodes in a chain need no recursion", () => {
  const nodes: FlameNode[] = Array.from({ length: 50000 }, (_, index) => [
    index - 1,
    index % names.length,
    50000 - index,
    0,
    0,
  ]);
  const tree = readTree(flame(nodes));
  const layout = layOut(tree, "value");
  assert.equal(layout.rows.length, 50000);
  assert.equal(topStacks(tree, 1)[0].value, 1);
  const found = searchTree(tree, "main");
  assert.ok(found !== null && typeof found !== "string" && found.nodes.length > 8000);
});

test("a node needs an earlier parent, and a name that exists", () => {
  const second = (...node: [number, number]) =>
    readTree(
      flame([
        [-1, 0, 1, 0, 0],
        [...node, 1, 0, 0],
      ]),
    );
  assert.doesNotThrow(() => second(0, names.length - 1));
  assert.throws(() => second(-1, 1), /node 1 of the profile stands before its parent/);
  assert.throws(() => second(0, names.length), /node 1 of the profile has no name/);
  assert.throws(() => second(0, -1), /node 1 of the profile has no name/);
});

// Nodes of only one of the two sets, and one without time of its own.
const one_sided = flame([
  [-1, 0, 60, 50, 0],
  [0, 1, 60, 10, 0],
  [0, 2, 0, 40, 0],
  [1, 3, 60, 0, 0],
  [3, 4, 0, 0, 3],
]);

test("turned upside down, time of either set counts, and nodes without any are left out", () => {
  const inverted = invertTree(readTree(one_sided));
  assert.deepEqual(
    [...inverted.parent].map((parent, node) => [
      parent,
      names[inverted.name[node]].function,
      inverted.value[node],
      inverted.baseline[node],
    ]),
    [
      [-1, "all", 60, 50],
      [0, "main", 0, 10],
      [0, "parse", 0, 40],
      [0, "copy", 60, 0],
      [3, "main", 60, 0],
    ],
  );
});

test("turned upside down, callers of what took little are left out", () => {
  const nodes = (smallest_share: number) =>
    invertTree(readTree(sample), smallest_share).parent.length;
  assert.equal(nodes(0.5), 8); // the callers of copy, which took 50 of 100 in the baseline
  assert.equal(nodes(0.500001), 5);
});

test("only what begins and ends with / is an expression", () => {
  const tree = readTree(sample);
  const places = (query: string) => {
    const found = searchTree(tree, query);
    assert.ok(found !== null && typeof found !== "string", query);
    return found.nodes;
  };
  assert.deepEqual(places("/par"), []);
  assert.deepEqual(places("cop/"), []);
  assert.deepEqual(places("//"), []);
  assert.deepEqual(places("/P/"), [1, 3, 4, 5, 2].sort()); // also of /bin/app
  assert.deepEqual(places("[wait]"), [2]);
});

test("a state is not found in the middle of another's name", () => {
  const tree = readTree({
    ...flame([
      [-1, 0, 2, 0, 3],
      [0, 1, 1, 0, 3],
      [0, 2, 1, 0, 3],
    ]),
    names: ["all", "blocked: sleep, long", "sleep"].map((name) => ({ function: name, module: "" })),
  });
  const found = searchTree(tree, "[sleep]");
  assert.ok(found !== null && typeof found !== "string");
  assert.deepEqual(found.nodes, [2]);
});

test("of matches and stacks, those with more time come first", () => {
  const tree = readTree(
    flame([
      [-1, 0, 100, 0, 0],
      [0, 1, 10, 0, 0],
      [0, 1, 40, 0, 0],
      [0, 2, 40, 0, 0],
      [0, 1, 5, 0, 0],
    ]),
  );
  const of = (query: string) => {
    const found = searchTree(tree, query);
    return largestMatch(tree, typeof found === "string" ? null : found);
  };
  assert.equal(of("main"), 2);
  assert.equal(of("/bin/app"), 2);
  assert.deepEqual(
    topStacks(tree, 3).map(({ node }) => node),
    [2, 3, 1],
  );
});

test("a profile without time has no rows but the first", () => {
  const layout = layOut(
    readTree(
      flame([
        [-1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
      ]),
    ),
    "value",
  );
  assert.deepEqual(
    layout.rows.map((row) => [...row]),
    [[]],
  );
  assert.equal(nodeAt(layout, 0, 0), -1);
});

test("a node has its left edge, but not its right one", () => {
  const layout = layOut(readTree(sample), "value");
  assert.equal(nodeAt(layout, 0, 2), 3);
  assert.equal(nodeAt(layout, layout.left[2], 2), 2);
  assert.equal(nodeAt(layout, layout.right[2], 2), -1);
});

test("frames of libc and the kernel are folded only into their like", () => {
  const rows: [string, string, number, number][] = [
    ["all", "/lib/libc.so.6", -1, 3],
    ["start", "/lib/libc.so.6", 0, 0], // directly below the root
    ["main", "/bin/app", 1, 0],
    ["read", "/lib/libc.so.6", 2, 0],
    ["blocked: disk", "/lib/libc.so.6", 3, 3], // a state
    ["again", "/lib/libc.so.6", 4, 0], // below a state
    ["own", "/bin/app", 3, 0],
    ["now", "[vsyscall]", 3, 0],
  ];
  const folded = foldTree(
    readTree({
      unit: "ns",
      total: 100,
      baseline_total: null,
      dropped: 0,
      names: rows.map(([name, module]) => ({ function: name, module })),
      nodes: rows.map(([, , parent, kind], index): FlameNode => [parent, index, 10, 0, kind]),
    }),
  );
  assert.deepEqual(
    [...folded.name].map((name) => rows[name][0]),
    ["all", "start", "main", "read", "blocked: disk", "again", "own"],
  );
  assert.ok(isLibc("[vsyscall]"));
});
