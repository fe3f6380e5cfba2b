import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { change as changeAnswer, new_build, old_build, part, splitOf } from "./answers/events";
import { flame } from "./answers/profiles";
import { changeAround, newCauses } from "../src/pages/event_change";
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

test("the change of an answer, with the build that most runs had before it", () => {
  const full = changeAnswer();
  const around = { from_ns: full.change?.from_ns, build: new_build, to_ns: full.to_ns };
  assert.deepEqual(changeAround(full), {
    ...around,
    before_ns: full.before_ns,
    build_before: old_build, // 700 slow runs; 10 runs of another, 9,000 of unknown ones
  });
  assert.equal(changeAround(null), null);
  assert.equal(changeAround({ change: null }), null);
  assert.equal(changeAround({ ...full, change: null }), null);
  assert.equal(changeAround({ ...full, builds: undefined }), null);
  assert.equal(changeAround({ ...full, before_ns: undefined }), null);
  assert.equal(changeAround({ ...full, to_ns: undefined }), null);
  const alone = { ...full, builds: splitOf([part(new_build, 0.01, 0.05)]) };
  assert.equal(changeAround(alone)?.build_before, null);
});

test("causes that came with the change", () => {
  assert.deepEqual(newCauses(changeAnswer()), ["7"]);
  assert.deepEqual(newCauses({ change: null }), []);
  assert.deepEqual(newCauses(null), []);
});
