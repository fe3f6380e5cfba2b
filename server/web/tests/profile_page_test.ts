import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delay } from "../src/types";
import { bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { runList } from "./answers/runs";
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
  shown,
} from "./page/page";

const expected = new Expected("profile_page");
const there = `/bundle/${digest("a")}/3`;
const api = `/api/v1/bundles/${digest("a")}`;
const graph = "section#flame";
const canvas = `${graph} canvas`;
const scroller = `${graph} .flame-scroller`;
const readout = () => document.querySelector("[data-testid=flame-readout]")?.textContent;
const query = () => address().split("?")[1] ?? "";

async function openProfile(
  search = "",
  profile: object = flame(),
  line = timeline(),
  of: Partial<Delay> = {},
): Promise<void> {
  await open(`${there}${search}`, {
    [`${api}/delays`]: bundleDelays([delay(of)]),
    [`${api}/delays/3/profile`]: profile,
    [`${api}/delays/3/timeline`]: line,
    "/api/v1/formats": { formats: [] },
    "/api/v1/delays": { delays: [], next: null },
    "/api/v1/events/checkout/runs": runList([]),
  });
  requested();
}

test("the flame graph by module, folded", async () => {
  await openProfile();
  expected.is("by module", shown(graph));
  await openProfile("?frames=all", flame({ dropped: 1, baseline_total: null }));
  expected.is("all frames", shown(graph));
});

test("the flame graph against normal runs", async () => {
  await openProfile("?against=normal&frames=all", flame({ dropped: 1234 }));
  expected.is("difference", shown(graph));
  await click("width: normal");
  assert.equal(query(), "against=normal&frames=all&width=normal");
  expected.is("as wide as normal runs", shown(canvas));
  await click("width: this delay");
  assert.equal(query(), "against=normal&frames=all");
  await openProfile("?against=normal&width=normal", flame({ baseline_total: null }));
  expected.is("no normal runs", shown(graph));
  await openProfile("?against=normal", flame({ baseline_runs: undefined }));
  expected.is("unknown number of normal runs", shown(`${graph} .key`));
  await openProfile("?against=normal", flame({ baseline_runs: 1 }));
  expected.is("one normal run", shown(`${graph} .key`));
});

test("nothing in this part of the time", async () => {
  const empty = flame({ nodes: [[-1, 0, 0, 0, 3]], total: 0 });
  await openProfile("", empty);
  expected.is("nothing at all", shown(graph));
  await openProfile("?state=on-cpu", empty);
  expected.is("nothing on CPU", shown(`${graph} .notice`));
});

test("choices of the flame graph are in the address", async () => {
  await openProfile("?zoom=2");
  const steps: [string, string][] = [
    ["on CPU", "state=on-cpu"],
    ["off CPU", "state=off-cpu"],
    ["all time", ""],
    ["against normal runs", "against=normal"],
    ["by module", ""],
    ["inverted", "view=inverted"],
    ["callers first", ""],
    ["all frames", "frames=all"],
    ["kernel and libc folded", ""],
  ];
  for (const [text, there_] of steps) {
    const button = [...document.querySelectorAll<HTMLElement>(`${graph} button`)].find(
      (one) => one.textContent === text,
    );
    button?.click();
    await pass(0);
    assert.equal(query(), there_, text);
  }
  await openProfile("?state=off-cpu&against=normal");
  assert.equal(query(), "state=off-cpu&against=normal");
});

test("inverted", async () => {
  await openProfile("?view=inverted&frames=all");
  expected.is("inverted", shown(scroller, `${graph} .choice`));
});

test("the search marks matches, and steps through them", async () => {
  await openProfile("?frames=all");
  const field = "input[name=flame-search]";
  await press("main", "/");
  assert.equal(document.activeElement, find(field));
  await enter(field, "shop");
  await pass(299);
  assert.equal(query(), "frames=all");
  await pass(1);
  assert.equal(query(), "frames=all&search=shop");
  const found = () => document.querySelector("[data-testid=flame-found]")?.textContent;
  expected.is("matches", shown("[data-testid=flame-found]", canvas));
  await click("Next match");
  assert.match(found() ?? "", /, at 1$/);
  await press(field, "Enter");
  assert.match(found() ?? "", /, at 2$/);
  await press(field, "Enter", { shiftKey: true });
  await click("Previous match");
  assert.match(found() ?? "", /, at 3$/);
  expected.is("at the last match", shown("[data-testid=flame-readout]"));
  await enter(field, "/[/");
  await pass(300);
  expected.is(
    "not an expression",
    shown("[data-testid=flame-found]", `${graph} button[aria-label]`),
  );
  await enter(field, "nothing");
  await pass(300);
  expected.is("no match", shown("[data-testid=flame-found]", `${graph} button[aria-label]`));
});

test("frames that are folded are shown if only they match", async () => {
  await openProfile("?search=do_syscall_64");
  expected.is("unfolded", shown("[data-testid=flame-found]", `${graph} [aria-label^=Kernel]`));
});

test("keys move in the flame graph and zoom", async () => {
  await openProfile("?frames=all");
  assert.match(readout() ?? "", /^all: 120 ms, 100 %; normal runs 60 ms, \+60 ms/);
  const steps: [string, RegExp][] = [
    ["ArrowDown", /^main/],
    ["ArrowDown", /^Cart::add/],
    ["ArrowRight", /^std::vector/],
    ["ArrowRight", /^unknown code/],
    ["ArrowRight", /^unknown code/],
    ["ArrowLeft", /^std::vector/],
    ["ArrowLeft", /^Cart::add/],
    ["ArrowLeft", /^Cart::add/],
    ["ArrowDown", /^blocked: lock/],
    ["ArrowDown", /^blocked: lock/],
    ["ArrowUp", /^Cart::add/],
  ];
  for (const [key, said] of steps) {
    await press(scroller, key);
    assert.match(readout() ?? "", said, key);
  }
  await press(scroller, "Enter");
  assert.equal(query(), "frames=all&zoom=2");
  expected.is("zoomed", shown(canvas, "[data-testid=flame-readout]"));
  await press(scroller, "Enter");
  assert.equal(query(), "frames=all");
  await press(scroller, "Enter");
  await press(scroller, "Backspace");
  assert.equal(query(), "frames=all&zoom=1");
  await press(scroller, "Escape");
  assert.equal(query(), "frames=all");
  await press(scroller, "Home");
  assert.match(readout() ?? "", /^all/);
  await press(scroller, "ArrowDown", { ctrlKey: true });
  assert.match(readout() ?? "", /^all/);
});

test("the pointer reads out nodes and zooms", async () => {
  await openProfile("?frames=all&zoom=999");
  await point(canvas, "mousemove", 10, 40);
  expected.is("under the pointer", shown("[data-testid=flame-readout]", canvas));
  await point(canvas, "mouseleave", 0, 0);
  assert.match(readout() ?? "", /^all/);
  await point(canvas, "click", 450, 45);
  assert.equal(query(), "frames=all&zoom=4");
  await point(canvas, "click", 450, 45);
  assert.equal(query(), "frames=all");
  await point(canvas, "click", 450, 290);
  assert.equal(query(), "frames=all");
  await point(canvas, "click", 450, 45);
  await click("Whole graph");
  assert.equal(query(), "frames=all");
});

test("moving out of the zoomed part zooms out", async () => {
  await openProfile("?frames=all&zoom=4");
  await press(scroller, "ArrowDown");
  assert.equal(query(), "frames=all&zoom=4");
  await press(scroller, "ArrowDown");
  assert.equal(query(), "frames=all");
});

const line = "section#timeline";
const box = `${line} .timeline`;
const said = () => document.querySelector("[data-testid=timeline-readout]")?.textContent;

test("the timeline: keys select and zoom", async () => {
  await openProfile();
  expected.is("timeline", shown(line));
  const steps: [string, RegExp][] = [
    ["ArrowLeft", /^on CPU, 20 ms, from 0 ns, CPU 0/],
    ["ArrowRight", /^runnable, 4 ms, from 20 ms/],
    ["ArrowRight", /^blocked: lock \(futex\), 80 ms, from 24 ms, woken by shop \/ holder/],
    ["End", /^unknown, 14 ms/],
    ["ArrowRight", /^unknown, 14 ms/],
    ["Home", /^on CPU, 20 ms/],
    ["ArrowLeft", /^on CPU, 20 ms/],
  ];
  for (const [key, text] of steps) {
    await press(box, key);
    assert.match(said() ?? "", text, key);
  }
  await press(box, "+");
  expected.is("zoomed in", shown(`${line} canvas`, `${line} .below-bars > button`));
  await press(box, "End");
  expected.is("moved to the last", shown(`${line} canvas`));
  await press(box, "-");
  await press(box, "=");
  await press(box, "Escape");
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
});

test("the timeline: the pointer selects, zooms and shows stacks", async () => {
  await openProfile();
  await point(`${line} canvas`, "pointermove", 300, 40);
  assert.match(said() ?? "", /^blocked: lock/);
  await point(`${line} canvas`, "pointerdown", 300, 40);
  await point(`${line} canvas`, "pointerup", 303, 40);
  expected.is("selected", shown("[data-testid=interval]", `${line} canvas`, `${line} > div > p`));
  await point(`${line} canvas`, "pointermove", 525, 40);
  assert.match(said() ?? "", /^blocked: lock/);
  await point(`${line} canvas`, "pointerleave", 0, 0);
  await point(`${line} canvas`, "pointerdown", 200, 40);
  await point(`${line} canvas`, "pointermove", 204, 40);
  await point(`${line} canvas`, "pointermove", 100, 40);
  expected.is("dragging", shown(`${line} canvas`));
  await point(`${line} canvas`, "pointerup", 100, 40);
  expected.is("dragged", shown(`${line} canvas`, `${line} .below-bars > button`));
  await click("Whole delay");
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
  await press(box, "+");
  await point(`${line} canvas`, "dblclick", 300, 40);
  assert.equal(document.querySelector(`${line} .below-bars > button`), null);
});

test("the timeline: no stages, nothing recorded, parts dropped", async () => {
  await openProfile("", flame(), timeline({ dropped: 1234 }), { stages: [], blocked: [] });
  expected.is("without stages", shown(`${line} canvas`, `${line} .below-bars`));
  await openProfile("", flame(), timeline({ intervals: [] }));
  expected.is("not recorded", shown(line));
});
