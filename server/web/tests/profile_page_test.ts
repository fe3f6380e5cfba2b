import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeNode } from "../src/flame/flame_graph";
import { readTree } from "../src/flame/tree";
import type { Delay } from "../src/types";
import { bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { runList } from "./answers/runs";
import { pass } from "./page/clock";
import {
  Expected,
  address,
  click,
  enter,
  find,
  open,
  point,
  press,
  requested,
  shown,
} from "./page/page";

const expected = new Expected("profile_page");
const there = `/bundle/${digest("a")}/3`;
const api = `/api/v1/bundles/${digest("a")}`;
const graph = "section#flame";
const canvas = `${graph} canvas`;
const scroller = `${graph} .flame-scroller`;
const readout = () => document.querySelector("[data-testid=flame-readout]")?.textContent;
const query = () => address().split("?")[1] ?? "";

async function openProfile(
  search = "",
  profile: object = flame(),
  line = timeline(),
  of: Partial<Delay> = {},
): Promise<void> {
  await open(`${there}${search}`, {
    [`${api}/delays`]: bundleDelays([delay(of)]),
    [`${api}/delays/3/profile`]: profile,
    [`${api}/delays/3/timeline`]: line,
    "/api/v1/formats": { formats: [] },
    "/api/v1/delays": { delays: [], next: null },
    "/api/v1/events/checkout/runs": runList([]),
  });
  requested();
}

test("the flame graph by module, folded", async () => {
  await openProfile();
  expected.is("by module", shown(graph));
  await openProfile("?frames=all", flame({ dropped: 1, baseline_total: null }));
  expected.is("all frames", shown(graph));
});

test("the flame graph against normal runs", async () => {
  await openProfile("?against=normal&frames=all", flame({ dropped: 1234 }));
  expected.is("difference", shown(graph));
  await click("width: normal");
  assert.equal(query(), "against=normal&frames=all&width=normal");
  expected.is("as wide as normal runs", shown(canvas));
  await click("width: this delay");
  assert.equal(query(), "against=normal&frames=all");
  await openProfile("?against=normal&width=normal", flame({ baseline_total: null }));
  expected.is("no normal runs", shown(graph));
  await openProfile("?against=normal", flame({ baseline_runs: undefined }));
  expected.is("unknown number of normal runs", shown(`${graph} .key`));
  await openProfile("?against=normal", flame({ baseline_runs: 1 }));
  expected.is("one normal run", shown(`${graph} .key`));
});

test("nothing in this part of the time", async () => {
  const empty = flame({ nodes: [[-1, 0, 0, 0, 3]], total: 0 });
  await openProfile("", empty);
  expected.is("nothing at all", shown(graph));
  await openProfile("?state=on-cpu", empty);
  expected.is("nothing on CPU", shown(`${graph} .notice`));
});

test("choices of the flame graph are in the address", async () => {
  await openProfile("?zoom=2");
  const steps: [string, string][] = [
    ["on CPU", "state=on-cpu"],
    ["off CPU", "state=off-cpu"],
    ["all time", ""],
    ["against normal runs", "against=normal"],
    ["by module", ""],
    ["inverted", "view=inverted"],
    ["callers first", ""],
    ["all frames", "frames=all"],
    ["kernel and libc folded", ""],
  ];
  for (const [text, there_] of steps) {
    const button = [...document.querySelectorAll<HTMLElement>(`${graph} button`)].find(
      (one) => one.textContent === text,
    );
    button?.click();
    await pass(0);
    assert.equal(query(), there_, text);
  }
  await openProfile("?state=off-cpu&against=normal");
  assert.equal(query(), "state=off-cpu&against=normal");
});

test("inverted", async () => {
  await openProfile("?view=inverted&frames=all");
  expected.is("inverted", shown(scroller, `${graph} .choice`));
});

test("the search marks matches, and steps through them", async () => {
  await openProfile("?frames=all");
  const field = "input[name=flame-search]";
  await press("main", "/");
  assert.equal(document.activeElement, find(field));
  await enter(field, "shop");
  await pass(299);
  assert.equal(query(), "frames=all");
  await pass(1);
  assert.equal(query(), "frames=all&search=shop");
  const found = () => document.querySelector("[data-testid=flame-found]")?.textContent;
  expected.is("matches", shown("[data-testid=flame-found]", canvas));
  await click("Next match");
  assert.match(found() ?? "", /, at 1$/);
  await press(field, "Enter");
  assert.match(found() ?? "", /, at 2$/);
  await press(field, "Enter", { shiftKey: true });
  await click("Previous match");
  assert.match(found() ?? "", /, at 3$/);
  expected.is("at the last match", shown("[data-testid=flame-readout]"));
  await enter(field, "/[/");
  await pass(300);
  expected.is(
    "not an expression",
    shown("[data-testid=flame-found]", `${graph} button[aria-label]`),
  );
  await enter(field, "nothing");
  await pass(300);
  expected.is("no match", shown("[data-testid=flame-found]", `${graph} button[aria-label]`));
});

test("frames that are folded are shown if only they match", async () => {
  await openProfile("?search=do_syscall_64");
  expected.is("unfolded", shown("[data-testid=flame-found]", `${graph} [aria-label^=Kernel]`));
});

test("keys move in the flame graph and zoom", async () => {
  await openProfile("?frames=all");
  assert.match(readout() ?? "", /^all: 120 ms, 100 %; normal runs 60 ms, \+60 ms/);
  const steps: [string, RegExp][] = [
    ["ArrowDown", /^main/],
    ["ArrowDown", /^Cart::add/],
    ["ArrowRight", /^std::vector/],
    ["ArrowRight", /^unknown code/],
    ["ArrowRight", /^unknown code/],
    ["ArrowLeft", /^std::vector/],
    ["ArrowLeft", /^Cart::add/],
    ["ArrowLeft", /^Cart::add/],
    ["ArrowDown", /^blocked: lock/],
    ["ArrowDown", /^blocked: lock/],
    ["ArrowUp", /^Cart::add/],
  ];
  for (const [key, said] of steps) {
    await press(scroller, key);
    assert.match(readout() ?? "", said, key);
  }
  await press(scroller, "Enter");
  assert.equal(query(), "frames=all&zoom=2");
  expected.is("zoomed", shown(canvas, "[data-testid=flame-readout]"));
  await press(scroller, "Enter");
  assert.equal(query(), "frames=all");
  await press(scroller, "Enter");
  await press(scroller, "Backspace");
  assert.equal(query(), "frames=all&zoom=1");
  await press(scroller, "Escape");
  assert.equal(query(), "frames=all");
  await press(scroller, "Home");
  assert.match(readout() ?? "", /^all/);
  await press(scroller, "ArrowDown", { ctrlKey: true });
  assert.match(readout() ?? "", /^all/);
});

test("the pointer reads out nodes and zooms", async () => {
  await openProfile("?frames=all&zoom=999");
  await point(canvas, "mousemove", 10, 40);
  expected.is("under the pointer", shown("[data-testid=flame-readout]", canvas));
  await point(canvas, "mouseleave", 0, 0);
  assert.match(readout() ?? "", /^all/);
  await point(canvas, "click", 450, 45);
  assert.equal(query(), "frames=all&zoom=4");
  await point(canvas, "click", 450, 45);
  assert.equal(query(), "frames=all");
  await point(canvas, "click", 450, 290);
  assert.equal(query(), "frames=all");
  await point(canvas, "click", 450, 45);
  await click("Whole graph");
  assert.equal(query(), "frames=all");
});

test("moving out of the zoomed part zooms out", async () => {
  await openProfile("?frames=all&zoom=4");
  await press(scroller, "ArrowDown");
  assert.equal(query(), "frames=all&zoom=4");
  await press(scroller, "ArrowDown");
  assert.equal(query(), "frames=all");
});

const line = "section#timeline";
const box = `${line} .timeline`;
const said = () => document.querySelector("[data-testid=timeline-readout]")?.textContent;

test("the timeline: keys select and zoom", async () => {
  await openProfile();
  expected.is("timeline", shown(line));
  const steps: [string, RegExp][] = [
    ["ArrowLeft", /^on CPU, 20 ms, from 0 ns, CPU 0/],
    ["ArrowRight", /^runnable, 4 ms, from 20 ms/],
    ["ArrowRight", /^blocked: lock \(futex\), 80 ms, from 24 ms, woken by shop \/ holder/],
    ["End", /^unknown, 14 ms/],
    ["ArrowRight", /^unknown, 14 ms/],
    ["Home", /^on CPU, 20 ms/],
    ["ArrowLeft", /^on CPU, 20 ms/],
  ];
  for (const [key, text] of steps) {
    await press(box, key);
    assert.match(said() ?? "", text, key);
  }
  await press(box, "+");
  expected.is("zoomed in", shown(`${line} canvas`, `${line} .below-bars > button`));
  await press(box, "End");
  expected.is("moved to the last", shown(`${line} canvas`));
  await press(box, "-");
  await press(box, "=");
  await press(box, "Escape");
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
});

test("the timeline: the pointer selects, zooms and shows stacks", async () => {
  await openProfile();
  await point(`${line} canvas`, "pointermove", 300, 40);
  assert.match(said() ?? "", /^blocked: lock/);
  await point(`${line} canvas`, "pointerdown", 300, 40);
  await point(`${line} canvas`, "pointerup", 303, 40);
  expected.is("selected", shown("[data-testid=interval]", `${line} canvas`, `${line} > div > p`));
  await point(`${line} canvas`, "pointermove", 525, 40);
  assert.match(said() ?? "", /^blocked: lock/);
  await point(`${line} canvas`, "pointerleave", 0, 0);
  await point(`${line} canvas`, "pointerdown", 200, 40);
  await point(`${line} canvas`, "pointermove", 204, 40);
  await point(`${line} canvas`, "pointermove", 100, 40);
  expected.is("dragging", shown(`${line} canvas`));
  await point(`${line} canvas`, "pointerup", 100, 40);
  expected.is("dragged", shown(`${line} canvas`, `${line} .below-bars > button`));
  await click("Whole delay");
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
  await press(box, "+");
  await point(`${line} canvas`, "dblclick", 300, 40);
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
});

test("the timeline: no stages, nothing recorded, parts dropped", async () => {
  await openProfile("", flame(), timeline({ dropped: 1234 }), { stages: [], blocked: [] });
  expected.is("without stages", shown(`${line} canvas`, `${line} .below-bars`));
  await openProfile("", flame(), timeline({ intervals: [] }));
  expected.is("not recorded", shown(line));
});

// main calls f1, which calls f2 and so on; each has 1 ms of its own but the last, which has most.
function deep(depth: number) {
  const names = Array.from({ length: depth + 1 }, (_, index) => ({
    function: index === 0 ? "" : `f${index}`,
    module: index === 0 ? "" : "/usr/bin/shop",
  }));
  const nodes = names.map((_, index): [number, number, number, number, number] => [
    index - 1,
    index,
    (200 - index) * 1e6,
    0,
    0,
  ]);
  return flame({ names, nodes, total: 200e6, baseline_total: null });
}

test("a deep flame graph opens at what has the most time of its own, and scrolls", async () => {
  await openProfile("?frames=all", deep(50));
  const box_ = find(scroller);
  assert.match(readout() ?? "", /^all/);
  const opened = box_.scrollTop;
  expected.is("scrolled to the deepest", shown(canvas, `${graph} .flame-height`));
  await point(canvas, "mousemove", 10, 10);
  const below = readout();
  expected.is("below the pointer", below ?? "");
  box_.scrollTop = 0;
  await press(scroller, "ArrowDown");
  assert.equal(box_.scrollTop, 0);
  for (let row = 0; row < 30; ++row) await press(scroller, "ArrowDown");
  assert.match(readout() ?? "", /^f31 /);
  expected.is("a selected row further down", shown(canvas).split("\n").slice(-2).join("\n"));
  const moved = box_.scrollTop;
  for (let row = 0; row < 25; ++row) await press(scroller, "ArrowUp");
  assert.match(readout() ?? "", /^f6 /);
  expected.is("rows in sight", `opened at ${opened}, f31 at ${moved}, f6 at ${box_.scrollTop}`);
  await openProfile("?frames=all&search=f25", deep(50));
  expected.is("scrolled to a match", `${find(scroller).scrollTop}: ${readout()}`);
});

test("steps through matches begin at the first, or at the last", async () => {
  const found = () => document.querySelector("[data-testid=flame-found]")?.textContent ?? "";
  const field = "input[name=flame-search]";
  await openProfile("?frames=all&search=shop");
  assert.doesNotMatch(found(), /, at/);
  for (const key of ["a", "ArrowDown", "Tab"]) await press(field, key);
  assert.doesNotMatch(found(), /, at/);
  await click("Previous match");
  assert.match(found(), /3 matches, at 3$/);
  await click("Next match");
  assert.match(found(), /3 matches, at 1$/);
  await openProfile("?frames=all&search=shop");
  await click("Next match");
  assert.match(found(), /3 matches, at 1$/);
  await openProfile("?frames=all&search=nothing");
  await press(field, "Enter");
  assert.match(found(), /0 matches$/);
});

test("only nodes of the graph are zoomed to", async () => {
  const zoomed = async (text: string) => {
    await openProfile(`?frames=all&zoom=${text}`);
    return !(find(`${graph} .flame-controls > button:last-child`) as HTMLButtonElement).disabled;
  };
  assert.deepEqual(
    [
      await zoomed("7"),
      await zoomed("8"),
      await zoomed("-1"),
      await zoomed("0"),
      await zoomed("x"),
    ],
    [true, false, false, false, false],
  );
});

test("keys skip what has no width, and the pointer on the root reads it out", async () => {
  // As wide as normal runs: push_back's kernel part has no time there.
  await openProfile("?against=normal&frames=all&width=normal");
  for (const key of ["ArrowDown", "ArrowDown"]) await press(scroller, key);
  assert.match(readout() ?? "", /^std::vector/);
  await press(scroller, "ArrowDown");
  assert.match(readout() ?? "", /^std::vector/);
  await point(canvas, "mousemove", 300, 5);
  assert.match(readout() ?? "", /^all/);
});

test("thousands of narrow nodes are merged, and long stacks cut", async () => {
  const names = [
    { function: "", module: "" },
    ...["a", "b", "c", "d"].map((name) => ({ function: name, module: "/usr/bin/shop" })),
  ];
  const nodes: [number, number, number, number, number][] = [[-1, 0, 3000e6, 0, 3]];
  for (const name of [1, 2, 3]) nodes.push([name - 1, name, (3000 - name) * 1e6, 0, 0]);
  for (let index = 0; index < 2000; ++index) nodes.push([3, 4, (index < 2 ? 400 : 1) * 1e6, 0, 0]);
  await openProfile("?frames=all", flame({ names, nodes, total: 3000e6, baseline_total: null }));
  const lines = shown(canvas).split("\n");
  assert.ok(lines.length < 800, String(lines.length));
  expected.is("narrow nodes", [...lines.slice(3, 30), ...lines.slice(-12)].join("\n"));
  expected.is("a stack's first three", shown("[data-testid=top-stacks] tbody tr:first-child"));
});

test("nodes in words", async () => {
  const tree = (more: object) => readTree(flame(more));
  const words = (node: number, more: object = {}, against: string | null = null) =>
    describeNode(tree(more), node, against);
  assert.equal(words(0), "all: 120 ms, 100 %");
  assert.equal(words(1), "main  (/usr/bin/shop): 110 ms, 91.7 %, self 8 ms");
  assert.equal(words(3), "blocked: lock (futex): 78 ms, 65.0 %");
  assert.equal(words(6), "[perf-1.map]: 10 ms, 8.3 %");
  assert.equal(words(7, {}, "in A"), "unknown code: 2 ms, 1.7 %; in A 1 ms, +1 ms");
  assert.equal(words(1, { total: 0 }), "main  (/usr/bin/shop): 110 ms, 0 %, self 8 ms");
});

test("the timeline: an interval has its begin, but not its end", async () => {
  const from = BigInt(timeline().from_ns);
  const [one] = timeline().intervals;
  const interval = (begin: number, end: number, cpu: number) => ({
    ...one,
    from_ns: begin * 1e3,
    to_ns: end * 1e3,
    cpu,
  });
  // One pixel for each microsecond.
  const of = timeline({
    to_ns: String(from + 600000n),
    intervals: [interval(0, 100, 1), interval(100, 200, 2), interval(300, 600, 3)],
    samples: [-1, 0, 600, 601].map((at) => ({ at_ns: at * 1e3, stack: 0 })),
  });
  await openProfile("", flame(), of);
  const found: string[] = [];
  for (const x of [0, 99, 100, 199, 200, 299, 300, 599, 600]) {
    await point(`${line} canvas`, "pointermove", x, 40);
    found.push(`${x}: ${/CPU \d/.exec(said() ?? "")?.[0] ?? "none"}`);
  }
  assert.deepEqual(found, [
    "0: CPU 1",
    "99: CPU 1",
    "100: CPU 2",
    "199: CPU 2",
    "200: none",
    "299: none",
    "300: CPU 3",
    "599: CPU 3",
    "600: none",
  ]);
  await point(`${line} canvas`, "pointerleave", 0, 0);
  expected.is("one pixel for each microsecond", shown(`${line} canvas`));
});

test("the timeline: zooming without a choice, and choosing what is half in sight", async () => {
  await openProfile();
  await press(box, "+");
  expected.is("zoomed around the middle", shown(`${line} canvas`));
  // From 31 to 93 ms: the lock's interval, from 24 to 104 ms, is larger than the view.
  await press(box, "ArrowRight");
  await press(box, "ArrowRight");
  await press(box, "ArrowRight");
  expected.is("moved to what was partly in sight", shown(`${line} canvas`));
});

test("the timeline: thousands of short intervals are merged", async () => {
  const [one] = timeline().intervals;
  const intervals = Array.from({ length: 6000 }, (_, index) => ({
    ...one,
    from_ns: index * 20e3,
    to_ns: index * 20e3 + 10e3,
    state: index % 2 === 0 ? ("on CPU" as const) : ("runnable" as const),
  }));
  await openProfile("", flame(), timeline({ intervals, samples: [] }), { stages: [] });
  const lines = shown(`${line} canvas`).split("\n");
  expected.is("short intervals", [String(lines.length), ...lines.slice(3, 12)].join("\n"));
});

test("the timeline: names of stages are shown where they fit", async () => {
  const stage = (name: string, from_ms: number, ms: number) => ({
    name,
    at_ns: from_ms * 1e6,
    duration_ns: ms * 1e6,
  });
  await openProfile("", flame(), timeline(), {
    stages: [stage("too long", 0, 11), stage("read", 11, 13), stage("none", 24, 0)],
  });
  const names = shown(`${line} canvas`)
    .split("\n")
    .filter((text) => /opacity 35|text/.test(text));
  expected.is("names of stages", names.join("\n"));
});

test("the timeline: each way back shows the whole delay", async () => {
  await openProfile();
  const picture = () => shown(`${line} canvas`);
  const whole = picture();
  for (const [name, back] of [
    ["Escape", () => press(box, "Escape")],
    ["a double click", () => point(`${line} canvas`, "dblclick", 300, 40)],
    ["the button", () => click("Whole delay")],
  ] as const) {
    await press(box, "+");
    assert.notEqual(picture(), whole, name);
    await back();
    assert.equal(picture(), whole, name);
  }
});
