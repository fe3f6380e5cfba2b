import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { partOfDelays } from "../src/pages/event_change";
import { changeText, partsText } from "../src/verdict";
import { cause, causes, record } from "./answers/causes";
import { delayRow } from "./answers/delays";
import { digest } from "./answers/digests";
import { change, level, new_build, no_change, part, splitOf, trend } from "./answers/events";
import {
  all_kinds,
  delaySummary,
  run,
  runList,
  shift,
  split,
  splitPart,
  summary,
} from "./answers/runs";
import { ago, day_s, hour_s } from "./page/clock";
import {
  Expected,
  address,
  click,
  enter,
  open,
  point,
  reader,
  requested,
  shown,
} from "./page/page";
import { Refusal, pending } from "./page/server";

const expected = new Expected("event_page");
const path = "/api/v1/events/a%2Fb";
const none_needed = { runs: 2, middle: null, slow: null };

export function answers(more: Record<string, unknown> = {}) {
  return {
    [`${path}/summary`]: summary(),
    [`${path}/trend`]: trend(),
    [`${path}/change`]: no_change,
    [`${path}/causes`]: causes([]),
    [`${path}/split`]: split(),
    [`${path}/runs`]: runList(all_kinds),
    [`${path}/times`]: shift(none_needed as object),
    ...more,
  };
}

const section = (id: string) => `section#${id}`;

test("the figures, charts and sections of an event", async () => {
  await open("/event/a%2Fb", answers());
  expected.is("an event", shown());
});

test("what is under the pointer in the charts", async () => {
  const charts = {
    distribution: "section[aria-label='Distribution of durations'] canvas",
    hours: "section[aria-label='Delays by hour'] canvas",
  };
  await open("/event/a%2Fb", answers());
  for (const [name, canvas] of Object.entries(charts))
    for (const x of [51, 200, 599]) {
      await point(canvas, "mousemove", x, 50);
      expected.is(`${name} at ${x}`, shown(".tip"));
    }
  const percentiles = { p50: 3e6, p75: 3.1e6, p90: 5e6, p95: 60e6, p99: 64e6, max: 90e6 };
  await open("/event/a%2Fb", answers({ [`${path}/summary`]: summary({ percentiles }) }));
  expected.is("percentiles that are close, and beyond", shown(charts.distribution));
  const hour = (index: number) => ({ hour_ns: ago(index * hour_s), runs: 1, delays: 1 });
  for (const [name, hours] of [
    ["one hour", [hour(0)]],
    ["1,500 hours", [hour(1499), hour(0)]],
    ["more hours, without gaps", [hour(1500), hour(0)]],
    ["no hours", []],
  ] as const) {
    await open("/event/a%2Fb", answers({ [`${path}/summary`]: summary({ hours: [...hours] }) }));
    expected.is(name, document.querySelector(charts.hours)?.getAttribute("aria-label") ?? "");
  }
});

test("a page of a reader, with filters", async () => {
  await open(
    "/event/a%2Fb?host=web-1&span=24h&dirty=1&outliers=0&start=cold&search=x",
    answers({ [`${path}/summary`]: summary({ delays: 0, share_over: 0, threshold_ns: null }) }),
    reader,
  );
  expected.is("filtered", shown(".title-row", ".figures", "section > header"));
});

test("an event without runs: nothing, delays only, or not known yet", async () => {
  const none = { [`${path}/summary`]: summary({ runs: 0, hidden: 0 }) };
  await open("/event/a%2Fb", answers({ ...none, [`${path}/delays`]: delaySummary({ delays: 0 }) }));
  expected.is("no runs", shown());
  await open(
    "/event/a%2Fb?host=h",
    answers({ ...none, [`${path}/delays`]: delaySummary({ delays: 0 }) }),
  );
  expected.is("no runs with these filters", shown("main > [aria-busy]"));
  await open("/event/a%2Fb", answers({ ...none, [`${path}/delays`]: pending }));
  expected.is("delays not known yet", shown("main > [aria-busy]"));
  await open("/event/a%2Fb", answers({ [`${path}/summary`]: summary({ runs: 0, hidden: 1 }) }));
  assert.ok(document.querySelector(section("runs")));
});

const only_delays = {
  [`${path}/summary`]: summary({ runs: 0, hidden: 0 }),
  [`${path}/delays`]: delaySummary(),
  [`${path}/trend`]: trend({ runs_recorded: false, verdict: "worse", factor: 3 }),
};

test("an event with delays only", async () => {
  let further: unknown = new Refusal(500, "broken");
  await open(
    "/event/a%2Fb",
    answers({
      ...only_delays,
      "/api/v1/delays": (request: { path: string }) =>
        request.path.includes("after")
          ? further
          : { delays: [delayRow(), delayRow({ number: 4, unit: "", build: "" })], next: "x" },
    }),
  );
  expected.is("delays only", shown());
  await click("Show more delays");
  expected.is("more delays fail", shown("section#delays > .failure"));
  further = { delays: [delayRow({ number: 5 })], next: null };
  await click("Try again");
  expected.is("more delays", shown("section#delays tbody th", "section#delays > p"));
  await click("slowest");
  expected.is("slowest delays", shown("section#delays > header"));
  await click("newest");
  assert.equal(address(), "/event/a%2Fb");
});

test("delays with filters, more than were read", async () => {
  await open(
    "/event/a%2Fb?host=web-1&dirty=1&outliers=0&start=warm",
    answers({
      ...only_delays,
      [`${path}/delays`]: delaySummary({
        delays: 1234,
        delays_read: 1000,
        threshold_ns: null,
        units: delaySummary().units.slice(0, 12),
      }),
      "/api/v1/delays": { delays: [], next: null },
    }),
  );
  expected.is(
    "delays with filters",
    shown("[data-testid=delays-only]", ".figures", "section[aria-label^=Units]", "section#delays"),
  );
});

test("the trend: verdicts, changes and builds", async () => {
  const verdicts = {
    worse: trend({ verdict: "worse", factor: 2, lasting: level({ build: new_build }) }),
    better: trend({ verdict: "better", factor: 0.5, lasting: level({ before: 9, after: 3 }) }),
    "better, of delays": trend({
      verdict: "better",
      p50: { before_ns: 0, now_ns: 2e6, p_value: 0.01, q_value: 0.01 },
      p99: { before_ns: 9e6, now_ns: 2e6, p_value: 0.01, q_value: 0.051 },
    }),
    "two figures": trend({
      verdict: "better",
      p50: { before_ns: 4e6, now_ns: 2e6, p_value: 0.01, q_value: 0.05 },
    }),
    untested: trend({ verdict: "untested" }),
    "no runs": trend({ units: { ...trend().units, runs: [0, 0, 0, 0, 0, 0, 0, 0] } }),
  };
  for (const [name, answer] of Object.entries(verdicts)) {
    await open("/event/a%2Fb", answers({ [`${path}/trend`]: answer }));
    expected.is(`verdict: ${name}`, shown("p.verdict"));
  }
  expected.is("trend without runs", shown(section("trend")));
  await open(
    "/event/a%2Fb?span=7d",
    answers({
      [`${path}/trend`]: trend({
        to_ns: ago(-1),
        unit_ns: 80000e9,
        changes: [
          level({ build: new_build, from_ns: ago(30 * hour_s) }),
          level({ measure: "delays", before: 0.04, after: 0.02 }),
        ],
        builds_seen: Array.from({ length: 10 }, (_, index) => ({
          build: `build-${index}`,
          runs: index,
          delays: 1,
          first_ns: ago(4 * day_s - index * hour_s),
          last_ns: ago(0),
        })),
      }),
    }),
  );
  expected.is("a trend with changes", shown(section("trend")));
  const area = ".trend-area";
  await point(area, "mousemove", 0, 5);
  expected.is("at the first unit", shown("section#trend .readout", "section#trend .cursor"));
  await point(area, "mousemove", 2.5 * (600 / 8), 5);
  expected.is("at a unit without runs", shown("section#trend .readout"));
  await point(area, "mousemove", 700, 5);
  expected.is("beyond the last unit", shown("section#trend .readout", "section#trend .cursor"));
  await point(area, "mouseleave", 0, 0);
  assert.match(shown("section#trend .readout"), /Hover for figures/);
});

test("the unit under the pointer, of delays only", async () => {
  await open("/event/a%2Fb", answers({ [`${path}/trend`]: trend({ runs_recorded: false }) }));
  await point(".trend-area", "mousemove", 230, 5);
  expected.is("one delay", shown("section#trend .readout"));
});

test("where it changed", async () => {
  await open("/event/a%2Fb", answers({ [`${path}/change`]: change() }));
  expected.is("a change", shown("p.verdict", ".title-links", section("change"), section("causes")));
  await click("section#change .choice button:nth-child(2)");
  expected.is("by build", shown(section("change")));
  await click("section#change .choice button:nth-child(3)");
  expected.is("by unit", shown("[data-testid=where]", "section#change thead"));
  await click("section#change .choice button:nth-child(1)");
  assert.equal(address(), "/event/a%2Fb");
  const many = splitOf(Array.from({ length: 31 }, (_, index) => part(`h${index}`, 0.01, 0.02)));
  await open(
    "/event/a%2Fb?where=host",
    answers({
      [`${path}/change`]: change({
        change: level({ measure: "delays", before: 1, after: 2 }),
        runs_recorded: false,
        hosts: many,
        causes: change().causes?.slice(1),
      }),
    }),
  );
  expected.is(
    "of delays only, on many hosts",
    shown("section#change > :not(.scroll)", "section#change tr:nth-child(-n+1)"),
  );
  assert.equal(document.querySelectorAll("section#change tbody tr").length, 30);
  await open(
    "/event/a%2Fb",
    answers({
      [`${path}/change`]: change({ runs_recorded: false, hosts: splitOf([part("h", 0.5, 2.25)]) }),
    }),
  );
  expected.is("rates per hour", shown("[data-testid=new-causes]", "section#change tbody"));
});

test("links to where it changed keep the other filters", async () => {
  const links = () =>
    [...document.querySelectorAll("section#change a[href^='?']")].map((link) =>
      link.getAttribute("href"),
    );
  const units = splitOf([part("shop.service", 0.01, 0.02)], { pattern: "shop.*" });
  const rest = "span=7d&dirty=1";
  await open(
    `/event/a%2Fb?host=web-1&user=1000&${rest}`,
    answers({ [`${path}/change`]: change({ units }) }),
  );
  assert.deepEqual(links(), [
    `?host=fra-*&user=1000&${rest}`,
    `?host=fra-1&user=1000&${rest}`,
    `?host=fra-2&user=1000&${rest}`,
  ]);
  await click("section#change .choice button:nth-child(3)");
  assert.deepEqual(links(), [
    `?host=web-1&user=1000&unit=shop.*&${rest}`,
    `?host=web-1&user=1000&unit=shop.service&${rest}`,
  ]);
});

test("the causes of the delays, those of the change first", async () => {
  const found = [
    cause({ signature: "s1", record: record({ id: "8" }), single_host: true }),
    cause({
      signature: "s2",
      title: "waits for a CPU",
      state: "runnable",
      reason: "",
      normal_ns: 0,
      users: 0,
      hosts: 1,
      affected_runs: 1,
      record: record({ id: "7", owner: "ada", status: "resolved" }),
      example: null,
      builds: [],
      frames: [{ function: "[waits for a CPU]", module: "" }],
    }),
    cause({
      signature: "s3",
      record: null,
      builds: [
        { build: "b1", runs: 0, delayed: 0, affected: 0, rate: null, excess_ns: 0 },
        { build: "b2", runs: 0, delayed: 4, affected: 1, rate: null, excess_ns: 2e6 },
      ],
    }),
  ];
  await open(
    "/event/a%2Fb",
    answers({
      [`${path}/causes`]: causes(found, { runs_left_out: 1234 }),
      [`${path}/change`]: change(),
      [`/api/v1/bundles/${digest("a")}/delays/3/profile`]: new Refusal(404, "gone"),
    }),
  );
  expected.is("causes", shown(section("causes")));
  await click("section#causes li:nth-child(3) summary");
  expected.is("the third cause", shown("section#causes li:nth-child(3)"));
});

test("no cause, and why", async () => {
  await open(
    "/event/a%2Fb",
    answers({
      [`${path}/causes`]: causes([], {
        silent_because: "Too few normal runs.",
        delayed_runs: 1,
        normal_runs: 2,
        bundles: 1,
      }),
    }),
  );
  expected.is("silent", shown(section("causes")));
});

test("many builds of a cause: the last 24 as bars, four as a table", async () => {
  const builds = Array.from({ length: 26 }, (_, index) => ({
    build: `b${index}`,
    runs: 100,
    delayed: 4,
    affected: index === 25 ? 4 : 0,
    rate: index === 25 ? 0.05 : 0,
    excess_ns: 5e6,
  }));
  await open(
    "/event/a%2Fb",
    answers({ [`${path}/causes`]: causes([cause({ builds, example: null })]) }),
  );
  assert.equal(document.querySelectorAll(".history rect").length, 24);
  expected.is("builds", shown(".history table", ".history rect:last-of-type"));
});

test("percentiles of hosts, builds and units", async () => {
  await open(
    "/event/a%2Fb",
    answers({
      [`${path}/split`]: split({
        to_ns: ago(-1),
        others: splitPart("", { delays: 1 }),
        other_names: 1234,
        runs_read: 5000,
        read_from_ns: ago(day_s),
        runs_read_most: 5000,
      }),
    }),
  );
  expected.is("by host", shown(section("split")));
  await click("section#split .choice button:nth-child(2)");
  expected.is("split by build", shown("section#split > header", "section#split h3"));
  await open(
    "/event/a%2Fb?by=build&span=24h",
    answers({
      [`${path}/split`]: split({
        parts: [splitPart(new_build), splitPart("b9")],
        unit_ns: 80000e9,
        read_from_ns: ago(day_s),
      }),
    }),
  );
  expected.is(
    "builds by day",
    shown("section#split > header", "section#split p", "section#split h3"),
  );
  await open("/event/a%2Fb?by=unit", answers({ [`${path}/split`]: split({ parts: [] }) }));
  expected.is("no parts", shown(section("split")));
});

test("where slow runs differ", async () => {
  await open("/event/a%2Fb", answers({ [`${path}/times`]: shift() }));
  expected.is("slow runs", shown(section("times")));
  const slow = { runs: 1, shortest_ns: 9e6, longest_ns: 9e6, mean_ns: 9e6 };
  await open("/event/a%2Fb", answers({ [`${path}/times`]: shift({ slow, runs_timed: 1 }) }));
  expected.is(
    "not slower",
    shown("[data-testid=time-shift-words]", ".shift-bars", "#times p.muted"),
  );
  const equal = { ...slow, mean_ns: 10e6 };
  await open("/event/a%2Fb", answers({ [`${path}/times`]: shift({ slow: equal }) }));
  assert.match(shown("[data-testid=time-shift-words]"), /take no longer than typical runs/);
  for (const missing of [{ middle: null }, { slow: null }]) {
    await open("/event/a%2Fb", answers({ [`${path}/times`]: shift(missing) }));
    assert.match(shown(section("times")), /4,321 of the newest 5,000 runs have one; 200 are/);
  }
  const few = shift({ middle: null, slow: null, runs_timed: 1, runs_read: 1 });
  await open("/event/a%2Fb", answers({ [`${path}/times`]: few }));
  expected.is("too few", shown(section("times")));
});

test("percentiles of stages, between any points, and before a change", async () => {
  await open("/event/a%2Fb", answers());
  expected.is("stages", shown(section("stages")));
  const [from, to] = document.querySelectorAll<HTMLSelectElement>("section#stages select");
  from.id = "from-point";
  to.id = "to-point";
  await enter("#from-point", "write");
  expected.is("from write to the end", shown("section#stages tbody tr:last-child"));
  await enter("#to-point", "read");
  expected.is("in no run", shown("section#stages tbody tr:last-child"));
  const before = [run(1), run(2)];
  await open(
    "/event/a%2Fb?span=7d&host=h",
    answers({
      [`${path}/change`]: change(),
      [`${path}/runs`]: (request: { path: string }) =>
        runList(
          request.path.includes("to=") && !request.path.includes(`to=${ago(0)}`)
            ? before
            : all_kinds,
        ),
    }),
  );
  expected.is("before and after", shown(section("stages")));
  await open("/event/a%2Fb", answers({ [`${path}/runs`]: runList([run(1, { stages: [] })]) }));
  assert.equal(document.querySelector("section#stages"), null);
  requested();
});

test("without a time, sections of the event cover thirty days", async () => {
  const sections = ["trend", "split", "change"];
  const asked = async (query: string) => {
    await open(`/event/a%2Fb${query}`, answers());
    const made = requested();
    return sections.map((name) => {
      const [request] = made.filter((one) => one.startsWith(`GET ${path}/${name}`));
      const { searchParams } = new URL(request.replace("GET ", "https://lagtrap.example"));
      return [searchParams.get("from"), searchParams.get("to")];
    });
  };
  const titles = () =>
    ["trend", "split"].map((id) => document.querySelector(`section#${id} h2`)?.textContent);
  const first_ns = String(BigInt(Date.UTC(2026, 10, 25) - 30 * 86400e3) * 1000000n);
  const month = await asked("");
  for (const times of month) assert.deepEqual(times, [first_ns, null]);
  assert.deepEqual(titles(), ["Trend, last 30 days", "By host, last 30 days"]);
  const at_ns = String(BigInt(Date.UTC(2026, 10, 20)) * 1000000n);
  for (const times of await asked("?from=2026-11-20")) assert.deepEqual(times, [at_ns, null]);
  assert.deepEqual(titles(), ["Trend", "By host"]);
  for (const times of await asked("?to=2026-11-20")) assert.deepEqual(times, [null, at_ns]);
  assert.deepEqual(titles(), ["Trend", "By host"]);
  await asked("?span=1h");
  assert.deepEqual(titles(), ["Trend", "By host"]);
});

test("parts of an event by name, build and unit, with the choice in the address", async () => {
  await open("/event/a%2Fb", answers());
  await click("section#split .choice button:nth-child(3)");
  assert.equal(address(), "/event/a%2Fb?by=unit");
  await click("section#split .choice button:nth-child(1)");
  assert.equal(address(), "/event/a%2Fb");
  // Only an answer that stopped at the limit is cut, and only if the server says where.
  for (const more of [
    { read_from_ns: ago(day_s), runs_read: 4999 },
    { read_from_ns: null, runs_read: 5000 },
  ]) {
    await open("/event/a%2Fb", answers({ [`${path}/split`]: split(more) }));
    assert.doesNotMatch(shown("section#split p.muted"), /Only the newest/);
  }
});

test("exactly thirty parts are all shown, and means are rounded", async () => {
  const parts = Array.from({ length: 30 }, (_, index) => part(`h${index}`, 0.01, 0.02));
  parts[0].after.runs = 1234.5;
  await open("/event/a%2Fb", answers({ [`${path}/change`]: change({ hosts: splitOf(parts) }) }));
  assert.equal(document.querySelectorAll("section#change tbody tr").length, 30);
  assert.doesNotMatch(shown("section#change"), /Showing 30/);
  assert.match(shown("section#change tbody tr:first-child"), /1,235/);
});

test("builds that replace each other have no change of their own", async () => {
  const none = { runs: 0, slow: 0, share: 0 };
  const parts = [part("b1", 0.01, 0, { after: none }), part("b2", 0, 0.08, { before: none })];
  const where = async (builds: ReturnType<typeof part>[]) => {
    const path_of = { [`${path}/change`]: change({ builds: splitOf(builds) }) };
    await open("/event/a%2Fb?where=build", answers(path_of));
    return shown("[data-testid=where]");
  };
  assert.match(await where(parts), /No build has runs both before and after it, 23 Nov/);
  assert.match(await where([...parts, part("b3", 0.01, 0.02)]), /on all 3 builds alike, 23 Nov/);
});

test("changed parts stand out only if the change is concentrated on them", async () => {
  const parts = [part("h1", 0.01, 0.08, { changed: true }), part("h2", 0.01, 0.02)];
  for (const concentrated of [true, false]) {
    const hosts = splitOf(parts, { concentrated });
    await open("/event/a%2Fb", answers({ [`${path}/change`]: change({ hosts }) }));
    const marked = [...document.querySelectorAll("section#change tbody .problem")];
    assert.equal(marked.length, concentrated ? 1 : 0);
  }
});

test("bars of more than sixty hours touch", async () => {
  const chart = "section[aria-label='Delays by hour'] canvas";
  for (const count of [60, 61]) {
    const hours = Array.from({ length: count }, (_, index) => ({
      hour_ns: ago((count - index) * hour_s),
      runs: 2,
      delays: 1,
    }));
    await open("/event/a%2Fb", answers({ [`${path}/summary`]: summary({ hours }) }));
    const boxes = shown(chart)
      .split("\n")
      .filter((text) => /#d55e00 box/.test(text));
    expected.is(`${count} hours`, boxes.slice(0, 2).join("\n"));
  }
});

test("times below a trend whose units are no multiple of four", async () => {
  const six = (value: number) => Array<number>(6).fill(value);
  const units = { runs: six(9), delays: six(1), p50: six(2e6), p90: six(5e6), p99: six(9e6) };
  await open("/event/a%2Fb", answers({ [`${path}/trend`]: trend({ units }) }));
  expected.is("six units", shown(".trend-times", "section#trend svg"));
});

test("figures that were not tested, or are unknown, are no reasons for a verdict", async () => {
  const p = (before_ms: number, now_ms: number, q_value: number | null) => ({
    before_ns: before_ms * 1e6,
    now_ns: now_ms * 1e6,
    p_value: q_value,
    q_value,
  });
  const said = async (p50: ReturnType<typeof p>, p99: ReturnType<typeof p>) => {
    const answer = trend({ verdict: "better", factor: 0.5, p50, p99 });
    await open("/event/a%2Fb", answers({ [`${path}/trend`]: answer }));
    return document.querySelector("p.verdict strong")?.textContent;
  };
  const fewer = "Fewer delays than in the period before (−50 %).";
  assert.equal(await said(p(4, 2, null), p(9, 3, 0.2)), fewer);
  assert.equal(await said(p(0, 2, 0.01), p(9, 3, 0.0501)), fewer);
  assert.equal(
    await said(p(4, 2, null), p(9, 3, 0.05)),
    "Faster than in the period before: p99 3 ms, was 9 ms.",
  );
  assert.equal(changeText(0, 5, 0.01), null);
  assert.equal(changeText(5, 0, 0.01), null);
  assert.equal(partsText({ changed: 1, total: 2, concentrated: false, pattern: "a*" }, "x"), null);
});

test("stages are shown before the runs before the change are known", async () => {
  await open(
    "/event/a%2Fb",
    answers({
      [`${path}/change`]: change(),
      [`${path}/runs`]: (request: { path: string }) =>
        request.path.includes(`from=${change().before_ns}`) ? pending : runList(all_kinds),
    }),
  );
  expected.is("runs before are not known yet", shown("section#stages tbody", "section#stages > p"));
});

test("a cause has a part of the delays since the change, or of those added by it", () => {
  assert.equal(partOfDelays(0.83, level({ measure: "p99" })), "83.0 % of the delays since");
  assert.equal(partOfDelays(0.83, level({ measure: "p50" })), "83.0 % of the delays since");
  assert.equal(partOfDelays(0.83, level({ measure: "delays" })), "83.0 % of the additional delays");
});
