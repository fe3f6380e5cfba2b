// Made-up answers about runs of an event.
import type {
  Comparison,
  DelaySummary,
  Run,
  RunDetail,
  RunList,
  Split,
  SplitPart,
  StageStacks,
  Summary,
  TimeShift,
  Times,
} from "../../src/types";
import { ago, day_s, hour_s } from "../page/clock";
import { digest } from "./digests";

export function times(more: Partial<Times> = {}): Times {
  return {
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
    ...more,
  };
}

export function run(id: number, more: Partial<Run> = {}): Run {
  return {
    id: String(id),
    event: "checkout",
    begin_ns: ago(1000 - id),
    duration_ns: id * 10e6,
    threshold_ns: 50e6,
    host: "web-1",
    user: "1000",
    build: "b2b2b2b2b2b2b2b2",
    process: "shop",
    unit: "shop.service",
    executable: "/usr/bin/shop",
    pid: 4000,
    tid: 4001,
    thread: "worker",
    start: "warm",
    delay: false,
    weight: 1,
    bundle: null,
    dirty: null,
    outlier: null,
    stages: [
      { name: "read", at_ns: 0, duration_ns: id * 4e6 },
      { name: "write", at_ns: id * 4e6, duration_ns: id * 6e6 },
    ],
    without_stages: false,
    times: null,
    ...more,
  };
}

export const dirty = { rule: "suspended", reason: "the machine slept", by: null, at_ns: ago(60) };

// A run of each kind: ordinary, cold, late with a recording, dirty, outlier, without stages.
export const all_kinds: Run[] = [
  run(1),
  run(2, { start: "cold" }),
  run(9, {
    delay: true,
    bundle: digest("e"),
    bundle_delay: 2,
    times: times(),
    outlier: { rule: "duration", reason: "9 times the median.", by: null, at_ns: ago(0) },
  }),
  run(30, { dirty, delay: true, bundle: digest("f") }),
  run(3, { start: "unknown", stages: [], without_stages: true, host: "web-2", user: "" }),
  run(4, { times: times({ blocked: [], blocked_ns: 0, on_cpu_ns: 40e6 }) }),
];

export function runList(runs: Run[], more: Partial<RunList> = {}): RunList {
  return { runs, hidden: 0, outliers: 0, total: runs.length, next: null, ...more };
}

export function detail(more: Partial<RunDetail> = {}): RunDetail {
  return { ...run(9), markers: [], ...more };
}

export function summary(more: Partial<Summary> = {}): Summary {
  return {
    runs: 12345,
    delays: 67,
    hidden: 3,
    share_over: 0.0054,
    threshold_ns: 50e6,
    percentiles: { p50: 2e6, p75: 3e6, p90: 9e6, p95: 12e6, p99: 60e6, max: 1.2e9 },
    histogram: [
      { low_ns: 0, high_ns: 2e6, runs: 5000, delays: 0 },
      { low_ns: 2e6, high_ns: 4e6, runs: 4000, delays: 0 },
      { low_ns: 4e6, high_ns: 16e6, runs: 3000, delays: 7 },
      { low_ns: 16e6, high_ns: 64e6, runs: 345, delays: 60 },
    ],
    hours: [
      { hour_ns: ago(5 * hour_s), runs: 100, delays: 1 },
      { hour_ns: ago(4 * hour_s), runs: 50, delays: 30 },
      { hour_ns: ago(hour_s), runs: 1, delays: 0 },
    ],
    ...more,
  };
}

export function delaySummary(more: Partial<DelaySummary> = {}): DelaySummary {
  return {
    ...summary({ runs: 67 }),
    delays_read: 67,
    hosts: [
      { host: "web-1", delays: 60, longest_ns: 1.2e9 },
      { host: "", delays: 7, longest_ns: 60e6 },
    ],
    builds: [{ build: "b2b2b2b2b2b2b2b2", delays: 67, longest_ns: 1.2e9 }],
    units: Array.from({ length: 13 }, (_, index) => ({
      unit: `unit-${index}-of-a-service-with-a-long-name.service`,
      delays: 13 - index,
      longest_ns: 60e6,
    })),
    ...more,
  };
}

export function splitPart(name: string, more: Partial<SplitPart> = {}): SplitPart {
  return {
    name,
    runs: 1234,
    delays: 5,
    p50: 2e6,
    p90: 5e6,
    p99: 30e6,
    units: {
      runs: [5, 0, 4, 3],
      delays: [0, 0, 3, 2],
      p50: [2e6, 0, 3e6, 2e6],
      p90: [5e6, 0, 6e6, 5e6],
      p99: [30e6, 0, 40e6, 0],
    },
    ...more,
  };
}

export function split(more: Partial<Split> = {}): Split {
  return {
    from_ns: ago(2 * day_s),
    to_ns: ago(0),
    unit_ns: 12 * 3600e9,
    runs_read: 1234,
    runs_read_most: 5000,
    read_from_ns: null,
    parts: [splitPart("web-1"), splitPart("", { delays: 0, runs: 1 })],
    others: null,
    other_names: 0,
    ...more,
  };
}

export function shift(more: Partial<TimeShift> = {}): TimeShift {
  return {
    runs_read: 5000,
    runs_timed: 4321,
    runs_needed: 200,
    middle: { runs: 2000, shortest_ns: 9e6, longest_ns: 12e6, mean_ns: 10e6 },
    slow: { runs: 43, shortest_ns: 90e6, longest_ns: 300e6, mean_ns: 110e6 },
    parts: [
      { state: "on CPU", reason: "", middle_ns: 5e6, slow_ns: 25e6 },
      { state: "runnable", reason: "", middle_ns: 0, slow_ns: 1e6 },
      { state: "blocked", reason: "disk", middle_ns: 5e6, slow_ns: 84e6 },
      { state: "unknown", reason: "", middle_ns: 1e6, slow_ns: 0 },
    ],
    ...more,
  };
}

export function frames(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    function: `step_${index}`,
    module: "/usr/lib/libshop.so.1",
    build_id: "",
    offset: "0",
    file: "",
    line: 0,
  }));
}

export const odd_frames = [
  { ...frames(1)[0], file: "/src/shop/cart.cpp", line: 12 },
  { ...frames(1)[0], function: "", offset: "4660" },
  {
    ...frames(1)[0],
    function: "std::vector<std::pair<int, long>, std::allocator<int>>::push_back",
  },
];

export function stacks(more: Partial<StageStacks> = {}): StageStacks {
  return {
    runs_read: 1000,
    runs_read_most: 1001,
    stacks: [
      { frames: [...odd_frames, ...frames(10)], hits: 1234, median_ns: 2e6, longest_ns: 60e6 },
      { frames: frames(2), hits: 2, median_ns: 1e6, longest_ns: 2e6 },
      { frames: [], hits: 1, median_ns: 1e6, longest_ns: 1e6 },
    ],
    ...more,
  };
}

export function comparison(more: Partial<Comparison> = {}): Comparison {
  return {
    a: { runs: 1234, median_ns: 10e6 },
    b: { runs: 5, median_ns: 30e6 },
    difference_ns: 20e6,
    low_ns: 15e6,
    high_ns: 24e6,
    confidence: 0.95,
    evidence: true,
    stages: [
      { name: "read", difference_ns: 18e6, low_ns: 10e6, high_ns: 20e6, evidence: true },
      { name: "write", difference_ns: -2e6, low_ns: -40e6, high_ns: 3e6, evidence: false },
      { name: "sync", difference_ns: 1e6, low_ns: null, high_ns: null, evidence: false },
    ],
    ...more,
  };
}
