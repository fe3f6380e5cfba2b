import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle, bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { machine } from "./answers/machines";
import { pass } from "./page/clock";
import {
  Expected,
  address,
  click,
  enter,
  find,
  open,
  point,
  press,
  requested,
  send,
  shown,
} from "./page/page";
import { Refusal, pending } from "./page/server";

const expected = new Expected("machine_page");
const there = `/bundle/${digest("a")}/3/machine`;
const api = `/api/v1/bundles/${digest("a")}/delays`;
const box = ".machine";
const canvas = ".machine canvas";
const query = () => address().split("?")[1] ?? "";
const readout = () => document.querySelector("[data-testid=machine-readout]")?.textContent;
const views = "[data-testid=machine-part]";

async function openMachine(search = "", answer: unknown = machine()): Promise<void> {
  await open(there + search, {
    [api]: bundleDelays([delay({ duration_ns: 100e6 })]),
    [`${api}/3/machine`]: answer,
  });
}

test("the machine around a delay", async () => {
  await openMachine();
  expected.is("a machine", shown());
  await pass(399);
  assert.equal(query(), "");
  await pass(1);
  assert.equal(query(), "from=-5000000&to=105000000");
});

test("what is left out", async () => {
  await openMachine(
    "",
    machine({
      asleep: 1,
      finest_ns: 1000,
      left_out: { cpus: 1, threads: 1, wakes: 1234, samples: 5, stacks: 1, runs: 1 },
    }),
  );
  expected.is("one of each", shown(".below-bars + p"));
  await openMachine(
    "",
    machine({
      asleep: 1234,
      left_out: { cpus: 2, threads: 2345, wakes: 1, samples: 0, stacks: 2, runs: 2 },
    }),
  );
  expected.is("many of each", shown(".below-bars + p"));
});

test("the table has the first hundred threads", async () => {
  const [thread] = machine().threads;
  const threads = Array.from({ length: 101 }, (_, index) => ({ ...thread, tid: 10 + index }));
  await openMachine("", machine({ threads }));
  assert.equal(document.querySelectorAll("[data-testid=machine-table] tbody tr").length, 100);
  expected.is("many threads", shown("details > p.muted"));
});

test("the longest wait of each thread, and whose it is", async () => {
  const [thread] = machine().threads;
  // Gap, length, state, first, second; 3 is blocked, and 1, 11 and 13 are names of reasons.
  const of = (tid: number, ...cells: number[]) => ({ ...thread, tid, pid: 1, cells });
  await openMachine(
    "",
    machine({
      threads: [
        of(10, 0, 30e6, 3, 1, 0, 0, 20e6, 3, 11, 0, 0, 50e6, 0, 0, 0),
        of(11, 0, 10e6, 3, 1, 0, 0, 20e6, 3, 11, 0, 0, 5e6, 3, 13, 0),
        of(12, 0, 10e6, 3, 1, 0, 0, 10e6, 3, 11, 0),
        of(13, 0, 10e6, 3, 13, 0),
        of(14, 0, 10e6, 1, 0, 0),
        { ...of(15), pid: 3 },
      ],
    }),
  );
  expected.is("longest waits", shown("[data-testid=machine-table] tbody", ".below-bars .key"));
});

test("only reasons that begin with a colour's words are in the legend", async () => {
  const [thread] = machine().threads;
  const names = [...machine().names, "lock in the kernel", "a disk"]; // 16, 17
  const cells = [0, 10e6, 3, 16, 0, 0, 10e6, 3, 17, 0];
  await openMachine("", machine({ names, threads: [{ ...thread, cells }] }));
  expected.is("one reason", shown(".below-bars .key"));
  const threads = Array.from({ length: 100 }, (_, index) => ({ ...thread, tid: 10 + index }));
  await openMachine("", machine({ threads }));
  assert.doesNotMatch(shown("details > p.muted"), /the first/);
});

test("the address has whole nanoseconds, and needs a begin before its end", async () => {
  for (const part of ["from=10", "to=10", "from=10&to=10", "from=10&to=x", "from=1.5&to=3"]) {
    await openMachine(`?${part}`);
    await pass(400);
    assert.equal(query(), "from=-5000000&to=105000000", part);
  }
  await open(there, {
    [api]: bundleDelays([delay({ duration_ns: 10000010 })]),
    [`${api}/3/machine`]: machine(),
  });
  requested();
  await pass(400);
  assert.equal(query(), "from=-500000&to=10500011");
});

test("no delay, errors, loading", async () => {
  await open(there, { [api]: bundleDelays([]) });
  expected.is("no delay", shown());
  await openMachine("", pending);
  expected.is("loading", shown());
  let answer: unknown = new Refusal(500, "broken");
  await openMachine("", () => answer);
  expected.is("an error", shown("main .failure", "main .crumbs"));
  answer = "not an answer";
  await click("Try again");
  expected.is("an invalid answer", shown("main .failure"));
  answer = machine();
  await click("Try again");
  assert.ok(document.querySelector(canvas));
  await open(there, {
    [api]: bundleDelays([delay()], { bundle: undefined }),
    [`${api}/3/machine`]: pending,
  });
  assert.match(shown("main .crumbs"), /took 124 ms\n|took 124 ms</);
  assert.equal(bundle().delays, 1);
});

test("the view of the address, and finer data for it", async () => {
  await openMachine("?from=10000000&to=20000000&search=lock");
  expected.is("a part", shown(views, canvas, "[data-testid=machine-found]"));
  await openMachine("?from=20&to=10");
  expected.is("not a part", shown(views));
  await openMachine("", machine({ finest_ns: 1e6 }));
  requested();
  await click("Zoom in");
  await pass(199);
  assert.deepEqual(requested(), []);
  await pass(1);
  expected.is("finer", shown(views));
});

test("buttons move the view", async () => {
  await openMachine();
  requested();
  for (const name of [
    "Zoom in",
    "Later",
    "Earlier",
    "Zoom out",
    "Whole recording",
    "Whole delay",
  ]) {
    await click(name);
    expected.is(`button ${name}`, shown(views));
  }
});

test("keys move over rows and intervals", async () => {
  await openMachine();
  // To CPU 0, back to when it was idle, down to the worker, which waits; to who woke it.
  const steps = [
    ...["ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowLeft"],
    ...["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft"],
    ...["w", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowRight", "ArrowRight", "w"],
  ];
  const said: string[] = [];
  for (const key of steps) {
    await press(box, key);
    said.push(`${key}: ${readout()}`);
  }
  await click("Whole delay");
  for (const key of ["ArrowUp", "ArrowRight", "ArrowRight"]) {
    await press(box, key);
    said.push(`${key}: ${readout()}`);
  }
  expected.is("keys", said.join("\n"));
  expected.is("chosen", shown("[data-testid=machine-chosen]", canvas));
  await press(box, "Enter");
  expected.is("zoomed to the interval", shown(views));
  for (const key of ["a", "d", "+", "-", "="]) {
    await press(box, key);
    expected.is(`key ${key}`, shown(views));
  }
  await press(box, "Escape");
  expected.is("whole delay", shown(views));
});

test("processes open and close", async () => {
  await openMachine();
  const rows = () => document.querySelector(canvas)?.getAttribute("data-rows");
  const before = rows();
  // Row 3, below the runs and two CPUs, is the delay's process.
  await point(canvas, "pointerdown", 10, 20 + 3 * 20 + 5);
  await point(canvas, "pointerup", 10, 20 + 3 * 20 + 5);
  assert.notEqual(rows(), before);
  expected.is("closed", shown(canvas, "[data-testid=machine-readout]"));
  await press(box, "Enter");
  assert.equal(rows(), before);
});

test("the pointer reads out, chooses, and drags a part", async () => {
  await openMachine();
  await point(canvas, "pointermove", 300, 25);
  expected.is("at the runs", shown("[data-testid=machine-readout]"));
  await point(canvas, "pointermove", 300, 45);
  expected.is("at a CPU", shown("[data-testid=machine-readout]"));
  await point(canvas, "pointermove", 300, 5);
  assert.match(readout() ?? "", /^Hover/);
  await point(canvas, "pointermove", 300, 105);
  await point(canvas, "pointerleave", 300, 105);
  assert.match(readout() ?? "", /^Hover/);
  await point(canvas, "pointerdown", 300, 105);
  await point(canvas, "pointerup", 300, 105);
  expected.is("a chosen thread", shown("[data-testid=machine-chosen]", canvas));
  const waker = [...document.querySelectorAll<HTMLElement>("[data-testid=machine-chosen] button")];
  waker[0].click();
  await pass(0);
  expected.is("its waker", shown("[data-testid=machine-readout]"));
  await point(canvas, "pointerdown", 200, 45);
  await point(canvas, "pointerup", 200, 45);
  expected.is("a chosen CPU", shown("[data-testid=machine-chosen]"));
  await click("Go to the thread");
  expected.is("the thread of the CPU", shown("[data-testid=machine-readout]"));
  await point(canvas, "pointerdown", 200, 45);
  await point(canvas, "pointermove", 400, 45);
  expected.is("dragging", shown(canvas));
  await point(canvas, "pointerup", 400, 45);
  expected.is("dragged", shown(views));
  await point(canvas, "pointerdown", 300, 105);
  await point(canvas, "pointerup", 300, 105);
  await point(canvas, "dblclick", 300, 105);
  expected.is("double click", shown(views));
});

test("a finger pans", async () => {
  await openMachine();
  await click("Zoom in");
  const touch = { pointerType: "touch" };
  await point(canvas, "pointerdown", 300, 105, touch);
  await point(canvas, "pointermove", 250, 105, touch);
  expected.is("panned", shown(views));
  await point(canvas, "pointermove", 350, 105, touch);
  expected.is("panned back", shown(views));
  await point(canvas, "pointerup", 350, 105, touch);
  assert.equal(document.querySelector("[data-testid=machine-chosen]"), null);
});

test("the wheel zooms and pans", async () => {
  await openMachine();
  const wheel = (more: object) => {
    const event = new dom.Event("wheel", { bubbles: true, cancelable: true });
    Object.assign(event, { deltaX: 0, deltaY: 0, clientX: 300, ...more });
    return event;
  };
  const turns: [string, object, boolean][] = [
    ["Ctrl up", { ctrlKey: true, deltaY: -100 }, true],
    ["Ctrl far", { metaKey: true, deltaY: -9000 }, true],
    ["Shift", { shiftKey: true, deltaY: 50 }, true],
    ["sideways", { deltaX: -50, deltaY: 10 }, true],
    ["down", { deltaX: 5, deltaY: 10 }, false],
  ];
  for (const [name, more, taken] of turns) {
    const event = wheel(more);
    await send(box, event as never);
    assert.equal(event.defaultPrevented, taken, name);
    expected.is(`wheel: ${name}`, shown(views));
  }
});

test("the search finds threads and functions", async () => {
  await openMachine();
  await press("main", "/");
  assert.equal(document.activeElement, find("input[name=machine-search]"));
  await enter("input[name=machine-search]", "cart");
  expected.is("found", shown("[data-testid=machine-found]", canvas));
  const at = () => document.querySelector("[data-testid=machine-found]")?.textContent;
  await press("input[name=machine-search]", "Enter");
  assert.match(at() ?? "", /, at 1$/);
  expected.is("the first match", shown("[data-testid=machine-readout]"));
  await click("Next match");
  await press("input[name=machine-search]", "Enter", { shiftKey: true });
  await click("Previous match");
  expected.is(
    "the last match",
    shown("[data-testid=machine-found]", "[data-testid=machine-readout]"),
  );
  await pass(400);
  assert.match(query(), /search=cart/);
  await enter("input[name=machine-search]", "holder");
  await press("input[name=machine-search]", "Enter");
  expected.is(
    "found by name",
    shown("[data-testid=machine-found]", "[data-testid=machine-readout]"),
  );
  await enter("input[name=machine-search]", "nothing");
  expected.is("nothing found", shown("[data-testid=machine-found]", ".flame-controls button"));
});

test("a match in a closed process opens it", async () => {
  await openMachine();
  const rows = () => document.querySelector(canvas)?.getAttribute("data-rows");
  await point(canvas, "pointerdown", 10, 85);
  await point(canvas, "pointerup", 10, 85);
  assert.equal(rows(), "5");
  await enter("input[name=machine-search]", "worker");
  await click("Next match");
  assert.equal(rows(), "7");
});

test("data that was loaded before is not requested again", async () => {
  let finest_ns = 1e6;
  await openMachine("", () => machine({ finest_ns }));
  finest_ns = 1;
  await click("Zoom in");
  await pass(200);
  requested();
  await click("Zoom out");
  await click("Zoom in");
  await click("Whole recording");
  await pass(1000);
  assert.deepEqual(requested(), []);
  await openMachine("", machine({ runs: [] }));
  expected.is("no runs", shown(canvas));
});

test("merged intervals show their shares, at least a pixel each", async () => {
  const [worker, ...others] = machine().threads;
  const shares = [
    [1, 1],
    [0, 0],
    [1000, 0],
    [0, 1000],
    [500, 500],
    [0, 1],
  ];
  const cells = shares.flatMap(([on_cpu, runnable]) => [0, 20e6, 4, on_cpu, runnable]);
  const busy = [2, 1, 1001, 251].flatMap((share) => [0, 20e6, 10, share]);
  await openMachine(
    "?from=-20000000&to=130000000",
    machine({
      threads: [{ ...worker, cells }, ...others],
      cpus: [
        { cpu: 0, cells: busy },
        { cpu: 1, cells: [0, 1e4, 20, 0, 0, 1e4, 20, 0, 5e6, 140e6, 20, 0] },
      ],
    }),
  );
  expected.is("shares", shown(canvas));
  await point(canvas, "pointermove", 150, 45);
  expected.is("a share of a CPU", shown("[data-testid=machine-readout]"));
  await point(canvas, "pointermove", 150, 105);
  expected.is("shares of a thread", shown("[data-testid=machine-readout]"));
});

// 3 processes of several threads, and 32 of one.
function large() {
  const { threads, processes } = machine();
  const cells = [0, 75e6, 0, 1, 0, 0, 75e6, 3, 1, 2];
  const of = (tid: number, pid: number, more: object = {}) => ({
    ...threads[2],
    tid,
    pid,
    cells,
    ...more,
  });
  const count = (first: number, pid: number, length: number, more: object = {}) =>
    Array.from({ length }, (_, index) => of(first + index, pid, more));
  const singles = Array.from({ length: 32 }, (_, index) => of(60 + index, 60 + index));
  // Time, thread, waker, kind, name.
  const wakes = [95e6, 31, 30, 1, 0, 95e6, 91, 90, 1, 0, 95e6, 30, 91, 1, 0, 95e6, 40, 60, 1, 0];
  return machine({
    processes: [...processes, { pid: 3, name: 8, unit: 0 }, { pid: 4, name: 14, unit: 0 }],
    threads: [
      ...count(10, 1, 5, { of_delay: true, name: 0 }),
      ...count(30, 3, 4),
      ...count(40, 4, 5),
      ...singles,
    ],
    wakes,
  });
}

test("the delay's own process and small ones are open at first", async () => {
  await openMachine("", large());
  const scroller = find(box);
  assert.equal(find(canvas).getAttribute("data-rows"), "47"); // runs, 2 CPUs, 6 + 5 + 1 + 32
  expected.is("many rows", shown(canvas));
  scroller.scrollTop = 410;
  await send(box, new dom.Event("scroll") as never);
  expected.is("scrolled", shown(canvas));
  await point(canvas, "pointermove", 300, 45);
  expected.is("a row further down", shown("[data-testid=machine-readout]"));
  scroller.scrollTop = 0;
  await press(box, "ArrowDown");
  for (let row = 0; row < 40; ++row) await press(box, "ArrowDown");
  expected.is("moved down", shown("[data-testid=machine-readout]"));
  assert.equal(scroller.scrollTop, 540);
  for (let row = 0; row < 30; ++row) await press(box, "ArrowUp");
  assert.equal(scroller.scrollTop, 200);
});

test("the picture in the dark, and what was found", async () => {
  document.documentElement.dataset.theme = "dark";
  try {
    await openMachine("?search=worker");
    expected.is("dark", shown(canvas));
  } finally {
    document.documentElement.dataset.theme = "light";
  }
});

test("readouts of what is not known", async () => {
  const { threads } = machine();
  await openMachine(
    "",
    machine({
      threads: [
        { ...threads[0], cells: [20e6, 30e6, 3, 0, 0, 0, 20e6, 3, 1, 0], name: 0 },
        { ...threads[2], cells: [] },
      ],
      wakes: [50e6, 10, 0, 0, 0, 70e6, 10, 0, 3, 0],
      runs: [],
    }),
  );
  const said: string[] = [];
  const at = async (x: number, row: number) => {
    await point(canvas, "pointermove", x, 20 + 20 * row + 5);
    said.push(`${x}, row ${row}: ${readout()}`);
  };
  for (const row of [0, 3, 4]) for (const x of [130, 200, 260, 400]) await at(x, row);
  await at(200, 5);
  expected.is("not known", said.join("\n"));
  await press(box, "ArrowUp");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "w"])
    await press(box, key);
  expected.is("a thread without intervals", shown(views, "[data-testid=machine-chosen]"));
});

test("stages of the delay's run, and what is between and after them", async () => {
  const [own] = machine().runs;
  await openMachine("", machine({ runs: [{ ...own, from_ns: 10e6 }] }));
  const said: string[] = [];
  for (const at of [0, 10e6, 69e6, 70e6, 99e6, 100e6, 104e6]) {
    const x = 120 + (480 * (at + 5e6)) / 110e6; // the view begins 5 ms before the delay
    await point(canvas, "pointermove", x + 0.001, 25);
    said.push(`${at / 1e6} ms: ${readout()}`);
  }
  expected.is("stages of the run", said.join("\n"));
});

test("zooming keeps the chosen time, unless it is out of sight", async () => {
  const zoomed = async (at: number) => {
    await openMachine("?from=0&to=100000000");
    // Row 3 is the thread's process, row 4 the thread.
    await point(canvas, "pointerdown", 120 + 4.8 * at, 20 + 20 * 4 + 5);
    await point(canvas, "pointerup", 120 + 4.8 * at, 20 + 20 * 4 + 5);
  };
  await zoomed(20);
  await click("Zoom in");
  expected.is("around what is chosen", shown(views));
  await zoomed(20);
  for (let times = 0; times < 2; ++times) await click("Later");
  await click("Zoom in");
  expected.is("around the middle", shown(views));
});

test("Shift and a sideways wheel pan, whichever way the browser turns it", async () => {
  const turned: string[] = [];
  const turns: { deltaX?: number; deltaY?: number; [key: string]: unknown }[] = [
    { shiftKey: true, deltaX: 60 },
    { shiftKey: true, deltaX: 60, deltaY: -30 },
    { deltaX: 10, deltaY: 10 },
    { deltaX: 11, deltaY: -10 },
    { ctrlKey: true, deltaX: 99, deltaY: 0 },
  ];
  for (const more of turns) {
    await openMachine("?from=20000000&to=60000000");
    const event = new dom.Event("wheel", { bubbles: true, cancelable: true });
    await send(box, Object.assign(event, { deltaX: 0, deltaY: 0, clientX: 300, ...more }) as never);
    turned.push(`${JSON.stringify(more)}: ${find(views).textContent}`);
  }
  expected.is("turns of the wheel", turned.join("\n"));
});

test("keys go from holes between intervals to their neighbours", async () => {
  const [thread, , other] = machine().threads;
  // On CPU from 0 to 20 ms, from 40 to 60 ms and from 80 to 100 ms.
  const cells = [20e6, 20e6, 0, 1, 0, 20e6, 20e6, 0, 2, 0, 20e6, 20e6, 0, 3, 0];
  const said: string[] = [];
  for (const [x, keys] of [
    [270, ["ArrowRight"]],
    [270, ["ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight"]],
    [130, ["ArrowLeft"]],
    [130, ["ArrowRight"]],
    [595, ["ArrowLeft"]],
    [595, ["ArrowRight"]],
  ] as const) {
    await openMachine("", machine({ threads: [{ ...thread, cells }, other], wakes: [] }));
    await point(canvas, "pointerdown", x, 20 + 20 * 3 + 5);
    await point(canvas, "pointerup", x, 20 + 20 * 3 + 5);
    await point(canvas, "pointerleave", 0, 0);
    said.push(`at ${x}: ${readout()}`);
    for (const key of keys) {
      await press(box, key);
      said.push(`  ${key}: ${readout()}`);
    }
  }
  expected.is("from holes", said.join("\n"));
  await enter("input[name=machine-search]", "  ");
  assert.equal(document.querySelector("[data-testid=machine-found]")?.textContent, "");
  for (const key of ["a", "Tab"]) await press("input[name=machine-search]", key);
  await enter("input[name=machine-search]", "cc");
  for (const key of ["a", "Tab"]) await press("input[name=machine-search]", key);
  assert.equal(document.querySelector("[data-testid=machine-found]")?.textContent, "1 match");
});

test("only / alone, outside of fields, moves to the search", async () => {
  await openMachine();
  const field = "input[name=machine-search]";
  const typed = async (what: string, key: string, more: object = {}) => {
    find("h1").focus();
    const event = new dom.KeyboardEvent("keydown", {
      key,
      bubbles: true,
      cancelable: true,
      ...more,
    });
    await send(what, event as never);
    return [event.defaultPrevented, document.activeElement === find(field)];
  };
  assert.deepEqual(await typed("main", "/"), [true, true]);
  assert.deepEqual(await typed("main", "x"), [false, false]);
  assert.deepEqual(await typed("main", "/", { ctrlKey: true }), [false, false]);
  assert.deepEqual(await typed("main", "/", { metaKey: true }), [false, false]);
  for (const tag of ["input", "textarea", "select"]) {
    const other = document.createElement(tag);
    other.className = "other-field";
    find("main").append(other);
    assert.deepEqual(await typed(".other-field", "/"), [false, false], tag);
    other.remove();
  }
});
