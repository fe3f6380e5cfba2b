import { scrolled } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delay } from "../src/types";
import { bundle, bundleDelays, delay, delayRow } from "./answers/delays";
import { calls, chain, cpuUse, holder, objects, surroundings, traced } from "./answers/details";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { run, runList, times } from "./answers/runs";
import { ago } from "./page/clock";
import { Expected, address, click, open, press, requested, shown } from "./page/page";
import { Refusal, pending } from "./page/server";

const expected = new Expected("delay_page");
const there = `/bundle/${digest("a")}/3`;
const api = `/api/v1/bundles/${digest("a")}`;

const formats = [
  { name: "folded", title: "Folded stacks", use: "FlameGraph", suffix: "txt", state: "all" },
  { name: "pprof", title: "pprof", use: "go tool pprof", suffix: "pb", state: "all" },
];

function answers(of: Partial<Delay> = {}, more: Record<string, unknown> = {}) {
  return {
    [`${api}/delays`]: bundleDelays([delay(of)]),
    [`${api}/delays/3/profile`]: flame(),
    [`${api}/delays/3/timeline`]: timeline(),
    "/api/v1/formats": { formats },
    "/api/v1/delays": { delays: [], next: null },
    "/api/v1/events/checkout/runs": runList([]),
    ...more,
  };
}

const on_time = Array.from({ length: 10 }, (_, index) =>
  run(1, { id: String(index), times: times() }),
);

test("a delay without extras", async () => {
  await open(there, answers());
  expected.is("a plain delay", shown());
});

test("a delay with everything", async () => {
  const of: Partial<Delay> = {
    user: "",
    run: "18446744073709551615",
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    request: "/checkout (tenant=A)",
    cause: {
      sentences: [
        "80 ms it waited for a lock in Cart::add.",
        "It was on CPU in its run.",
        "The thread db woke it.",
      ],
      chain,
    },
    calls: calls(),
    traced_functions: traced(),
    objects: objects(),
    surroundings: surroundings(),
  };
  await open(
    `${there}?state=off-cpu`,
    answers(of, {
      [`${api}/delays`]: bundleDelays([delay(of)], {
        bundle: bundle({ delays: 1234 }),
        next: "x",
        quality: {
          samples: 1234,
          samples_lost: 5,
          stacks_complete: 0.987,
          frames_named: 1,
          partial: true,
          delays_left_out: 2345,
          notes: ["the disk was full"],
        },
      }),
      "/api/v1/events/checkout/runs": runList(on_time),
      "/api/v1/delays": (request: { path: string }) => ({
        delays: [delayRow({ number: request.path.includes("oldest") ? 4 : 2 })],
        next: null,
      }),
    }),
  );
  expected.is(
    "everything",
    shown(
      "main .crumbs",
      "main nav.neighbours",
      "main .figures",
      "main .figures + p",
      "section#cause",
      "section#chain",
      "main > [aria-busy] > .columns",
      "main > [aria-busy] > section:not([id])",
      "section#surroundings",
    ),
  );
  await click("Flame graph");
  assert.equal(address(), `${there}?state=off-cpu&search=Cart%3A%3Aadd`);
  await click("#cause p:last-child button");
  assert.deepEqual(scrolled, ["flame", "timeline"]);
});

test("further delays of the bundle", async () => {
  let further: unknown = new Refusal(500, "broken");
  await open(
    there,
    answers(
      {},
      {
        [`${api}/delays`]: (request: { path: string }) =>
          request.path.includes("after")
            ? further
            : bundleDelays([delay(), delay({ number: 4 })], {
                bundle: bundle({ delays: 2 }),
                next: "x",
              }),
      },
    ),
  );
  const all = "section[aria-label^='All delays']";
  await click("Show more delays");
  expected.is("more fail", shown(`${all} .failure`));
  further = bundleDelays([delay({ number: 5 })]);
  await click("Try again");
  assert.equal(document.querySelectorAll(`${all} tbody tr`).length, 3);
  assert.equal(document.querySelector(`${all} p`), null);
});

test("parts of the time, and what is not known", async () => {
  await open(
    there,
    answers(
      {
        duration_ns: 0,
        on_cpu_ns: 0,
        runnable_ns: 0,
        blocked_ns: 5e6,
        blocked: [],
        handed_over_ns: 0,
        unknown_ns: 0,
        stages: [],
        without_stages: true,
        unit: "",
        user: "ada",
        surroundings: surroundings({ uid: 1000 }),
        cause: { sentences: [], chain: chain.slice(0, 1) },
      },
      { "/api/v1/events/checkout/runs": runList(on_time.map((one) => ({ ...one, times: null }))) },
    ),
  );
  expected.is(
    "an odd delay",
    shown("main .figures", "main > [aria-busy] > .columns", "section#chain", "section#cause"),
  );
  await open(there, answers({ stages: [], without_stages: false }));
  assert.equal(document.querySelector("section[aria-label=Stages]"), null);
});

test("bundles without a delay, unreadable ones, and the longest", async () => {
  const none = { [`${api}/delays`]: bundleDelays([], { bundle: bundle({ delays: 0 }) }) };
  await open(there, { ...answers(), ...none });
  expected.is("no delay at all", shown());
  await open(there, { ...answers(), [`${api}/delays`]: bundleDelays([]) });
  expected.is("no such delay", shown());
  await open(there, { ...answers(), [`${api}/delays`]: new Refusal(422, "cut short") });
  expected.is("unreadable", shown());
  await open(`/bundle/${digest("a")}`, answers());
  assert.ok(requested().includes(`GET ${api}/delays?order=slowest&limit=1`));
  await open(there, { ...answers(), [`${api}/delays`]: new Refusal(404) });
  expected.is("gone", shown());
});

test("the surroundings: what is empty is left out", async () => {
  const empty = surroundings({
    machine: {
      kernel: "",
      os: "",
      architecture: "x86_64",
      cpus: 4,
      cpu_model: "",
      memory_bytes: 0,
    },
    program: "",
    command_line: "",
    uid: null,
    cpu_use: cpuUse({ known_ns: 0 }),
    cpu_holders: [],
    started: [],
  });
  await open(there, answers({ surroundings: empty, unit: "", build: "" }));
  expected.is("nothing known", shown("section#surroundings", "main .figures"));
  const some = surroundings({
    program_version: "",
    command_line: "shop ***",
    uid: 1000,
    machine: { ...surroundings().machine, cpus: 0 },
    cpu_use: cpuUse({ other_processes: 1 }),
    cpu_holders: [holder({ unit: "u".repeat(50) })],
    started: surroundings().started.slice(0, 1),
  });
  await open(there, answers({ surroundings: some }));
  expected.is("some known", shown("section#surroundings", "main .figures"));
});

test("calls, traced functions and objects: figures of one and none", async () => {
  await open(
    there,
    answers({
      calls: calls({ count: 5 }),
      traced_functions: traced({
        before_breach_ns: 0,
        called: 3,
        not_reported: 1234,
        detached: 2345,
        own_ns: 0,
      }),
      objects: objects({
        memory: "no allocator",
        not_reported: 1234,
        detached: 2345,
        failures: [],
        oldest: [],
      }),
    }),
  );
  expected.is(
    "one more",
    shown(
      "section[aria-label=Calls] > p",
      "section[aria-label='Traced functions'] :is(header, p, tbody)",
      "section[aria-label=Objects] :is(header, p)",
    ),
  );
  await open(there, answers({ calls: calls({ count: 4 }), traced_functions: traced() }));
  assert.equal(document.querySelector("section[aria-label=Calls] > p"), null);
  await open(
    there,
    answers({ calls: { count: 0, longest: [] }, traced_functions: traced({ called: 1234 }) }),
  );
  expected.is(
    "no calls",
    shown("section[aria-label=Calls] tbody", "section[aria-label='Traced functions'] > p"),
  );
});

test("the export follows the flame graph", async () => {
  await open(`${there}?state=on-cpu`, answers({}, { "/api/v1/formats": new Refusal(500) }));
  expected.is("no formats", shown("section[aria-label^=Export]"));
  await open(there, answers({}, { "/api/v1/formats": pending }));
  assert.match(shown("section[aria-label^=Export]"), /Loading…/);
  await press("main", "x");
  assert.equal(ago(0).length, 19);
});

test("a delay whose bundle is not described", async () => {
  const data = { ...bundleDelays([delay()]), bundle: undefined };
  await open(there, answers({}, { [`${api}/delays`]: data }));
  assert.equal(document.title, "checkout took 124 ms · lagtrap");
  const labels = [...document.querySelectorAll("main .figures dt")].map((one) => one.textContent);
  assert.deepEqual(labels, ["Duration", "Process", "Unit", "Thread"]);
  assert.equal(document.querySelector("section[aria-label^='All delays']"), null);
  await open(there, answers({}, { [`${api}/delays`]: { ...data, delays: [] } }));
  assert.match(shown("main .notice"), /No run in this recording exceeded its threshold/);
});

test("the quality of a recording, as far as it is known", async () => {
  const listed = async (quality: object) => {
    await open(
      there,
      answers({}, { [`${api}/delays`]: bundleDelays([delay()], { quality: quality as never }) }),
    );
    return [...document.querySelectorAll("section[aria-label='Recording quality'] li")].map(
      (item) => item.textContent,
    );
  };
  assert.deepEqual(await listed({}), []);
  assert.match(shown("section[aria-label='Recording quality']"), /No information/);
  assert.deepEqual(await listed({ samples: 0 }), ["0 samples, 0 lost"]);
  assert.deepEqual(
    await listed({
      samples: 1,
      samples_lost: 2,
      stacks_complete: 0,
      frames_named: 0.5,
      partial: false,
      delays_left_out: 0,
      notes: ["a", "b"],
    }),
    [
      "1 samples, 2 lost",
      "0 % of call stacks are complete",
      "50.0 % of frames have symbols",
      "a",
      "b",
    ],
  );
});

test("sentences of a cause lead to what they are about", async () => {
  const sentences = [
    "It waited for a disk.",
    "The thread db woke it in Cart::add.",
    "Woke up late.",
    "It awoke in time.",
    "It was on CPU in Cart::add.",
  ];
  await open(there, answers({ cause: { sentences, chain: [] } }));
  const buttons = [...document.querySelectorAll("section#cause p")].map((line) =>
    [...line.querySelectorAll("button")].map((button) => button.textContent),
  );
  assert.deepEqual(buttons, [
    ["Timeline"],
    ["Flame graph", "Timeline"],
    ["Timeline"],
    ["Flame graph"],
    ["Flame graph"],
  ]);
});

test("who waited for whom, within one process", async () => {
  const same = chain.map((link) => ({ ...link, pid: 1, process: "shop" }));
  await open(there, answers({ cause: { sentences: [], chain: same.slice(0, 2) } }));
  const names = () =>
    [...document.querySelectorAll("[data-testid=wait-chain] strong")].map((one) => one.textContent);
  assert.deepEqual(names(), ["worker", "db"]);
  await open(there, answers({ cause: { sentences: [], chain: chain.slice(0, 3) } }));
  assert.deepEqual(names(), ["shop / worker", "db", "cc / cc1"]);
  // Only what the strips show is in the key, and waits have the colour of their reason.
  const strips: typeof chain = [
    { ...chain[1], strip: "rrb", state: "runnable", reason: "pipe" },
    { ...chain[0], strip: "cbb", reason: "disk" },
  ];
  await open(there, answers({ cause: { sentences: [], chain: strips } }));
  expected.is("strips", shown("section#chain .strip", "section#chain .key"));
});

test("CPU use of the delay's process, others and idle CPUs", async () => {
  for (const other_processes of [0, 1]) {
    const cpu_use = cpuUse({ other_processes });
    await open(there, answers({ surroundings: surroundings({ cpu_use }) }));
    expected.is(`${other_processes} others`, shown("[data-testid=cpu-use] tbody"));
  }
  await open(there, answers({ surroundings: surroundings({ cpu_use: undefined }) }));
  assert.equal(document.querySelector("[data-testid=cpu-use]"), null);
});

test("without times of normal runs, parts have none to compare with", async () => {
  const runs = on_time.map((one) => ({ ...one, times: null }));
  await open(there, answers({}, { "/api/v1/events/checkout/runs": runList(runs) }));
  const parts = [...document.querySelectorAll("ul.split li")].map((part) => part.textContent);
  assert.ok(parts.length > 4);
  assert.doesNotMatch(parts.join(" "), /normally/);
  assert.match(shown("main .figures"), /threshold 50 ms, normally 10 ms/);
});
