import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { lostByDay, nameOf } from "../src/pages/who_delays_whom";
import type { RequestPair, WhoDelaysWhom } from "../src/types";
import { digest } from "./answers/digests";
import { ago, day_s } from "./page/clock";
import { Expected, address, admin, click, open, shown } from "./page/page";

const expected = new Expected("who_delays_whom_page");
const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";

function example(more: Partial<RequestPair["examples"][0]> = {}): RequestPair["examples"][0] {
  return {
    bundle: digest("a"),
    delay: 3,
    host: "web-1",
    begin_ns: ago(day_s),
    lost_ns: 40e6,
    how: "lock",
    place: "json::dumps",
    process: "shop",
    pid: 100,
    thread: "worker",
    tid: 103,
    unit: "shop.service",
    key: "17",
    trace_id,
    attributes: [],
    delayed_attributes: [],
    ...more,
  };
}

function pair(more: Partial<RequestPair> = {}): RequestPair {
  return {
    culprit: { event: "report", route: null, part: null },
    delayed: { event: "checkout", route: null, part: null },
    how: "lock",
    delays: 4,
    lost_ns: 100e6,
    longest_ns: 40e6,
    days: [
      { from_ns: "86400000000000", delays: 1, lost_ns: 20e6 },
      { from_ns: "259200000000000", delays: 3, lost_ns: 80e6 },
    ],
    examples: [example(), example({ delay: 4, key: "0", trace_id: null, place: "" })],
    ...more,
  };
}

const data: WhoDelaysWhom = {
  pairs: [
    pair(),
    pair({
      culprit: { event: "checkout", route: "/cart", part: null },
      delayed: { event: null, route: "/report", part: null },
      how: "busy-thread",
      lost_ns: 10e6,
      days: [{ from_ns: "86400000000000", delays: 1, lost_ns: 10e6 }],
      examples: [example()],
    }),
  ],
  pairs_left_out: 1,
  edges: 7,
  edges_read: 5,
  attributes: ["tenant"],
};
const answered = (answer: WhoDelaysWhom) => ({ "/api/v1/who-delays-whom": answer });
const nothing = { pairs: [], pairs_left_out: 0, edges: 0, edges_read: 0, attributes: [] };

test("pairs of requests, the picture, and examples", async () => {
  await open("/who-delays-whom?host=web-1&event=checkout", answered(data));
  expected.is("pairs", shown());
});

test("requests are split by what their programs published", async () => {
  const split = pair({
    culprit: { event: "report", route: "/r", part: "acme" },
    delayed: { event: "checkout", route: null, part: null },
    examples: [example({ attributes: [{ name: "tenant", value: "acme" }] })],
  });
  const answer = { ...data, pairs: [split] };
  await open("/who-delays-whom?by=attribute:tenant", answered(answer));
  expected.is("by tenant", `${shown("main #picture")}\n${shown("main tbody")}`);
  await click("#picture .choice button:nth-child(2)");
  assert.equal(address(), "/who-delays-whom?by=unit");
  await click("#picture .choice button:nth-child(1)");
  assert.equal(address(), "/who-delays-whom");
});

test("nothing to show", async () => {
  await open("/who-delays-whom", answered(nothing));
  expected.is("none", shown("main .notice"));
});

test("the head leads here once there is something to show", async () => {
  const links = () => [...document.querySelectorAll('header a[href="/who-delays-whom"]')].length;
  await open("/who-delays-whom", answered(nothing));
  assert.equal(links(), 0);
  await open("/who-delays-whom", answered(data), { ...admin, who_delays_whom: true });
  assert.equal(links(), 1);
});

test("days without delays count as zero", () => {
  assert.deepEqual(lostByDay(data.pairs[0].days), [20e6, 0, 80e6]);
  assert.deepEqual(lostByDay([]), []);
});

test("lost time of at most 400 days is drawn", () => {
  const day = (number: number) => ({
    from_ns: String(BigInt(number) * 86_400_000_000_000n),
    delays: 1,
    lost_ns: 7,
  });
  assert.equal(lostByDay([day(0), day(399)]).length, 400);
  assert.equal(lostByDay([day(0), day(400)]).length, 1);
  assert.deepEqual(lostByDay([day(5), day(5), day(6)]), [7, 7, 7]);
});

test("the picture has the first twelve pairs, and names of at most 36 letters", async () => {
  const pairs = Array.from({ length: 13 }, (_, index) =>
    pair({
      culprit: { event: String(index % 10).repeat(30 + index), route: null, part: null },
      delayed: { event: "checkout", route: null, part: null },
      lost_ns: (13 - index) * 10e6,
    }),
  );
  await open("/who-delays-whom", answered({ ...data, pairs }));
  const names = [...document.querySelectorAll("svg.pairs text")].map((one) => one.textContent);
  assert.equal(names.length, 13, "twelve culprits and one delayed request");
  assert.equal(names[6], "6".repeat(36));
  assert.equal(names[7], `${"7".repeat(14)}…${"7".repeat(21)}`);
  const widths = [...document.querySelectorAll("svg.pairs path")].map((one) =>
    one.getAttribute("stroke-width"),
  );
  assert.deepEqual([widths.length, widths[0], widths[11]], [12, "10.0", "2.4"]);
});

test("a request is named by its route, or its event", () => {
  assert.equal(nameOf({ event: "report", route: null, part: null }), "report");
  assert.equal(nameOf({ event: "report", route: "/r", part: null }), "/r");
  assert.equal(nameOf({ event: null, route: null, part: null }), "a request");
  assert.equal(nameOf({ event: "report", route: null, part: "acme" }), "report, acme");
});
