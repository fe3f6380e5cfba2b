// Made-up answers about recorded delays.
import type { Bundle, BundleDelays, Delay, DelayList } from "../../src/types";
import { ago, hour_s } from "../page/clock";
import { digest } from "./digests";

export function delay(more: Partial<Delay> = {}): Delay {
  return {
    number: 3,
    event: "checkout",
    begin_ns: ago(2 * hour_s),
    duration_ns: 124e6,
    threshold_ns: 50e6,
    process: "shop",
    unit: "shop.service",
    user: "",
    build: "b2b2b2b2b2b2b2b2",
    thread: "worker",
    pid: 4000,
    tid: 4001,
    on_cpu_ns: 20e6,
    runnable_ns: 4e6,
    blocked_ns: 95e6,
    handed_over_ns: 2e6,
    unknown_ns: 3e6,
    blocked: [
      { reason: "lock (futex)", ns: 80e6 },
      { reason: "disk", ns: 10e6 },
      { reason: "", ns: 1e6 },
    ],
    stages: [
      { name: "read", at_ns: 0, duration_ns: 24e6 },
      { name: "write", at_ns: 24e6, duration_ns: 100e6 },
    ],
    without_stages: false,
    trace_id: null,
    ...more,
  };
}

type DelayRow = DelayList["delays"][number];

export function delayRow(more: Partial<DelayRow> = {}): DelayRow {
  return {
    ...delay(),
    bundle: digest("d"),
    host: "web-1",
    user: "",
    build: "b1b1b1b1b1b1b1b1",
    ...more,
  };
}

export function bundle(more: Partial<Bundle> = {}): Bundle {
  return {
    digest: digest("a"),
    bytes: 1843200,
    received_ns: ago(hour_s),
    started_ns: ago(2 * hour_s),
    host: "web-1",
    event: "checkout",
    process: "shop",
    delays: 1,
    longest_delay_ns: 124e6,
    bad_reason: null,
    parsed: true,
    ...more,
  };
}

export function bundleDelays(delays: Delay[], more: Partial<BundleDelays> = {}): BundleDelays {
  return { bundle: bundle(), delays, next: null, quality: {}, ...more };
}
