// What the development server answers about events over time: plain figures of the made-up runs, and one planted change.
import { newestCause } from "./causes.mjs";
import { builds, ns, runs } from "./data.mjs";

const hour_ms = 3600e3;
const labels = new Map([[builds[3], "v4.0"]]);
const at_ms = (run) => Number(BigInt(run.begin_ns) / 1000000n);
const quantile = (sorted, share) => (sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);

function spanOf(query) {
  const to = query.get("to") ? Number(BigInt(query.get("to")) / 1000000n) : Date.now();
  const from = query.get("from") ? Number(BigInt(query.get("from")) / 1000000n) : to - 24 * hour_ms;
  const unit = to - from <= 96 * hour_ms ? hour_ms : 24 * hour_ms;
  const up = (value) => Math.ceil(value / unit) * unit;
  return { to: up(to), from: up(to) - up(to - from), before: up(to) - 2 * up(to - from), unit };
}

const spanAnswer = (span) => ({ before_ns: ns(span.before), from_ns: ns(span.from), to_ns: ns(span.to), unit_ns: span.unit * 1e6 });

function figures(list) {
  const sorted = list.map((run) => run.duration_ns).sort((one, other) => one - other);
  return { runs: list.length, delays: list.filter((run) => run.delay).length, p50: quantile(sorted, 0.5), p90: quantile(sorted, 0.9), p99: quantile(sorted, 0.99) };
}

function trendOf(event, list, span) {
  const shown = list.filter((run) => run.dirty === null && at_ms(run) >= span.before && at_ms(run) < span.to);
  const count = (span.to - span.before) / span.unit;
  const of_unit = Array.from({ length: count }, () => []);
  for (const run of shown) of_unit[Math.floor((at_ms(run) - span.before) / span.unit)].push(run);
  const rows = of_unit.map(figures);
  const column = (name) => rows.map((row) => row[name]);
  const before = figures(shown.filter((run) => at_ms(run) < span.from));
  const now_list = shown.filter((run) => at_ms(run) >= span.from);
  const now = figures(now_list);
  const planted = event === "checkout" && before.runs > 0 && now.runs > 0;
  const duration = (name) => ({ before_ns: before[name], now_ns: now[name], p_value: planted ? 0.0004 : null, q_value: planted ? 0.002 : null });
  const share = (part) => (part.runs === 0 ? 0 : part.delays / part.runs);
  const distinct = (of, from) => new Set(from.map(of)).size;
  return {
    event, runs_recorded: true, last_ns: shown.length === 0 ? "0" : shown.map((run) => run.begin_ns).sort().at(-1), runs: now.runs, delays: now.delays,
    hosts: distinct((run) => run.host, now_list), delayed_hosts: 0, builds: distinct((run) => run.build, now_list), delayed_builds: distinct((run) => run.build, now_list.filter((run) => run.delay)),
    p50: duration("p50"), p99: duration("p99"), delay_share: { before: share(before), now: share(now), p_value: null, q_value: null },
    verdict: planted ? "worse" : before.runs === 0 ? "untested" : "unchanged", factor: planted ? 2.4 : 1,
    changes: planted ? [{ measure: "p99", from_ns: ns(span.from + (span.to - span.from) / 2), before_ns: 120e6, after_ns: 288e6, p_value: 0.00002, build: builds[3] }] : [],
    units: Object.fromEntries(["runs", "delays", "p50", "p90", "p99"].map((name) => [name, column(name)])),
  };
}

export function overview(query) {
  const span = spanOf(query);
  const search = (query.get("search") ?? "").toLowerCase();
  const all = [...runs].filter(([event]) => event.toLowerCase().includes(search)).map(([event, list]) => trendOf(event, list, span)).filter((trend) => trend.units.runs.some((count) => count > 0));
  const order = query.get("order") ?? "change";
  const value = { change: (trend) => (trend.verdict === "worse" ? 1e12 : trend.delays), p50: (trend) => trend.p50.now_ns, p99: (trend) => trend.p99.now_ns, runs: (trend) => trend.runs, delays: (trend) => trend.delays, hosts: (trend) => trend.hosts, newest: (trend) => Number(trend.last_ns) }[order];
  all.sort(order === "name" ? (one, other) => (one.event < other.event ? -1 : 1) : (one, other) => value(other) - value(one));
  return { ...spanAnswer(span), total: all.length, events: all.slice(0, Number(query.get("limit") ?? 100)).map((trend) => ({ ...trend, newest_cause: newestCause(trend.event) })), lost: { runs: 1234, hosts: [{ host: "web-03", runs: 1234, last_ns: ns(Date.now()) }] } };
}

export function trend(event, query) {
  const span = spanOf(query);
  const list = (runs.get(event) ?? []).filter((run) => ["host", "user", "build", "process", "unit", "start"].every((name) => !query.get(name) || query.getAll(name).includes(run[name])));
  const shown = list.filter((run) => at_ms(run) >= span.before && at_ms(run) < span.to);
  const seen = [...new Set(shown.map((run) => run.build))].map((build) => {
    const of_build = shown.filter((run) => run.build === build);
    const times = of_build.map(at_ms);
    return { build, runs: of_build.length, delays: of_build.filter((run) => run.delay).length, first_ns: ns(Math.min(...times)), last_ns: ns(Math.max(...times)) };
  });
  return { ...spanAnswer(span), ...trendOf(event, list, span), builds_seen: seen.reverse() };
}

export function split(event, query) {
  const span = spanOf(query);
  const by = query.get("by");
  const list = (runs.get(event) ?? []).filter((run) => ["host", "user", "build", "process", "unit", "start"].every((name) => !query.get(name) || query.getAll(name).includes(run[name])));
  const shown = list.filter((run) => run.dirty === null && at_ms(run) >= span.from && at_ms(run) < span.to);
  const count = (span.to - span.from) / span.unit;
  const partOf = (name, of_part) => {
    const of_unit = Array.from({ length: count }, () => []);
    for (const run of of_part) of_unit[Math.floor((at_ms(run) - span.from) / span.unit)].push(run);
    const rows = of_unit.map(figures);
    return { name, ...figures(of_part), units: Object.fromEntries(["runs", "delays", "p50", "p90", "p99"].map((column) => [column, rows.map((row) => row[column])])) };
  };
  const of = (name) => shown.filter((run) => run[by] === name);
  const names = [...new Set(shown.map((run) => run[by]))].sort((one, other) => partOf(other, of(other)).delays - partOf(one, of(one)).delays || of(other).length - of(one).length);
  const rest = names.slice(8);
  const { before_ns: _before, ...answer } = spanAnswer(span);
  return {
    ...answer, runs_read: shown.length, runs_read_most: 200000, read_from_ns: shown.length > 0 ? shown.map((run) => run.begin_ns).sort()[0] : null,
    parts: names.slice(0, 8).map((name) => partOf(name, of(name))), others: rest.length > 0 ? partOf("", shown.filter((run) => rest.includes(run[by]))) : null, other_names: rest.length,
  };
}

export function buildLabels() {
  return { labels: [...labels].map(([build, name]) => ({ build, name, by: "command line", at_ns: ns(Date.now()) })) };
}
