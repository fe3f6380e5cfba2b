// What the development server answers about two sets of runs. The intervals are made up; the real server has better.
import { Refusal, causes, compare, listRuns, summary, timeShift } from "./answers.mjs";
import { good_bundle } from "./data.mjs";
import { profile } from "./profiles.mjs";

const sides = (query) => ["a", "b"].map((side) => new URLSearchParams(query.get(side) ?? ""));
const figure = (a, b, width) => ({ a, b, difference: b - a, low: b - a - width, high: b - a + width, evidence: Math.abs(b - a) > width });
const counts = (one) => ({ runs: one.runs, delays: one.delays, hidden: one.hidden, longest_ns: one.percentiles.max ?? 0 });

export function compareSets(event, query) {
  const [a_query, b_query] = sides(query);
  const [a, b] = [summary(event, a_query), summary(event, b_query)];
  const ids = (of) => listRuns(event, new URLSearchParams([...of, ["limit", "1000"]])).runs.map((run) => run.id);
  const share = (one) => one.delays / Math.max(1, one.runs);
  const searched = () => causes(event, new URLSearchParams());
  const [a_causes, b_causes] = [searched(), searched()];
  const side = (cause) => cause && { affected_runs: cause.affected_runs, excess_ns: cause.excess_ns, share: cause.share };
  const empty = a.runs === 0 || b.runs === 0;
  const parts = (of) => timeShift(event, of).parts;
  const b_parts = parts(b_query);
  return {
    a: counts(a), b: counts(b), confidence: 0.95,
    quantiles: ["p50", "p90", "p99"].map((name) => ({ name, ...figure(a.percentiles[name] ?? 0, b.percentiles[name] ?? 0, 2e6) })),
    delay_share: figure(share(a), share(b), 0.01),
    histogram: a.histogram.map((bin) => ({ low_ns: bin.low_ns, high_ns: bin.high_ns, a: bin.runs, b: b.histogram.filter((other) => other.low_ns >= bin.low_ns && other.low_ns < bin.high_ns).reduce((sum, other) => sum + other.runs, 0) })),
    stages: { a_runs: Math.min(1000, a.runs), b_runs: Math.min(1000, b.runs), stages: empty ? [] : compare({ a: ids(a_query), b: ids(b_query) }).stages },
    times: { a_runs: a.runs, b_runs: b.runs, parts: parts(a_query).map((part) => ({ state: part.state, reason: part.reason, ...figure(part.middle_ns, b_parts.find((other) => other.state === part.state && other.reason === part.reason)?.middle_ns ?? 0, 1e6) })) },
    causes: {
      a: { delayed_runs: a_causes.delayed_runs, normal_runs: a_causes.normal_runs, silent_because: a_causes.silent_because }, b: { delayed_runs: b_causes.delayed_runs, normal_runs: b_causes.normal_runs, silent_because: b_causes.silent_because },
      causes: b_causes.causes.map((cause, index) => ({ title: cause.title, state: cause.state, reason: cause.reason, change: index === 0 ? "came" : "stays", record: cause.record?.id ?? null, a: index === 0 ? null : side(cause), b: side(cause) })),
    },
  };
}

export function setFlame(_event, query) {
  const state = query.get("state") ?? "all";
  if (!["all", "on-cpu", "off-cpu"].includes(state)) throw new Refusal(400, '"state": expected all, on-cpu or off-cpu');
  return { ...profile(good_bundle, state, true), runs: 31 };
}
