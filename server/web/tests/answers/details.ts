// Made-up parts of a delay: its surroundings, threads that waited for each other, calls, traced
// functions and objects.
import type {
  FollowedObjects,
  ObjectWatch,
  ObjectWatchSummary,
  RunCalls,
  Surroundings,
  TracedFunctions,
  WaitChain,
} from "../../src/types";
import { ago, hour_s } from "../page/clock";

type CpuUse = NonNullable<Surroundings["cpu_use"]>;
type Holder = Surroundings["cpu_holders"][number];

export function cpuUse(more: Partial<CpuUse> = {}): CpuUse {
  const one = { process: "shop", command_line: "shop --password ***", unit: "shop.service" };
  return {
    known_ns: 480e6,
    idle_ns: 240e6,
    others_ns: 20e6,
    other_processes: 1234,
    processes: [
      { ...one, pid: 4000, on_cpu_ns: 120e6 },
      { ...one, pid: 4100, process: "cc", unit: "", command_line: "", on_cpu_ns: 900e6 },
    ],
    ...more,
  };
}

export function holder(more: Partial<Holder> = {}): Holder {
  return {
    pid: 4100,
    process: "cc",
    thread: "cc",
    tid: 4101,
    threads: 1,
    unit: "",
    real_time_priority: 0,
    time_ns: 3e6,
    ...more,
  };
}

export function surroundings(more: Partial<Surroundings> = {}): Surroundings {
  return {
    machine: {
      kernel: "6.1.0-28-amd64",
      os: "Debian GNU/Linux 12",
      architecture: "x86_64",
      cpus: 1,
      cpu_model: "Xeon",
      memory_bytes: 16 * 1024 ** 3,
    },
    program: "/usr/bin/shop",
    program_version: "2.1",
    command_line: "shop --serve",
    uid: 0,
    cpu_use: cpuUse(),
    cpu_holders: [
      holder(),
      holder({ pid: 4200, process: "make", threads: 3, thread: "sh", unit: "build.service" }),
      holder({ pid: 4300, real_time_priority: 50 }),
    ],
    started: [
      { offset_ns: -2e6, pid: 4400, process: "sh", command_line: "sh -c true" },
      { offset_ns: 5e6, pid: 4500, process: "curl", command_line: "curl -u ***" },
    ],
    ...more,
  };
}

export const chain: WaitChain = [
  {
    pid: 4000,
    process: "shop",
    tid: 4001,
    thread: "worker",
    whole_ns: 124e6,
    state: "blocked",
    reason: "lock (futex)",
    function: "Cart::add",
    time_ns: 80e6,
    likely: false,
    strip: "ccrbbbbbbc",
  },
  {
    pid: 4100,
    process: "db",
    tid: 4101,
    thread: "db",
    whole_ns: 124e6,
    state: "runnable",
    reason: "",
    function: "",
    time_ns: 60e6,
    likely: true,
    strip: "rrrrrrrrrr",
  },
  {
    pid: 4200,
    process: "cc",
    tid: 0,
    thread: "cc1",
    whole_ns: 124e6,
    state: "on CPU",
    reason: "",
    function: "main",
    time_ns: 50e6,
    likely: false,
    strip: "cccccccccu",
  },
  {
    pid: 4200,
    process: "cc",
    tid: 4203,
    thread: "cc2",
    whole_ns: 124e6,
    state: "unknown",
    reason: "",
    function: "",
    time_ns: 5e6,
    likely: false,
    strip: "",
  },
  {
    pid: 4200,
    process: "cc",
    tid: 4204,
    thread: "cc3",
    whole_ns: 124e6,
    state: "blocked",
    reason: "",
    function: "",
    time_ns: 5e6,
    likely: false,
    strip: "b",
  },
];

type Call = RunCalls["longest"][number];

export function call(more: Partial<Call> = {}): Call {
  return {
    name: "Cart::add",
    module: "/usr/lib/libshop.so.1",
    source: "/src/cart.cpp:12",
    depth: 0,
    begin_ns: 0,
    wall_ns: 100e6,
    own_ns: 10e6,
    runnable_ns: 5e6,
    blocked_ns: 80e6,
    returned: true,
    ...more,
  };
}

export function calls(more: Partial<RunCalls> = {}): RunCalls {
  return {
    count: 1238,
    longest: [
      call(),
      call({ depth: 1, begin_ns: 20e6, wall_ns: 90e6, blocked_ns: 0, runnable_ns: 0 }),
      call({ depth: 25, begin_ns: 120e6, wall_ns: 5e6, blocked_ns: 5e6, source: "" }),
      call({ depth: 2, begin_ns: 50e6, wall_ns: 1e6, returned: false, source: undefined }),
    ],
    ...more,
  };
}

export function traced(more: Partial<TracedFunctions> = {}): TracedFunctions {
  const one = { module: "/usr/bin/shop", source: "/src/a.c:3", calls: 1234, longest_ns: 9e6 };
  return {
    length_ns: 10e9,
    before_breach_ns: 2e9,
    watched: 2345,
    detached: 0,
    least_ns: 1e6,
    reported: 1,
    not_reported: 0,
    called: 2,
    own_ns: 100e6,
    functions: [
      { ...one, name: "main", own_ns: 60e6, path: [] },
      {
        ...one,
        name: "f<std::string, std::string>",
        own_ns: 200e6,
        path: ["main", "g"],
        source: "",
      },
    ],
    ...more,
  };
}

type ClassOf = FollowedObjects["classes"][number];
type ObjectCall = FollowedObjects["longest"][number];
type Old = FollowedObjects["oldest"][number];

export function classOf(name: string, more: Partial<ClassOf> = {}): ClassOf {
  return {
    name,
    created: 1234,
    released: 1000,
    alive: 234,
    failures: 0,
    released_twice: 0,
    used_after: 0,
    unknown: 0,
    replaced: 0,
    not_followed: 0,
    ...more,
  };
}

export function objectCall(name: string, more: Partial<ObjectCall> = {}): ObjectCall {
  return {
    name,
    module: "/usr/bin/shop",
    role: "use",
    depth: 0,
    tid: 4001,
    begin_ns: 1e9,
    elapsed_ns: 5e6,
    bytes: 0,
    object: 7,
    title: "",
    state: "alive",
    error: "",
    ...more,
  };
}

export function failure(name: string, more: object = {}) {
  return {
    function: name,
    module: "/usr/lib/libshop.so.1",
    count: 1234,
    error: "no stock",
    object: 1 << 20,
    title: "book",
    ...more,
  };
}

export function old(more: Partial<Old> = {}): Old {
  return {
    class: "Cart",
    object: (1 << 20) - 1,
    title: "",
    age_ns: 60e9,
    uses: 3,
    bytes: 2048,
    caller: "open_cart",
    shares_stack: false,
    stack: null,
    ...more,
  };
}

const stack = { alive: 1, cut: false, frames: ["open_cart", ""] };

export function objects(more: Partial<FollowedObjects> = {}): FollowedObjects {
  return {
    pid: 4000,
    process: "shop",
    length_ns: 10e9,
    memory: "",
    reported: 1234,
    not_reported: 0,
    detached: 0,
    classes: [
      classOf("Cart", { failures: 3, released_twice: 2, used_after: 1, unknown: 4, replaced: 5 }),
      classOf("Order<std::string, std::string>", { not_followed: 6, used_after: 2 }),
      classOf("Test"),
    ],
    failures: [failure("Cart::add"), failure("Test::run", { error: "***", object: 5, title: "" })],
    functions: [
      { name: "Cart::add", module: "/m", role: "use", calls: 1234, failures: 3, elapsed_ns: 60e6 },
      { name: "Cart::Cart", module: "/m", role: "create", calls: 1, failures: 0, elapsed_ns: 1e6 },
      { name: "close", module: "/m", role: "release", calls: 1, failures: 0, elapsed_ns: 1e6 },
      { name: "log", module: "/m", role: "message", calls: 1, failures: 0, elapsed_ns: 1e6 },
    ],
    longest: [
      objectCall("serve", { elapsed_ns: 60e6, bytes: 1024 }),
      objectCall("Cart::Cart", { depth: 1, role: "create", bytes: -1024, title: "c" }),
      objectCall("Cart::add", { depth: 1, error: "no stock", object: 1 << 20 }),
      objectCall("free", { role: "release", state: "released twice" }),
      objectCall("peek", { depth: 1, state: "used after release" }),
    ],
    oldest: [
      old(),
      old({ class: "Order", object: 1 << 20, bytes: 0, stack: { ...stack } }),
      old({
        class: "Item",
        bytes: -1,
        caller: "",
        shares_stack: true,
        stack: { ...stack, cut: true, alive: 1234 },
      }),
    ],
    ...more,
  };
}

export function watch(more: Partial<ObjectWatch> = {}): ObjectWatch {
  return {
    watch: "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11",
    host: "web-1",
    process: "shop",
    pid: 4000,
    began_ns: ago(hour_s),
    first_ns: ago(hour_s - 1),
    last_ns: ago(29.999),
    parts: 1234,
    ended: false,
    classes: ["Cart", "Order", "Item", "Test"],
    class_count: 4,
    calls: 12345,
    failures: 0,
    not_reported: 0,
    lost_lines: 0,
    missing_parts: 0,
    ...more,
  };
}

export function watchSummary(more: Partial<ObjectWatchSummary> = {}): ObjectWatchSummary {
  return {
    watch: watch(),
    reason: "",
    dropped_parts: 0,
    unread_lines: 0,
    notes: [],
    objects: objects(),
    latest: [
      objectCall("first", { begin_ns: 1e9 }),
      objectCall("of first", { begin_ns: 1.1e9, depth: 1 }),
      objectCall("second", { begin_ns: 61e9 }),
    ],
    ...more,
  };
}
