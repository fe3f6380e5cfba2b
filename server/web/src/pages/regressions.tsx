// The first page's answer: a card for each event that got worse.
import { Sparkline } from "../charts/sparkline";
import { type Filters, eventAddress } from "../filters";
import { formatMoment } from "../format";
import { useGet } from "../load";
import { CauseTitle } from "../parts";
import type { CauseLife, CauseRecord, Change, DelayList, OverviewAnswer, Session } from "../types";
import { VerdictSentence, VerdictTag, levelChangeText, partsText } from "../verdict";
import { BuildName } from "../builds";
import { exampleAddress } from "./causes";
import { CompareChange } from "./compare_sets";
import { changeAround, partOfDelays, useChange } from "./event_change";
import { worseRuleAddress } from "./rule_form";

type OverviewEvent = OverviewAnswer["events"][number];

export function Regressions({
  events,
  split,
  filters,
  session,
}: {
  events: OverviewEvent[];
  split: number;
  filters: Filters;
  session: Session;
}) {
  return (
    <div class="regressions">
      {events.map((event) => (
        <Regression
          key={event.event}
          trend={event}
          split={split}
          filters={filters}
          session={session}
        />
      ))}
    </div>
  );
}

function Regression({
  trend,
  split,
  filters,
  session,
}: {
  trend: OverviewEvent;
  split: number;
  filters: Filters;
  session: Session;
}) {
  const { lasting, units } = trend;
  const change = useChange(trend.event, filters);
  const around = changeAround(change);
  const measure = lasting?.measure ?? "p99";
  const values = measure === "delays" ? units.delays : units[measure];
  return (
    <article class="regression" aria-label={trend.event}>
      <div class="regression-head">
        <h2>
          <a href={eventAddress(trend.event, filters)}>{trend.event}</a>
        </h2>{" "}
        <VerdictTag trend={trend} brief />
        <Sparkline values={values} split={split} gaps={measure !== "delays"} tone="bad" />
      </div>
      <p data-testid="regression">
        {lasting ? <Changed trend={trend} /> : <VerdictSentence trend={trend} />}
      </p>
      <p data-testid="regression-cause">
        <NewCause trend={trend} change={change} />
      </p>
      <p class="regression-links">
        {around && <CompareChange event={trend.event} change={around} filters={filters} />}
        <TypicalDelay
          event={trend.event}
          cause={causeOf(trend, change)}
          from_ns={lasting?.from_ns ?? null}
        />
        {session.role === "admin" && <a href={worseRuleAddress(trend.event)}>Alert me</a>}
      </p>
    </article>
  );
}

// "delays 1.8 % → 3.6 % (×2) since 24 Nov 13:15, build v1.1, 10 of 21 hosts (all fra-*)."
function Changed({ trend }: { trend: OverviewEvent }) {
  const { lasting, extent } = trend;
  if (!lasting) return null;
  const hosts = extent && partsText(extent.hosts, "hosts");
  const units = extent && partsText(extent.units, "units");
  return (
    <>
      {levelChangeText(trend, lasting)} since {formatMoment(lasting.from_ns)}
      {lasting.build && (
        <>
          , build <BuildName id={lasting.build} />
        </>
      )}
      {hosts
        ? `, ${hosts}`
        : units
          ? `, ${units}`
          : extent && extent.hosts.total > 1
            ? `, all ${extent.hosts.total} hosts`
            : ""}
      .
    </>
  );
}

function NewCause({ trend, change }: { trend: OverviewEvent; change: Change | null }) {
  const { extent } = trend;
  const link = (cause: CauseRecord) => (
    <a href={`/cause/${cause.id}`}>
      <CauseTitle title={cause.title} />
    </a>
  );
  if (extent?.cause) {
    const part = change?.causes?.find(({ cause }) => cause.id === extent.cause?.id)?.part;
    return (
      <>
        <strong>New:</strong> {link(extent.cause)}
        {part !== undefined && change?.change && (
          <span class="muted"> ({partOfDelays(part, change.change)})</span>
        )}
      </>
    );
  }
  const known = causeOf(trend, change);
  return known ? (
    <>Most frequent cause: {link(known)}</>
  ) : (
    <span class="muted">No cause is known yet.</span>
  );
}

// What came with the change; otherwise the most frequent cause.
function causeOf(trend: OverviewEvent, change: Change | null): CauseRecord | null {
  return trend.extent?.cause ?? change?.causes?.[0]?.cause ?? trend.newest_cause;
}

// The delay in the middle of those recorded since the change, with the cause if there is one.
function TypicalDelay({
  event,
  cause,
  from_ns,
}: {
  event: string;
  cause: CauseRecord | null;
  from_ns: string | null;
}) {
  const life = useGet<CauseLife>(cause ? `/api/v1/causes/${cause.id}` : null).data;
  const since = from_ns === null ? "" : `&from=${from_ns}`;
  const list = useGet<DelayList>(
    cause ? null : `/api/v1/delays?event=${encodeURIComponent(event)}&limit=100${since}`,
  ).data;
  const of_cause = (life?.newest_delays ?? []).filter(
    (delay) =>
      delay.bundle !== null && (from_ns === null || BigInt(delay.begin_ns) >= BigInt(from_ns)),
  );
  const example = life && middle(of_cause, (delay) => delay.excess_ns);
  if (life && example)
    return <a href={exampleAddress(example.bundle ?? "", example.delay, life)}>Typical delay</a>;
  const delay = list && middle(list.delays, (one) => one.duration_ns);
  return delay ? <a href={`/bundle/${delay.bundle}/${delay.number}`}>Typical delay</a> : null;
}

function middle<T>(list: T[], size: (one: T) => number): T | undefined {
  return [...list].sort((a, b) => size(a) - size(b))[Math.floor(list.length / 2)];
}
