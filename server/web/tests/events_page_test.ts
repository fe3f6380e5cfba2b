import assert from "node:assert/strict";
import { test } from "node:test";
import { no_losses } from "./answers/events";
import { ago, day_s, hour_s } from "./page/clock";
import { Expected, admin, click, open, requested, shown } from "./page/page";
import { Refusal } from "./page/server";

const expected = new Expected("events_page");

const rows = [
  { event: "a/b <c>", last_ns: ago(-400), runs: 12345, delays: 67, hosts: 1234, bundles: 5 },
  { event: "delays", last_ns: ago(30), runs: 0, delays: 3, hosts: 1, bundles: 3 },
  { event: "never late", last_ns: ago(3 * hour_s), runs: 9, delays: 0, hosts: 1, bundles: 0 },
  { event: "always late", last_ns: ago(90 * day_s), runs: 9, delays: 9, hosts: 1, bundles: 9 },
];

test("events with their figures, in parts", async () => {
  let further: unknown = new Refusal(500);
  await open("/events?host=web-1&span=7d", {
    "/api/v1/events": (request: { path: string }) =>
      request.path.includes("after=")
        ? further
        : { events: rows, next: "a b", lost: { runs: 2, hosts: [] } },
  });
  expected.is("the first part", shown());
  await click("Show more events");
  expected.is("the next part fails", shown("main > [aria-busy] > .notice.failure"));
  further = { events: [{ ...rows[1], event: "more" }], next: null, lost: no_losses };
  await click("Try again");
  assert.deepEqual(requested(), [
    "GET /api/v1/events?host=web-1&from=1794960000000000000&limit=100&after=a%20b",
  ]);
  assert.equal(document.querySelectorAll("tbody tr").length, 5);
  assert.equal(document.querySelector("main table ~ p, .failure"), null);
});

test("without events: first steps, or that none matches; and what was lost", async () => {
  const none = {
    events: [],
    next: null,
    lost: { runs: 1, hosts: [{ host: "web-1", runs: 1, last_ns: ago(day_s) }] },
  };
  await open("/events", { "/api/v1/events": none });
  expected.is("no events", shown("main > [aria-busy]"));
  await open("/events?search=x", { "/api/v1/events": none });
  expected.is("no matches", shown("main > [aria-busy]"));
  await open("/events", { "/api/v1/events": new Refusal(403, "not allowed") }, admin);
  expected.is("refused", shown("main > .notice"));
});
