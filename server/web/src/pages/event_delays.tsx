// An event with recorded delays but no recorded runs: what the delays alone show.
import { BuildName } from "../builds";
import { Distribution, Hours } from "../charts/summary_charts";
import { type Filters, addressQuery, apiQuery } from "../filters";
import { formatCount, formatDuration, plural } from "../format";
import { type Loaded, useMore } from "../load";
import { Choice, Failure, Figure, Scroll, Section, Shortened, Time } from "../parts";
import { type Place, setQuery } from "../router";
import { CauseList } from "./causes";
import { TrendSection, TrendVerdict } from "./event_trend";
import type { DelayList, DelaySummary, Trend } from "../types";

export function DelaysOnly({
  event,
  filters,
  place,
  summary,
  trend,
  narrowed,
}: {
  event: string;
  filters: Filters;
  place: Place;
  summary: DelaySummary;
  trend: Loaded<Trend>;
  narrowed: boolean;
}) {
  const { percentiles } = summary;
  return (
    <>
      <p class="muted" data-testid="delays-only">
        Only delays of this event are recorded{narrowed && " that match these filters"}, so the
        share of runs on time is unknown. All figures below are for delays
        {summary.delays_read < summary.delays &&
          `, the newest ${formatCount(summary.delays_read)} of ${formatCount(summary.delays)}`}
        .{!narrowed && ' To record all runs, give the event record="runs" in the settings.'}
      </p>
      <TrendVerdict trend={trend} />
      <dl class="figures">
        <Figure
          label="Delays"
          value={formatCount(summary.delays)}
          tone="bad"
          note={summary.threshold_ns ? `over ${formatDuration(summary.threshold_ns)}` : undefined}
        />
        <Figure label="p50 of delays" value={formatDuration(percentiles.p50)} />
        <Figure label="p90 of delays" value={formatDuration(percentiles.p90)} />
        <Figure label="p99 of delays" value={formatDuration(percentiles.p99)} />
        <Figure label="Longest" value={formatDuration(percentiles.max)} />
        <Figure label="Hosts" value={formatCount(summary.hosts.length)} />
        <Figure label="Builds" value={formatCount(summary.builds.length)} />
      </dl>
      <div class="columns">
        <div>
          <CauseList event={event} filters={filters} />
          <Section title="Hosts">
            <Counts
              what="host"
              filters={filters}
              rows={summary.hosts.map((row) => ({ ...row, name: row.host }))}
            />
          </Section>
          <Section title="Builds">
            <Counts
              what="build"
              filters={filters}
              rows={summary.builds.map((row) => ({ ...row, name: row.build }))}
            />
          </Section>
          <Section title="Units and containers">
            <Counts
              what="unit"
              filters={filters}
              rows={summary.units.map((row) => ({ ...row, name: row.unit }))}
            />
          </Section>
        </div>
        <div>
          <TrendSection trend={trend} filters={filters} />
          <Section title="Distribution above the threshold">
            <Distribution summary={summary} />
          </Section>
          <Section title="Delays by hour">
            <Hours summary={summary} />
          </Section>
        </div>
      </div>
      <DelayTable event={event} filters={filters} place={place} count={summary.delays} />
    </>
  );
}

function Counts({
  what,
  filters,
  rows,
}: {
  what: "host" | "build" | "unit";
  filters: Filters;
  rows: { name: string; delays: number; longest_ns: number }[];
}) {
  return (
    <Scroll label={`${what}s by delays`}>
      <table class="list compact">
        <thead>
          <tr>
            <th scope="col">{{ host: "Host", build: "Build", unit: "Unit or container" }[what]}</th>
            <th scope="col" class="number">
              Delays
            </th>
            <th scope="col" class="number">
              Longest
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 12).map((row) => (
            <tr key={row.name}>
              <th scope="row">
                {row.name === "" ? (
                  <span class="muted">unknown</span>
                ) : (
                  <a
                    href={addressQuery({ ...filters, [what]: [row.name] }) || "?"}
                    title={row.name}>
                    {what === "build" ? (
                      <BuildName id={row.name} />
                    ) : (
                      <Shortened text={row.name} most={32} />
                    )}
                  </a>
                )}
              </th>
              <td class="number">{formatCount(row.delays)}</td>
              <td class="number">{formatDuration(row.longest_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > 12 && (
        <p class="muted">and {plural(rows.length - 12, what)} with fewer delays</p>
      )}
    </Scroll>
  );
}

function DelayTable({
  event,
  filters,
  place,
  count,
}: {
  event: string;
  filters: Filters;
  place: Place;
  count: number;
}) {
  const order = place.query.get("order") === "slowest" ? "slowest" : "newest";
  const { dirty: _dirty, outliers: _outliers, ...rest } = filters;
  const list = useMore<DelayList>(
    `/api/v1/delays${apiQuery({ ...rest, event }, { order, limit: 100 })}`,
  );
  const rows = list.parts.flatMap((part) => part.delays);
  return (
    <Section
      title="Delays"
      id="delays"
      aside={
        <>
          <Choice<"newest" | "slowest">
            label="Order"
            value={order}
            options={[
              ["newest", "newest"],
              ["slowest", "slowest"],
            ]}
            onChoose={(value) => setQuery({ order: value === "newest" ? undefined : value })}
          />{" "}
          <span>
            Download:{" "}
            <a
              href={`/api/v1/delays/export${apiQuery({ ...rest, event }, { format: "csv" })}`}
              download="">
              CSV
            </a>{" "}
            <a
              href={`/api/v1/delays/export${apiQuery({ ...rest, event }, { format: "ndjson" })}`}
              download="">
              NDJSON
            </a>
          </span>
        </>
      }>
      <Scroll label="Delays">
        <table class="list compact cards" data-testid="delays">
          <thead>
            <tr>
              <th scope="col">Delay</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col">Host</th>
              <th scope="col">Process</th>
              <th scope="col">Unit</th>
              <th scope="col">Thread</th>
              <th scope="col">Build</th>
              <th scope="col" class="number">
                On CPU
              </th>
              <th scope="col" class="number">
                Waiting for CPU
              </th>
              <th scope="col" class="number">
                Blocked
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.bundle}/${row.number}`}>
                <th scope="row">
                  <a href={`/bundle/${row.bundle}/${row.number}`}>
                    <Time ns={row.begin_ns} />
                  </a>
                </th>
                <td class="number late">{formatDuration(row.duration_ns)}</td>
                <td>{row.host}</td>
                <td>{row.process}</td>
                <td>
                  <Shortened text={row.unit} most={32} />
                </td>
                <td>
                  {row.thread} ({row.tid})
                </td>
                <td>
                  <BuildName id={row.build} />
                </td>
                <td class="number">{formatDuration(row.on_cpu_ns)}</td>
                <td class="number">{formatDuration(row.runnable_ns)}</td>
                <td class="number">{formatDuration(row.blocked_ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {list.problem && <Failure error={list.problem} again={list.more} />}
      {list.next && (
        <p>
          <button type="button" onClick={list.more}>
            Show more delays
          </button>{" "}
          <span class="muted">
            Showing {formatCount(rows.length)} of {formatCount(count)}.
          </span>
        </p>
      )}
    </Section>
  );
}
