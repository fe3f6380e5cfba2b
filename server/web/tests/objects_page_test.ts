import assert from "node:assert/strict";
import { test } from "node:test";
import { delay, delayRow } from "./answers/delays";
import { bundleDelays } from "./answers/delays";
import { classOf, failure, objectCall, objects } from "./answers/details";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { runList } from "./answers/runs";
import { ago } from "./page/clock";
import { Expected, check, click, enter, open, requested, shown } from "./page/page";
import { Refusal } from "./page/server";

const expected = new Expected("objects_page");

const with_objects = (number: number, more: object = {}) =>
  delayRow({
    number,
    bundle: digest(String(number)),
    begin_ns: ago(number),
    objects: objects(),
    ...more,
  });

const found = [
  with_objects(1),
  with_objects(2, { bundle: digest("1") }), // of the same recording
  with_objects(3, {
    host: "web-2",
    event: "login",
    objects: objects({
      process: "db",
      classes: ["Cart", "A", "B", "C", "D", "E"].map((name) => classOf(name, { failures: 1 })),
      failures: [failure("Cart::add", { count: 2000 }), failure("late", { count: 1 })],
      longest: [objectCall("alone")],
    }),
  }),
  delayRow({ number: 4 }),
];

test("objects of many delays", async () => {
  await open("/objects?event=checkout&dirty=1&outliers=0", {
    "/api/v1/delays": { delays: found, next: "x" },
  });
  expected.is("objects", shown("h1", "nav.subpages", "main > div", "main > p"));
  await enter("[data-testid=objects-filter]", "CART -test");
  expected.is("filtered", shown("[data-testid=all-objects]"));
  await enter("[data-testid=objects-filter]", "- nothing");
  expected.is("nothing matches", shown("[data-testid=all-objects]"));
  await enter("[data-testid=objects-filter]", "");
  await check("[data-testid=all-objects] input[type=checkbox]", true);
  expected.is(
    "failures only",
    shown("[data-testid=all-objects] section > header", "[data-testid=object-calls]"),
  );
});

test("older delays are loaded on request", async () => {
  let further: unknown = new Refusal(500, "broken");
  await open("/objects", {
    "/api/v1/delays": (request: { path: string }) =>
      request.path.includes("after") ? further : { delays: [delayRow()], next: "x" },
  });
  expected.is("none yet", shown("h1", "main > .notice", "main > p"));
  await click("Load older delays");
  expected.is("older ones fail", shown("main > .failure"));
  further = { delays: [with_objects(1)], next: null };
  await click("Try again");
  expected.is("one", shown("main > .notice", "main > p"));
  await open("/objects", { "/api/v1/delays": { delays: [], next: null } });
  expected.is("no delays", shown("main > .notice", "main > p"));
});

test("a hundred failures are listed", async () => {
  const failures = Array.from({ length: 102 }, (_, index) =>
    failure(`f${index}`, { count: index }),
  );
  await open("/objects", {
    "/api/v1/delays": { delays: [with_objects(1, { objects: objects({ failures }) })], next: null },
  });
  const rows = document.querySelectorAll("[data-testid=object-failures] tbody tr");
  assert.equal(rows.length, 100);
  assert.match(rows[0].textContent ?? "", /^101f101/);
  expected.is("many failures", shown("section[aria-label=Failures] > p"));
});

const api = `/api/v1/bundles/${digest("a")}`;

async function openDelay(of: object) {
  await open(`/bundle/${digest("a")}/3`, {
    [`${api}/delays`]: bundleDelays([delay(of)]),
    [`${api}/delays/3/profile`]: flame(),
    [`${api}/delays/3/timeline`]: timeline(),
    "/api/v1/formats": { formats: [] },
    "/api/v1/delays": { delays: [], next: null },
    "/api/v1/events/checkout/runs": runList([]),
  });
  requested();
}

test("objects of one delay: filters and marks", async () => {
  await openDelay({ objects: objects() });
  const part = "[data-testid=objects]";
  expected.is("of one delay", shown("section[aria-label=Objects]"));
  await enter(`${part} [data-testid=objects-mark]`, "5");
  assert.equal(document.querySelectorAll(".object-long").length, 1);
  await enter(`${part} [data-testid=objects-mark]`, "4.9");
  assert.equal(document.querySelectorAll(".object-long").length, 5);
  await enter(`${part} [data-testid=objects-mark]`, "0");
  assert.equal(document.querySelectorAll(".object-long").length, 0);
  await enter(`${part} [data-testid=objects-filter]`, "add");
  expected.is("one function", shown(part));
  await enter(`${part} [data-testid=objects-filter]`, "");
  await check(`${part} input[type=checkbox]`, true);
  expected.is("one delay's failures", shown(part));
});

test("two hundred calls are shown at first", async () => {
  const longest = Array.from({ length: 201 }, (_, index) => objectCall(`f${index}`));
  await openDelay({ objects: objects({ longest }) });
  const rows = () => document.querySelectorAll("[data-testid=object-calls] tbody tr").length;
  assert.equal(rows(), 200);
  await click("Show 1 more call");
  assert.equal(rows(), 201);
  await click("Show fewer calls");
  assert.equal(rows(), 200);
  await openDelay({ objects: objects({ longest: longest.slice(1) }) });
  assert.equal(rows(), 200);
  assert.doesNotMatch(shown(), /more call/);
});
