import assert from "node:assert/strict";
import { test } from "node:test";
import { pointsOf, timesBetween } from "../src/stage_times";
import type { Run } from "../src/types";

const run = (parse: number, execute: number, end: number, weight = 1) =>
  ({
    duration_ns: end,
    weight,
    stages: [
      { name: "begin", at_ns: 0, duration_ns: parse },
      { name: "execute", at_ns: execute, duration_ns: end - execute },
      { name: "parse", at_ns: parse, duration_ns: execute - parse },
    ],
  }) as Run;

test("points stand in the order in which runs reach them", () => {
  assert.deepEqual(pointsOf([run(1, 3, 10), run(2, 4, 10)]), ["begin", "parse", "execute", "end"]);
  assert.deepEqual(pointsOf([{ ...run(1, 2, 3), stages: [] }]), []);
});

test("the time between two points has percentiles, by weight", () => {
  const runs = [run(1, 3, 10), run(1, 4, 20), run(1, 5, 30, 98)];
  assert.deepEqual(timesBetween(runs, "parse", "execute"), { runs: 3, p50: 4, p90: 4, p99: 4 });
  assert.equal(timesBetween(runs, "begin", "end")?.p50, 30);
  assert.equal(
    timesBetween([run(1, 3, 10), run(1, 4, 20), run(1, 9, 30)], "parse", "execute")?.p99,
    8,
  );
});

test("each run counts with its weight", () => {
  const runs = [run(1, 3, 10, 98), run(1, 4, 20), run(1, 5, 30)];
  assert.deepEqual(timesBetween(runs, "begin", "end"), { runs: 3, p50: 10, p90: 10, p99: 20 });
  assert.equal(timesBetween([run(3, 3, 10)], "parse", "execute")?.p50, 0, "at the same time");
});

test("runs without a point or stages, or that reach them in another order, do not count", () => {
  assert.equal(timesBetween([{ ...run(1, 3, 10), stages: [] }], "begin", "end"), null);
  assert.equal(timesBetween([run(1, 3, 10)], "execute", "parse"), null);
  assert.equal(timesBetween([run(1, 3, 10)], "begin", "no such stage"), null);
});

test("the mean time of a point is that of the runs that reach it", () => {
  const late = { stages: [{ name: "late", at_ns: 100, duration_ns: 1 }] } as Run;
  const early = { stages: [{ name: "early", at_ns: 80, duration_ns: 1 }] } as Run;
  assert.deepEqual(pointsOf([late, ...Array<Run>(9).fill(early)]), [
    "begin",
    "early",
    "late",
    "end",
  ]);
});

test("a percentile is the first time that covers its share", () => {
  const runs = [run(1, 3, 20), run(1, 3, 10)];
  assert.deepEqual(timesBetween(runs, "begin", "end"), { runs: 2, p50: 10, p90: 20, p99: 20 });
});

test("stages named like the ends of a run are no points, and times need both points", () => {
  const odd = {
    ...run(1, 3, 10),
    stages: [
      { name: "end", at_ns: 5, duration_ns: 1 },
      { name: "parse", at_ns: 1, duration_ns: 1 },
    ],
  } as Run;
  assert.deepEqual(pointsOf([odd]), ["begin", "parse", "end"]);
  assert.equal(timesBetween([odd], "end", "end")?.p50, 0);
  assert.equal(timesBetween([odd], "no such stage", "end"), null);
  assert.equal(timesBetween([odd], "no such stage", "begin"), null);
});
