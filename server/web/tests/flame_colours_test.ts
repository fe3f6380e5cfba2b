import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceColours, legendOf, moduleColours } from "../src/flame/colours";
import { describeNode } from "../src/flame/flame_graph";
import { labelOf } from "../src/flame/draw";
import { foldTree } from "../src/flame/fold";
import { readTree } from "../src/flame/tree";
import { flame } from "./answers/profiles";

const light = legendOf(false);
const dark = legendOf(true);

test("kinds of code have their colours, modules one tint each, on every page", () => {
  const tree = readTree(flame());
  const { palette, of } = moduleColours(tree, false);
  const colours = [...of].map((colour) => palette[colour]);
  assert.equal(colours[3], light.state);
  assert.equal(colours[5], light.kernel);
  assert.equal(colours[6], light.run_time);
  assert.equal(colours[1], colours[4], "the same module");
  assert.deepEqual([colours[1], colours[2]], ["#b9dcc7", "#d9dcb4"]);
  const in_the_dark = moduleColours(tree, true);
  assert.equal(in_the_dark.palette[in_the_dark.of[5]], dark.kernel);
  assert.deepEqual([...in_the_dark.of], [...of]);
});

// A root of 1,000 with one callee for each pair of times.
const compared = (pairs: [number, number][], baseline_total = 0) =>
  readTree(
    flame({
      total: 1000,
      baseline_total,
      nodes: [
        [-1, 0, 1000, 1000, 0],
        ...pairs.map(([value, baseline]) => [0, 1, value, baseline, 0]),
      ],
    }),
  );

test("differences have steps: half a percent, 5, 15 and 40", () => {
  const of = (pairs: [number, number][], is_dark = false, baseline_total = 0) => {
    const colours = differenceColours(compared(pairs, baseline_total), is_dark);
    return [...colours.of].slice(1).map((colour) => colours.palette[colour]);
  };
  const sizes = [0, 4.9, 5, 49, 50, 149, 150, 399, 400, 1000];
  const [m1, m2, m3, m4] = light.more;
  const [l1, l2, l3, l4] = light.less;
  assert.deepEqual(of(sizes.map((size) => [size, 0])), [
    light.same,
    light.same,
    m1,
    m1,
    m2,
    m2,
    m3,
    m3,
    m4,
    m4,
  ]);
  assert.deepEqual(of(sizes.map((size) => [0, size])), [
    light.same,
    light.same,
    l1,
    l1,
    l2,
    l2,
    l3,
    l3,
    l4,
    l4,
  ]);
  assert.deepEqual(of([[1000, 0]], true), [dark.more[3]]);
  // Against a longer normal run, shares are of that.
  assert.deepEqual(of([[400, 0]], false, 2000), [m3]);
});

test("nodes are called by function, module, or what is known", () => {
  const tree = readTree(flame());
  assert.deepEqual(
    [0, 1, 6, 7].map((node) => labelOf(tree, node)),
    ["all", "main", "[perf-1.map]", "unknown code"],
  );
  const named = flame();
  named.names[0].function = "whole";
  assert.equal(labelOf(readTree(named), 0), "whole");
});

test("a node is described by its time, share, own time and difference", () => {
  const tree = readTree(flame());
  assert.equal(
    describeNode(tree, 4, null),
    "std::vector<std::pair<int, long>, std::allocator<int>>::push_back  (/usr/bin/shop): " +
      "20 ms, 16.7 %, self 8 ms",
  );
  assert.equal(describeNode(tree, 4, "in A").split("self 8 ms")[1], "; in A 39.5 ms, −19.5 ms");
  assert.equal(describeNode(tree, 3, null), "blocked: lock (futex): 78 ms, 65.0 %");
  assert.equal(describeNode(tree, 6, null), "[perf-1.map]: 10 ms, 8.3 %");
});

test("entries of the kernel say nothing; what they lead to is kept", () => {
  for (const [name, hidden] of [
    ["entry_SYSCALL_64_after_hwframe", true],
    ["do_syscall_64", true],
    ["x64_sys_call", true],
    ["x64_sys_call_more", false],
    ["asm_sysvec_apic_timer_interrupt", true],
    ["ret_from_fork_asm", true],
    ["common_interrupt", true],
    ["common_interrupt_more", false],
    ["sysvec_apic_timer_interrupt", true],
    ["ksys_read", false],
    ["my_do_syscall_64", false],
  ] as const) {
    const tree = readTree(
      flame({
        nodes: [
          [-1, 0, 100, 0, 0],
          [0, 1, 100, 0, 1],
        ],
        names: [
          { function: "all", module: "" },
          { function: name, module: "vmlinux" },
        ],
      }),
    );
    assert.equal(foldTree(tree).parent.length, hidden ? 1 : 2, name);
  }
});
