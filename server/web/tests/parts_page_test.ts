import { type ComponentChild, createElement, render } from "preact";
import assert from "node:assert/strict";
import { test } from "node:test";
import { labelCells } from "../src/cell_labels";
import { describeRun } from "../src/charts/run_bars";
import { sparkParts } from "../src/charts/sparkline";
import { lines, trendScale } from "../src/charts/trend_chart";
import {
  CauseTitle,
  causeStatus,
  Figure,
  FunctionName,
  MaskedNote,
  Shortened,
  StackList,
} from "../src/parts";
import { record } from "./answers/causes";
import { no_losses, overview, overviewEvent } from "./answers/events";
import { dirty, frames, run } from "./answers/runs";
import { pass, start_ms } from "./page/clock";
import { Expected, click, open, requested, shown } from "./page/page";
import { Refusal } from "./page/server";

const expected = new Expected("parts_page");

function markup(vnode: ComponentChild): string {
  const box = document.createElement("div");
  render(vnode, box);
  return box.innerHTML;
}

test("long names are cut, break between their parts, and are whole in the title", () => {
  const long = (letters: number) => "a".repeat(letters);
  expected.is(
    "names",
    [
      markup(createElement(Figure, { label: "l", value: long(36) })),
      markup(createElement(Figure, { label: "l", value: long(37), note: "n", tone: "bad" })),
      markup(createElement(Figure, { label: "l", value: "fra-web-01.shop.example" })),
      markup(createElement(Figure, { label: "l", value: "10 - 5" })),
      markup(createElement(Shortened, { text: long(40) })),
      markup(createElement(Shortened, { text: long(41) })),
      markup(createElement(Shortened, { text: long(6), most: 5 })),
      markup(createElement(FunctionName, { name: "a::b(int, long)" })),
      markup(createElement(FunctionName, { name: long(160) })),
      markup(createElement(FunctionName, { name: long(161) })),
      markup(createElement(FunctionName, { name: "f<aaaaa, bbbbbbbbbb>::g", still: true })),
      markup(createElement(CauseTitle, { title: "lock in f<aaaaa, bbbbbbbbbb>::g" })),
      markup(createElement(CauseTitle, { title: long(240) })),
      markup(createElement(CauseTitle, { title: long(241) })),
      markup(createElement(StackList, { frames: [] })),
      markup(createElement(StackList, { frames: frames(2), most: 2 })),
      markup(createElement(StackList, { frames: frames(3), most: 2 })),
      markup(createElement(MaskedNote, { texts: ["a", "b *** c"] })),
      markup(createElement(MaskedNote, { texts: ["a", "**"] })),
    ].join("\n"),
  );
});

test("a cause is new for a week", () => {
  const week_ms = 7 * 86400e3;
  const noticed_ns = `${BigInt(start_ms) * 1000000n}`;
  const status = (after_ms: number, of: "new" | "resolved") =>
    causeStatus(record({ noticed_ns, status: of }), start_ms + after_ms);
  assert.equal(status(week_ms, "new"), "new");
  assert.equal(status(week_ms + 1, "new"), "known");
  assert.equal(status(week_ms + 1, "resolved"), "resolved");
});

test("labels of cells have no arrows; compact tables have labels if they become cards", () => {
  const box = document.createElement("div");
  const table = (name: string) =>
    `<table class="${name}"><thead><tr><th>A ↑</th><th>B ↓</th><th></th></tr></thead>` +
    "<tbody><tr><td>1</td><td>2</td><td>3</td></tr></tbody></table>";
  const labels = (html: string) => {
    box.innerHTML = html;
    labelCells(box);
    return [...box.querySelectorAll("td")].map((cell) => cell.dataset.label);
  };
  assert.deepEqual(labels(table("list")), ["A", "B", undefined]);
  assert.deepEqual(labels(table("list compact cards")), ["A", "B", undefined]);
  assert.deepEqual(labels(table("list compact")), [undefined, undefined, undefined]);
  assert.deepEqual(labels(table("other")), [undefined, undefined, undefined]);
  assert.deepEqual(
    labels(
      '<table class="list"><thead><tr><th>A</th><th>B</th><th>C</th></tr></thead>' +
        '<tbody><tr><td colspan="2">1</td><td>3</td></tr></tbody></table>',
    ),
    ["A", "C"],
  );
});

test("small lines: gaps, single points, and the highest value", () => {
  assert.deepEqual(sparkParts([0, 5, 10], 96, 20, false), ["0.0,19.0 48.0,10.0 96.0,1.0"]);
  assert.deepEqual(sparkParts([0, 5, 0, 10], 96, 20, true), ["32.0,10.0 33,10", "96.0,1.0 97,1"]);
  assert.deepEqual(sparkParts([7], 96, 20, true), ["0.0,1.0 1,1"]);
  assert.deepEqual(sparkParts([], 96, 20, true), []);
});

test("the scale of a trend has room around all values, and a few round ticks", () => {
  assert.deepEqual(trendScale([0, 0]), { low: 1, high: 10, ticks: [] });
  const scale = trendScale([0, 2e6, 40e6]);
  assert.equal(Math.round(scale.low), 1739130);
  assert.equal(Math.round(scale.high), 46000000);
  assert.deepEqual(scale.ticks, [2e6, 5e6, 10e6, 20e6]);
  assert.deepEqual(trendScale([1e6, 1e9]).ticks, [1e6, 5e6, 20e6, 100e6, 500e6]);
  assert.deepEqual(
    lines([3, 0, 4, 5], (value) => value, 10),
    ["5,3.0 7,3.0", "25,4.0 35,5.0"],
  );
});

test("a run is described by time, host, duration, marks and stages", () => {
  const colours = [
    { name: "read", colour: "#000000" },
    { name: null, colour: "#000001" },
  ];
  const marked = run(9, {
    delay: true,
    outlier: { ...dirty, reason: "9 times the median." },
    dirty: { ...dirty, reason: "" },
  });
  const bare = run(3, { start: "unknown", stages: [], without_stages: true });
  expected.is(
    "runs",
    [
      describeRun(run(1), colours, -1, "stage"),
      describeRun(run(1), colours, 0, "stage"),
      describeRun(run(1), colours, 1, "stage"),
      describeRun(marked, colours, -1, "stage"),
      describeRun(bare, colours, -1, "stage"),
      describeRun(bare, colours, -1, "part"),
    ].join("\n"),
  );
});

test("old data stays only while an error may pass", async () => {
  let answer: unknown = overview([overviewEvent("checkout")]);
  const then = async (status: number) => {
    answer = overview([overviewEvent("checkout")]);
    await open("/", { "/api/v1/overview": () => answer });
    answer = new Refusal(status, `status ${status}`);
    await click("p50");
    return document.querySelector("[data-testid=outdated]") !== null;
  };
  for (const [status, kept] of [
    [399, true],
    [400, false],
    [403, false],
    [428, false],
    [429, true],
    [499, false],
    [500, true],
    [503, true],
  ] as const)
    assert.equal(await then(status), kept, String(status));
});

test("names of builds are asked for again if that failed", async () => {
  let builds: unknown = new Refusal(500);
  const answers = {
    "/api/v1/events": { events: [], next: null, lost: no_losses },
    "/api/v1/bundles": { bundles: [], next: null },
    "/api/v1/builds": () => builds,
  };
  await open("/events?build=b2b2b2b2b2b2b2b2", answers);
  assert.match(shown(".picker.active button"), /b2b2b2b2b2b2b2b2/);
  requested();
  builds = { labels: [{ build: "b2b2b2b2b2b2b2b2", name: "v2" }] };
  await click("Bundles");
  assert.ok(requested().includes("GET /api/v1/builds"));
  await click("Events");
  await pass(0);
  assert.ok(!requested().includes("GET /api/v1/builds"));
});
