// Made-up answers about causes of delays.
import type { Cause, CauseLife, CauseRecord, Causes } from "../../src/types";
import { ago, day_s, hour_s } from "../page/clock";
import { digest } from "./digests";

export function record(more: Partial<CauseRecord> = {}): CauseRecord {
  return {
    id: "7",
    part_of: null,
    event: "checkout",
    signature: "5167a9ab12cd34ef56",
    title: "lock of Cart::add",
    state: "blocked",
    reason: "lock (futex)",
    holder: null,
    status: "new",
    first_ns: ago(3 * day_s),
    last_ns: ago(2 * hour_s),
    noticed_ns: ago(2 * day_s),
    resolved_ns: null,
    resolved_build: null,
    regressed_ns: null,
    owner: "",
    note: "",
    link: "",
    changed_by: null,
    delays: 1234,
    hosts: 3,
    ...more,
  };
}

export const frames_at_fault: Cause["frames"] = [
  { function: "", module: "" },
  { function: "[sleep]", module: "" },
  { function: "Cart::add", module: "/usr/lib/libshop.so.1" },
  { function: "main", module: "/usr/bin/shop" },
];

export function cause(more: Partial<Cause> = {}): Cause {
  return {
    signature: "5167a9ab12cd34ef56",
    title: "lock of Cart::add",
    state: "blocked",
    reason: "lock (futex)",
    frames: frames_at_fault,
    excess_ns: 41e6,
    normal_ns: 1.5e6,
    affected_runs: 12,
    hosts: 2,
    users: 1,
    share: 0.62,
    p_value: 0.000123,
    q_value: 0.00456,
    single_host: false,
    builds: [
      { build: "b0", runs: 10, delayed: 4, affected: 0, rate: 0, excess_ns: 0 },
      { build: "b1", runs: 100, delayed: 8, affected: 2, rate: 0.01, excess_ns: 20e6 },
      {
        build: "b2b2b2b2b2b2b2b2",
        runs: 100,
        delayed: 9,
        affected: 9,
        rate: 0.05,
        excess_ns: 41e6,
      },
    ],
    example: { bundle: digest("a"), delay: 3 },
    record: record(),
    ...more,
  };
}

export function causes(found: Cause[], more: Partial<Causes> = {}): Causes {
  return {
    delayed_runs: 20,
    normal_runs: 1,
    bundles: 5,
    runs_left_out: 0,
    causes: found,
    unexplained_share: 0.125,
    silent_because: null,
    ...more,
  };
}

type Newest = CauseLife["newest_delays"][number];

export function delayOf(excess_ms: number, more: Partial<Newest> = {}): Newest {
  return {
    bundle: digest("c"),
    delay: excess_ms,
    host: `web-${excess_ms}`,
    build: "b2b2b2b2b2b2b2b2",
    begin_ns: ago(excess_ms * 60),
    excess_ns: excess_ms * 1e6,
    ...more,
  };
}

const count = (more: object, delays: number) => ({
  ...more,
  delays,
  first_ns: ago(5 * day_s),
  last_ns: ago(delays * hour_s),
});

export function life(more: Partial<CauseLife> = {}): CauseLife {
  return {
    ...record(),
    frames: frames_at_fault,
    parts: [],
    by_host: [count({ host: "web-1" }, 30), count({ host: "web-2" }, 2)],
    by_build: [count({ build: "b2b2b2b2b2b2b2b2" }, 31), count({ build: "" }, 1)],
    by_holder: [count({ holder: "shop / worker" }, 25)],
    days: [
      { from_ns: day(20), delays: 3, rate: 0.002 },
      { from_ns: day(1), delays: 7, rate: 0.05 },
      { from_ns: day(0), delays: 2, rate: 0.01 },
    ],
    builds: [
      { build: "b1b1b1b1b1b1b1b1", from_ns: day(30) },
      { build: "b0b0b0b0b0b0b0b0", from_ns: day(3) },
      { build: "b2b2b2b2b2b2b2b2", from_ns: day(1) },
    ],
    newest_delays: [
      delayOf(5),
      delayOf(90, { bundle: null }),
      delayOf(40),
      delayOf(9),
      delayOf(70),
    ],
    ...more,
  };
}

// The begin of a day of UTC.
function day(days_ago: number): string {
  return ago(days_ago * day_s + 12 * hour_s + 34 * 60 + 56);
}
