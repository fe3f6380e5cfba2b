// Made-up runs and bundles with planted shapes, always the same: a stage that became slow in one build, cold starts,
// dirty runs, hostile names, an event without causes, a bundle that cannot be read.

export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
const digest = (number) => (number + 0xabc).toString(16).padStart(8, "0").repeat(8);
const now_ms = Math.floor(Date.now() / 3600000) * 3600000;
export const ns = (ms) => String(BigInt(Math.round(ms * 1000)) * 1000n);

export const hostile_name = '<script>document.title="owned"</script><img src=x onerror=alert(1)>';
export const builds = ["7f3a90c1d2e44b5f", "9b11c07745aa3e02", "c4d80e6f1b2937a8", "e05512ab90cd7f31"];
const hosts = Array.from({ length: 12 }, (_, index) => `web-${String(index + 1).padStart(2, "0")}`);
const units = ["shop.service", "container shop-canary"];
const users = ["amara", "bjorn", "chen", "dilek", "eva"];
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export const frame = (name, module = "/usr/bin/shop", line = 0) => ({
  function: name, module, build_id: builds[3], offset: String(4096 + name.length * 64), file: line > 0 ? `/src/shop/${name.split("::")[0]}.cpp` : "", line,
});
const callers = [frame("shop::serve_request", undefined, 211), frame("shop::Worker::run", undefined, 77), frame("main", undefined, 12), frame("__libc_start_main", "/lib/libc.so.6")];
export const slow_function = "shop::PriceTable::rebuild";

function makeRun(random, index, event, options) {
  const start = index % 6 === 0 ? "cold" : "warm";
  const build = builds[Math.min(3, Math.floor((index / options.count) * 4))];
  const noise = () => Math.exp(normal(random) * 0.18);
  const slow = options.slow && build === builds[3] && random() < 0.3;
  const parts = options.stages.map(([name, mean]) => [name, mean * noise() * (start === "cold" && name === options.cold_stage ? 3.2 : 1) * (slow && name === options.slow ? 14 : 1)]);
  const dirty = options.dirty?.has(index) ? options.dirty.get(index) : null;
  if (dirty) for (const part of parts) part[1] *= dirty.rule === "by hand" ? 30 : 1;
  let at = 0;
  const stages = parts.map(([name, ms]) => {
    const stage = { name, at_ns: Math.round(at * 1e6), duration_ns: Math.round(ms * 1e6) };
    at += ms;
    return stage;
  });
  const without_stages = stages.length > 0 && index % 100 === 51;
  const duration_ns = stages.length > 0 ? stages.reduce((sum, stage) => sum + stage.duration_ns, 0) : Math.round(20e6 * noise());
  const delay = duration_ns > options.threshold_ns;
  const recorded = delay && !dirty && index % 3 === 0;
  const began = now_ms - (options.count - index) * ((options.days * 86400000) / options.count) - random() * 60000;
  return {
    id: String(options.first_id + index), event, begin_ns: ns(began), duration_ns, threshold_ns: options.threshold_ns, host: hosts[Math.floor(random() * hosts.length)],
    user: users[Math.floor(random() * users.length)], build, process: "shop", unit: units[index % 5 === 0 ? 1 : 0], executable: "/usr/bin/shop", pid: 4000 + (index % 7), tid: 4100 + (index % 31),
    thread: `worker-${index % 4}`, start, delay, weight: 1, bundle: recorded ? digest(1) : null, bundle_delay: recorded ? 1 : null,
    dirty: dirty && { ...dirty, by: null, at_ns: ns(began + 5000) }, outlier: !dirty && index % 400 === 7 ? { rule: "duration", reason: "It took 3.1 times as long as the median 250 ms of 40 runs of the same event, start and build (distance 3.9, limit 3.5).", by: null, at_ns: ns(began + 5000) } : null, stages: without_stages ? [] : stages, without_stages, times: options.stages.length > 0 ? timesOf(duration_ns, slow) : null,
  };
}

// The slow ones wait for a lock; all others compute for half of their time.
function timesOf(duration_ns, slow) {
  const lock = Math.round(duration_ns * (slow ? 0.8 : 0.05));
  const disk = Math.round(duration_ns * 0.03);
  const runnable_ns = Math.round(duration_ns * 0.04);
  const unknown_ns = Math.round(duration_ns * 0.002);
  return {
    on_cpu_ns: duration_ns - lock - disk - runnable_ns - unknown_ns, runnable_ns, throttled_ns: 0, blocked_ns: lock + disk, handed_over_ns: 0, unknown_ns,
    blocked: [{ reason: "lock (futex)", ns: lock }, { reason: "disk", ns: disk }],
  };
}

function dirtyRuns(count) {
  const found = new Map();
  for (let number = 0; number < 9; ++number) found.set(Math.floor(count * (0.08 + number * 0.1)), { rule: "by hand", reason: "the machine was disturbed" });
  for (let number = 0; number < 3; ++number) found.set(Math.floor(count * (0.13 + number * 0.3)), { rule: "suspended", reason: "the machine slept during the run" });
  return found;
}

const makers = {
  checkout: { count: 1400, days: 5, threshold_ns: 250e6, slow: "price", cold_stage: "connect", stages: [["parse", 4], ["connect", 18], ["price", 26], ["render", 31]], dirty: dirtyRuns(1400) },
  "open document": { count: 240, days: 2, threshold_ns: 400e6, cold_stage: "load", stages: [["read", 30], ["load", 80], ["lay out", 60], ["paint", 25]], dirty: dirtyRuns(240) },
  [hostile_name]: { count: 40, days: 1, threshold_ns: 100e6, stages: [["<b>bold</b>", 10], ["\"quoted\" & more", 8]] },
  "no stages": { count: 60, days: 1, threshold_ns: 100e6, stages: [] },
  "many stages": { count: 120, days: 1, threshold_ns: 600e6, stages: Array.from({ length: 14 }, (_, index) => [`step ${index + 1}`, 5 + ((index * 7) % 19)]) },
};
for (let number = 1; number <= 130; ++number) makers[`job ${String(number).padStart(3, "0")}`] = { count: 6, days: 30, threshold_ns: 50e6, stages: [["work", 20]] };

export const runs = new Map();
let first_id = 9007199254740993000n; // past 2^53: ids have to stay strings
Object.entries(makers).forEach(([event, options], index) => {
  const random = generator(index + 1);
  const list = Array.from({ length: options.count }, (_, number) => makeRun(random, number, event, { ...options, first_id: 0 }));
  for (const run of list) run.id = String(first_id + BigInt(list.indexOf(run)));
  first_id += 100000n;
  runs.set(event, list);
});

export const good_bundle = digest(1);
export const big_bundle = digest(2);
export const bad_bundle = digest(3);
export const bundles = [
  { digest: good_bundle, bytes: 1843200, received_ns: ns(now_ms - 600000), started_ns: ns(now_ms - 660000), host: "web-03", event: "checkout", process: "shop", delays: 2, longest_delay_ns: 402e6, bad_reason: null, parsed: true },
  { digest: big_bundle, bytes: 18432000, received_ns: ns(now_ms - 7200000), started_ns: ns(now_ms - 7260000), host: "web-07", event: "open document", process: "office", delays: 1, longest_delay_ns: 1250e6, bad_reason: null, parsed: true },
  { digest: bad_bundle, bytes: 20480, received_ns: ns(now_ms - 9000000), started_ns: null, host: "", event: "", process: "", delays: 0, longest_delay_ns: 0, bad_reason: "the trace ends in the middle of a packet at byte 20112", parsed: true },
];
export const followed = {
  pid: 4002, process: "shop", length_ns: 10e9, memory: "", told: 812, not_told: 90, taken_out: 1,
  classes: [
    { name: "shop::Cart", created: 412, released: 399, alive: 13, failures: 7, released_twice: 0, used_after: 0, unknown: 2, replaced: 0, not_followed: 0 },
    { name: "sqlite3_stmt", created: 90, released: 92, alive: 0, failures: 21, released_twice: 2, used_after: 1, unknown: 0, replaced: 0, not_followed: 0 },
  ],
  failures: [
    { function: "sqlite3_prepare_v2", module: "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6", count: 21, error: "result 1, no such table: discounts", object: 0, title: "select * from discounts where a < 5" },
    { function: "shop::Cart::Cart(shop::Customer const&)", module: "/usr/bin/shop", count: 7, error: "std::runtime_error: no customer 4711", object: 94136000000000, title: "" },
  ],
  functions: [
    { name: "shop::Cart::price", module: "/usr/bin/shop", role: "use", calls: 412, failures: 0, elapsed_ns: 3.1e9 },
    { name: "sqlite3_prepare_v2", module: "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6", role: "create", calls: 111, failures: 21, elapsed_ns: 1.2e8 },
    { name: "shop::Cart::~Cart", module: "/usr/bin/shop", role: "release", calls: 399, failures: 0, elapsed_ns: 9e6 },
  ],
  longest: [
    ["shop::Cart::price", "use", 0, 310e6, 4096, 94136000000000, "", ""], ["sqlite3_prepare_v2", "create", 1, 2e6, 8192, 94136000100000, "select * from prices", ""],
    ["sqlite3_step", "use", 1, 290e6, 0, 94136000100000, "", ""], ["sqlite3_finalize", "release", 1, 9e3, -8192, 94136000100000, "", ""],
    ["shop::Cart::Cart(shop::Customer const&)", "create", 0, 40e6, 0, 94136000000000, "", "std::runtime_error: no customer 4711"],
  ].map(([name, role, depth, elapsed_ns, bytes, object, title, error], at) => ({ name, module: "/usr/bin/shop", role, depth, tid: 4102, begin_ns: at * 1e6, elapsed_ns, bytes, object, title, state: "alive", error })),
  oldest: [{ class: "shop::Cart", object: 94136000200000, title: "", age_ns: 9.8e9, uses: 3, bytes: 65536, caller: "shop::Session::restore (shop)", shares_stack: false,
    stack: { alive: 12, cut: false, frames: ["shop::Session::restore (shop)", "shop::Server::accept (shop)", "main (shop)", "__libc_start_main (libc.so.6)", "_start (shop)"] } }],
};
const surroundings = {
  machine: { kernel: "6.12.95+deb13-amd64", os: "Debian GNU/Linux 13 (trixie)", architecture: "x86_64", cpus: 8, cpu_model: "AMD EPYC 7543", memory_bytes: 33566031872 },
  program: "/usr/bin/shop", program_version: "4.0.2-1", command_line: "/usr/bin/shop --listen 8080 --workers 4", uid: 1001,
  cpu_use: {
    known_ns: 8 * 402e6, idle_ns: 1900e6, others_ns: 12e6, other_processes: 14,
    processes: [
      { pid: 4002, process: "shop", command_line: "/usr/bin/shop --listen 8080 --workers 4", unit: "shop.service", on_cpu_ns: 700e6 },
      { pid: 5120, process: "backup", command_line: "/usr/bin/backup --full /srv", unit: "backup.service", on_cpu_ns: 402e6 },
      { pid: 733, process: "postgres", command_line: "postgres: writer", unit: "postgresql@15-main.service", on_cpu_ns: 202e6 },
    ],
  },
  cpu_holders: [{ pid: 5120, process: "backup", thread: "compress-1", tid: 5123, threads: 3, unit: "backup.service", real_time_priority: 0, time_ns: 18e6 }],
  started: [{ offset_ns: -420e6, pid: 5120, process: "backup", command_line: "/usr/bin/backup --full /srv" }],
};
const traced = {
  length_ns: 10e9, before_breach_ns: 5e9, watched: 2100, taken_out: 12, least_ns: 20e3, told: 1800, not_told: 3, called: 340, own_ns: 4e9,
  functions: [
    { name: "shop::price_cart", module: "/usr/bin/shop", source: "price.cpp:88", calls: 412, own_ns: 2.5e9, longest_ns: 310e6, path: ["main", "shop::serve", "shop::checkout"] },
    { name: "shop::render<std::vector<shop::Item, std::allocator<shop::Item> > >", module: "/usr/bin/shop", source: "", calls: 420, own_ns: 0.4e9, longest_ns: 32e6, path: ["main", "shop::serve"] },
  ],
};
export const delays = {
  [good_bundle]: [402e6, 310e6].map((duration_ns, index) => ({
    number: index + 1, event: "checkout", without_stages: false, begin_ns: ns(now_ms - 650000 + index * 2000), trace_begin_ns: "81234567890123", duration_ns, threshold_ns: 250e6, process: "shop", unit: units[index], user: "", build: builds[3], thread: "worker-2", pid: 4002, tid: 4102 + index,
    on_cpu_ns: Math.round(duration_ns * 0.22), runnable_ns: Math.round(duration_ns * 0.05), blocked_ns: Math.round(duration_ns * 0.7), handed_over_ns: 0, unknown_ns: Math.round(duration_ns * 0.03),
    blocked: [{ reason: "lock (futex)", ns: Math.round(duration_ns * 0.55) }, { reason: "disk", ns: Math.round(duration_ns * 0.15) }],
    stages: [{ name: "parse", at_ns: 0, duration_ns: 4e6 }, { name: "connect", at_ns: 4e6, duration_ns: 17e6 }, { name: "price", at_ns: 21e6, duration_ns: duration_ns - 53e6 }, { name: "render", at_ns: duration_ns - 32e6, duration_ns: 32e6 }],
    ...(index === 0 ? { objects: followed, traced_functions: traced, surroundings } : {}),
  })),
  [big_bundle]: [{
    number: 1, event: "open document", begin_ns: ns(now_ms - 7250000), duration_ns: 1250e6, threshold_ns: 400e6, process: "office", unit: "", user: "", build: "", thread: "main", pid: 911, tid: 911,
    on_cpu_ns: 1100e6, runnable_ns: 60e6, blocked_ns: 80e6, handed_over_ns: 0, unknown_ns: 10e6, blocked: [{ reason: "disk", ns: 80e6 }], stages: [], without_stages: true,
  }],
};
export const quality = { samples: 402, samples_lost: 0, stacks_complete: 0.994, frames_named: 0.978, partial: false, delays_left_out: 0, notes: ["3 modules were gone when names were looked up"] };
export { callers };
