import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arrange,
  axisEnd,
  runsBetween,
  stageAt,
  stageColours,
  stageHeights,
} from "../src/charts/run_order";
import { byTime, mainShift, timeColours } from "../src/charts/run_times";
import {
  formatBytes,
  formatDifference,
  formatDuration,
  formatMoment,
  formatShare,
  frameName,
  millisecondsOf,
} from "../src/format";
import type { Run, Start } from "../src/types";

test("durations have three digits and the unit that fits", () => {
  const cases: [number, string][] = [
    [0, "0 ns"],
    [850, "850 ns"],
    [999.6, "1 µs"],
    [1234, "1.23 µs"],
    [12345678, "12.3 ms"],
    [312e6, "312 ms"],
    [999.7e6, "1 s"],
    [1.5e9, "1.5 s"],
    [100e6, "100 ms"],
    [125e9, "2 min 5 s"],
    [3725e9, "1 h 2 min"],
    [-3e6, "−3 ms"],
  ];
  for (const [ns, text] of cases) assert.equal(formatDuration(ns), text, String(ns));
  assert.equal(formatDifference(12e6), "+12 ms");
  assert.equal(formatDifference(0), "0");
});

test("shares near an end are not rounded to it", () => {
  assert.equal(formatShare(0), "0 %");
  assert.equal(formatShare(0.0002), "<0.1 %");
  assert.equal(formatShare(0.123), "12.3 %");
  assert.equal(formatShare(0.9999), ">99.9 %");
  assert.equal(formatShare(1), "100 %");
});

test("sizes, times past 2^53 and frames without a name", () => {
  assert.equal(formatBytes(1843200), "1.76 MiB");
  assert.equal(millisecondsOf("1795258620123456789"), 1795258620123);
  const now_ms = Date.UTC(2026, 10, 28);
  assert.match(formatMoment("1795258620123456789", now_ms), /^2[012] Nov \d\d:\d7$/);
  assert.match(formatMoment("1695258620123456789", now_ms), /^2[012] Sep 2023 \d\d:1\d$/);
  assert.equal(
    frameName({ function: "", module: "/lib/libc.so.6", offset: "4660" }),
    "libc.so.6+0x1234",
  );
  assert.equal(
    frameName({ function: "", module: "", offset: "18446744073709551615" }),
    "unknown code+0xffffffffffffffff",
  );
});

function run(
  id: number,
  start: Start,
  duration_ms: number,
  stages: [string, number][] = [],
  dirty = false,
): Run {
  let at = 0;
  return {
    id: String(id),
    event: "e",
    begin_ns: String(9007199254740993000n + BigInt(id)),
    duration_ns: duration_ms * 1e6,
    threshold_ns: 0,
    host: "",
    user: "",
    build: "",
    process: "",
    unit: "",
    executable: "",
    pid: 1,
    tid: 1,
    thread: "",
    start,
    delay: false,
    weight: 1,
    bundle: null,
    dirty: dirty ? { rule: "duration", reason: "", by: null, at_ns: "0" } : null,
    outlier: null,
    stages: stages.map(([name, ms]) => ({
      name,
      at_ns: (at += ms * 1e6) - ms * 1e6,
      duration_ns: ms * 1e6,
    })),
    without_stages: false,
    times: null,
  };
}

test("the parts of a run's time: states first, then reasons of waiting, the longest first", () => {
  const timed: Run = {
    ...run(1, "warm", 100, [["stage", 100]]),
    times: {
      on_cpu_ns: 10e6,
      runnable_ns: 20e6,
      throttled_ns: 5e6,
      blocked_ns: 60e6,
      handed_over_ns: 7e6,
      unknown_ns: 3e6,
      blocked: [
        { reason: "disk", ns: 20e6 },
        { reason: "lock (futex)", ns: 40e6 },
      ],
    },
  };
  const parts = byTime(timed).stages;
  assert.equal(
    parts.reduce((sum, part) => sum + part.duration_ns, 0),
    100e6,
  );
  assert.deepEqual(
    parts.map((part) => part.name),
    [
      "on CPU",
      "waiting for a CPU",
      "waiting for a CPU (CPU quota)",
      "disk",
      "lock (futex)",
      "handed over",
      "unknown",
    ],
  );
  assert.equal(parts[3].at_ns, 30e6);
  const colours = timeColours([byTime(timed)]);
  assert.deepEqual(
    colours.map((entry) => entry.name),
    [
      "on CPU",
      "waiting for a CPU",
      "waiting for a CPU (CPU quota)",
      "lock (futex)",
      "disk",
      "handed over",
      "unknown",
    ],
  );
  assert.equal(new Set(colours.map((entry) => entry.colour)).size, colours.length);
  assert.deepEqual(
    byTime(run(2, "warm", 8)).stages.map((part) => [part.name, part.duration_ns]),
    [["unknown", 8e6]],
  );
});

test("the part that most of the difference is has its share of it", () => {
  const parts = [
    { state: "blocked", reason: "disk", middle_ns: 5e6, slow_ns: 85e6 },
    { state: "on CPU", reason: "", middle_ns: 5e6, slow_ns: 25e6 },
  ];
  assert.deepEqual(mainShift(parts, 10e6, 110e6), { name: "disk", share: 0.8 });
  assert.equal(mainShift(parts, 10e6, 10e6), null);
  assert.equal(mainShift(parts, 10e6, 10e6 + 1)?.name, "disk");
  assert.equal(mainShift([{ ...parts[0], slow_ns: parts[0].middle_ns }], 10e6, 20e6), null);
  assert.equal(mainShift([], 10e6, 20e6), null);
});

test("cold and warm runs stand apart, each by time or by duration", () => {
  const runs = [run(3, "warm", 5), run(1, "warm", 9), run(2, "cold", 7)];
  const bars = arrange(runs, "newest");
  assert.deepEqual(
    bars.slots.map((slot) => slot?.id ?? null),
    ["2", null, "1", "3"],
  );
  assert.deepEqual(bars.groups, [
    { name: "cold starts", from: 0, to: 1 },
    { name: "warm starts", from: 2, to: 4 },
  ]);
  assert.deepEqual(
    arrange([runs[0], runs[1]], "slowest").slots.map((slot) => slot?.id),
    ["1", "3"],
  );
  assert.deepEqual(
    runsBetween(bars, 3, 0).map((one) => one.id),
    ["2", "1", "3"],
  );
});

test("stages keep their order and colour; beyond the colours, the shortest share one", () => {
  assert.deepEqual(
    stageColours([
      run(1, "warm", 3, [
        ["b", 1],
        ["a", 2],
      ]),
    ]).map((entry) => entry.name),
    ["b", "a"],
  );
  const many = run(
    1,
    "warm",
    100,
    Array.from({ length: 12 }, (_, index) => [`s${index}`, index + 1] as [string, number]),
  );
  const colours = stageColours([many]);
  assert.equal(colours.length, 9);
  assert.equal(colours[8].name, null);
  const heights = stageHeights(many, colours);
  assert.equal(heights[8], 1 + 2 + 3 + 4);
  assert.equal(
    heights.reduce((sum, height) => sum + height, 0),
    78,
  );
});

test("a run whose stages were not recorded is as high as the others", () => {
  const bare = { ...run(2, "warm", 7), without_stages: true };
  const colours = stageColours([
    run(1, "warm", 3, [
      ["b", 1],
      ["a", 2],
    ]),
    bare,
  ]);
  assert.deepEqual(
    colours.map((entry) => [entry.name, entry.words]),
    [
      ["b", undefined],
      ["a", undefined],
      [null, "stages not recorded"],
    ],
  );
  assert.deepEqual(stageHeights(bare, colours), [0, 0, 7]);
  assert.equal(
    stageColours([run(1, "warm", 3, [["b", 3]]), run(2, "warm", 7), bare])[1].words,
    "without stages",
  );
  assert.deepEqual(stageColours([bare]), []);
  assert.deepEqual(stageHeights(bare, []), []);
});

test("the stage under the mouse is found, none above the bar", () => {
  assert.equal(stageAt([2, 0, 3], 1), 0);
  assert.equal(stageAt([2, 0, 3], 4.5), 2);
  assert.equal(stageAt([2, 0, 3], 6), -1);
});

test("dirty runs far above the others do not set the axis", () => {
  assert.equal(
    axisEnd(arrange([run(1, "warm", 100), run(2, "warm", 5000, [], true)], "newest")),
    115,
  );
  assert.equal(axisEnd(arrange([run(1, "warm", 100), run(2, "warm", 120)], "newest")), undefined);
});
