import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arrowsOf,
  cellAt,
  clampView,
  framesOf,
  readMachine,
  rowsOf,
  search,
  stackNear,
  threadName,
  wakeOf,
  wanted,
} from "../src/machine/model";
import type { MachineAnswer } from "../src/types";

const frame = (name: number) => ({
  function: name,
  module: 0,
  build_id: 0,
  offset: "1",
  file: 0,
  line: 0,
});

// Thread 10 waits from 100 to 300 for 11; 20 is the only thread of its process.
function answer(): MachineAnswer {
  return {
    begin_ns: "1000",
    recorded_from_ns: -100,
    recorded_to_ns: 900,
    from_ns: 0,
    to_ns: 400,
    finest_ns: 1,
    names: [
      "",
      "lock (futex)",
      "Table<int>::get",
      "app",
      "worker",
      "holder",
      "other",
      "query",
      "parse",
      "run",
      "eth0",
    ],
    frames: [frame(2), frame(9)],
    stacks: [[0, 1], [1]],
    cpus: [{ cpu: 0, cells: [0, 100, 10, 0, 100, 200, 0, 501] }],
    processes: [
      { pid: 1, name: 3, unit: 0 },
      { pid: 2, name: 6, unit: 0 },
    ],
    threads: [
      {
        tid: 10,
        pid: 1,
        name: 4,
        of_delay: true,
        on_cpu_ns: 200,
        runnable_ns: 0,
        blocked_ns: 200,
        cells: [0, 100, 0, 0, 0, 0, 200, 3, 1, 1, 0, 100, 0, 0, 0],
        samples: [20, 2, 30, 1],
      },
      {
        tid: 11,
        pid: 1,
        name: 5,
        of_delay: false,
        on_cpu_ns: 300,
        runnable_ns: 0,
        blocked_ns: 0,
        cells: [50, 300, 4, 700, 100],
        samples: [],
      },
      {
        tid: 20,
        pid: 2,
        name: 6,
        of_delay: false,
        on_cpu_ns: 9,
        runnable_ns: 0,
        blocked_ns: 0,
        cells: [],
        samples: [],
      },
    ],
    wakes: [300, 10, 11, 1, 0, 350, 20, 0, 4, 10],
    runs: [
      {
        event: 7,
        from_ns: 0,
        to_ns: 400,
        tid: 10,
        delayed: true,
        stages: [
          { name: 8, at_ns: 0 },
          { name: 9, at_ns: 150 },
        ],
      },
    ],
    asleep: 0,
    left_out: { cpus: 0, threads: 0, wakes: 0, samples: 0, stacks: 0, runs: 0 },
  };
}
const machine = readMachine(answer());
const [waiting] = machine.threads;

test("flat tables become cells at their times, with holes where nothing is known", () => {
  assert.deepEqual([...waiting.cells.from], [0, 100, 300]);
  assert.deepEqual([...waiting.cells.to], [100, 300, 400]);
  assert.equal(machine.threads[1].cells.from[0], 50);
  assert.equal(cellAt(waiting.cells, 299), 1);
  assert.equal(cellAt(machine.threads[1].cells, 20), -1);
  assert.deepEqual([machine.cpus[0].from[1], machine.cpus[0].to[1]], [200, 400]);
  assert.deepEqual(machine.runs[0].stages, [
    { name: "parse", from: 0, to: 150 },
    { name: "run", from: 150, to: 400 },
  ]);
});

test("a wait has its waker and its stack, and a stretch on a CPU its nearest sample", () => {
  assert.equal(wakeOf(machine, waiting, 1)?.waker, 11);
  assert.equal(wakeOf(machine, waiting, 2)?.waker, 11);
  assert.equal(machine.wakes[1].words, "by a packet (eth0)");
  assert.deepEqual(
    framesOf(machine, waiting.cells.second[1]).map((one) => one.function),
    ["Table<int>::get", "run"],
  );
  assert.equal(stackNear(waiting, 0, 45), 1);
  assert.equal(stackNear(waiting, 0, 5), 2);
  assert.equal(stackNear(waiting, 2, 350), 0);
});

test("the nearest sample is one of the cell, its ends included", () => {
  const of = (cells: number[], samples: number[]) =>
    readMachine({ ...answer(), threads: [{ ...answer().threads[0], cells, samples }], wakes: [] })
      .threads[0];
  // A cell from 100 to 200, and samples as distances and stacks.
  const cell = [100, 100, 0, 0, 0];
  assert.equal(stackNear(of(cell, [90, 1, 30, 2]), 0, 100), 2);
  assert.equal(stackNear(of(cell, [90, 1]), 0, 100), 0);
  assert.equal(stackNear(of(cell, [100, 1]), 0, 190), 1);
  assert.equal(stackNear(of(cell, [200, 1]), 0, 100), 1);
  assert.equal(stackNear(of(cell, [120, 1, 81, 2]), 0, 199), 1);
  assert.equal(stackNear(of(cell, [120, 1, 40, 2]), 0, 140), 1);
  assert.equal(stackNear(of(cell, [120, 1, 40, 2]), 0, 141), 2);
});

test("a cell has its begin, but not its end", () => {
  assert.deepEqual(
    [-1, 0, 99, 100, 399, 400].map((at) => cellAt(waiting.cells, at)),
    [-1, 0, 0, 1, 2, -1],
  );
  assert.equal(cellAt(machine.threads[1].cells, 50), 0);
});

test("what woke a thread, in words", () => {
  const kinds = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const wakes = kinds.flatMap((kind) => [kind * 10, 10, 0, kind, kind === 4 ? 0 : 10]);
  const woken = readMachine({ ...answer(), from_ns: 1000, wakes }).wakes;
  assert.deepEqual(
    woken.map((wake) => wake.words),
    [
      "",
      "",
      "by its own timeout (eth0)",
      "by a timer (eth0)",
      "by a packet",
      "by a disk (eth0)",
      "by a device (eth0)",
      "by an interrupt (eth0)",
      "",
    ],
  );
  assert.deepEqual(woken[3], { at: 1030, tid: 10, waker: 0, words: "by a timer (eth0)" });
  assert.equal(wakeOf({ ...machine, wakes_of: new Map() }, waiting, 1), null);
});

test("names of threads, with what is missing", () => {
  assert.equal(threadName(machine, 0), "idle");
  assert.equal(threadName(machine, 10), "app / worker");
  assert.equal(threadName(machine, 20), "other");
  assert.equal(threadName(machine, 99), "thread 99");
  const nameless = { ...machine, by_tid: new Map([[10, { ...waiting, name: "" }]]) };
  assert.equal(threadName(nameless, 10), "app");
  const unknown = { ...machine, processes: new Map() };
  assert.equal(threadName(unknown, 10), "process 1 / worker");
});

test("processes keep their order; a closed one is one row, and arrows lead to it", () => {
  const order = new Map<number, number>();
  const open = rowsOf(machine, order, () => true);
  assert.deepEqual(
    open.map((row) => row.key),
    ["runs", "cpu 0", "process 1", "thread 10", "thread 11", "thread 20"],
  );
  assert.deepEqual(arrowsOf(machine, open, { from: 0, to: 400 }, null), [
    { at: 300, from_row: 4, to_row: 3, chosen: false },
  ]);
  const closed = rowsOf(machine, order, () => false);
  assert.deepEqual(
    closed.map((row) => row.key),
    ["runs", "cpu 0", "process 1", "thread 20"],
  );
  assert.deepEqual(arrowsOf(machine, closed, { from: 0, to: 400 }, null), []);
  assert.deepEqual(
    arrowsOf(machine, open, { from: 0, to: 400 }, machine.wakes[0], 0).map((arrow) => arrow.chosen),
    [true],
  );
  const turned = { ...machine, threads: [...machine.threads].reverse() };
  assert.deepEqual(
    rowsOf(turned, order, () => false).map((row) => row.key),
    ["runs", "cpu 0", "process 1", "thread 20"],
  );
});

test("names of threads, processes and functions are found, whatever their case", () => {
  assert.deepEqual(search(machine, "HOLDER"), [{ tid: 11, at: null }]);
  assert.deepEqual(search(machine, "table<INT>"), [
    { tid: 10, at: 50 },
    { tid: 10, at: 200 },
  ]);
  assert.deepEqual(search(machine, "other"), [{ tid: 20, at: null }]);
  assert.deepEqual(search(machine, "  "), []);
  assert.deepEqual(search(machine, "nothing has this name"), []);
});

test("the search finds ids, processes and units, and waits and samples by time", () => {
  const with_unit = readMachine({
    ...answer(),
    names: [...answer().names, "Shop.Service"],
    processes: [
      { pid: 1, name: 3, unit: 11 },
      { pid: 2, name: 6, unit: 0 },
    ],
    threads: [
      // Waits from 0 to 100 and from 200 to 300, and samples at 50, 150 and 350.
      {
        ...answer().threads[0],
        cells: [0, 100, 3, 1, 2, 100, 100, 3, 1, 1, 0, 50, 1, 1, 1, 0, 50, 3, 1, 0],
        samples: [50, 1, 100, 1, 200, 0],
      },
      ...answer().threads.slice(1),
    ],
  });
  const named = (tid: number) => ({ tid, at: null });
  assert.deepEqual(search(with_unit, " shop.SERVICE "), [named(10), named(11)]);
  assert.deepEqual(search(with_unit, "APP"), [named(10), named(11)]);
  assert.deepEqual(search(with_unit, "worker 10 app 1"), [named(10)]);
  assert.deepEqual(search(with_unit, "20 other 2"), [named(20)]);
  assert.deepEqual(
    search(with_unit, "table").map(({ at }) => at),
    [50, 150, 250],
  );
});

test("arrows of the view, unless there are too many", () => {
  const wakes = [100, 10, 11, 1, 0, 200, 10, 11, 1, 0, 300, 10, 11, 1, 0].concat([
    150, 10, 0, 2, 0, 150, 11, 99, 1, 0, 150, 99, 10, 1, 0, 150, 10, 10, 1, 0,
  ]);
  const of = readMachine({ ...answer(), wakes });
  const rows = rowsOf(of, new Map(), () => true);
  const at = (from: number, to: number, chosen: number | null, most?: number) =>
    arrowsOf(of, rows, { from, to }, chosen === null ? null : of.wakes[chosen], most).map(
      (arrow) => `${arrow.at}${arrow.chosen ? " chosen" : ""}`,
    );
  assert.deepEqual(at(100, 300, null), ["100", "200", "300"]);
  assert.deepEqual(at(101, 299, null), ["200"]);
  assert.deepEqual(at(100, 300, 1), ["100", "300", "200 chosen"]);
  assert.deepEqual(at(100, 150, 2), ["100", "300 chosen"]);
  assert.deepEqual(at(100, 300, null, 3), ["100", "200", "300"]);
  assert.deepEqual(at(100, 300, null, 2), []);
  assert.deepEqual(at(100, 300, 0, 1), ["100 chosen"]);
  assert.deepEqual(at(100, 300, 3), ["100", "200", "300"]); // not woken by a thread
});

test("what the server is asked for covers the view and as much on both sides", () => {
  const recorded = { from: -100, to: 900 };
  const ask = (from: number, to: number, more: object = {}, width = 1000) =>
    wanted({ ...machine, ...more }, { from, to }, width, recorded);
  assert.equal(ask(0, 400), null);
  assert.equal(ask(0, 400, { from: -1, to: 401 }), null);
  assert.deepEqual(ask(-1, 400), { from: -100, to: 801, columns: 1124 });
  assert.deepEqual(ask(0, 401), { from: -100, to: 802, columns: 1125 });
  // Nothing was recorded outside.
  assert.equal(ask(-500, 1500, { from: -100, to: 900 }), null);
  // Two pixels for the shortest cell are fine enough.
  assert.equal(ask(100, 200, { finest: 22 }, 10), null);
  assert.notEqual(ask(100, 200, { finest: 22.1 }, 10), null);
  assert.equal(ask(100, 200, { finest: 1 }, 1e6), null);
  assert.equal(ask(100, 200, { finest: 220 }, 0), null);
  assert.equal(wanted(null, { from: 5, to: 6 }, 10, { from: 7, to: 7 }), null);
  assert.deepEqual(wanted(null, { from: 10.5, to: 20.25 }, 2, recorded), {
    from: 0,
    to: 30,
    columns: 10,
  });
});

test("the server is asked only for what cannot be drawn yet, with room to move", () => {
  const recorded = machine.recorded;
  assert.equal(wanted(machine, { from: 100, to: 200 }, 1000, recorded), null);
  assert.deepEqual(wanted(machine, { from: 350, to: 450 }, 1000, recorded), {
    from: 250,
    to: 550,
    columns: 1500,
  });
  const coarse = { ...machine, finest: 50 };
  assert.notEqual(wanted(coarse, { from: 100, to: 200 }, 1000, recorded), null);
  assert.equal(wanted(coarse, { from: 0, to: 400 }, 10, recorded), null);
  assert.equal(wanted(null, { from: 0, to: 400 }, 1e6, recorded)?.columns, 4000);
  assert.deepEqual(clampView({ from: -5000, to: -4000 }, { from: -100, to: 9900 }), {
    from: -100,
    to: 900,
  });
  assert.deepEqual(clampView({ from: 5, to: 6 }, { from: 0, to: 9000 }), { from: 5, to: 1005 });
});
