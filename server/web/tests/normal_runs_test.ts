import assert from "node:assert/strict";
import { test } from "node:test";
import { normalRuns } from "../src/normal_runs";
import type { Run } from "../src/types";

const run = (ms: number, more: Partial<Run> = {}) =>
  ({
    duration_ns: ms * 1e6,
    delay: false,
    dirty: null,
    stages: [{ name: "parse", at_ns: 0, duration_ns: ms * 1e5 }],
    times: null,
    ...more,
  }) as Run;

test("normal runs are those on time, and medians describe them", () => {
  const runs = Array.from({ length: 11 }, (_, index) => run(index + 1));
  const normal = normalRuns([
    ...runs,
    run(500, { delay: true }),
    run(900, { dirty: { rule: "by hand", reason: "", by: null, at_ns: "0" } as Run["dirty"] }),
  ]);
  assert.equal(normal?.runs, 11);
  assert.equal(normal?.duration_ns, 6e6);
  assert.equal(normal?.stages.get("parse"), 6e5);
  assert.equal(normal?.parts.size, 0);
});

test("what most runs do not have is 0, and a stage that repeats counts as a whole", () => {
  const runs = Array.from({ length: 10 }, () => run(2));
  runs[0] = run(2, {
    stages: [
      { name: "parse", at_ns: 0, duration_ns: 1 },
      { name: "retry", at_ns: 1, duration_ns: 5 },
      { name: "parse", at_ns: 6, duration_ns: 2 },
    ] as Run["stages"],
  });
  const normal = normalRuns(runs);
  assert.equal(normal?.stages.get("retry"), 0);
  assert.equal(normal?.stages.get("parse"), 2e5);
});

test("a few runs are not enough", () => {
  assert.equal(normalRuns(Array.from({ length: 9 }, () => run(1))), null);
  assert.equal(normalRuns([]), null);
});

test("medians of an even number of runs are in the middle of two", () => {
  const normal = normalRuns(Array.from({ length: 10 }, (_, index) => run((index + 1) ** 2)));
  assert.equal(normal?.duration_ns, 30.5e6);
});

test("runs without stages or times do not count for those, and repeated parts are sums", () => {
  const times = {
    on_cpu_ns: 10,
    runnable_ns: 0,
    throttled_ns: 0,
    blocked_ns: 6,
    handed_over_ns: 0,
    unknown_ns: 0,
    blocked: [
      { reason: "disk", ns: 4 },
      { reason: "disk", ns: 2 },
    ],
  };
  const normal = normalRuns([
    ...Array.from({ length: 9 }, () => run(2, { stages: [] })),
    run(4),
    run(8, { times }),
  ]);
  assert.deepEqual(
    [...(normal?.stages ?? [])],
    [["parse", 6e5]], // of 4e5 and 8e5
  );
  assert.deepEqual(
    [...(normal?.parts ?? [])],
    [
      ["on CPU", 10],
      ["disk", 6],
    ],
  );
  assert.equal(normal?.runs, 11);
});
