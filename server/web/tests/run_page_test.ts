import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { detail, dirty, frames, odd_frames, run, runList, times } from "./answers/runs";
import { Expected, click, enter, open, reader, requested, shown, submit } from "./page/page";
import { Refusal, done } from "./page/server";

const expected = new Expected("run_page");
const on_time = Array.from({ length: 11 }, (_, index) =>
  run(index % 2 ? 1 : 2, { id: String(index), times: times() }),
);

function answers(of: object = {}, more: Record<string, unknown> = {}) {
  return { "/api/v1/runs/9": detail(of), "/api/v1/events/checkout/runs": runList([]), ...more };
}

test("a run on time, without a recording", async () => {
  await open("/run/9", answers({ weight: 12, unit: "", user: "", build: "b1b1b1b1b1b1b1b1" }));
  expected.is("on time", shown());
});

test("a late run with all there is, against normal runs", async () => {
  const markers = Array.from({ length: 6 }, (_, index) => ({
    name: `m${index}`,
    at_ns: index * 1e6,
    tid: 4001,
    stack: index === 1 ? [] : index === 0 ? [...odd_frames, ...frames(9)] : frames(13),
  }));
  await open(
    "/run/9",
    answers(
      {
        delay: true,
        bundle: digest("e"),
        bundle_delay: 2,
        times: times({
          blocked: [
            { reason: "disk", ns: 20e6 },
            { reason: "lock (futex)", ns: 75e6 },
          ],
        }),
        markers,
        outlier: { rule: "duration", reason: "9 times the median.", by: null, at_ns: "0" },
        stages: [
          { name: "read", at_ns: 0, duration_ns: 1 },
          { name: "other", at_ns: 1, duration_ns: 200e6 },
        ],
      },
      {
        "/api/v1/events/checkout/runs": runList(on_time),
        [`/api/v1/bundles/${digest("e")}/delays`]: bundleDelays([
          delay({ cause: { sentences: ["It waited 80 ms for a lock.", "It slept."], chain: [] } }),
        ]),
      },
    ),
  );
  expected.is("late", shown());
});

test("other runs", async () => {
  const of_run = [
    "main .figures",
    "main .figures + p",
    "main .columns",
    "[data-testid=dirty-state]",
  ];
  await open("/run/9", answers({ threshold_ns: 0, stages: [], bundle: digest("e") }), reader);
  expected.is("without threshold and stages", shown(...of_run));
  await open(
    "/run/9",
    answers({ stages: [], without_stages: true, duration_ns: 0, dirty }),
    reader,
  );
  expected.is("dirty, stages not recorded", shown(...of_run));
  await open(
    "/run/9",
    answers(
      { times: times() },
      { "/api/v1/events/checkout/runs": runList(on_time.map((one) => ({ ...one, times: null }))) },
    ),
  );
  expected.is("normal runs without times", shown("[data-testid=run-times]"));
  await open(
    "/run/9",
    answers({}, { "/api/v1/events/checkout/runs": runList(on_time.slice(0, 9)) }),
  );
  assert.doesNotMatch(shown(), /Normally/);
  const stages = Array.from({ length: 10 }, (_, index) => ({
    name: `s${index}`,
    at_ns: index * 1e6,
    duration_ns: (index + 1) * 1e6,
  }));
  await open("/run/9", answers({ stages }));
  expected.is("more stages than colours", shown("main .stage-line"));
  await open("/run/9", answers({}, { "/api/v1/runs/9": new Refusal(404) }));
  expected.is("gone", shown());
});

test("a run is excluded and included", async () => {
  let answer: unknown = new Refusal(403, "not allowed");
  let now: unknown = detail();
  await open("/run/9", {
    ...answers(),
    "/api/v1/runs/9": () => now,
    "PUT /api/v1/runs/9/dirty": () => answer,
  });
  requested();
  const box = "section[aria-label='Exclude or include']";
  await enter("input[name=reason]", "the disk was full");
  await submit(`${box} form`);
  expected.is("refused", shown(box));
  answer = done;
  now = detail({ dirty: { ...dirty, reason: "", by: "ada" } });
  await submit(`${box} form`);
  expected.is("excluded", shown(box));
  now = detail();
  await click("Include");
  expected.is("included", shown(box));
});

test("stages beyond the colours, and a run without a duration", async () => {
  const stages = Array.from({ length: 10 }, (_, index) => ({
    name: `s${index}`,
    at_ns: index * 10,
    duration_ns: 100 - index,
  }));
  await open("/run/9", answers({ stages, duration_ns: 945 }));
  expected.is("ten stages", shown(".stage-line", ".stage-table"));
  await open("/run/9", answers({ stages: stages.slice(0, 1), duration_ns: 0, times: times() }));
  expected.is("no duration", shown(".stage-table"));
});

test("parts that normal runs do not have", async () => {
  const stages = [
    { name: "read", at_ns: 0, duration_ns: 1e6 },
    { name: "rare", at_ns: 1e6, duration_ns: 2e6 },
  ];
  const only_cpu = times({ blocked: [], blocked_ns: 0, runnable_ns: 0, throttled_ns: 0 });
  const runs = on_time.map((one) => ({ ...one, times: only_cpu }));
  await open(
    "/run/9",
    answers({ stages, times: times() }, { "/api/v1/events/checkout/runs": runList(runs) }),
  );
  expected.is("rare parts", shown(".stage-table"));
});
