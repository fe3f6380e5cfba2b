// A made-up machine around a delay: its thread waits for another's lock while a neighbour has a CPU.
import { callers, delays, frame, generator, slow_function } from "./data.mjs";

const before_ns = 200e6;

export function machine(bundle, number, query) {
  const delay = delays[bundle][number - 1];
  const length = Math.round(delay.duration_ns);
  const recorded = { from: -before_ns, to: length + 100e6 };
  const from = Math.max(recorded.from, Number(query.get("from_ns") ?? recorded.from));
  const to = Math.min(recorded.to, Number(query.get("to_ns") ?? recorded.to));
  const names = [];
  const name = (text) => (names.includes(text) ? names.indexOf(text) : names.push(text) - 1);
  const stacks = [
    [frame("__lll_lock_wait", "/lib/libc.so.6"), frame("pthread_mutex_lock", "/lib/libc.so.6"), frame(slow_function, undefined, 134), ...callers],
    [frame("shop::PriceTable::load", undefined, 20), ...callers],
  ];
  const frames = [];
  const numbered = stacks.map((stack) => stack.map((one) => frames.push({ ...one, function: name(one.function), module: name(one.module), build_id: name(one.build_id), file: name(one.file) }) - 1));
  // [from, to, state, first, second] of each; what lies outside the part is cut off.
  const flat = (cells, width) => {
    const out = [];
    let at = from;
    for (const [begin, end, ...rest] of cells) {
      const left = Math.round(Math.max(begin, from));
      const right = Math.round(Math.min(end, to));
      if (right <= left) continue;
      out.push(left - at, right - left, ...rest.slice(0, width - 2));
      at = right;
    }
    return out;
  };
  const wait = [length * 0.1, length * 0.9];
  const random = generator(number + 3);
  const busy = [];
  for (let at = recorded.from; at < recorded.to; ) {
    const end = at + length * (0.01 + random() * 0.03);
    busy.push([at, end, 0, 1, 0], [end, end + length * 0.01, 1, 0, 0]);
    at = end + length * 0.01;
  }
  const rows = [
    { tid: delay.tid, pid: delay.pid, name: delay.thread, of_delay: true, cells: [[recorded.from, wait[0], 0, 0, 0], [...wait, 3, name("lock (futex)"), 1], [wait[1], recorded.to, 0, 0, 0]], samples: [] },
    { tid: delay.tid + 1, pid: delay.pid, name: "price-loader", of_delay: false, cells: [[recorded.from, recorded.to, 4, 700, 100]], samples: [Math.round(length / 2) - from, 2] },
    { tid: 900, pid: 900, name: "backup", of_delay: false, cells: busy, samples: [] },
  ];
  const sum = (cells, state) => Math.round(cells.filter((cell) => cell[2] === state).reduce((all, [begin, end]) => all + Math.max(0, Math.min(end, to) - Math.max(begin, from)), 0));
  return {
    begin_ns: delay.begin_ns, recorded_from_ns: recorded.from, recorded_to_ns: recorded.to, from_ns: from, to_ns: to, finest_ns: Math.max(1, Math.round((to - from) / Number(query.get("columns") ?? 1000))),
    cpus: [
      { cpu: 0, cells: flat([[recorded.from, wait[0], delay.tid, 0], [...wait, delay.tid + 1, 701], [wait[1], recorded.to, delay.tid, 0]], 4) },
      { cpu: 1, cells: flat(busy.map(([begin, end, state]) => [begin, end, state === 0 ? 900 : 0, 0]), 4) },
    ],
    processes: [{ pid: delay.pid, name: name(delay.process), unit: name(delay.unit) }, { pid: 900, name: name("backup"), unit: name("backup.service") }],
    threads: rows.map((row) => ({ tid: row.tid, pid: row.pid, name: name(row.name), of_delay: row.of_delay, on_cpu_ns: sum(row.cells, 0), runnable_ns: sum(row.cells, 1), blocked_ns: sum(row.cells, 3), cells: flat(row.cells, 5), samples: row.samples })),
    wakes: wait[1] >= from && wait[1] < to ? [Math.round(wait[1]) - from, delay.tid, delay.tid + 1, 1, name("")] : [],
    runs: [{ event: name(delay.event), from_ns: 0, to_ns: length, tid: delay.tid, delayed: true, stages: delay.stages.map((stage) => ({ name: name(stage.name), at_ns: stage.at_ns })) }],
    asleep: 40, left_out: { cpus: 0, threads: 2, wakes: 0, samples: 0, stacks: 0, runs: 0 }, names, frames, stacks: numbered,
  };
}
