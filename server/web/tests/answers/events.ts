// Made-up answers about events, their trends and lasting changes.
import type {
  Change,
  EventTrend,
  LevelChange,
  Losses,
  OverviewAnswer,
  Trend,
} from "../../src/types";
import { ago, day_s, hour_s } from "../page/clock";
import { record } from "./causes";

export const old_build = "b1b1b1b1b1b1b1b1";
export const new_build = "b2b2b2b2b2b2b2b2"; // named v2
export const no_losses: Losses = { runs: 0, hosts: [] };

export function level(more: Partial<LevelChange> = {}): LevelChange {
  return {
    measure: "p99",
    from_ns: ago(6 * hour_s),
    from_first_run: false,
    before: 12e6,
    after: 31e6,
    p_value: 0.0012345,
    build: null,
    ...more,
  };
}

export function trendOf(event: string, more: Partial<EventTrend> = {}): EventTrend {
  return {
    event,
    runs_recorded: true,
    last_ns: ago(60),
    runs: 12345,
    delays: 67,
    hosts: 3,
    delayed_hosts: 2,
    builds: 2,
    delayed_builds: 1,
    p50: { before_ns: 2e6, now_ns: 2.1e6, p_value: 0.4, q_value: 0.6 },
    p99: { before_ns: 12e6, now_ns: 31e6, p_value: 0.001, q_value: 0.002 },
    delay_share: { before: 0.02, now: 0.01, p_value: 0.001, q_value: 0.05 },
    verdict: "unchanged",
    factor: null,
    changes: [],
    lasting: null,
    units: {
      runs: [10, 10, 0, 10],
      delays: [0, 1, 0, 4],
      p50: [2e6, 2e6, 0, 3e6],
      p90: [4e6, 5e6, 0, 6e6],
      p99: [10e6, 12e6, 0, 31e6],
    },
    ...more,
  };
}

export type OverviewEvent = OverviewAnswer["events"][number];

export function overviewEvent(event: string, more: Partial<OverviewEvent> = {}): OverviewEvent {
  return { ...trendOf(event), extent: null, newest_cause: null, ...more };
}

export function overview(events: OverviewEvent[], more: Partial<OverviewAnswer> = {}) {
  const answer: OverviewAnswer = {
    before_ns: ago(48 * hour_s),
    from_ns: ago(24 * hour_s),
    to_ns: ago(0),
    unit_ns: 12 * 3600e9,
    total: events.length,
    events,
    lost: no_losses,
    bundles_waiting: 0,
    ...more,
  };
  return answer;
}

// Two days of hours: four units before and four now, so that a unit is half a day.
export function trend(more: Partial<Trend> = {}): Trend {
  return {
    ...trendOf("checkout"),
    before_ns: ago(4 * day_s),
    from_ns: ago(2 * day_s),
    to_ns: ago(0),
    unit_ns: 12 * 3600e9,
    units: {
      runs: [10, 12, 0, 1, 14, 10, 9, 3],
      delays: [0, 1, 0, 0, 2, 1, 3, 1],
      p50: [2e6, 2e6, 0, 3e6, 2e6, 2e6, 2.5e6, 3e6],
      p90: [5e6, 5e6, 0, 6e6, 5e6, 7e6, 9e6, 8e6],
      p99: [10e6, 12e6, 0, 31e6, 12e6, 44e6, 90e6, 60e6],
    },
    builds_seen: [
      { build: old_build, runs: 1000, delays: 1, first_ns: ago(4 * day_s), last_ns: ago(day_s) },
      { build: new_build, runs: 2000, delays: 6, first_ns: ago(day_s), last_ns: ago(0) },
      { build: "", runs: 3, delays: 0, first_ns: ago(hour_s), last_ns: ago(0) },
    ],
    ...more,
  };
}

type Split = NonNullable<Change["hosts"]>;
type Part = Split["parts"][number];

export function part(name: string, before: number, after: number, more: Partial<Part> = {}): Part {
  return {
    name,
    changed: false,
    before: { runs: 1000, slow: before * 1000, share: before },
    after: { runs: 2000.4, slow: after * 2000, share: after },
    p50: { before_ns: 2e6, after_ns: 2.5e6 },
    p99: { before_ns: 12e6, after_ns: 40e6 },
    ...more,
  };
}

export function splitOf(parts: Part[], more: Partial<Split> = {}): Split {
  return { changed: 1, total: parts.length, concentrated: false, pattern: null, parts, ...more };
}

export const no_change: Change = { change: null };

export function change(more: Partial<Change> = {}): Change {
  return {
    change: level({ build: new_build }),
    runs_recorded: true,
    before_ns: ago(30 * hour_s),
    to_ns: ago(0),
    hosts: splitOf(
      [
        part("fra-1", 0.01, 0.08, { changed: true }),
        part("fra-2", 0, 0.01, { p50: { before_ns: 0, after_ns: 1e6 } }),
        part("", 0.01, 0.02, {
          after: { runs: 0, slow: 0, share: 0 },
          p99: { before_ns: 9e6, after_ns: 0 },
        }),
      ],
      { concentrated: true, pattern: "fra-*", total: 21 },
    ),
    builds: splitOf([
      part(new_build, 0, 0.05, { before: { runs: 0, slow: 0, share: 0 } }),
      part("", 0.01, 0.02, { before: { runs: 9000, slow: 1, share: 0.01 } }),
      part("b0b0b0b0b0b0b0b0", 0.01, 0.02, { before: { runs: 10, slow: 5, share: 0.01 } }),
      part(old_build, 0.01, 0.02, { before: { runs: 3, slow: 700, share: 0.01 } }),
    ]),
    units: splitOf([part("shop.service", 0.01, 0.02)]),
    causes: [
      {
        cause: record({ id: "7", title: "lock of Cart::add" }),
        before: 0.001,
        after: 0.06,
        p_value: 0.001,
        part: 0.83,
        came_with_change: true,
      },
      {
        cause: record({ id: "8", title: "disk in fsync" }),
        before: 0.001,
        after: 0.002,
        p_value: 0.5,
        part: 0.1,
        came_with_change: false,
      },
    ],
    ...more,
  };
}
