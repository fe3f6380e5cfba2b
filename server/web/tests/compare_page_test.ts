import assert from "node:assert/strict";
import { test } from "node:test";
import { figure, sets } from "./answers/comparisons";
import { part, splitOf } from "./answers/events";
import { flame } from "./answers/profiles";
import {
  Expected,
  address,
  check,
  click,
  enter,
  open,
  point,
  press,
  requested,
  shown,
} from "./page/page";

const expected = new Expected("compare_page");
const path = "/api/v1/events/check%2Fout/compare";
const there = "/compare?event=check%2Fout&a=build%3Db1%26host%3Dweb-1&b=build%3Db2b2b2b2b2b2b2b2";

function answers(more: Record<string, unknown> = {}) {
  return {
    "/api/v1/events": { events: [{ event: "checkout" }, { event: "login" }], next: null },
    [path]: sets(),
    [`${path}/flame`]: flame(),
    ...more,
  };
}

const compared = "main > [aria-busy]";

test("an event is chosen first", async () => {
  await open("/compare", answers());
  expected.is("no event", shown());
  await enter("select[name=event]", "login");
  assert.equal(address(), "/compare?event=login");
  expected.is("the same sets", shown());
});

test("two sets compared", async () => {
  await open(there, answers());
  expected.is("compared", shown());
  await click("section[aria-label=Stages] .choice button:nth-child(1)");
  expected.is("stages by p50", shown("section[aria-label=Stages]"));
  const chart = "section[aria-label='Distribution of durations'] canvas";
  await point(chart, "mousemove", 500, 50);
  expected.is("a bin", shown(".tip"));
  await point(chart, "mousemove", 150, 50);
  expected.is("the other bin", shown(".tip"));
  await point(chart, "mouseleave", 0, 0);
  assert.equal(document.querySelector(".tip"), null);
});

test("the stage that differs most is first, whether it takes longer or less", async () => {
  const stage = (name: string, a: number, b: number) => ({
    ...sets().stages.stages[0],
    name,
    quantiles: (["p50", "p90", "p99"] as const).map((of) => ({ name: of, ...figure(a, b) })),
  });
  const stages = [stage("longer", 1e6, 4e6), stage("less", 9e6, 2e6), stage("same", 1e6, 1e6)];
  await open(there, answers({ [path]: sets({ stages: { a_runs: 5, b_runs: 6, stages } }) }));
  const rows = [...document.querySelectorAll("[data-testid=set-stages] tbody th")];
  assert.deepEqual(
    rows.map((row) => row.textContent),
    ["less", "longer", "same"],
  );
});

test("verdicts", async () => {
  const same = sets().quantiles.map((one) => ({ ...one, evidence: false }));
  const shorter = [{ name: "p50" as const, ...figure(9e6, 2e6) }];
  const verdicts = {
    none: sets({ quantiles: same, delay_share: figure(0.01, 0.02, { evidence: false }) }),
    "more delays": sets({ quantiles: same, delay_share: figure(0.01, 0.02) }),
    "shorter, as many delays": sets({
      quantiles: shorter,
      delay_share: figure(0.01, 0.01, { evidence: false }),
    }),
  };
  for (const [name, answer] of Object.entries(verdicts)) {
    await open(there, answers({ [path]: answer }));
    expected.is(
      name,
      shown(
        "[data-testid=set-verdict]",
        "section#hosts > p",
        "[data-testid=set-figures] tbody tr:nth-last-child(2)",
      ),
    );
  }
});

test("parts without data", async () => {
  await open(
    there,
    answers({
      [path]: sets({
        hosts: splitOf([part("web-1", 0.01, 0.05)]),
        stages: { a_runs: 0, b_runs: 0, stages: [] },
        times: { a_runs: 0, b_runs: 0, parts: [] },
        causes: {
          a: { delayed_runs: 2, normal_runs: 0, silent_because: "Too few normal runs." },
          b: { delayed_runs: 0, normal_runs: 0, silent_because: null },
          causes: [],
        },
      }),
      [`${path}/flame`]: flame({ runs: 0, baseline_runs: 1 }),
    }),
  );
  expected.is(
    "nothing to compare",
    shown(
      `${compared} section > h2`,
      ...["Stages", "Where the time went", "New and resolved causes"].map(
        (label) => `section[aria-label='${label}']`,
      ),
      "section#flame",
    ),
  );
  assert.equal(document.querySelector("section#hosts"), null);
  const [first] = sets().causes.causes;
  await open(there, answers({ [path]: sets({ causes: { ...sets().causes, causes: [first] } }) }));
  const order = [...document.querySelectorAll(`${compared} section`)].map((one) =>
    one.getAttribute("aria-label"),
  );
  expected.is("causes that stay come last", order.join("\n"));
});

test("hosts that differ alike, and hosts of one set only", async () => {
  const alike = splitOf([part("web-1", 0.01, 0.05), part("web-2", 0.01, 0.05)]);
  await open(there, answers({ [path]: sets({ hosts: alike }) }));
  expected.is("alike", shown("section#hosts"));
  const none = { runs: 0, slow: 0, share: 0 };
  const apart = splitOf([
    part("web-1", 0.01, 0, { after: none }),
    part("web-2", 0, 0.05, { before: none }),
  ]);
  await open(there, answers({ [path]: sets({ hosts: apart }) }));
  assert.equal(document.querySelector("[data-testid=set-where]"), null);
});

test("sets without runs", async () => {
  const empty = { runs: 0, delays: 0, hidden: 0, longest_ns: 0 };
  await open(there, answers({ [path]: sets({ a: empty }) }));
  expected.is("A has none", shown(compared));
  await open(there, answers({ [path]: sets({ b: empty }) }));
  expected.is("B has none", shown(compared));
});

test("filters of each set are in the address", async () => {
  await open("/compare?event=check%2Fout&a=span%3D7d%26start%3Dcold&b=", answers());
  const a = "form[aria-label='Set A']";
  const b = "form[aria-label='Set B']";
  const sides = () => {
    const query = new URLSearchParams(address().split("?")[1]);
    return [query.get("a"), query.get("b")];
  };
  assert.match(shown(`${a} select`), /value="7d"/);
  await enter(`${b} select`, "24h");
  assert.deepEqual(sides(), ["span=7d&start=cold", "span=24h"]);
  await enter(`${a} select`, "all");
  assert.deepEqual(sides(), ["start=cold", "span=24h"]);
  await enter(`${b} input[name=to]`, "2026-11-21T11:57");
  assert.deepEqual(sides(), ["start=cold", "to=2026-11-21T10%3A57Z"]);
  expected.is("custom", shown(`${b} select`, `${b} input`));
  await enter(`${b} input[name=to]`, "");
  assert.deepEqual(sides(), ["start=cold", null]);
  await click(`${a} .picker:nth-of-type(1) button`);
  await check(`${a} .picker-panel li:nth-child(2) input`, true);
  assert.deepEqual(sides(), ["build=b2b2b2b2b2b2b2b2&start=cold", null]);
  await check(`${a} .picker-panel li:nth-child(2) input`, false);
  assert.deepEqual(sides(), ["start=cold", null]);
});

test("the differential flame graph", async () => {
  await open(`${there}&zoom=2&state=off-cpu`, answers());
  expected.is("flame graph", shown("section#flame"));
  requested();
  await click("Whole graph");
  assert.doesNotMatch(address(), /zoom/);
  await press("section#flame .flame-scroller", "ArrowDown");
  await press("section#flame .flame-scroller", "Enter");
  assert.match(address(), /zoom=1/);
  await click("Whole graph");
  await click("on CPU");
  assert.match(address(), /state=on-cpu/);
  assert.ok(
    requested().some((request) => request.includes("/flame?") && request.includes("state=on-cpu")),
  );
  await click("all time");
  assert.doesNotMatch(address(), /state/);
  await open(
    there,
    answers({ [`${path}/flame`]: flame({ baseline_total: null, runs: 1234, baseline_runs: 0 }) }),
  );
  expected.is("no delays of A", shown("section#flame .notice"));
});

test("sets with only one end of their time have a custom span", async () => {
  const spans = () =>
    [...document.querySelectorAll<HTMLSelectElement>("select[name=span]")].map((select) => [
      select.value,
      select.textContent?.includes("Custom"),
    ]);
  await open("/compare?event=x&a=from%3D2026-11-20&b=to%3D2026-11-20", answers());
  assert.deepEqual(spans(), [
    ["set", true],
    ["set", true],
  ]);
  await open("/compare?event=x&a=&b=span%3D24h", answers());
  assert.deepEqual(spans(), [
    ["all", false],
    ["24h", false],
  ]);
});

test("hosts of one set do not hide those of both, and one host is no list", async () => {
  const none = { runs: 0, slow: 0, share: 0 };
  const hosts = splitOf([part("web-1", 0.01, 0, { after: none }), part("web-2", 0.01, 0.05)]);
  await open(there, answers({ [path]: sets({ hosts }) }));
  assert.ok(document.querySelector("[data-testid=set-where]"));
  const links = [...document.querySelectorAll("section#hosts tbody a")];
  assert.deepEqual(
    links.map((link) =>
      new URL(link.getAttribute("href") ?? "", "https://a").searchParams.get("b"),
    ),
    ["build=b2b2b2b2b2b2b2b2&host=web-1", "build=b2b2b2b2b2b2b2b2&host=web-2"].map((query) =>
      query.replace(/^(build=[^&]*)&(host=.*)$/, "$2&$1"),
    ),
  );
});

test("a flame graph needs recorded delays of both sets, and functions", async () => {
  for (const more of [
    { runs: 0, baseline_runs: 12 },
    { runs: 5, baseline_runs: 0, baseline_total: null },
    { nodes: flame().nodes.slice(0, 1), runs: 1, baseline_runs: 2 },
  ]) {
    await open(there, answers({ [`${path}/flame`]: flame(more) }));
    const text = document.querySelector("section#flame .notice")?.textContent ?? "";
    const { runs, baseline_runs } = more;
    const said = `Set A has ${baseline_runs} recorded delays, set B has ${runs}.`;
    assert.ok(text.includes(said), text);
  }
});

test("stages without the percentile have their first one; no difference has no sign", async () => {
  const [stage] = sets().stages.stages;
  const stages = [{ ...stage, quantiles: stage.quantiles.slice(0, 1) }];
  await open(
    there,
    answers({
      [path]: sets({
        stages: { a_runs: 5, b_runs: 6, stages },
        delay_share: figure(0.02, 0.02),
        quantiles: [{ name: "p50" as const, ...figure(3e6, 3e6, { evidence: false }) }],
      }),
    }),
  );
  expected.is(
    "no differences",
    shown("[data-testid=set-stages] tbody", "[data-testid=set-figures] tbody"),
  );
});
