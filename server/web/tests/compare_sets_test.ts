import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { flame } from "./answers/profiles";
import { changeSets, zoomOf } from "../src/pages/compare_sets";

const change = {
  before_ns: "1000000000000",
  from_ns: "2000000000000",
  to_ns: "3000000000000",
  build: "b2",
  build_before: "b1",
};

test("a change that came with a build compares the two builds, over all of the time", () => {
  const all = { from: 1000e3, to: 3000e3 };
  assert.deepEqual(changeSets(change), {
    a: { ...all, build: ["b1"] },
    b: { ...all, build: ["b2"] },
  });
});

test("a change without both builds compares the times before and after it", () => {
  for (const missing of [{ build: null }, { build_before: null }])
    assert.deepEqual(changeSets({ ...change, ...missing }), {
      a: { from: 1000e3, to: 2000e3 },
      b: { from: 2000e3, to: 3000e3 },
    });
});

test("other filters stay, but for the event, the search and the time", () => {
  const filters = {
    event: "checkout",
    search: "x",
    span: "7d",
    from: 1,
    host: ["web-1"],
    dirty: true,
  } as const;
  const { a, b } = changeSets({ ...change, build: null }, { ...filters, host: ["web-1"] });
  assert.deepEqual(a, { host: ["web-1"], dirty: true, from: 1000e3, to: 2000e3 });
  assert.deepEqual(b, { host: ["web-1"], dirty: true, from: 2000e3, to: 3000e3 });
});

test("the zoom of an address is a node of the graph, or the whole graph", () => {
  const graph = flame();
  const zoom = (text: string) =>
    zoomOf({ path: "/compare", query: new URLSearchParams(text), key: "" }, graph);
  const last = graph.nodes.length - 1;
  assert.equal(zoom(`zoom=${last}`), last);
  for (const text of ["", `zoom=${last + 1}`, "zoom=-1", "zoom=x", "zoom=000001"])
    assert.equal(zoom(text), 0, text);
});
