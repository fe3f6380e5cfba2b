// A made-up machine of two CPUs around a delay of 100 ms.
import type { MachineAnswer } from "../../src/types";
import { ago, hour_s } from "../page/clock";

const frame = (name: number) => ({
  function: name,
  module: 9,
  build_id: 0,
  offset: "1",
  file: 0,
  line: 0,
});

const names = [
  "",
  "lock (futex)", // 1
  "Cart::add",
  "shop", // 3
  "worker",
  "holder", // 5
  "make",
  "checkout", // 7
  "read",
  "/usr/bin/shop", // 9
  "shop.service",
  "disk", // 11
  "cc",
  "a reason without a colour", // 13
  "write",
  "eth0", // 15
];

// Cells are gap, length, state, first, second; of CPUs gap, length, thread, busy.
export function machine(more: Partial<MachineAnswer> = {}): MachineAnswer {
  return {
    begin_ns: ago(hour_s),
    recorded_from_ns: -20e6,
    recorded_to_ns: 130e6,
    from_ns: -20e6,
    to_ns: 130e6,
    finest_ns: 1,
    names,
    frames: [frame(2), frame(4)],
    stacks: [[0, 1], [1]],
    cpus: [
      { cpu: 0, cells: [0, 40e6, 10, 0, 0, 30e6, 0, 0, 0, 60e6, 11, 501, 0, 20e6, 99, 0] },
      { cpu: 1, cells: [20e6, 130e6, 20, 0] },
    ],
    processes: [
      { pid: 1, name: 3, unit: 10 },
      { pid: 2, name: 6, unit: 0 },
    ],
    threads: [
      {
        tid: 10,
        pid: 1,
        name: 4,
        of_delay: true,
        on_cpu_ns: 40e6,
        runnable_ns: 10e6,
        blocked_ns: 70e6,
        cells: [
          0, 30e6, 0, 0, 0, 0, 10e6, 1, 0, 0, 0, 60e6, 3, 1, 1, 0, 10e6, 3, 11, 0, 0, 10e6, 0, 1, 0,
        ],
        samples: [5e6, 1, 10e6, 2],
      },
      {
        tid: 11,
        pid: 1,
        name: 5,
        of_delay: true,
        on_cpu_ns: 60e6,
        runnable_ns: 0,
        blocked_ns: 5e6,
        cells: [0, 20e6, 4, 400, 300, 10e6, 60e6, 0, 1, 0, 0, 5e6, 3, 13, 0, 0, 5e6, 2, 0, 0],
        samples: [],
      },
      {
        tid: 20,
        pid: 2,
        name: 12,
        of_delay: false,
        on_cpu_ns: 130e6,
        runnable_ns: 0,
        blocked_ns: 0,
        cells: [20e6, 130e6, 0, 1, 0],
        samples: [],
      },
    ],
    // Time, thread, waker, kind, name.
    wakes: [100e6, 10, 11, 1, 0, 110e6, 10, 0, 4, 15, 95e6, 11, 20, 1, 0],
    runs: [
      {
        event: 7,
        from_ns: 0,
        to_ns: 100e6,
        tid: 10,
        delayed: true,
        stages: [
          { name: 8, at_ns: 0 },
          { name: 14, at_ns: 60e6 },
        ],
      },
      { event: 7, from_ns: 10e6, to_ns: 20e6, tid: 11, delayed: false, stages: [] },
      { event: 7, from_ns: 30e6, to_ns: 30e6, tid: 11, delayed: true, stages: [] },
    ],
    asleep: 0,
    left_out: { cpus: 0, threads: 0, wakes: 0, samples: 0, stacks: 0, runs: 0 },
    ...more,
  };
}
