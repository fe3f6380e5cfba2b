import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName, matcher, objectName, span, wrongs } from "../src/pages/objects";
import { delay, delayRow } from "./answers/delays";
import { bundleDelays } from "./answers/delays";
import { classOf, failure, objectCall, objects, old } from "./answers/details";
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
  assert.equal(document.querySelector("[data-testid=all-objects]"), null);
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

test("words are found in functions, errors and titles", async () => {
  const named = (more: object) => objects({ failures: [], functions: [], oldest: [], ...more });
  await openDelay({
    objects: named({
      longest: [
        objectCall("serve"),
        objectCall("one", { depth: 1, title: "red" }),
        objectCall("two", { depth: 1, error: "blue" }),
        objectCall("three"),
      ],
      failures: [
        failure("f", { error: "e1", title: "t1" }),
        failure("g", { error: "e2", title: "t2" }),
      ],
      oldest: [
        old({ class: "C1", title: "t1", caller: "c1" }),
        old({
          class: "C2",
          title: "t2",
          caller: "c2",
          stack: { alive: 1, cut: false, frames: ["deep_2", "x"] },
        }),
      ],
    }),
  });
  const part = "[data-testid=objects]";
  const rows = (selector: string) =>
    [...document.querySelectorAll(`${part} ${selector} tbody tr`)].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent).join("|"),
    );
  const found = async (filter: string) => {
    await enter(`${part} [data-testid=objects-filter]`, filter);
    return {
      calls: rows("[data-testid=object-calls]").map((row) => row.split("|")[2]),
      failures: rows("[data-testid=object-failures]").map((row) => row.split("|")[1]),
      oldest: rows("[aria-label='Figures of objects']").map((row) => row.split("|")[0]),
    };
  };
  const only = (calls: string[], failures: string[], oldest: string[]) => ({
    calls,
    failures,
    oldest,
  });
  assert.deepEqual(await found("red"), only(["serve", "one"], [], []));
  assert.deepEqual(await found("blue"), only(["serve", "two"], [], []));
  assert.deepEqual(await found("three"), only(["three"], [], []));
  assert.deepEqual(await found("t2"), only([], ["g"], ["C2"]));
  assert.deepEqual(await found("e1"), only([], ["f"], []));
  assert.deepEqual(await found("c1"), only([], [], ["C1"]));
  assert.deepEqual(await found("deep_2"), only([], [], ["C2"]));
  assert.deepEqual(await found("-t1 -red -blue -serve"), only(["three"], ["g"], ["C2"]));
});

test("only parts that have something are shown", async () => {
  await openDelay({
    objects: objects({ longest: [], failures: [], oldest: [], not_reported: 1234, detached: 2345 }),
  });
  expected.is("without calls", shown("[data-testid=objects] h3", "[data-testid=objects] > p"));
});

test("words of filters, and names of objects and files", () => {
  assert.equal(matcher("cart-add")("my CART-add"), true);
  assert.equal(matcher("cart-add")("cart"), false);
  assert.equal(matcher("Cart -add")("cart"), true);
  assert.equal(matcher("Cart -add")("cart added"), false);
  assert.equal(matcher(" - ")("anything"), true);
  assert.equal(objectName((1 << 20) - 1, ""), "1048575");
  assert.equal(objectName(1 << 20, "a b"), '0x100000 "a b"');
  assert.equal(fileName("/usr/lib/a.so"), "a.so");
  assert.equal(fileName("a.so"), "a.so");
  assert.equal(
    span(objects({ process: "p", length_ns: 2e9, memory: "no probes" })),
    "of p, followed for 2 s; memory is not tracked: no probes",
  );
  assert.equal(wrongs(classOf("C")), "");
  assert.equal(
    wrongs(
      classOf("C", {
        released_twice: 1234,
        used_after: 1,
        replaced: 2345,
        unknown: 2,
        not_followed: 3456,
      }),
    ),
    "1,234 released twice; 1 call after release; 2,345 replaced without a recorded release; " +
      "2 calls on objects whose creation was not recorded; 3,456 not tracked",
  );
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

test("limits of the lists of all objects", async () => {
  const failures = Array.from({ length: 100 }, (_, index) => failure(`f${index}`));
  const classes = ["A", "B", "C", "D"].map((name) => classOf(name));
  await open("/objects", {
    "/api/v1/delays": {
      delays: [with_objects(1, { objects: objects({ failures, classes }) })],
      next: null,
    },
  });
  assert.equal(document.querySelector("section[aria-label=Failures] p.muted"), null);
  assert.match(shown("main"), />A, B, C, D</);
});
