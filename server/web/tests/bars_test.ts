import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./answers/runs";
import { BarArea, labelStep, valueTicks } from "../src/charts/bar_area";
import { drawBars } from "../src/charts/chart";
import { describeRun } from "../src/charts/run_bars";
import {
  arrange,
  axisEnd,
  runsBetween,
  stageAt,
  stageColours,
  stageHeights,
} from "../src/charts/run_order";
import { mainShift, partColours, timeColours, timeParts } from "../src/charts/run_times";
import { other_stages_colour, stage_colours } from "../src/colours";
import type { Run } from "../src/types";

test("the value axis ends at a round value above all bars", () => {
  assert.deepEqual(valueTicks(23, true, false), [0, 5, 10, 15, 20, 25]);
  assert.deepEqual(valueTicks(1, true, false), [0, 1]);
  assert.deepEqual(valueTicks(3, true, false), [0, 1, 2, 3]);
  assert.deepEqual(valueTicks(0.4, false, false), [0, 0.1, 0.2, 0.30000000000000004, 0.4]);
  assert.deepEqual(valueTicks(110, false, true), [0, 20, 40, 60, 80, 100]);
});

test("slots and values have their positions, and positions their slots and values", () => {
  const area = new BarArea({ left: 40, right: 240, top: 10, bottom: 110 }, 10, 50);
  assert.equal(area.step, 20);
  assert.equal(area.x(0), 50);
  assert.equal(area.slotAt(area.x(7)), 7);
  assert.equal(area.slotAt(0), 0);
  assert.equal(area.slotAt(999), 9);
  assert.equal(area.y(50), 10);
  assert.equal(area.valueAt(area.y(12)), 12);
});

test("labels are left out where they would touch", () => {
  const area = new BarArea({ left: 0, right: 1000, top: 0, bottom: 1 }, 100, 1);
  assert.equal(labelStep(area, 34), 5);
  assert.equal(labelStep(new BarArea({ left: 0, right: 1000, top: 0, bottom: 1 }, 4, 1), 34), 1);
});

test("no label touches the one before, not even the last, which stays inside", () => {
  const width = 36;
  for (let size = 300; size < 420; ++size) {
    const at: number[] = [];
    const none = () => {};
    const context = {
      measureText: () => ({ width }),
      fillText: (text: string, x: number) => text.endsWith("Oct") && at.push(x),
      fillRect: none,
      save: none,
      restore: none,
      beginPath: none,
      rect: none,
      clip: none,
    };
    const labels = Array.from({ length: 61 }, (_, day) => `${day} Oct`);
    const bars = {
      sets: [{ colour: "red", values: labels.map(() => 1) }],
      stacked: true,
      filled: 1,
      labels,
      value: String,
      whole: true,
      padding: { top: 0, bottom: 0 },
    };
    drawBars(context as never, bars, size, 100, {} as never);
    assert.ok(at.length > 2 && at[at.length - 1] <= size - width / 2);
    for (let label = 1; label < at.length; ++label)
      assert.ok(at[label] - at[label - 1] >= width + 6, `${size}: ${at}`);
  }
});

test("the axis ends above ordinary runs: outliers and dirty runs far above are cut", () => {
  const of = (ms: number, more: object = {}) => ({
    duration_ns: ms * 1e6,
    dirty: null,
    outlier: null,
    ...more,
  });
  const end = (...runs: object[]) => axisEnd({ slots: [null, ...runs] } as never);
  assert.equal(end(of(10), of(100)), undefined);
  assert.equal(end(of(10), of(100, { outlier: {} })), 12);
  assert.equal(end(of(10), of(100, { dirty: {} })), 12);
  assert.equal(end(of(100, { outlier: {} })), undefined);
});

test("an axis is cut only if the longest run is far above the others", () => {
  const of = (ms: number, more: object = {}) => ({
    duration_ns: ms * 1e6,
    dirty: null,
    outlier: null,
    ...more,
  });
  const end = (...runs: object[]) => axisEnd({ slots: runs } as never);
  assert.equal(end(of(100), of(150, { outlier: {} })), undefined);
  assert.equal(end(of(100), of(151, { outlier: {} })), 115);
  assert.equal(end(of(100), of(40), of(151, { dirty: {} })), 115);
});

const bar = (id: number, more: Partial<Run> = {}) => run(id, more);
const ids = (bars: { slots: (Run | null)[] }) => bars.slots.map((slot) => slot?.id ?? null);

test("cold runs stand before warm ones and others, with gaps, each in their order", () => {
  const runs = [
    bar(1, { start: "unknown" }),
    bar(4),
    bar(2),
    bar(5, { start: "cold" }),
    bar(3),
    bar(6, { start: "cold" }),
  ];
  const newest = arrange(runs, "newest");
  assert.deepEqual(ids(newest), ["5", "6", null, "2", "3", "4", null, "1"]);
  assert.deepEqual(newest.groups, [
    { name: "cold starts", from: 0, to: 2 },
    { name: "warm starts", from: 3, to: 6 },
    { name: "runs", from: 7, to: 8 },
  ]);
  const slowest = arrange(runs, "slowest");
  assert.deepEqual(ids(slowest), ["6", "5", null, "4", "3", "2", null, "1"]);
  const gap = (count: number) =>
    arrange(
      Array.from({ length: count }, (_, index) => bar(index, index === 0 ? { start: "cold" } : {})),
      "newest",
    ).slots.filter((slot) => slot === null).length;
  assert.deepEqual([gap(2), gap(89), gap(90), gap(150)], [1, 1, 2, 3]);
});

const with_stages = (id: number, ...stages: [string, number][]) =>
  bar(id, {
    duration_ns: stages.reduce((sum, [, ms]) => sum + ms * 1e6, 0),
    stages: stages.map(([name, ms]) => ({ name, at_ns: 0, duration_ns: ms * 1e6 })),
  });

test("at most eight stages have colours: those that take the most time, in their order", () => {
  const names = (count: number): [string, number][] =>
    Array.from({ length: count }, (_, index) => [`s${index}`, index === 1 ? 1 : 10 + index]);
  const eight = stageColours([with_stages(1, ...names(8))]);
  assert.deepEqual(
    eight.map(({ name }) => name),
    ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"],
  );
  assert.deepEqual(
    eight.map(({ colour }) => colour),
    stage_colours,
  );
  const other = { name: null, colour: other_stages_colour };
  const nine = stageColours([with_stages(1, ...names(9))]);
  assert.deepEqual(
    nine.map(({ name }) => name),
    ["s0", "s2", "s3", "s4", "s5", "s6", "s7", "s8", null],
  );
  assert.deepEqual(nine[8], other);
  // A stage of many short runs takes more time than one long stage.
  const short = Array.from({ length: 20 }, (_, index) => with_stages(index, ["s1", 1]));
  assert.equal(stageColours([with_stages(1, ...names(9)), ...short])[0].name, "s1");
  const bare = bar(2, { stages: [] });
  const unknown = bar(3, { stages: [], without_stages: true });
  const words = (...runs: Run[]) => stageColours(runs).at(-1);
  assert.deepEqual(words(with_stages(1, ["a", 1]), unknown), {
    ...other,
    words: "stages not recorded",
  });
  assert.deepEqual(words(with_stages(1, ["a", 1]), unknown, bare), {
    ...other,
    words: "without stages",
  });
  assert.deepEqual(words(with_stages(1, ...names(9)), unknown), {
    ...other,
    words: "other stages, or stages not recorded",
  });
  assert.deepEqual(stageColours([bare]), []);
});

test("heights of stages, of others together, and of runs without stages", () => {
  const colours = [
    { name: "a", colour: "#1" },
    { name: "b", colour: "#2" },
    { name: null, colour: "#3" },
  ];
  const run_of = with_stages(1, ["a", 1], ["b", 2], ["x", 4], ["a", 8], ["y", 16]);
  assert.deepEqual(stageHeights(run_of, colours), [9, 2, 20]);
  assert.deepEqual(stageHeights(bar(3, { stages: [] }), colours), [0, 0, 30]);
  assert.deepEqual(stageHeights(run_of, []), []);
  assert.deepEqual(stageHeights(bar(3, { stages: [] }), []), []);
});

test("the stage at a height has some, and its upper end is its own", () => {
  const at = (ms: number) => stageAt([2, 0, 3], ms);
  assert.deepEqual([-1, 0, 1, 2, 2.1, 5, 5.1].map(at), [0, 0, 0, 0, 2, 2, -1]);
  assert.equal(stageAt([0, 0, 3], 0), 2);
  assert.equal(stageAt([], 0), -1);
});

test("runs between two slots, in either direction, without gaps", () => {
  const bars = arrange([bar(1, { start: "cold" }), bar(2), bar(3), bar(4)], "newest");
  const between = (from: number, to: number) => runsBetween(bars, from, to).map(({ id }) => id);
  assert.deepEqual(between(0, 2), ["1", "2"]);
  assert.deepEqual(between(4, 3), ["3", "4"]);
  assert.deepEqual(between(1, 1), []);
});

test("parts of time that are zero are left out, and colours begin with states", () => {
  const times = {
    on_cpu_ns: 10,
    runnable_ns: 5,
    throttled_ns: 5,
    blocked_ns: 0,
    handed_over_ns: 0,
    unknown_ns: 1,
    blocked: [{ reason: "disk", ns: 0 }],
  };
  assert.deepEqual(timeParts(times), [
    { state: "on CPU", reason: "", ns: 10 },
    { state: "runnable", reason: "CPU quota", ns: 5 },
    { state: "unknown", reason: "", ns: 1 },
  ]);
  const names = ["unknown", "pipe", "handed over", "waiting for a CPU", "disk", "on CPU", "pipe"];
  assert.deepEqual(
    partColours([...names, "waiting for a CPU (CPU quota)"]).map(({ name }) => name),
    [
      "on CPU",
      "waiting for a CPU",
      "waiting for a CPU (CPU quota)",
      "pipe",
      "disk",
      "handed over",
      "unknown",
    ],
  );
  const shift = (ns: [string, number, number][], middle: number, slow: number) =>
    mainShift(
      ns.map(([reason, middle_ns, slow_ns]) => ({ state: "blocked", reason, middle_ns, slow_ns })),
      middle,
      slow,
    );
  assert.deepEqual(
    shift(
      [
        ["a", 5, 9],
        ["b", 1, 7],
        ["c", 9, 1],
      ],
      10,
      20,
    ),
    { name: "b", share: 0.6 },
  );
  assert.deepEqual(shift([["a", 0, 50]], 10, 20), { name: "a", share: 1 });
  assert.equal(shift([["a", 5, 5]], 10, 20), null);
  assert.equal(shift([["a", 5, 9]], 10, 10), null);
  assert.equal(shift([], 10, 20), null);
});

test("the longest reasons of waiting have the first colours", () => {
  const part = (name: string, ns: number) => ({ name, at_ns: 0, duration_ns: ns });
  const colours = timeColours([
    bar(1, { stages: [part("pipe", 5), part("disk", 6), part("unknown", 99)] }),
    bar(2, { stages: [part("pipe", 3), part("on CPU", 1)] }),
  ]);
  assert.deepEqual(
    colours.map(({ name }) => name),
    ["on CPU", "pipe", "disk", "unknown"],
  );
});

test("a run in words: its start, its marks, and one stage or all of them", () => {
  const colours = [
    { name: "a", colour: "#1" },
    { name: null, colour: "#3" },
  ];
  const outlier = { rule: "duration", reason: "9 times the median", by: null, at_ns: "0" };
  const dirty = { rule: "by hand", reason: "", by: "ada", at_ns: "0" };
  const of = with_stages(1, ["a", 1], ["b", 2], ["a", 4]);
  const words = (one: Run, stage = -1, part = "stage") =>
    describeRun(one, colours, stage, part).split(" · ").slice(1);
  assert.deepEqual(words(of), ["warm, 7 ms", "a 1 ms, b 2 ms, a 4 ms"]);
  assert.deepEqual(words(of, 0, "part"), ["warm, 7 ms", "part a 5 ms"]);
  assert.deepEqual(words(of, 1), ["warm, 7 ms", "a 1 ms, b 2 ms, a 4 ms"]);
  assert.deepEqual(words({ ...of, start: "unknown", delay: true, outlier, dirty, stages: [] }), [
    "7 ms, a delay",
    "outlier: 9 times the median",
    "dirty: by hand",
  ]);
  assert.deepEqual(words({ ...of, dirty: { ...dirty, reason: "r" }, stages: [] })[1], "dirty: r");
  const without = { ...of, stages: [], without_stages: true };
  assert.deepEqual(words(without), ["warm, 7 ms", "stages not recorded"]);
  assert.deepEqual(words(without, -1, "part"), ["warm, 7 ms"]);
});
