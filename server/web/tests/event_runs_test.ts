import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { cause, causes } from "./answers/causes";
import { no_change, trend } from "./answers/events";
import { flame as whole_flame } from "./answers/profiles";
import {
  all_kinds,
  comparison,
  dirty,
  frames,
  run,
  runList,
  shift,
  split,
  stacks,
  summary,
} from "./answers/runs";
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
  reader,
  requested,
  shown,
} from "./page/page";
import { Refusal, done, pending } from "./page/server";

const expected = new Expected("event_runs");
const path = "/api/v1/events/checkout";
const bars = "[data-testid=run-bars]";
const overlay = "canvas.overlay";

async function openRuns(query: string, more: Record<string, unknown> = {}, session?: never) {
  await open(
    `/event/checkout${query}`,
    {
      [`${path}/summary`]: summary(),
      [`${path}/trend`]: trend(),
      [`${path}/change`]: no_change,
      [`${path}/causes`]: causes([]),
      [`${path}/split`]: split(),
      [`${path}/runs`]: runList(all_kinds),
      [`${path}/times`]: shift(),
      [`${path}/stages`]: stacks(),
      "/api/v1/compare": comparison(),
      "POST /api/v1/compare": comparison(),
      ...more,
    },
    session,
  );
  requested();
}

test("runs as bars and as a list", async () => {
  await openRuns("");
  expected.is("by stage", shown("section#runs"));
  const list = find("section#runs details.sub") as HTMLDetailsElement;
  list.open = true;
  list.dispatchEvent(new dom.Event("toggle") as never);
  await pass(0);
  expected.is("the list", shown("section#runs details.sub"));
});

test("bars by time, slowest first, without stages", async () => {
  await openRuns("?bars=time&order=slowest&count=100", {
    [`${path}/runs`]: runList(all_kinds, { total: 1234, hidden: 4 }),
  });
  expected.is(
    "by time",
    shown("section#runs > header", "section#runs .legend", bars, ".below-bars"),
  );
  await openRuns("?count=7", { [`${path}/runs`]: runList([run(1, { stages: [] })]) });
  expected.is("without stages", shown("section#runs > header", "section#runs .legend", bars));
});

test("what the bars show is in the address", async () => {
  await openRuns("");
  const steps: [string, string][] = [
    ["time", "/event/checkout?bars=time"],
    ["slowest", "/event/checkout?bars=time&order=slowest"],
    ["stage", "/event/checkout?order=slowest"],
    ["newest", "/event/checkout"],
  ];
  for (const [text, there] of steps) {
    await click(text);
    assert.equal(address(), there);
  }
  requested();
  await enter("select[name=count]", "1000");
  assert.equal(address(), "/event/checkout?count=1000");
  assert.ok(requested().includes(`GET ${path}/runs?order=newest&limit=1000`));
  await enter("select[name=count]", "240");
  assert.equal(address(), "/event/checkout");
});

test("hidden, dirty and outlying runs are counted, and shown on request", async () => {
  const because = [
    { rule: "suspended", runs: 3 },
    { rule: "failed", runs: 1234 },
  ];
  const told = "section#runs .dirty-line";
  await openRuns("", {
    [`${path}/runs`]: runList(all_kinds, { hidden: 1237, total: 5000, hidden_because: because }),
  });
  expected.is("hidden", shown(told));
  await click("Show them");
  assert.equal(address(), "/event/checkout?dirty=1");
  expected.is("shown", shown(told));
  await click("Hide dirty runs");
  assert.equal(address(), "/event/checkout");
  await openRuns("", {
    [`${path}/runs`]: runList(all_kinds, { hidden: 1238, hidden_because: because, outliers: 1 }),
  });
  expected.is("the newest only", shown(told));
  await click("Exclude");
  assert.equal(address(), "/event/checkout?outliers=0");
  expected.is("outliers excluded", shown("[data-testid=outlier-line]"));
  await click("Include");
  assert.equal(address(), "/event/checkout");
  await openRuns("", { [`${path}/runs`]: runList([], { hidden: 2 }) });
  expected.is("all hidden", shown("section#runs > [aria-busy]"));
  await openRuns("", { [`${path}/runs`]: runList([]) });
  expected.is("no runs", shown("section#runs .notice", told));
});

test("dirty runs can be included", async () => {
  const list = [run(30, { dirty }), run(31, { dirty: { ...dirty, by: "ada", rule: "by hand" } })];
  let further: unknown = new Refusal(500, "broken");
  let answer: unknown = new Refusal(403, "not allowed");
  const answers = {
    [`${path}/runs`]: (request: { path: string }) =>
      request.path.includes("after")
        ? further
        : request.path.includes("dirty=only")
          ? runList(list, { next: "x", total: 1234 })
          : runList(all_kinds),
    "PUT /api/v1/runs/30/dirty": () => answer,
  };
  await openRuns("?dirty=1&outliers=0&host=h", answers);
  expected.is("dirty runs", shown("section#runs details.sub[open]"));
  await click("Include");
  expected.is("not included", shown("section#runs .failure"));
  answer = done;
  await click("[data-testid=dirty-runs] tbody button");
  expected.is("included", shown("section#runs .failure"));
  await click("Show more dirty runs");
  expected.is("more fail", shown("section#runs .failure"));
  further = runList([run(32, { dirty })]);
  await click("Show more dirty runs");
  assert.equal(document.querySelectorAll("[data-testid=dirty-runs] tbody tr").length, 3);
  await openRuns("?dirty=1", answers, reader as never);
  expected.is("a reader", shown("[data-testid=dirty-runs] tbody tr:first-child"));
  const only = (answer: unknown) => (request: { path: string }) =>
    request.path.includes("dirty=only") ? answer : runList(all_kinds);
  for (const [name, answer] of [
    ["none", runList([])],
    ["not known yet", pending],
    ["an error", new Refusal(500, "broken")],
  ] as const) {
    await openRuns("?dirty=1", { [`${path}/runs`]: only(answer) });
    expected.is(
      `dirty runs: ${name}`,
      shown("section#runs > [aria-busy] > :is(.failure, p.muted)"),
    );
  }
});

test("keys move over the bars, select sets and open runs", async () => {
  await openRuns("");
  const at = () => document.querySelector("[data-testid=run-readout]")?.textContent;
  await press(bars, "ArrowRight");
  const first = at();
  assert.match(first ?? "", /cold, 20 ms/);
  await press(bars, "ArrowRight");
  assert.match(at() ?? "", /warm, 10 ms/);
  expected.is("a run", shown("[data-testid=run-readout]", ".visually-hidden[aria-live]", overlay));
  await press(bars, "ArrowUp");
  expected.is("its first stage", shown("[data-testid=run-readout]", overlay));
  await press(bars, "ArrowUp");
  await press(bars, "ArrowUp");
  assert.match(at() ?? "", /stage write/);
  await press(bars, "Enter");
  assert.equal(address(), "/event/checkout?stage=write");
  expected.is(
    "a stage's stacks",
    shown("[data-testid=stage-stacks]", overlay, "section#runs .legend"),
  );
  await press(bars, "ArrowDown");
  await press(bars, "ArrowDown");
  assert.doesNotMatch(at() ?? "", /stage /);
  await click("write");
  assert.equal(address(), "/event/checkout");
  await press(bars, "End");
  assert.match(at() ?? "", /web-2.*stages not recorded/);
  await press(bars, "Home");
  assert.equal(at(), first);
  await press(bars, "PageDown");
  assert.match(at() ?? "", /web-2/);
  await press(bars, "PageUp");
  assert.equal(at(), first);
  await press(bars, "ArrowRight", { shiftKey: true });
  await press(bars, "ArrowRight", { shiftKey: true });
  expected.is("three runs", shown(bars + " > .visually-hidden", overlay));
  await press(bars, "A");
  expected.is("set A", shown("[aria-label^=Comparison]", ".below-bars > span"));
  await press(bars, "End");
  await press(bars, "b", { ctrlKey: true });
  assert.equal(document.querySelectorAll("[aria-label^=Comparison] table").length, 0);
  await press(bars, "b");
  expected.is("sets A and B", shown("[aria-label^=Comparison]", ".below-bars > span", overlay));
  await press(bars, "Escape");
  assert.equal(document.querySelector("[aria-label^=Comparison]"), null);
  await press(bars, "o");
  assert.equal(address(), "/run/3");
});

test("the pointer selects stages, runs and sets", async () => {
  await openRuns("");
  // Nine slots from 62 to 600 pixels: cold, a gap, four warm, a gap, unknown.
  await point(overlay, "mousemove", 230, 275);
  expected.is("at a stage", shown("[data-testid=run-readout]"));
  await point(overlay, "mousemove", 230, 292);
  expected.is("at a mark", shown("[data-testid=run-readout]"));
  await point(overlay, "mousedown", 230, 283);
  await point(overlay, "mouseup", 230, 283);
  assert.equal(address(), "/event/checkout?stage=read");
  await openRuns("");
  await point(overlay, "mousedown", 80, 200);
  await point(overlay, "mousemove", 300, 200);
  expected.is("dragging", shown(bars + " > .visually-hidden"));
  await point(overlay, "mouseup", 300, 200);
  expected.is("dragged", shown(".below-bars > span", "[aria-label^=Comparison] p"));
  await click("B (0)");
  await click("A (3)");
  await point(overlay, "mousedown", 500, 200);
  await point(overlay, "mousemove", 590, 200);
  await point(overlay, "mouseup", 590, 200);
  expected.is("A again", shown(".below-bars > span"));
  await click("Clear sets");
  expected.is("cleared", shown(".below-bars > span"));
  await point(overlay, "mousedown", 80, 200, { button: 2 });
  await point(overlay, "mouseup", 80, 200);
  assert.equal(address(), "/event/checkout");
  await point(overlay, "mousedown", 590, 297);
  await point(overlay, "mouseup", 590, 297);
  assert.equal(address(), "/run/3");
});

test("in bars by time, a part opens the run", async () => {
  await openRuns("?bars=time");
  await press(bars, "End");
  await press(bars, "ArrowUp");
  assert.match(
    document.querySelector("[data-testid=run-readout]")?.textContent ?? "",
    /part unknown/,
  );
  await press(bars, "Enter");
  assert.equal(address(), "/run/3");
});

test("two sets compared", async () => {
  const two = [run(1), run(2)];
  const compared = async (answer: unknown, query = "") => {
    await openRuns(query, { [`${path}/runs`]: runList(two), "POST /api/v1/compare": answer });
    await press(bars, "Home");
    await press(bars, "b");
    if (answer === null) return;
    await press(bars, "End");
    await press(bars, "a");
  };
  await compared(null, "?order=slowest");
  expected.is("only B, by duration", shown("[aria-label^=Comparison]"));
  await compared(comparison());
  expected.is("B takes longer", shown("[aria-label^=Comparison]"));
  await compared(comparison({ difference_ns: -20e6, low_ns: -24e6, high_ns: -15e6, stages: [] }));
  expected.is("B takes less", shown("[aria-label^=Comparison]"));
  await compared(comparison({ low_ns: null, high_ns: null, evidence: false, stages: [] }));
  expected.is("too few runs", shown("[data-testid=verdict]"));
  await compared(comparison({ low_ns: -1e6, evidence: false, stages: [], confidence: 0.99 }));
  expected.is("no difference", shown("[data-testid=verdict]"));
  await compared(new Refusal(500, "broken"));
  expected.is("not compared", shown("[aria-label^=Comparison] .failure"));
});

test("stacks of a stage", async () => {
  await openRuns("?stage=a%20b", {
    [`${path}/stages`]: stacks({ runs_read: 1234, runs_read_most: 1234, stacks: [] }),
  });
  expected.is("no stacks", shown("[data-testid=stage-stacks]"));
  await openRuns("?stage=read", { [`${path}/stages`]: stacks({ runs_read: 1001 }) });
  expected.is("of the newest runs", shown("[data-testid=stage-stacks] p"));
  await click("Show 1 more caller");
  assert.equal(
    document.querySelectorAll("[data-testid=stage-stacks] .stack:first-of-type li").length,
    15,
  );
  await click("Show fewer");
  await click("[data-testid=stage-stacks] .function-name");
  expected.is("a whole name", shown("[data-testid=stage-stacks] .function-name"));
  await click("Close");
  assert.equal(address(), "/event/checkout");
  assert.equal(frames(1).length, 1);
});

test("the flame graph of a cause's example", async () => {
  const flame = {
    unit: "ns",
    total: 100,
    baseline_total: 50,
    baseline_runs: 3,
    nodes: [
      [-1, 0, 100, 50, 3],
      [0, 1, 90, 10, 0],
      [1, 2, 60, 5, 0],
    ],
    names: [
      { function: "all", module: "" },
      { function: "main", module: "/usr/bin/shop" },
      { function: "Cart::add", module: "/usr/lib/libshop.so.1" },
    ],
    dropped: 0,
  };
  const profile = `/api/v1/bundles/${"a".repeat(64)}/delays/3/profile`;
  await openRuns("", { [`${path}/causes`]: causes([cause()]), [profile]: flame });
  expected.is("an example", shown(".example"));
});

test("the threshold is a line if the bars reach it", async () => {
  const runs = [run(3), run(9, { delay: true })];
  await openRuns("", { [`${path}/runs`]: runList(runs) });
  expected.is("a threshold", shown(overlay));
  await openRuns("", {
    [`${path}/runs`]: runList(runs.map((one) => ({ ...one, threshold_ns: 0 }))),
  });
  expected.is("no threshold", shown(overlay));
  await point(overlay, "mousedown", 100, 200);
  await point(overlay, "mousemove", 590, 200);
  await point(overlay, "mouseleave", 590, 200);
  await point(overlay, "mouseup", 590, 200);
  expected.is("the pointer left", shown(".below-bars > span", `${bars} > .visually-hidden`));
  await press(bars, "End");
  await press(bars, "ArrowLeft");
  expected.is("one to the left", shown("[data-testid=run-readout]"));
  await press(bars, "Enter");
  assert.equal(address(), "/run/3");
});

test("an example without the function at fault shows differences", async () => {
  const profile = `/api/v1/bundles/${"a".repeat(64)}/delays/3/profile`;
  const elsewhere = cause({ frames: [{ function: "not_there", module: "" }] });
  await openRuns("", { [`${path}/causes`]: causes([elsewhere]), [profile]: whole_flame() });
  expected.is("an example of something else", shown(".example"));
});

const many_runs = (count: number, more: (index: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, index) => run(index + 1, { duration_ns: 9e6, ...more(index) }));

test("keys of large steps, and of the ends, from wherever the cursor is", async () => {
  const readout = () => document.querySelector("[data-testid=run-readout]")?.textContent ?? "";
  // Each run has its own duration: 1 ms, 2 ms and so on.
  const lasting = many_runs(250, (index) => ({ duration_ns: (index + 1) * 1e6 }));
  const at = () => Number(/warm, (\d+) ms/.exec(readout())?.[1] ?? -1);
  await openRuns("?count=1000", { [`${path}/runs`]: runList(lasting) });
  const places: [string, number][] = [];
  for (const key of ["ArrowLeft", "PageUp", "Home", "PageDown", "PageDown", "PageUp", "End"]) {
    await press(bars, key);
    places.push([key, at()]);
  }
  assert.deepEqual(places, [
    ["ArrowLeft", 250],
    ["PageUp", 237],
    ["Home", 1],
    ["PageDown", 14],
    ["PageDown", 27],
    ["PageUp", 14],
    ["End", 250],
  ]);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) {
    await press(bars, "Home", more);
    assert.equal(at(), 250, JSON.stringify(more));
  }
  for (let step = 0; step < 2; ++step) await press(bars, "ArrowLeft", { shiftKey: true });
  const selected = () => document.querySelector(`${bars} > .visually-hidden`)?.textContent ?? "";
  assert.match(selected(), /; 3 runs selected$/);
  await press(bars, "ArrowLeft");
  assert.doesNotMatch(selected(), /selected/);
  await press(bars, "ArrowRight", { shiftKey: true });
  assert.match(selected(), /; 2 runs selected$/);
  await press(bars, "Escape");
  assert.doesNotMatch(selected(), /selected/);
});

test("many bars are narrow and stand close together", async () => {
  for (const count of [150, 151]) {
    await openRuns("?count=1000", { [`${path}/runs`]: runList(many_runs(count)) });
    const lines = shown(".run-canvas canvas:first-child").split("\n");
    const boxes = lines.filter((line) => /#[0-9a-f]{6} box/.test(line)).slice(0, 3);
    const marks = shown(overlay).split("\n").slice(0, 8);
    expected.is(`${count} bars`, [...boxes, ...marks].join("\n"));
  }
});

test("a run goes from one set to the other, and empty choices change nothing", async () => {
  await openRuns("", { [`${path}/runs`]: runList(many_runs(4)) });
  const counts = () => shown(".below-bars > span").match(/[AB] \(\d\)/g);
  await press(bars, "a");
  assert.deepEqual(counts(), ["A (0)", "B (0)"]);
  await press(bars, "Home");
  for (let step = 0; step < 3; ++step) await press(bars, "ArrowRight", { shiftKey: true });
  await press(bars, "a");
  assert.deepEqual(counts(), ["A (4)", "B (0)"]);
  await press(bars, "Home");
  await press(bars, "b");
  assert.deepEqual(counts(), ["A (3)", "B (1)"]);
  await press(bars, "ArrowRight", { shiftKey: true });
  await press(bars, "a");
  assert.deepEqual(counts(), ["A (2)", "B (0)"]);
});

test("the numbers of runs in a set of one kind", async () => {
  await openRuns("", { [`${path}/runs`]: runList(many_runs(3)) });
  const said = () => document.querySelector("[aria-label^=Comparison] > p")?.textContent;
  await press(bars, "Home");
  await press(bars, "b");
  assert.match(said() ?? "", /^B has 1 run\. .* press A\.$/);
  await press(bars, "ArrowRight", { shiftKey: true });
  await press(bars, "b");
  assert.match(said() ?? "", /^B has 2 runs\. .* press A\.$/);
  await press(bars, "Escape");
  await press(bars, "Home");
  await press(bars, "a");
  assert.match(said() ?? "", /^A has 1 run\. .* press B\.$/);
  await press(bars, "ArrowRight", { shiftKey: true });
  await press(bars, "a");
  assert.match(said() ?? "", /^A has 2 runs\. .* press B\.$/);
});

test("another list of runs empties the sets", async () => {
  await openRuns("");
  await press(bars, "Home");
  await press(bars, "a");
  assert.match(shown(".below-bars > span"), /A \(1\)/);
  await click("slowest");
  assert.match(shown(".below-bars > span"), /A \(0\)/);
});

test("a small movement of the pointer is a click, a larger one chooses a set", async () => {
  for (const [x, chosen] of [
    [304, 0],
    [305, 1],
  ] as const) {
    await openRuns("", { [`${path}/runs`]: runList(many_runs(2, () => ({ stages: [] }))) });
    await point(overlay, "mousedown", 300, 290);
    await point(overlay, "mousemove", x, 290);
    await point(overlay, "mouseup", x, 290);
    assert.equal(address() === "/event/checkout", chosen === 1, String(x));
  }
});

test("the pointer on an empty slot or above a bar", async () => {
  await openRuns("");
  const said: string[] = [];
  // The second slot is the gap between cold and warm runs.
  for (const [x, y] of [
    [140, 200],
    [80, 20],
    [80, 283],
    [80, 284],
    [80, 299],
  ]) {
    await point(overlay, "mousemove", x, y);
    said.push(`${x} ${y}: ${document.querySelector("[data-testid=run-readout]")?.textContent}`);
  }
  expected.is("places of the pointer", said.join("\n"));
  await point(overlay, "mousedown", 140, 200);
  await point(overlay, "mouseup", 140, 200);
  assert.equal(address(), "/event/checkout");
  await point(overlay, "mousedown", 80, 20);
  await point(overlay, "mouseup", 80, 20);
  assert.equal(address(), "/run/2");
});

test("without a cursor, keys for a run do nothing", async () => {
  await openRuns("");
  for (const key of ["o", "Enter", "ArrowUp", "ArrowDown", "a", "b", "x"]) await press(bars, key);
  assert.equal(address(), "/event/checkout");
  assert.equal(document.querySelector("[aria-label^=Comparison]"), null);
  assert.match(shown("[data-testid=run-readout]"), /Hover for details/);
});
