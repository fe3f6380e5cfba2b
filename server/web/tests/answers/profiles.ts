// Made-up flame graphs and timelines of a delay.
import type { Flame, Timeline } from "../../src/types";
import { ago, hour_s } from "../page/clock";

// A program of 120 ms that waits for a lock and reads from disk, against normal runs of 60 ms.
export function flame(more: Partial<Flame> = {}): Flame {
  return {
    unit: "ns",
    total: 120e6,
    baseline_total: 60e6,
    baseline_runs: 12,
    runs: 5,
    nodes: [
      [-1, 0, 120e6, 60e6, 3],
      [0, 1, 110e6, 50e6, 0],
      [1, 2, 80e6, 10e6, 0],
      [2, 3, 78e6, 8e6, 3],
      [1, 4, 20e6, 39.5e6, 0],
      [4, 5, 12e6, 0, 1],
      [0, 6, 10e6, 10e6, 2],
      [1, 7, 2e6, 1e6, 0],
    ],
    names: [
      { function: "", module: "" },
      { function: "main", module: "/usr/bin/shop" },
      { function: "Cart::add", module: "/usr/lib/libshop.so.1" },
      { function: "blocked: lock (futex)", module: "" },
      {
        function: "std::vector<std::pair<int, long>, std::allocator<int>>::push_back",
        module: "/usr/bin/shop",
      },
      { function: "do_syscall_64", module: "vmlinux" },
      { function: "", module: "/tmp/perf-1.map" },
      { function: "", module: "" },
    ],
    dropped: 0,
    ...more,
  };
}

// 124 ms: running, waiting for a CPU, blocked by a lock, and not recorded.
export function timeline(more: Partial<Timeline> = {}): Timeline {
  const from = BigInt(ago(2 * hour_s));
  return {
    from_ns: String(from),
    to_ns: String(from + 124000000n),
    names: ["", "Cart::add", "/usr/lib/libshop.so.1", "/src/cart.cpp"],
    frames: [
      { function: 1, module: 2, build_id: 0, offset: "0", file: 3, line: 12 },
      { function: 0, module: 2, build_id: 0, offset: "4660", file: 0, line: 0 },
    ],
    stacks: [[0, 1], []],
    intervals: [
      { from_ns: 0, to_ns: 20e6, state: "on CPU", reason: "", cpu: 0, waker: null, stack: null },
      {
        from_ns: 20e6,
        to_ns: 24e6,
        state: "runnable",
        reason: "",
        cpu: null,
        waker: null,
        stack: null,
      },
      {
        from_ns: 24e6,
        to_ns: 104e6,
        state: "blocked",
        reason: "lock (futex)",
        cpu: null,
        waker: { process: "shop", thread: "holder" },
        stack: 0,
      },
      {
        from_ns: 104e6,
        to_ns: 104.01e6,
        state: "on CPU",
        reason: "",
        cpu: 3,
        waker: null,
        stack: 1,
      },
      {
        from_ns: 110e6,
        to_ns: 124e6,
        state: "unknown",
        reason: "",
        cpu: null,
        waker: null,
        stack: null,
      },
    ],
    samples: [
      { at_ns: 10e6, stack: 0 },
      { at_ns: 104e6, stack: 1 },
    ],
    dropped: 0,
    ...more,
  };
}
