// Made-up flame graphs and timelines.
import { callers, delays, frame, generator, good_bundle, hostile_name, slow_function } from "./data.mjs";

const kind = { user: 0, kernel: 1, run_time: 2, state: 3 };

class Builder {
  nodes = [];
  names = [];
  index = new Map();
  name(text, module) {
    const key = `${text}\0${module}`;
    if (!this.index.has(key)) this.index.set(key, this.names.push({ function: text, module }) - 1);
    return this.index.get(key);
  }
  add(parent, text, module, value, baseline, of = kind.user) {
    return this.nodes.push([parent, this.name(text, module), Math.round(value), Math.round(baseline), of]) - 1;
  }
}

function planted(state, against) {
  const builder = new Builder();
  const ms = (value, baseline) => [value * 1e6, against ? baseline * 1e6 : 0];
  const on = state !== "off-cpu";
  const off = state !== "on-cpu";
  const total = (on ? 88 : 0) + (off ? 314 : 0);
  const base = (on ? 70 : 0) + (off ? 12 : 0);
  const shop = "/usr/bin/shop";
  const libc = "/lib/libc.so.6";
  const root = builder.add(-1, "all", "", ...ms(total, base), kind.state);
  let parent = builder.add(root, "main", shop, ...ms(total, base));
  parent = builder.add(parent, "shop::Worker::run", shop, ...ms(total, base));
  const request = builder.add(parent, "shop::serve_request", shop, ...ms(total, base));
  if (on) {
    const render = builder.add(request, "shop::render_page", shop, ...ms(40, 38));
    const template = builder.add(render, "shop::Template::expand", shop, ...ms(33, 31));
    builder.add(template, "__memmove_avx_unaligned_erms", libc, ...ms(12, 11));
    builder.add(template, hostile_name, "/opt/plug\"in'.so", ...ms(9, 9));
    builder.add(render, "v8::Script::Run", "[jit]", ...ms(5, 5), kind.run_time);
    const price = builder.add(request, slow_function, shop, ...ms(36, 4));
    builder.add(price, "std::sort<Price*>", shop, ...ms(24, 2));
    builder.add(request, "shop::old_price_lookup", shop, ...ms(0, 16));
    const read = builder.add(request, "read", libc, ...ms(9, 9));
    builder.add(read, "vfs_read", "[kernel]", ...ms(7, 7), kind.kernel);
  }
  if (off) {
    const price = builder.add(request, "shop::price_cart", shop, ...ms(240, 6));
    const table = builder.add(price, slow_function, shop, ...ms(236, 3));
    const lock = builder.add(table, "pthread_mutex_lock", libc, ...ms(221, 2));
    builder.add(lock, "blocked: lock (futex)", "", ...ms(221, 2), kind.state);
    const disk = builder.add(request, "shop::Journal::sync", shop, ...ms(60, 5));
    builder.add(disk, "blocked: disk", "", ...ms(60, 5), kind.state);
    builder.add(request, "runnable", "", ...ms(14, 1), kind.state);
  }
  return { unit: "ns", total: total * 1e6, baseline_total: against ? base * 1e6 : null, baseline_runs: against ? 212 : undefined, nodes: builder.nodes, names: builder.names, dropped: 3 };
}

// 50,000 nodes, 60 deep.
function large(against) {
  const random = generator(77);
  const builder = new Builder();
  builder.add(-1, "all", "", 1250e6, against ? 380e6 : 0, kind.state);
  const depth = [0];
  const left = [1250e6];
  for (let tries = 0; builder.nodes.length < 50000 && tries < 2000000; ++tries) {
    const parent = random() < 0.45 ? builder.nodes.length - 1 : Math.floor(random() ** 1.5 * builder.nodes.length);
    if (depth[parent] >= 60 || left[parent] < 4000) continue;
    const value = Math.max(2000, left[parent] * (random() < 0.5 ? 0.9 : random() * 0.3));
    left[parent] -= value;
    const number = Math.floor(random() * 2400);
    const kernel = number % 11 === 0;
    builder.add(parent, `${kernel ? "do_" : "office::layout::"}step_${number}`, kernel ? "[kernel]" : `/usr/lib/office/lib${number % 9}.so`, value, against ? value * 0.3 * random() * 2 : 0, kernel ? kind.kernel : kind.user);
    depth.push(depth[parent] + 1);
    left.push(value);
  }
  return { unit: "ns", total: 1250e6, baseline_total: against ? 380e6 : null, baseline_runs: against ? 40 : undefined, nodes: builder.nodes, names: builder.names, dropped: 0 };
}

export function profile(bundle, state, against) {
  return bundle === good_bundle ? planted(state, against) : large(against);
}

export function timeline(bundle, number) {
  const delay = delays[bundle][number - 1];
  const random = generator(number + 5);
  const stacks = [
    [frame("__memmove_avx_unaligned_erms", "/lib/libc.so.6"), frame("shop::Template::expand", undefined, 90), ...callers],
    [frame("__lll_lock_wait", "/lib/libc.so.6"), frame("pthread_mutex_lock", "/lib/libc.so.6"), frame(slow_function, undefined, 134), ...callers],
    [frame("fdatasync", "/lib/libc.so.6"), frame("shop::Journal::sync", undefined, 55), ...callers],
  ];
  const intervals = [];
  const samples = [];
  for (let at = 0; at < delay.duration_ns; ) {
    const roll = random();
    const long = roll > 0.93 ? 18e6 : 2e6;
    const to = Math.min(delay.duration_ns, Math.round(at + 1000 + random() * long));
    const base = { from_ns: at, to_ns: to, reason: "", cpu: null, waker: null, stack: null };
    if (roll < 0.4) {
      intervals.push({ ...base, state: "on CPU", cpu: Math.floor(random() * 8), stack: 0 });
      for (let sample = at; sample < to; sample += 1e6) samples.push({ at_ns: Math.round(sample), stack: 0 });
    } else if (roll < 0.5) intervals.push({ ...base, state: "runnable" });
    else if (roll < 0.52) intervals.push({ ...base, state: "unknown" });
    else if (roll < 0.6) intervals.push({ ...base, state: "blocked", reason: "disk", stack: 2, waker: { process: "kworker/3:1", thread: "kworker/3:1" } });
    else intervals.push({ ...base, state: "blocked", reason: delay.blocked[0].reason, stack: 1, waker: { process: "shop", thread: "price-loader" } });
    at = to;
  }
  const from = BigInt(delay.begin_ns);
  const names = [];
  const name = (text) => (names.includes(text) ? names.indexOf(text) : names.push(text) - 1);
  const frames = [];
  const numbered = stacks.map((stack) => stack.map((one) => frames.push({ ...one, function: name(one.function), module: name(one.module), build_id: name(one.build_id), file: name(one.file) }) - 1));
  return { from_ns: String(from), to_ns: String(from + BigInt(delay.duration_ns)), names, frames, stacks: numbered, intervals, samples, dropped: 0 };
}
