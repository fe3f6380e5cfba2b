// What the development server answers: the API of openapi.yaml over the made-up data. The statistics are plain ones;
// the real server has better.
import { bundles, builds, callers, delays, frame, good_bundle, ns, quality, runs, slow_function } from "./data.mjs";
import { recordOf } from "./causes.mjs";
import { machine } from "./machine.mjs";
import { profile, timeline } from "./profiles.mjs";

export class Refusal extends Error {
  constructor(status, message, hint) {
    super(message);
    Object.assign(this, { status, hint });
  }
}
const quantile = (sorted, share) => (sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
const median = (values) => quantile([...values].sort((one, other) => one - other), 0.5);
const distinct = (list) => [...new Set(list)].sort();

function matching(list, query) {
  const from = query.get("from");
  const to = query.get("to");
  return list.filter(
    (run) => (!from || BigInt(run.begin_ns) >= BigInt(from)) && (!to || BigInt(run.begin_ns) < BigInt(to)) &&
      ["host", "user", "build", "process", "unit", "start"].every((name) => !query.get(name) || query.getAll(name).includes(run[name])),
  );
}
const visible = (list, query) => list.filter((run) => (query.get("dirty") === "1" || run.dirty === null) && (query.get("outliers") !== "0" || run.outlier === null));
function known(event) {
  return runs.get(event) ?? [];
}
function part(list, query, most) {
  const limit = Math.min(Number(query.get("limit") ?? most), 1000);
  const start = Number(query.get("after") ?? 0);
  return { rows: list.slice(start, start + limit), next: start + limit < list.length ? String(start + limit) : null };
}

export function events(query) {
  const search = (query.get("search") ?? "").toLowerCase();
  const rows = [];
  for (const [event, list] of runs) {
    const found = visible(matching(list, query), query);
    if (found.length === 0 || !event.toLowerCase().includes(search)) continue;
    const last = found.reduce((latest, run) => (BigInt(run.begin_ns) > BigInt(latest) ? run.begin_ns : latest), "0");
    rows.push({ event, last_ns: last, runs: found.length, delays: found.filter((run) => run.delay).length, hosts: distinct(found.map((run) => run.host)).length, bundles: bundles.filter((bundle) => bundle.event === event).length });
  }
  rows.sort((one, other) => (BigInt(one.last_ns) < BigInt(other.last_ns) ? 1 : -1));
  const { rows: events, next } = part(rows, query, 100);
  return { events, next, lost: { runs: 1234, hosts: [{ host: "web-03", runs: 1234, last_ns: rows[0]?.last_ns ?? "0" }] } };
}

export function choices(query) {
  const list = query.get("event") ? known(query.get("event")) : [...runs.values()].flat();
  const times = list.map((run) => BigInt(run.begin_ns)).sort((one, other) => (one < other ? -1 : 1));
  const part = (query.get("search") ?? "").toLowerCase();
  const of = (name) => distinct(list.map((run) => run[name])).filter((name) => name.toLowerCase().includes(part));
  return { hosts: of("host"), users: of("user"), builds: of("build"), processes: of("process"), units: of("unit"), from: times.length ? String(times[0]) : null, to: times.length ? String(times.at(-1)) : null };
}

export function summary(event, query) {
  const all = matching(known(event), query);
  const found = visible(all, query);
  const sorted = found.map((run) => run.duration_ns).sort((one, other) => one - other);
  const late = found.filter((run) => run.delay).length;
  const histogram = [];
  if (sorted.length > 0) {
    const factor = 1.15;
    for (let low = sorted[0]; low <= sorted.at(-1); low *= factor) histogram.push({ low_ns: Math.floor(low), high_ns: Math.floor(low * factor), runs: 0, delays: 0 });
    for (const run of found) {
      const bin = histogram.find((candidate) => run.duration_ns < candidate.high_ns) ?? histogram.at(-1);
      ++bin.runs;
      if (run.delay) ++bin.delays;
    }
  }
  const hours = new Map();
  for (const run of found) {
    const hour = String((BigInt(run.begin_ns) / 3600000000000n) * 3600000000000n);
    const entry = hours.get(hour) ?? { hour_ns: hour, runs: 0, delays: 0 };
    ++entry.runs;
    if (run.delay) ++entry.delays;
    hours.set(hour, entry);
  }
  return {
    runs: found.length, delays: late, hidden: all.length - found.length, share_over: found.length ? late / found.length : 0, threshold_ns: found[0]?.threshold_ns ?? null,
    percentiles: { p50: quantile(sorted, 0.5), p75: quantile(sorted, 0.75), p90: quantile(sorted, 0.9), p95: quantile(sorted, 0.95), p99: quantile(sorted, 0.99), max: sorted.at(-1) ?? 0 },
    histogram, hours: [...hours.values()].sort((one, other) => (BigInt(one.hour_ns) < BigInt(other.hour_ns) ? -1 : 1)),
  };
}

export function listRuns(event, query) {
  const all = matching(known(event), query);
  const found = [...visible(all, query)];
  if (query.get("order") === "slowest") found.sort((one, other) => other.duration_ns - one.duration_ns);
  else found.sort((one, other) => (BigInt(one.begin_ns) < BigInt(other.begin_ns) ? 1 : -1));
  const why = new Map();
  if (query.get("dirty") !== "1") for (const run of all) if (run.dirty) why.set(run.dirty.rule, (why.get(run.dirty.rule) ?? 0) + 1);
  const { rows, next } = part(found, query, 240);
  return { runs: rows, hidden: query.get("dirty") === "1" ? 0 : all.filter((run) => run.dirty).length, outliers: all.filter((run) => run.outlier).length, hidden_because: [...why].map(([rule, count]) => ({ rule, runs: count })), total: found.length + (query.get("dirty") === "1" ? 0 : all.filter((run) => run.dirty).length), next };
}

export function findRun(id) {
  for (const list of runs.values()) {
    const found = list.find((run) => run.id === id);
    if (found) return found;
  }
  throw new Refusal(404, "there is no such run");
}

export function runDetail(id) {
  const run = findRun(id);
  const marker = (name, at_ns, stack) => ({ name, at_ns, tid: run.tid, stack });
  return {
    ...run,
    markers: [
      marker("begin", 0, callers),
      ...run.stages.slice(1).map((stage) => marker(stage.name, stage.at_ns, [frame(`shop::${stage.name}`, undefined, 40), ...callers])),
      marker("end", run.duration_ns, []),
    ],
  };
}

export function setDirty(id, body, account) {
  const run = findRun(id);
  if (typeof body.dirty !== "boolean") throw new Refusal(400, "dirty is neither true nor false");
  run.dirty = body.dirty ? { rule: "by hand", reason: String(body.reason ?? ""), by: account, at_ns: ns(Date.now()) } : null;
  return run;
}

export function stageStacks(event, query) {
  const stage = query.get("stage");
  const times = visible(matching(known(event), query), query).flatMap((run) => run.stages.filter((one) => one.name === stage).map((one) => one.duration_ns));
  const read = { runs_read: times.length, runs_read_most: 20000 };
  if (times.length === 0) return { stacks: [], ...read };
  times.sort((one, other) => one - other);
  const cut = Math.floor(times.length * 0.8);
  const entry = (frames, list) => ({ frames, hits: list.length, median_ns: median(list), longest_ns: list.at(-1) });
  const stacks = [entry([frame(`shop::${stage}`, undefined, 40), ...callers], times.slice(0, cut)), entry([frame(slow_function, undefined, 134), frame(`shop::${stage}`, undefined, 44), ...callers], times.slice(cut))];
  return { stacks: stacks.filter((stack) => stack.hits > 0), ...read };
}

export function timeShift(event, query) {
  const read = visible(matching(known(event), query), query);
  const timed = read.filter((run) => run.times !== null).sort((one, other) => one.duration_ns - other.duration_ns);
  const answer = { runs_read: read.length, runs_timed: timed.length, runs_needed: 20, middle: null, slow: null, parts: [] };
  if (timed.length < 20) return answer;
  const middle = timed.slice(Math.floor(timed.length * 0.4), Math.ceil(timed.length * 0.6));
  const slow = timed.slice(Math.min(timed.length - 1, Math.floor(timed.length * 0.99)));
  const mean = (list, of) => Math.round(list.reduce((sum, run) => sum + of(run), 0) / list.length);
  const group = (list) => ({ runs: list.length, shortest_ns: list[0].duration_ns, longest_ns: list.at(-1).duration_ns, mean_ns: mean(list, (run) => run.duration_ns) });
  const blocked = (reason) => (run) => run.times.blocked.find((one) => one.reason === reason)?.ns ?? 0;
  const part = (state, reason, of) => ({ state, reason, middle_ns: mean(middle, of), slow_ns: mean(slow, of) });
  const parts = [part("on CPU", "", (run) => run.times.on_cpu_ns), part("runnable", "", (run) => run.times.runnable_ns),
    ...["lock (futex)", "disk"].map((reason) => part("blocked", reason, blocked(reason))), part("unknown", "", (run) => run.times.unknown_ns)];
  const size = (one) => Math.abs(one.slow_ns - one.middle_ns);
  return { ...answer, middle: group(middle), slow: group(slow), parts: parts.sort((one, other) => size(other) - size(one)) };
}

function difference(a, b) {
  if (a.length * b.length < 15) return { difference_ns: Math.round(median(b) - median(a)), low_ns: null, high_ns: null, evidence: false };
  const random = (() => { let state = 7; return () => ((state = (state * 48271) % 2147483647) / 2147483647); })();
  const draw = (list) => median(list.map(() => list[Math.floor(random() * list.length)]));
  const draws = Array.from({ length: 200 }, () => draw(b) - draw(a)).sort((one, other) => one - other);
  const low_ns = Math.round(quantile(draws, 0.025));
  const high_ns = Math.round(quantile(draws, 0.975));
  return { difference_ns: Math.round(median(b) - median(a)), low_ns, high_ns, evidence: low_ns > 0 || high_ns < 0 };
}

export function compare(body) {
  const pick = (ids) => ids.map(findRun);
  if (!Array.isArray(body.a) || !Array.isArray(body.b) || body.a.length === 0 || body.b.length === 0) throw new Refusal(400, "a and b are lists of ids, neither of them empty");
  const a = pick(body.a);
  const b = pick(body.b);
  const of = (list) => list.map((run) => run.duration_ns);
  const names = distinct(a.flatMap((run) => run.stages.map((stage) => stage.name)));
  const stage = (list, name) => list.map((run) => run.stages.find((one) => one.name === name)?.duration_ns ?? 0);
  return {
    a: { runs: a.length, median_ns: median(of(a)) }, b: { runs: b.length, median_ns: median(of(b)) }, ...difference(of(a), of(b)), confidence: 0.95,
    stages: names.map((name) => ({ name, ...difference(stage(a, name), stage(b, name)) })),
  };
}

export function causes(event, query) {
  const found = visible(matching(known(event), query), query);
  const delayed = found.filter((run) => run.delay);
  const base = { delayed_runs: delayed.length, normal_runs: found.length - delayed.length, bundles: delayed.filter((run) => run.bundle).length };
  if (event !== "checkout" || delayed.length < 20) {
    return { ...base, runs_left_out: 0, causes: [], unexplained_share: 1, silent_because: delayed.length < 20 ? "There are fewer than 20 delayed runs with a recording; that is too few to tell." : "Nothing takes significantly more time in delayed runs." };
  }
  const history = builds.map((build, index) => {
    const of_build = found.filter((run) => run.build === build);
    const affected = index === 3 ? of_build.filter((run) => run.delay).length : index === 2 ? 2 : 0;
    return { build, runs: of_build.length, affected: Math.min(affected, of_build.length), excess_ns: affected > 0 ? 218e6 : 0 };
  });
  const module = "/usr/bin/shop";
  const answer = {
    ...base, silent_because: null, runs_left_out: 0, unexplained_share: 0.16,
    causes: [
      { signature: "5be1a0c39d7f4412", title: `${slow_function} waits for a lock`, state: "blocked", reason: "lock (futex)", frames: [{ function: "pthread_mutex_lock", module: "/lib/libc.so.6" }, { function: slow_function, module }, { function: "shop::price_cart", module }], excess_ns: 218e6, normal_ns: 4e5, affected_runs: Math.max(1, delayed.length - 9), hosts: 12, users: 5, share: 0.78, p_value: 0.00002, q_value: 0.0001, single_host: false, builds: history, example: { bundle: good_bundle, delay: 1 } },
      { signature: "77aa01be23c4f9d0", title: "shop::Journal::sync waits for the disk", state: "blocked", reason: "disk", frames: [{ function: "fdatasync", module: "/lib/libc.so.6" }, { function: "shop::Journal::sync", module }], excess_ns: 55e6, normal_ns: 12e6, affected_runs: 9, hosts: 1, users: 1, share: 0.06, p_value: 0.004, q_value: 0.031, single_host: true, builds: history.map((build) => ({ ...build, affected: Math.min(3, build.runs), excess_ns: 52e6 })), example: { bundle: good_bundle, delay: 2 } },
    ],
  };
  for (const cause of answer.causes) cause.record = recordOf(cause.signature);
  return answer;
}

export function listBundles(query) {
  const found = bundles.filter((bundle) => ["event", "host", "process"].every((name) => !query.get(name) || bundle[name] === query.get(name)));
  const { rows, next } = part(found, query, 100);
  return { bundles: rows, next };
}

function readable(bundle_digest) {
  const bundle = bundles.find((candidate) => candidate.digest === bundle_digest);
  if (!bundle) throw new Refusal(404, "there is no such bundle");
  if (bundle.bad_reason) throw new Refusal(422, `the bundle cannot be read: ${bundle.bad_reason}`, "Download it and look at it with lagtrap report.");
  return bundle;
}

const delays_only = "import catalogue";

export function bundleDelays(bundle_digest, query = new URLSearchParams()) {
  const bundle = readable(bundle_digest);
  const found = [...delays[bundle_digest]].sort((one, other) => (query.get("order") === "slowest" ? other.duration_ns - one.duration_ns : other.number - one.number));
  const { rows, next } = part(query.has("number") ? found.filter((delay) => delay.number === Number(query.get("number"))) : found, query, 1000);
  return { bundle, delays: rows, next, quality };
}

// Of "import catalogue" delays alone are recorded.
function delaysOf(query) {
  const found = Object.entries(delays).flatMap(([bundle, list]) => list.map((delay) => ({ ...delay, bundle, host: "web-03", user: "shop", build: builds[0] })));
  if (query.get("event") === delays_only) return found.map((delay) => ({ ...delay, event: delays_only, run: null }));
  return found.filter((delay) => ["event", "host"].every((name) => !query.get(name) || delay[name] === query.get(name)));
}

export function listAllDelays(query) {
  const [from, to] = ["from", "to"].map((name) => BigInt(query.get(name) ?? -1));
  const turn = query.get("order") === "oldest" ? -1 : 1;
  const found = delaysOf(query)
    .filter((delay) => (from < 0n || BigInt(delay.begin_ns) >= from) && (to < 0n || BigInt(delay.begin_ns) < to))
    .sort((one, other) => (query.get("order") === "slowest" ? other.duration_ns - one.duration_ns : turn * Number(BigInt(other.begin_ns) - BigInt(one.begin_ns))));
  const { rows, next } = part(found, query, 100);
  return { delays: rows, next };
}

export function delaySummary(event) {
  const found = delaysOf(new URLSearchParams({ event }));
  const sorted = found.map((delay) => delay.duration_ns).sort((one, other) => one - other);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const hour = (delay) => String((BigInt(delay.begin_ns) / 3600000000000n) * 3600000000000n);
  const hours = distinct(found.map(hour)).map((hour_ns) => ({ hour_ns, runs: 0, delays: 0 }));
  for (const delay of found) for (const one of hours) if (one.hour_ns === hour(delay)) { ++one.runs; ++one.delays; }
  return {
    runs: found.length, delays: found.length, hidden: 0, share_over: found.length ? 1 : 0, threshold_ns: found[0]?.threshold_ns ?? null,
    percentiles: { p50: at(0.5), p75: at(0.75), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) },
    histogram: found.length ? [{ low_ns: sorted[0], high_ns: sorted.at(-1), runs: found.length, delays: found.length }] : [], hours,
    delays_read: found.length, hosts: found.length ? [{ host: "web-03", delays: found.length, longest_ns: at(1) }] : [], builds: found.length ? [{ build: builds[0], delays: found.length, longest_ns: at(1) }] : [],
    units: distinct(found.map((delay) => delay.unit).filter(Boolean)).map((unit) => ({ unit, delays: found.filter((delay) => delay.unit === unit).length, longest_ns: Math.max(...found.filter((delay) => delay.unit === unit).map((delay) => delay.duration_ns)) })),
  };
}

export function ofDelay(bundle_digest, number, what, query) {
  readable(bundle_digest);
  if (!delays[bundle_digest][number - 1]) throw new Refusal(404, "the bundle has no delay of this number");
  if (what === "machine") return machine(bundle_digest, number, query);
  return what === "profile" ? profile(bundle_digest, query.get("state") ?? "all", query.get("against") === "normal") : timeline(bundle_digest, number);
}
