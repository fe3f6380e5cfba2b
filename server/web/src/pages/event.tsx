// One event: its durations, its runs, comparisons, the stacks of a stage, and the causes of its
// delays.
import { FilterBar } from "../filter_bar";
import { Distribution, Hours } from "../charts/summary_charts";
import { addressQuery, apiQuery, narrowing, parseFilters } from "../filters";
import { formatCount, formatDuration, formatShare } from "../format";
import { useGet } from "../load";
import { HandOver } from "../hand_over";
import { Empty, Figure, Ready, Section, Title } from "../parts";
import type { Place } from "../router";
import type { DelaySummary, Session, Summary } from "../types";
import { CauseList } from "./causes";
import { CompareChange, compareAddress } from "./compare_sets";
import { ChangeSection, changeAround, newCauses, useChange } from "./event_change";
import { DelaysOnly } from "./event_delays";
import { Runs } from "./event_runs";
import { SplitSection } from "./event_split";
import { worseRuleAddress } from "./rule_form";
import { TrendSection, TrendVerdict, useTrend } from "./event_trend";
import { StagePercentiles } from "./stage_percentiles";
import { TimeShiftSection } from "./time_shift";

function Figures({ summary }: { summary: Summary }) {
  const { percentiles } = summary;
  return (
    <dl class="figures">
      <Figure label="Runs" value={formatCount(summary.runs)} />
      <Figure
        label="Over the threshold"
        value={formatShare(summary.share_over)}
        tone={summary.delays > 0 ? "bad" : undefined}
        note={
          `${formatCount(summary.delays)}` +
          `${summary.threshold_ns ? ` over ${formatDuration(summary.threshold_ns)}` : ""}`
        }
      />
      <Figure label="p50" value={formatDuration(percentiles.p50)} />
      <Figure label="p75" value={formatDuration(percentiles.p75)} />
      <Figure label="p90" value={formatDuration(percentiles.p90)} />
      <Figure label="p95" value={formatDuration(percentiles.p95)} />
      <Figure label="p99" value={formatDuration(percentiles.p99)} />
      <Figure label="Longest" value={formatDuration(percentiles.max)} />
    </dl>
  );
}

export function EventPage({
  event,
  place,
  session,
}: {
  event: string;
  place: Place;
  session: Session;
}) {
  const { event: _event, search: _search, ...filters } = parseFilters(place.query);
  const path = `/api/v1/events/${encodeURIComponent(event)}`;
  const summary = useGet<Summary>(`${path}/summary${apiQuery(filters)}`);
  const none = summary.data !== null && summary.data.runs === 0 && summary.data.hidden === 0;
  const { dirty: _dirty, outliers: _outliers, start: _start, ...of_delays } = filters;
  const delays = useGet<DelaySummary>(none ? `${path}/delays${apiQuery(of_delays)}` : null);
  const only_delays = none && delays.data !== null && delays.data.delays > 0;
  const trend = useTrend(event, filters);
  const change = useChange(event, filters);
  const around = changeAround(change);
  const narrowed = narrowing(filters).length > 0;
  return (
    <main id="main">
      <div class="title-row">
        <Title text={event} />
        <div class="title-links">
          {around ? (
            <CompareChange event={event} change={around} filters={filters} />
          ) : (
            <a href={compareAddress(event, filters)}>Compare two sets</a>
          )}
          {session.role === "admin" && <a href={worseRuleAddress(event)}>Alert me</a>}
          <HandOver />
          <a
            href={`/bundles${addressQuery({
              ...filters,
              event,
              dirty: undefined,
              outliers: undefined,
              start: undefined,
            })}`}>
            Bundles of this event
          </a>
        </div>
      </div>
      <FilterBar filters={filters} event={event} />
      <Ready of={summary} height={330}>
        {(data) =>
          none && delays.loading ? (
            <p class="loading" role="status">
              Loading…
            </p>
          ) : only_delays ? (
            <DelaysOnly
              event={event}
              filters={filters}
              place={place}
              summary={delays.data as DelaySummary}
              trend={trend}
              narrowed={narrowed}
            />
          ) : none ? (
            <Empty
              title={
                narrowed ? "No run of this event matches these filters." : "No runs of this event."
              }>
              <p>
                {narrowed
                  ? "Choose a longer time span or clear a filter."
                  : 'Machines report runs if their settings give the event record="runs". ' +
                    "The server's retention may have removed older ones."}
              </p>
            </Empty>
          ) : (
            <>
              <TrendVerdict trend={trend} />
              <Figures summary={data} />
              <div class="columns">
                <div>
                  <ChangeSection change={change} filters={filters} place={place} />
                  <CauseList event={event} filters={filters} first={newCauses(change)} />
                  <SplitSection event={event} filters={filters} place={place} />
                </div>
                <div>
                  <TrendSection trend={trend} filters={filters} />
                  <Section title="Distribution of durations" aside={<Key />}>
                    <Distribution summary={data} />
                  </Section>
                  <Section title="Delays by hour">
                    <Hours summary={data} />
                  </Section>
                </div>
              </div>
            </>
          )
        }
      </Ready>
      {!none && <Runs event={event} filters={filters} place={place} session={session} />}
      {!none && <StagePercentiles event={event} filters={filters} around={around} />}
      {!none && <TimeShiftSection event={event} filters={filters} />}
    </main>
  );
}

function Key() {
  return (
    <span class="key">
      <span class="swatch in-time" aria-hidden="true" /> on time{" "}
      <span class="swatch late" aria-hidden="true" /> delay
    </span>
  );
}
