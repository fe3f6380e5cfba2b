// The machine around a delay: the answer's flat tables as rows that are quick to draw and to
// search. Draws nothing.
import { type Span, clampSpan, firstPlace } from "../drawing/span";
import type { Frame, MachineAnswer } from "../types";

export const state_words = ["on CPU", "runnable", "throttled", "blocked", "several"] as const;
export const several = 4;
const wake_words = [
  "",
  "",
  "by its own timeout",
  "by a timer",
  "by a packet",
  "by a disk",
  "by a device",
  "by an interrupt",
];

// Nanoseconds after the delay's begin.
export type View = Span;

export interface Cells {
  from: Float64Array;
  to: Float64Array;
  state: Uint8Array;
  first: Uint32Array; // as openapi.yaml describes them
  second: Uint32Array;
}

export interface ThreadRow {
  tid: number;
  pid: number;
  name: string;
  of_delay: boolean;
  on_cpu_ns: number;
  runnable_ns: number;
  blocked_ns: number;
  cells: Cells;
  samples: { at: Float64Array; stack: Uint32Array };
}

export interface CpuRow {
  cpu: number;
  from: Float64Array;
  to: Float64Array;
  tid: Uint32Array;
  busy: Uint32Array; // 0: one thread; otherwise 1 + thousandths
}

export interface Wake {
  at: number;
  tid: number;
  waker: number; // 0: no thread, or unknown
  words: string; // what woke it, if not a thread
}

export interface MachineRun {
  event: string;
  from: number;
  to: number;
  tid: number;
  delayed: boolean;
  stages: { name: string; from: number; to: number }[];
}

export interface Machine {
  from: number;
  to: number;
  recorded: View;
  finest: number;
  cpus: CpuRow[];
  threads: ThreadRow[];
  by_tid: Map<number, ThreadRow>;
  processes: Map<number, { name: string; unit: string }>;
  wakes: Wake[]; // by thread, then time
  wakes_of: Map<number, Wake[]>;
  runs: MachineRun[]; // the delay's own first
  names: string[];
  frames: MachineAnswer["frames"];
  stacks: number[][];
  asleep: number;
  left_out: MachineAnswer["left_out"];
}

function readCells(flat: number[], start: number): Cells {
  const count = Math.floor(flat.length / 5);
  const cells: Cells = {
    from: new Float64Array(count),
    to: new Float64Array(count),
    state: new Uint8Array(count),
    first: new Uint32Array(count),
    second: new Uint32Array(count),
  };
  let at = start;
  for (let i = 0; i < count; ++i) {
    at += flat[5 * i];
    cells.from[i] = at;
    at += flat[5 * i + 1];
    cells.to[i] = at;
    cells.state[i] = flat[5 * i + 2];
    cells.first[i] = flat[5 * i + 3];
    cells.second[i] = flat[5 * i + 4];
  }
  return cells;
}

function readCpu(cpu: number, flat: number[], start: number): CpuRow {
  const count = Math.floor(flat.length / 4);
  const row: CpuRow = {
    cpu,
    from: new Float64Array(count),
    to: new Float64Array(count),
    tid: new Uint32Array(count),
    busy: new Uint32Array(count),
  };
  let at = start;
  for (let i = 0; i < count; ++i) {
    at += flat[4 * i];
    row.from[i] = at;
    at += flat[4 * i + 1];
    row.to[i] = at;
    row.tid[i] = flat[4 * i + 2];
    row.busy[i] = flat[4 * i + 3];
  }
  return row;
}

function readSamples(flat: number[], start: number): ThreadRow["samples"] {
  const count = Math.floor(flat.length / 2);
  const samples = { at: new Float64Array(count), stack: new Uint32Array(count) };
  let at = start;
  for (let i = 0; i < count; ++i) {
    at += flat[2 * i];
    samples.at[i] = at;
    samples.stack[i] = flat[2 * i + 1];
  }
  return samples;
}

export function readMachine(answer: MachineAnswer): Machine {
  const name = (index: number) => answer.names[index] ?? "";
  const threads = answer.threads.map((thread) => ({
    tid: thread.tid,
    pid: thread.pid,
    name: name(thread.name),
    of_delay: thread.of_delay,
    on_cpu_ns: thread.on_cpu_ns,
    runnable_ns: thread.runnable_ns,
    blocked_ns: thread.blocked_ns,
    cells: readCells(thread.cells, answer.from_ns),
    samples: readSamples(thread.samples, answer.from_ns),
  }));
  const wakes: Wake[] = [];
  for (let i = 0; i + 4 < answer.wakes.length; i += 5) {
    const device = name(answer.wakes[i + 4]);
    const words = wake_words[answer.wakes[i + 3]] ?? "";
    wakes.push({
      at: answer.from_ns + answer.wakes[i],
      tid: answer.wakes[i + 1],
      waker: answer.wakes[i + 2],
      words: words === "" || device === "" ? words : `${words} (${device})`,
    });
  }
  const wakes_of = new Map<number, Wake[]>();
  for (const wake of wakes) {
    const known = wakes_of.get(wake.tid);
    if (known) known.push(wake);
    else wakes_of.set(wake.tid, [wake]);
  }
  return {
    from: answer.from_ns,
    to: answer.to_ns,
    recorded: { from: answer.recorded_from_ns, to: answer.recorded_to_ns },
    finest: answer.finest_ns,
    cpus: answer.cpus.map((row) => readCpu(row.cpu, row.cells, answer.from_ns)),
    threads,
    by_tid: new Map(threads.map((thread) => [thread.tid, thread])),
    processes: new Map(
      answer.processes.map((process) => [
        process.pid,
        { name: name(process.name), unit: name(process.unit) },
      ]),
    ),
    wakes,
    wakes_of,
    runs: answer.runs.map((run) => ({
      event: name(run.event),
      from: run.from_ns,
      to: run.to_ns,
      tid: run.tid,
      delayed: run.delayed,
      stages: run.stages.map((stage, index) => ({
        name: name(stage.name),
        from: run.from_ns + stage.at_ns,
        to: index + 1 < run.stages.length ? run.from_ns + run.stages[index + 1].at_ns : run.to_ns,
      })),
    })),
    names: answer.names,
    frames: answer.frames,
    stacks: answer.stacks,
    asleep: answer.asleep,
    left_out: answer.left_out,
  };
}

// `stack` is that of cells and samples: 0 means no stack.
export function framesOf(machine: Machine, stack: number): Frame[] {
  const name = (index: number) => machine.names[index] ?? "";
  return (machine.stacks[stack - 1] ?? []).map((index) => {
    const frame = machine.frames[index];
    return {
      ...frame,
      function: name(frame.function),
      module: name(frame.module),
      build_id: name(frame.build_id),
      file: name(frame.file),
    };
  });
}

export function processName(machine: Machine, pid: number): string {
  return machine.processes.get(pid)?.name || `process ${pid}`;
}

export function threadName(machine: Machine, tid: number): string {
  if (tid === 0) return "idle";
  const thread = machine.by_tid.get(tid);
  if (!thread) return `thread ${tid}`;
  const process = processName(machine, thread.pid);
  return process === thread.name || thread.name === "" ? process : `${process} / ${thread.name}`;
}

// The index of the first cell that ends after `at`.
export function firstEndingAfter(to: Float64Array, at: number): number {
  return firstPlace(to.length, (place) => to[place] > at);
}

// The cell at a time, or -1.
export function cellAt(row: { from: Float64Array; to: Float64Array }, at: number): number {
  const place = firstEndingAfter(row.to, at);
  return place < row.to.length && row.from[place] <= at ? place : -1;
}

// The wakeup that ended this wait, or the wait before this cell.
export function wakeOf(machine: Machine, thread: ThreadRow, cell: number): Wake | null {
  const { cells } = thread;
  const at = cells.state[cell] === 3 ? cells.to[cell] : cells.from[cell];
  return (machine.wakes_of.get(thread.tid) ?? []).find((wake) => wake.at === at) ?? null;
}

// The sample within a cell that is nearest to a time; 0 if there is none.
export function stackNear(thread: ThreadRow, cell: number, at: number): number {
  const { samples, cells } = thread;
  let best = 0;
  let distance = Infinity;
  for (
    let i = Math.max(0, firstEndingAfter(samples.at, cells.from[cell]) - 1);
    i < samples.at.length && samples.at[i] <= cells.to[cell];
    ++i
  ) {
    if (samples.at[i] < cells.from[cell] || Math.abs(samples.at[i] - at) >= distance) continue;
    distance = Math.abs(samples.at[i] - at);
    best = samples.stack[i];
  }
  return best;
}

export type Row =
  | { kind: "runs"; key: string }
  | { kind: "cpu"; key: string; cpu: CpuRow }
  | { kind: "process"; key: string; pid: number; threads: ThreadRow[]; open: boolean }
  | { kind: "thread"; key: string; thread: ThreadRow; alone: boolean };

// Processes keep the order in which they first appeared (`order`, by process) at every zoom level.
export function rowsOf(
  machine: Machine,
  order: Map<number, number>,
  opened: (pid: number, count: number) => boolean,
): Row[] {
  const groups = new Map<number, ThreadRow[]>();
  for (const thread of machine.threads) {
    const known = groups.get(thread.pid);
    if (known) known.push(thread);
    else groups.set(thread.pid, [thread]);
    if (!order.has(thread.pid)) order.set(thread.pid, order.size);
  }
  const rows: Row[] = [
    { kind: "runs", key: "runs" },
    ...machine.cpus.map((cpu): Row => ({ kind: "cpu", key: `cpu ${cpu.cpu}`, cpu })),
  ];
  const pids = [...groups.keys()].sort(
    (a, b) => (order.get(a) as number) - (order.get(b) as number),
  );
  for (const pid of pids) {
    const threads = groups.get(pid) as ThreadRow[];
    if (threads.length === 1) {
      rows.push({
        kind: "thread",
        key: `thread ${threads[0].tid}`,
        thread: threads[0],
        alone: true,
      });
      continue;
    }
    const open = opened(pid, threads.length);
    rows.push({ kind: "process", key: `process ${pid}`, pid, threads, open });
    if (open)
      for (const thread of threads)
        rows.push({ kind: "thread", key: `thread ${thread.tid}`, thread, alone: false });
  }
  return rows;
}

export interface Match {
  tid: number;
  // A time whose stack has the function; null: the name of the thread or its process matches.
  at: number | null;
}

// Searches names of threads and processes, and functions of waits and samples, ignoring case.
export function search(machine: Machine, text: string): Match[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const named = machine.names.map((name) => name.toLowerCase().includes(wanted));
  const frames = machine.frames.map((frame) => named[frame.function] === true);
  const stacks = machine.stacks.map((stack) => stack.some((frame) => frames[frame]));
  const found: Match[] = [];
  for (const thread of machine.threads) {
    const own =
      `${thread.name} ${thread.tid} ${processName(machine, thread.pid)} ${thread.pid} ` +
      `${machine.processes.get(thread.pid)?.unit ?? ""}`;
    if (own.toLowerCase().includes(wanted)) found.push({ tid: thread.tid, at: null });
    const moments: number[] = [];
    const { cells, samples } = thread;
    for (let i = 0; i < cells.from.length; ++i)
      if (cells.state[i] === 3 && cells.second[i] > 0 && stacks[cells.second[i] - 1])
        moments.push((cells.from[i] + cells.to[i]) / 2);
    for (let i = 0; i < samples.at.length; ++i)
      if (samples.stack[i] > 0 && stacks[samples.stack[i] - 1]) moments.push(samples.at[i]);
    for (const at of moments.sort((a, b) => a - b)) found.push({ tid: thread.tid, at });
  }
  return found;
}

// The range to request from the server so that `view` can be drawn and moved a little; null if the
// current data is enough.
export function wanted(
  machine: Machine | null,
  view: View,
  width: number,
  recorded: View,
): (View & { columns: number }) | null {
  const span = view.to - view.from;
  const covered =
    machine !== null &&
    machine.from <= Math.max(view.from, recorded.from) &&
    machine.to >= Math.min(view.to, recorded.to);
  // Two pixels for the shortest cell. Requesting again does not help if the server merged cells
  // because of its own limits.
  if (covered && (machine.finest <= 1 || machine.finest <= (2.2 * span) / Math.max(1, width)))
    return null;
  const from = Math.max(recorded.from, Math.floor(view.from - span));
  const to = Math.min(recorded.to, Math.ceil(view.to + span));
  if (to <= from) return null;
  return {
    from,
    to,
    columns: Math.max(10, Math.min(4000, Math.ceil(((to - from) / span) * (width / 2)))),
  };
}

// Limited to what was recorded, and never shorter than a microsecond.
export function clampView(view: View, recorded: View): View {
  return clampSpan(view, recorded, 1000);
}

export interface Arrow {
  at: number;
  from_row: number;
  to_row: number;
  chosen: boolean;
}

// Arrows from wakers to woken threads, for waits that end in the view. Without the unchosen ones if
// there are too many to tell apart.
export function arrowsOf(
  machine: Machine,
  rows: Row[],
  view: View,
  chosen: Wake | null,
  most = 120,
): Arrow[] {
  const place = new Map<number, number>();
  rows.forEach((row, index) => {
    if (row.kind === "thread") place.set(row.thread.tid, index);
    if (row.kind === "process" && !row.open)
      for (const thread of row.threads) place.set(thread.tid, index);
  });
  const arrows: Arrow[] = [];
  const add = (wake: Wake, is_chosen: boolean) => {
    const from_row = place.get(wake.waker);
    const to_row = place.get(wake.tid);
    if (wake.waker === 0 || from_row === undefined || to_row === undefined || from_row === to_row)
      return;
    arrows.push({ at: wake.at, from_row, to_row, chosen: is_chosen });
  };
  for (const wake of machine.wakes)
    if (wake !== chosen && wake.at >= view.from && wake.at <= view.to) add(wake, false);
  if (arrows.length > most) arrows.length = 0;
  if (chosen) add(chosen, true);
  return arrows;
}
