// Says in words whether an event got worse.
import { BuildName } from "./builds";
import { formatDuration, formatFactor, formatMoment } from "./format";
import type { EventTrend, LevelChange } from "./types";

const certain = 0.05;

// The change of a figure against the period before, bold if it is significant; empty if there is
// nothing to compare.
export function changeText(before: number, now: number, q_value: number | null) {
  if (before === 0 || now === 0) return null;
  const text = formatFactor(now / before);
  if (q_value === null) return <span class="muted" title="Not tested: too few hours or days with runs">{text}</span>;
  if (q_value > certain) return <span class="muted" title={`Not significant: q = ${q_value.toPrecision(2)}`}>{text}</span>;
  return <strong class={now > before ? "problem" : ""} title={`Significant: q = ${q_value.toPrecision(2)}`}>{text}</strong>;
}

// The latest level change of the figure that changed most.
export function lastChange(trend: EventTrend): LevelChange | null {
  const last = ["p50", "p99"].flatMap((measure) => trend.changes.filter((change) => change.measure === measure).slice(-1));
  const up = trend.verdict === "worse";
  const fitting = last.filter((change) => change.after_ns > change.before_ns === up);
  const size = (change: LevelChange) => Math.abs(Math.log(Math.max(change.after_ns, 1) / Math.max(change.before_ns, 1)));
  return fitting.sort((a, b) => size(b) - size(a))[0] ?? null;
}

export function VerdictTag({ trend, brief = false }: { trend: EventTrend; brief?: boolean }) {
  if (trend.verdict === "untested") return <span class="muted" title="Fewer than four hours or days with runs in this period or the one before">not enough data</span>;
  if (trend.verdict === "unchanged") return <span class="muted">No clear change</span>;
  const since = lastChange(trend);
  return (
    <>
      <span class={`state ${trend.verdict}`}>{trend.verdict} {formatFactor(trend.factor)}</span>
      {since && !brief && <small class="under">{since.measure} since {formatMoment(since.from_ns)}{since.build && <>, with <BuildName id={since.build} /></>}</small>}
    </>
  );
}

// A sentence for the top of the event's page.
export function VerdictSentence({ trend }: { trend: EventTrend }) {
  const since = lastChange(trend);
  const direction = trend.verdict === "worse" ? "Slower" : "Faster";
  if (trend.verdict === "untested") return <>Not enough data to compare with the period before: at least four hours or days with runs are needed in both.</>;
  if (trend.verdict === "unchanged") return <>No clear change from the period before.</>;
  if (since) {
    const factor = formatFactor(since.after_ns / Math.max(1, since.before_ns));
    return <>{direction} since {formatMoment(since.from_ns)}{since.build && <> (build <BuildName id={since.build} />)</>}: {since.measure} went from {formatDuration(since.before_ns)} to {formatDuration(since.after_ns)} ({factor}).</>;
  }
  const figures = [["p50", trend.p50] as const, ["p99", trend.p99] as const].filter(([, change]) => change.q_value !== null && change.q_value <= certain && change.before_ns > 0);
  if (figures.length === 0) return <>{trend.verdict === "worse" ? "More" : "Fewer"} delays than in the period before ({formatFactor(trend.factor)}).</>;
  return <>{direction} than in the period before: {figures.map(([name, change]) => `${name} ${formatDuration(change.now_ns)}, was ${formatDuration(change.before_ns)}`).join("; ")}.</>;
}
