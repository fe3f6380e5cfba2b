// Says in words whether an event got worse.
import { BuildName } from "./builds";
import { formatCount, formatDuration, formatFactor, formatMoment, formatShare } from "./format";
import type { EventTrend, LevelChange, PartsChanged } from "./types";

const certain = 0.05;

// The change of a figure against the period before, bold if it is significant; empty if there is
// nothing to compare.
export function changeText(before: number, now: number, q_value: number | null) {
  if (before === 0 || now === 0) return null;
  const text = formatFactor(now / before);
  if (q_value === null)
    return (
      <span class="muted" title="Not tested: too few hours or days with runs">
        {text}
      </span>
    );
  if (q_value > certain)
    return (
      <span class="muted" title={`Not significant: q = ${q_value.toPrecision(2)}`}>
        {text}
      </span>
    );
  return (
    <strong
      class={now > before ? "problem" : ""}
      title={`Significant: q = ${q_value.toPrecision(2)}`}>
      {text}
    </strong>
  );
}

// A figure of a level change: "2.4 ms", "3.6 %", or "5.1 per hour" if only delays are recorded.
function levelText(trend: EventTrend, change: LevelChange, value: number): string {
  if (change.measure !== "delays") return formatDuration(value);
  return trend.runs_recorded ? formatShare(value) : `${value.toPrecision(2)} per hour`;
}

// "p99 1.2 ms → 2.4 ms (×2)", "delays 1.8 % → 3.6 % (×2)".
export function levelChangeText(trend: EventTrend, change: LevelChange): string {
  const factor = change.before > 0 ? ` (${formatFactor(change.after / change.before)})` : "";
  return (
    `${change.measure} ${levelText(trend, change, change.before)} → ` +
    `${levelText(trend, change, change.after)}${factor}`
  );
}

// "10 of 21 hosts (all fra-*)"; null if all changed.
export function partsText(parts: PartsChanged, many: string): string | null {
  if (!parts.concentrated) return null;
  return (
    `${formatCount(parts.changed)} of ${formatCount(parts.total)} ` +
    `${many}${parts.pattern === null ? "" : ` (all ${parts.pattern})`}`
  );
}

export function VerdictTag({ trend, brief = false }: { trend: EventTrend; brief?: boolean }) {
  if (trend.verdict === "untested")
    return (
      <span
        class="muted"
        title="Fewer than four hours or days with runs in this period or the one before">
        not enough data
      </span>
    );
  if (trend.verdict === "unchanged") return <span class="muted">No clear change</span>;
  const since = trend.lasting;
  return (
    <>
      <span class={`state ${trend.verdict}`}>
        {trend.verdict}
        {trend.factor !== null && ` ${formatFactor(trend.factor)}`}
      </span>
      {since && !brief && (
        <small class="under">
          {since.measure} since {formatMoment(since.from_ns)}
          {since.build && (
            <>
              , with <BuildName id={since.build} />
            </>
          )}
        </small>
      )}
    </>
  );
}

// A sentence for the top of the event's page.
export function VerdictSentence({ trend }: { trend: EventTrend }) {
  const since = trend.lasting;
  const direction = trend.verdict === "worse" ? "Slower" : "Faster";
  if (trend.verdict === "untested")
    return (
      <>
        Not enough data to compare with the period before: at least four hours or days with runs are
        needed in both.
      </>
    );
  if (trend.verdict === "unchanged") return <>No clear change from the period before.</>;
  if (since)
    return (
      <>
        {direction} since {formatMoment(since.from_ns)}
        {since.build && (
          <>
            {" "}
            (build <BuildName id={since.build} />)
          </>
        )}
        : {levelChangeText(trend, since)}.
      </>
    );
  const figures = [["p50", trend.p50] as const, ["p99", trend.p99] as const].filter(
    ([, change]) => change.q_value !== null && change.q_value <= certain && change.before_ns > 0,
  );
  if (figures.length === 0)
    return (
      <>
        {trend.verdict === "worse" ? "More" : "Fewer"} delays than in the period before
        {trend.factor !== null && ` (${formatFactor(trend.factor)})`}.
      </>
    );
  return (
    <>
      {direction} than in the period before:{" "}
      {figures
        .map(
          ([name, change]) =>
            `${name} ${formatDuration(change.now_ns)}, was ${formatDuration(change.before_ns)}`,
        )
        .join("; ")}
      .
    </>
  );
}
