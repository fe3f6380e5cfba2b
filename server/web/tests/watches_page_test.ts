import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { newestFirst } from "../src/pages/watches";
import { watch, watchSummary } from "./answers/details";
import { ago, hour_s, pass } from "./page/clock";
import { Expected, click, open, requested, shown } from "./page/page";
import { Refusal, pending, unreachable } from "./page/server";

const expected = new Expected("watches_page");
const id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
const path = `/api/v1/objects/${id}/summary`;

const watches = [
  watch(),
  watch({ last_ns: ago(30), began_ns: null, failures: 3, parts: 1, missing_parts: 1 }),
  watch({ ended: true, last_ns: ago(hour_s), class_count: 0, calls: null, failures: null }),
  watch({
    class_count: 1234,
    classes: ["A", "B"],
    lost_lines: 1,
    not_reported: 1,
    missing_parts: null,
  }),
  watch({
    classes: ["A", "B", "C"],
    class_count: 3,
    lost_lines: 2,
    not_reported: 1234,
    missing_parts: 2345,
  }),
];

test("watches, and their gaps", async () => {
  await open("/watches", { "/api/v1/objects": { watches } });
  expected.is("watches", shown());
  await pass(1999);
  assert.equal(requested().length, 0);
  await pass(1);
  assert.deepEqual(requested(), ["GET /api/v1/objects"]);
});

test("no watches, loading, errors", async () => {
  await open("/watches", { "/api/v1/objects": pending });
  expected.is("loading", shown());
  await open("/watches", { "/api/v1/objects": { watches: [] } });
  expected.is("none", shown());
  let answer: unknown = new Refusal(503);
  await open("/watches", { "/api/v1/objects": () => answer });
  expected.is("an error", shown("main > :not(h1, nav)"));
  answer = { watches: Array.from({ length: 200 }, () => watch()) };
  requested();
  await pass(2000);
  expected.is("the newest two hundred", shown("main > p"));
  answer = new Refusal(503, "busy");
  await pass(2000);
  expected.is("old data", shown("main > p"));
  answer = new Refusal(403, "not allowed");
  await pass(2000);
  expected.is("refused", shown("main > .failure"));
  await pass(9000);
  assert.equal(requested().length, 0);
});

test("old data stays unless the server refuses the request", async () => {
  let answer: unknown = { watches };
  await open("/watches", { "/api/v1/objects": () => answer });
  const said = async (next: unknown) => {
    answer = next;
    await pass(2000);
    const found = document.querySelector("main > .problem, main > .failure");
    return found?.className;
  };
  assert.equal(await said(unreachable), "problem");
  assert.equal(await said(new Refusal(500, "broken")), "problem");
  assert.equal(await said({ watches }), undefined);
  const refused = await said(new Refusal(400, "a bad request"));
  assert.match(refused ?? "", /failure/);
});

test("a watch whose start is unknown begins with its first part", async () => {
  const first_ns = ago(2 * hour_s);
  await open(`/watch/${id}`, {
    [path]: watchSummary({ watch: watch({ began_ns: null, first_ns }) }),
  });
  expected.is(
    "start unknown",
    shown("[data-testid=watch-head] > p.muted", "[data-testid=object-latest] td.at"),
  );
});

test("the newest trees come first, with their calls in order", () => {
  const calls = (...depths: number[]) => depths.map((depth, at) => ({ depth, at }));
  const order = (...depths: number[]) => newestFirst(calls(...depths)).map(({ at }) => at);
  assert.deepEqual(order(0, 1, 2, 0, 1, 0), [5, 3, 4, 0, 1, 2]);
  assert.deepEqual(order(1, 1, 0, 1), [2, 3, 0, 1]);
  assert.deepEqual(order(), []);
});

test("nothing is requested while the page is hidden", async () => {
  await open("/watches", { "/api/v1/objects": { watches } });
  requested();
  let hidden = true;
  Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
  await pass(10000);
  assert.equal(requested().length, 0);
  hidden = false;
  document.dispatchEvent(new dom.Event("visibilitychange") as never);
  await pass(0);
  assert.equal(requested().length, 1);
});

test("one watch while it runs", async () => {
  await open(`/watch/${id}`, { [path]: watchSummary() });
  expected.is("running", shown());
  requested();
  await pass(2000);
  assert.deepEqual(requested(), [`GET ${path}`]);
  await click("Pause");
  expected.is("paused", shown("[data-testid=watch-head] > p:first-child"));
  await pass(9000);
  assert.equal(requested().length, 0);
  await click("Resume");
  assert.deepEqual(requested(), [`GET ${path}`]);
});

test("a watch that ended, with gaps and limits", async () => {
  await open(`/watch/${id}`, {
    [path]: watchSummary({
      watch: watch({ ended: true, missing_parts: 1234, lost_lines: 1, parts: 2345 }),
      reason: "the program ended",
      dropped_parts: 1,
      unread_lines: 2,
      notes: ["inlined functions are not seen"],
    }),
  });
  expected.is(
    "ended with gaps",
    shown("[data-testid=watch-head]", "section[aria-label=Objects] > p"),
  );
  requested();
  await pass(2000);
  assert.equal(requested().length, 1); // missing parts may still arrive
  await open(`/watch/${id}`, {
    [path]: watchSummary({
      watch: watch({ ended: true, classes: [], class_count: 9, missing_parts: 0 }),
      dropped_parts: 1234,
      objects: null,
    }),
  });
  expected.is("the first part is missing", shown("[data-testid=watch-head]", "main > .notice"));
  requested();
  await pass(9000);
  assert.equal(requested().length, 0);
});

test("a silent watch", async () => {
  await open(`/watch/${id}`, {
    [path]: watchSummary({ watch: watch({ last_ns: ago(90), missing_parts: null }) }),
  });
  expected.is("silent", shown("[data-testid=watch-head]"));
  await open(`/watch/${id}`, { [path]: new Refusal(404) });
  expected.is("gone", shown());
});

test("a watch that ended is not silent, however long ago", async () => {
  await open(`/watch/${id}`, {
    [path]: watchSummary({ watch: watch({ ended: true, last_ns: ago(9 * hour_s) }) }),
  });
  assert.equal(document.querySelector("[data-testid=watch-head] .problem"), null);
  assert.match(shown("[data-testid=watch-head]"), /<span class="state">ended<\/span>/);
});

test("a page that was visible all the time requests nothing extra", async () => {
  await open("/watches", { "/api/v1/objects": { watches } });
  requested();
  await pass(1000);
  document.dispatchEvent(new dom.Event("visibilitychange") as never);
  await pass(999);
  assert.deepEqual(requested(), []);
  await pass(1);
  assert.equal(requested().length, 1);
});
