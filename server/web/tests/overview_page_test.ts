import { test } from "node:test";
import { delayOf, life, record } from "./answers/causes";
import { delayRow } from "./answers/delays";
import { change, level, new_build, no_change, overview, overviewEvent } from "./answers/events";
import { ago, day_s, hour_s, pass } from "./page/clock";
import {
  Expected,
  address,
  admin,
  click,
  enter,
  open,
  reader,
  requested,
  shown,
} from "./page/page";
import { Refusal, pending, unreachable } from "./page/server";
import assert from "node:assert/strict";

const expected = new Expected("overview_page");
const changes = (event: string) => `/api/v1/events/${event}/change`;
const all_but_filters = ["h1", "[data-testid=as-of]", "main > div:not(.title-row)"];

const worse = [
  // Three events, the last two in the wrong order.
  overviewEvent("checkout", {
    verdict: "worse",
    factor: 2.58,
    lasting: level({ build: new_build }),
    extent: {
      hosts: { changed: 10, total: 21, concentrated: true, pattern: "fra-*" },
      units: { changed: 1, total: 1, concentrated: true, pattern: null },
      cause: record(),
    },
  }),
  overviewEvent("login", {
    verdict: "worse",
    factor: 1.31,
    lasting: level({ measure: "delays", before: 0.018, after: 0.036 }),
    extent: {
      hosts: { changed: 4, total: 4, concentrated: false, pattern: null },
      units: { changed: 1, total: 3, concentrated: true, pattern: null },
      cause: null,
    },
    newest_cause: record({ id: "9", title: "disk in fsync", status: "known" }),
  }),
  overviewEvent("search", {
    verdict: "worse",
    factor: 1.6,
    lasting: level({ measure: "p50", before: 0, after: 3e6 }),
    extent: {
      hosts: { changed: 2, total: 2, concentrated: false, pattern: null },
      units: { changed: 3, total: 3, concentrated: false, pattern: null },
      cause: null,
    },
  }),
  overviewEvent("mail", {
    verdict: "worse",
    runs_recorded: false,
    lasting: level({ measure: "delays", before: 0.81234, after: 5.1 }),
    extent: {
      hosts: { changed: 1, total: 1, concentrated: false, pattern: null },
      units: { changed: 1, total: 1, concentrated: false, pattern: null },
      cause: null,
    },
  }),
  overviewEvent("print", { verdict: "worse", factor: 1.7 }),
  overviewEvent("scan", {
    verdict: "worse",
    factor: 1.2,
    p99: { before_ns: 0, now_ns: 31e6, p_value: 0.001, q_value: 0.002 },
  }),
];

const others = [
  overviewEvent("better", {
    verdict: "better",
    factor: 0.4,
    lasting: level({ before: 31e6, after: 12e6 }),
    newest_cause: record({ id: "11", status: "resolved" }),
  }),
  overviewEvent("few", {
    verdict: "untested",
    p50: { before_ns: 2e6, now_ns: 3e6, p_value: null, q_value: null },
    p99: { before_ns: 0, now_ns: 3e6, p_value: null, q_value: null },
    delay_share: { before: 0, now: 0.01, p_value: null, q_value: null },
    newest_cause: record({ id: "12", noticed_ns: ago(7 * day_s) }),
  }),
  overviewEvent("old", {
    newest_cause: record({ id: "13", noticed_ns: ago(7 * day_s + 1) }),
    p50: { before_ns: 2e6, now_ns: 2e6, p_value: 0.01, q_value: 0.05 },
    p99: { before_ns: 20e6, now_ns: 2e6, p_value: 0.01, q_value: 0.0501 },
  }),
  overviewEvent("delays only", {
    runs_recorded: false,
    newest_cause: record({ id: "14", status: "regressed" }),
    last_ns: ago(-301),
  }),
];

const regressions = {
  [changes("checkout")]: change(),
  [changes("login")]: change({ change: null, causes: [] }),
  [changes("search")]: change({
    change: level({ build: null }),
    causes: [{ ...change().causes![1], cause: record({ id: "8", title: "disk in fsync" }) }],
  }),
  [changes("mail")]: no_change,
  [changes("print")]: no_change,
  [changes("scan")]: no_change,
  "/api/v1/causes/7": life({
    newest_delays: [
      delayOf(5),
      delayOf(400),
      delayOf(359),
      delayOf(300),
      delayOf(30, { bundle: null }),
      delayOf(330),
      delayOf(900),
    ],
  }),
  "/api/v1/causes/8": life({ id: "8", newest_delays: [] }),
  "/api/v1/causes/9": life({ id: "9" }),
  "/api/v1/delays": (request: { path: string }) => ({
    delays: request.path.includes("print")
      ? [5, 90, 40, 9].map((ms) => delayRow({ number: ms, duration_ns: ms * 1e6 }))
      : [],
    next: null,
  }),
};

test("what got worse has cards, the worst first; the rest is a table", async () => {
  await open("/", {
    "/api/v1/overview": overview([...worse, ...others], {
      total: 1011,
      bundles_waiting: 1,
      lost: {
        runs: 1234,
        hosts: [
          { host: "web-1", runs: 1000, last_ns: ago(3 * hour_s) },
          { host: "web-2", runs: 200, last_ns: ago(59) },
        ],
      },
    }),
    ...regressions,
  });
  expected.is("worse and others", shown());
});

test("readers see no links to alerts", async () => {
  await open("/", { "/api/v1/overview": overview([worse[0]]), ...regressions }, reader);
  expected.is("a reader", shown("article", ".ranking"));
});

test("at most twelve cards; the others that got worse are in the table", async () => {
  const many = Array.from({ length: 14 }, (_, index) =>
    overviewEvent(`e${index}`, {
      verdict: "worse",
      factor: index === 3 ? null : 1 + index / 10,
      lasting: level({ build: index === 0 ? new_build : null }),
    }),
  );
  await open("/", {
    "/api/v1/overview": overview(many, {
      bundles_waiting: 2,
      lost: { runs: 1, hosts: [{ host: "web-1", runs: 1, last_ns: ago(61) }] },
    }),
    ...Object.fromEntries(many.map(({ event }) => [changes(event), no_change])),
    "/api/v1/delays": { delays: [], next: null },
  });
  const cards = [...document.querySelectorAll("article")].map((one) =>
    one.getAttribute("aria-label"),
  );
  assert.deepEqual(cards, [
    "e3", "e13", "e12", "e11", "e10", "e9", "e8", "e7", "e6", "e5", "e4", "e2",
  ]); // prettier-ignore
  const rows = [...document.querySelectorAll(".ranking tbody th a")].map((one) => one.textContent);
  assert.deepEqual(rows, ["e0", "e1"]);
  expected.is(
    "many",
    shown(
      ".ranking tbody td:nth-child(2)",
      "[data-testid=verdict]",
      "[data-testid=waiting]",
      "#lost",
    ),
  );
});

test("orders and filters are in the address and the request", async () => {
  const answers = {
    "/api/v1/overview": overview([others[2]], {
      before_ns: ago(6 * day_s),
      from_ns: ago(3 * day_s),
    }),
  };
  await open("/?order=bogus&from=2026-11-21T11:34Z&to=2026-11-24T11:34Z&host=web-1", answers);
  expected.is("a fixed period", shown(...all_but_filters));
  for (const title of ["Event ↑", "p50", "p99", "Delays", "Runs", "Hosts", "Change"]) {
    await click(title === "Event ↑" ? "Event" : title);
    expected.is(`order by ${title}`, shown(".ranking thead"));
  }
});

test("the last hour, and periods that are not whole days", async () => {
  await open("/?span=1h", {
    "/api/v1/overview": overview([others[2]], { from_ns: ago(25 * hour_s) }),
  });
  expected.is("the last hour", shown("[data-testid=as-of]", "[data-testid=verdict]"));
  await open("/?span=1h", { "/api/v1/overview": overview([others[2]], { from_ns: ago(hour_s) }) });
  expected.is("one hour", shown("[data-testid=verdict]"));
  await pass(60e3);
  expected.is("a minute later", shown("[data-testid=as-of]", "[data-testid=verdict]"));
});

test("an empty overview says why", async () => {
  const nothing = { "/api/v1/overview": overview([]) };
  const has_events = { "/api/v1/events": { events: [{ event: "old" }], next: null } };
  const no_events = { "/api/v1/events": { events: [], next: null } };
  await open("/?host=web-1", nothing);
  expected.is("nothing matches", shown(...all_but_filters));
  await open("/", { ...nothing, ...has_events });
  expected.is("nothing in this period", shown(...all_but_filters));
  await open("/", { ...nothing, "/api/v1/events": pending });
  expected.is("not known yet whether there are events", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events });
  expected.is("first steps of an admin", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events }, { ...admin, account: "" });
  expected.is("first steps without accounts", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events }, reader);
  expected.is("first steps of a reader", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events }, { ...reader, sees_everything: false });
  expected.is("first steps without a team", shown(...all_but_filters));
  await open(
    "/",
    { ...nothing, ...no_events },
    { ...reader, sees_everything: false, teams: ["shop"] },
  );
  expected.is("first steps in a team", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events }, { ...reader, role: "uploader" });
  expected.is("first steps of an uploader", shown(...all_but_filters));
  await open("/", { ...nothing, ...no_events }, { ...admin, sees_everything: false });
  expected.is("first steps of an admin without a team", shown("[data-testid=first-steps] li"));
});

test("errors stay until an answer comes; old data stays while there is none", async () => {
  const answers: Record<string, unknown> = { "/api/v1/overview": pending };
  let now: unknown = pending;
  answers["/api/v1/overview"] = () => now;
  await open("/", answers);
  expected.is("loading", shown(...all_but_filters));
  now = new Refusal(503);
  await open("/", answers);
  expected.is("an error", shown(...all_but_filters));
  now = overview([others[2]]);
  await click("Try again");
  expected.is("tried again", shown(...all_but_filters));
  now = unreachable;
  await click("p50");
  expected.is("old data", shown("[data-testid=outdated]"));
  requested();
  await pass(4999);
  assert.deepEqual(requested(), []);
  now = overview([others[1]]);
  await pass(1);
  assert.equal(requested().length, 1);
  expected.is("new data", shown(...all_but_filters));
  now = "not JSON";
  await click("Runs");
  expected.is("an invalid answer", shown("[data-testid=outdated]"));
  now = new Refusal(404, "gone", "look elsewhere");
  await click("p99");
  expected.is("an error for good", shown(...all_but_filters));
  assert.equal(address(), "/?order=p99");
  await pass(60e3);
  await enter("select[name=span]", "7d");
  assert.equal(address(), "/?order=p99&span=7d");
});

test("an end of the period is enough to fix it", async () => {
  const answers = { "/api/v1/overview": overview([others[2]]) };
  const asked = async (query: string) => {
    await open(`/${query}`, answers);
    const request = requested().find((one) => one.startsWith("GET /api/v1/overview?")) ?? "";
    const as_of = document.querySelector("[data-testid=as-of]")?.textContent ?? "";
    return [request.replace("GET /api/v1/overview?", ""), as_of.split(" ")[0]];
  };
  const day_ns = String(BigInt(Date.UTC(2026, 10, 20)) * 1000000n);
  const rest = "order=change&limit=200";
  assert.deepEqual(await asked("?from=2026-11-20"), [`from=${day_ns}&${rest}`, "Fixed"]);
  assert.deepEqual(await asked("?to=2026-11-20"), [`to=${day_ns}&${rest}`, "Fixed"]);
  const hour_ns = (ago_h: number) => String(BigInt(Date.UTC(2026, 10, 24, 13 - ago_h)) * 1000000n);
  assert.deepEqual(await asked(""), [`from=${hour_ns(24)}&${rest}`, "Updated"]);
  const [request, as_of] = await asked("?span=7d");
  assert.match(request, /^from=\d+&order/);
  assert.notEqual(request, `from=${hour_ns(24)}&${rest}`);
  assert.equal(as_of, "Updated");
});

test("periods are whole days from two days on", async () => {
  const said: string[] = [];
  for (const hours of [1, 24, 47.6, 48, 49, 72]) {
    const from_ns = ago(hours * hour_s);
    await open("/", { "/api/v1/overview": overview([others[2]], { from_ns }) });
    const text = document.querySelector("[data-testid=verdict]")?.textContent ?? "";
    said.push(/compared with the (.*) before/.exec(text)?.[1] ?? text);
  }
  assert.deepEqual(said, ["1 hour", "24 hours", "2 days", "2 days", "49 hours", "3 days"]);
});

const typical = () => document.querySelector(".regression-links a[href^='/bundle/']");

test("the typical delay is the one in the middle of those since the change", async () => {
  const from_ns = ago(hour_s);
  const event = overviewEvent("checkout", {
    verdict: "worse",
    factor: 2,
    lasting: level({ from_ns }),
    newest_cause: record(),
  });
  const at = (number: number, excess_ms: number, ago_s: number, more: object = {}) =>
    delayOf(excess_ms, { delay: number, begin_ns: ago(ago_s), ...more });
  const opened = async (newest_delays: ReturnType<typeof at>[], more: object = {}) => {
    await open("/", {
      "/api/v1/overview": overview([{ ...event, ...more }]),
      [changes("checkout")]: no_change,
      "/api/v1/causes/7": life({ newest_delays }),
    });
    return typical()?.getAttribute("href")?.split(/[/?]/)[3];
  };
  const late = [at(1, 90, 10), at(2, 10, 20), at(3, 50, 30)];
  assert.equal(await opened(late), "3");
  assert.equal(await opened([...late, at(4, 60, 40)]), "4");
  // Those before the change and without a recording do not count, one at its begin does.
  const others_ = [at(5, 95, 3600.001), at(6, 96, 40, { bundle: null }), at(7, 97, 50)];
  assert.equal(await opened([...late, ...others_]), "1");
  assert.equal(await opened([at(8, 1, 3601), at(9, 2, 3600)]), "9");
  assert.equal(await opened([at(8, 1, 3601)]), undefined);
  // Without a lasting change, all count.
  assert.equal(await opened([at(8, 1, 3601)], { lasting: null }), "8");
});

test("without a cause, the typical delay is one of the event's", async () => {
  const event = overviewEvent("a b", {
    verdict: "worse",
    factor: 2,
    lasting: level({ from_ns: ago(hour_s) }),
  });
  const delays = [9, 5, 7].map((ms) => delayRow({ number: ms, duration_ns: ms * 1e6 }));
  await open("/", {
    "/api/v1/overview": overview([event]),
    [changes("a%20b")]: no_change,
    "/api/v1/delays": { delays, next: null },
  });
  assert.ok(requested().includes(`GET /api/v1/delays?event=a%20b&limit=100&from=${ago(hour_s)}`));
  assert.match(typical()?.getAttribute("href") ?? "", /\/7$/);
});

test("a period that ends now is requested again in each minute", async () => {
  await open("/", { "/api/v1/overview": overview([others[2]]) });
  requested();
  await pass(60e3);
  assert.equal(requested().filter((one) => one.includes("/overview?")).length, 1);
  await open("/?from=2026-11-20&to=2026-11-21", { "/api/v1/overview": overview([others[2]]) });
  requested();
  await pass(60e3);
  assert.deepEqual(requested(), []);
});

test("the share of a new cause is shown only if the change has it", async () => {
  const said = async (answer: unknown) => {
    await open("/", { "/api/v1/overview": overview([worse[0]]), [changes("checkout")]: answer });
    return document.querySelector("[data-testid=regression-cause]")?.textContent;
  };
  const name = "New: lock of Cart::add";
  assert.equal(await said(change()), `${name} (83.0 % of the delays since)`);
  assert.equal(await said(no_change), name);
  assert.equal(await said(pending), name);
  assert.equal(await said(change({ causes: change().causes?.slice(1) })), name);
});
