import assert from "node:assert/strict";
import { test } from "node:test";
import { delayOf, life, record } from "./answers/causes";
import { bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { ago, day_s, start_ms } from "./page/clock";
import { Expected, click, enter, open, point, reader, requested, shown, submit } from "./page/page";
import { Refusal, done, pending } from "./page/server";

const expected = new Expected("cause_page");
const bundle = `/api/v1/bundles/${digest("c")}`;

function answers(more: Record<string, unknown> = {}) {
  return {
    "/api/v1/causes/7": life(),
    "/api/v1/causes/7/flame": flame({ runs: 0 }),
    [`${bundle}/delays`]: bundleDelays([delay({ number: 40 })]),
    [`${bundle}/delays/3/timeline`]: timeline(),
    [`${bundle}/delays/40/timeline`]: timeline(),
    "/api/v1/causes": {
      causes: [
        record(),
        record({ id: "8", title: "disk in fsync", delays: 1 }),
        record({ id: "9", part_of: "8" }),
      ],
    },
    ...more,
  };
}

test("a cause: figures, days, counts, delays", async () => {
  await open("/cause/7", answers());
  expected.is("a cause", shown());
});

test("a reader sees no forms", async () => {
  await open("/cause/7", answers(), reader);
  expected.is("a reader", shown(".title-links", "section[aria-label^=Status]"));
});

test("states, owners, links and notes", async () => {
  const states = {
    resolved: life({ status: "resolved", resolved_ns: ago(day_s), resolved_build: null }),
    "resolved in a build": life({
      status: "resolved",
      resolved_ns: ago(day_s),
      resolved_build: "b2b2b2b2b2b2b2b2",
      owner: "ada",
      reason: "",
      note: "See the ticket.",
      link: "https://tickets.example/1",
    }),
    regressed: life({ status: "regressed", regressed_ns: ago(60), link: "javascript:alert(1)" }),
    "regressed after a build": life({
      status: "regressed",
      regressed_ns: ago(60),
      resolved_build: "b1b1b1b1b1b1b1b1",
    }),
    known: life({ status: "known" }),
    "part of another": life({ part_of: "8" }),
  };
  for (const [name, answer] of Object.entries(states)) {
    await open("/cause/7", answers({ "/api/v1/causes/7": answer }));
    expected.is(
      name,
      shown(
        "[data-testid=cause-status]",
        "main .note",
        "main .notice",
        "section[aria-label^=Status] form:nth-of-type(2)",
        "section[aria-label^=Status] > .sub",
      ),
    );
  }
});

test("days without rates, and none", async () => {
  const days = [
    {
      from_ns: String(BigInt(Math.floor(start_ms / 86400e3)) * 86400000000000n),
      delays: 2,
      rate: null,
    },
  ];
  await open("/cause/7", answers({ "/api/v1/causes/7": life({ days, builds: [] }) }));
  expected.is("one day", shown("section[aria-label='Delays by day']"));
  await point("section[aria-label='Delays by day'] canvas", "mousemove", 595, 50);
  expected.is("today", shown(".tip"));
  await point("section[aria-label='Delays by day'] canvas", "mousemove", 100, 50);
  expected.is("another day", shown(".tip"));
  await point("section[aria-label='Delays by day'] canvas", "mousemove", 1, 50);
  assert.equal(document.querySelector(".tip"), null);
  await open("/cause/7", answers({ "/api/v1/causes/7": life({ days: [], builds: [] }) }));
  expected.is("no days", shown("section[aria-label='Delays by day']"));
  await open("/cause/7", answers());
  await point("section[aria-label='Rate by day'] canvas", "mousemove", 560, 50);
  expected.is("a day with a new build", shown(".tip"));
});

test("the flame graph of its delays against others", async () => {
  const part = "section#flame";
  await open("/cause/7", answers({ "/api/v1/causes/7/flame": flame({ baseline_total: null }) }));
  expected.is("no others", shown(part));
  await open("/cause/7?zoom=2", answers({ "/api/v1/causes/7/flame": flame({ baseline_runs: 1 }) }));
  expected.is("one other", shown(part));
  await click("Whole graph");
  expected.is("not zoomed", shown(`${part} .below-bars`));
});

test("no delay is recorded any more", async () => {
  const newest_delays = [delayOf(3, { bundle: null })];
  await open("/cause/7", answers({ "/api/v1/causes/7": life({ newest_delays }) }));
  expected.is("nothing recorded", shown(".columns > div:first-child"));
});

test("at most fifty rows of counts; threads only if there are some", async () => {
  const by_host = Array.from({ length: 52 }, (_, index) => ({
    host: `h${index}`,
    delays: 60 - index,
    first_ns: ago(0),
    last_ns: ago(0),
  }));
  await open(
    "/cause/7",
    answers({ "/api/v1/causes/7": life({ by_host, by_holder: [], by_build: [] }) }),
  );
  assert.equal(document.querySelectorAll("section[aria-label=Hosts] tbody tr").length, 50);
  expected.is(
    "many hosts",
    shown(
      "section[aria-label=Hosts] p",
      ".columns > div:last-child > section > header",
      "section[aria-label=Builds] table",
    ),
  );
});

test("owner, note, link, status and merging", async () => {
  let answer: unknown = new Refusal(409, "changed meanwhile", "reload");
  await open("/cause/7", answers({ "PUT /api/v1/causes/7": () => answer }));
  requested();
  await enter("input[name=owner]", "ada");
  await enter("input[name=note]", "n");
  await enter("input[name=link]", "https://a");
  await click("Save");
  expected.is("refused", shown("section[aria-label^=Status] .failure"));
  answer = done;
  await click("Save");
  expected.is("saved", shown("section[aria-label^=Status] .failure"));
  await click("Mark as known");
  await enter("select[name=resolved_build]", "b2b2b2b2b2b2b2b2");
  await click("Mark as resolved");
  await submit("section[aria-label^=Status] > .sub form");
  expected.is(
    "known, resolved",
    shown("select[name=part_of]", "section[aria-label^=Status] > .sub button"),
  );
  await enter("select[name=part_of]", "8");
  await click("Merge");
  expected.is("merged", shown("h1"));
  await open(
    "/cause/7",
    answers({
      "PUT /api/v1/causes/7": done,
      "/api/v1/causes/7": life({
        status: "resolved",
        resolved_ns: ago(0),
        part_of: "8",
        parts: [record({ id: "11", delays: 1 })],
      }),
    }),
  );
  requested();
  expected.is("with parts", shown("section[aria-label^=Status] > .sub"));
  await click("Reopen");
  await click("Split off as a separate cause");
  expected.is("reopened, split off", shown("h1"));
});

test("only the times of the current status are shown", async () => {
  const times = { resolved_ns: ago(day_s), regressed_ns: ago(60), resolved_build: null };
  for (const [status, told, kept] of [
    ["new", false, false],
    ["known", false, false],
    ["resolved", true, false],
    ["regressed", false, true],
  ] as const) {
    await open("/cause/7", answers({ "/api/v1/causes/7": life({ ...times, status }) }));
    const text = document.querySelector("[data-testid=cause-status]")?.textContent ?? "";
    assert.deepEqual([/Resolved/.test(text), /Came back/.test(text)], [told, kept], status);
  }
  await open(
    "/cause/7",
    answers({ "/api/v1/causes/7": life({ status: "resolved", resolved_ns: null }) }),
  );
  assert.doesNotMatch(shown("[data-testid=cause-status]"), /Resolved/);
});

test("builds are marked from the first day on, the newest twelve", async () => {
  const today = BigInt(Math.floor(start_ms / 86400e3)) * 86400000000000n;
  const day = (days_ago: number) => String(today - BigInt(days_ago) * 86400000000000n);
  const build = (name: string, days_ago: number) => ({ build: name, from_ns: day(days_ago) });
  const days = [{ from_ns: day(3), delays: 2, rate: null }];
  const rate = "section[aria-label='Delays by day']";
  const marked = async (...builds: ReturnType<typeof build>[]) => {
    await open("/cause/7", answers({ "/api/v1/causes/7": life({ days, builds }) }));
    return document.querySelector("[data-testid=builds-marked]")?.textContent;
  };
  assert.equal(await marked(build("old", 14), build("first", 13), build("now", 0)), "first, now");
  expected.is("nothing today", shown(`${rate} > p`, `${rate} canvas`));
  assert.equal(await marked(build("old", 14)), undefined);
  const many = Array.from({ length: 13 }, (_, index) => build(`b${index}`, 13 - index));
  assert.equal(await marked(...many), "b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12");
});

test("the flame graph with many others, or without functions", async () => {
  await open("/cause/7", answers({ "/api/v1/causes/7/flame": flame() }));
  assert.match(shown("section#flame p.muted"), /from the mean of 12 other delays \(60 ms\)/);
  const nodes = flame().nodes.slice(0, 1);
  await open("/cause/7", answers({ "/api/v1/causes/7/flame": flame({ nodes }) }));
  assert.match(shown("section#flame"), /No recording of its delays is stored any more/);
});

test("counts and delays that are complete say nothing of others", async () => {
  const by_host = Array.from({ length: 50 }, (_, index) => ({
    host: `h${index}`,
    delays: 1,
    first_ns: ago(0),
    last_ns: ago(0),
  }));
  await open("/cause/7", answers({ "/api/v1/causes/7": life({ by_host, delays: 5 }) }));
  assert.equal(document.querySelector("section[aria-label=Hosts] p"), null);
  assert.equal(document.querySelector("section#delays header .muted"), null);
  await open("/cause/7", answers({ [`${bundle}/delays`]: bundleDelays([]) }));
  assert.doesNotMatch(shown(".columns"), /A typical delay|Open this delay/);
});

test("a cause without builds or choices offers only those with its delays", async () => {
  await open(
    "/cause/7",
    answers({
      "/api/v1/choices": pending,
      "PUT /api/v1/causes/7": done,
      "/api/v1/causes": { causes: [record()] },
    }),
  );
  expected.is(
    "builds with its delays",
    shown("select[name=resolved_build]", "section[aria-label^=Status] > .sub"),
  );
  requested();
  await click("Mark as resolved");
  assert.equal(requested()[0], 'PUT /api/v1/causes/7 {"status":"resolved","resolved_build":""}');
});

test("names of builds do not overlap, and end with the chart", async () => {
  const today = BigInt(Math.floor(start_ms / 86400e3)) * 86400000000000n;
  const at = (name: string, days_ago: number) => ({
    build: name.repeat(14),
    from_ns: String(today - BigInt(days_ago) * 86400000000000n),
  });
  const days = [{ from_ns: String(today), delays: 2, rate: null }];
  const builds = [at("a", 8), at("b", 7), at("c", 5), at("d", 0)];
  await open("/cause/7", answers({ "/api/v1/causes/7": life({ days, builds }) }));
  const names = shown("section[aria-label='Delays by day'] canvas")
    .split("\n")
    .filter((text) => /(aaa|bbb|ccc|ddd)/.test(text));
  expected.is("names above the days", names.join("\n"));
});
