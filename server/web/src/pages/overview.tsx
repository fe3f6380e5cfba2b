// The overview: what got worse against the period before, then all other events.
import type { ComponentChildren } from "preact";
import { Sparkline } from "../charts/sparkline";
import { FilterBar } from "../filter_bar";
import { type Filters, apiQuery, eventAddress, narrowing, parseFilters } from "../filters";
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatShare,
  formatTime,
  plural,
} from "../format";
import { useClock, useGet } from "../load";
import { Help } from "../help";
import { CauseStatusTag, CauseTitle, Empty, Ready, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type { EventList, OverviewAnswer, Session } from "../types";
import { VerdictTag, changeText } from "../verdict";
import { Ahead, Lost, NoEvents } from "./events";
import { FirstSteps } from "./first_steps";
import { Regressions } from "./regressions";

const columns: [order: string, title: string, number: boolean][] = [
  ["name", "Event", false],
  ["change", "Change", false],
  ["p50", "p50", true],
  ["p99", "p99", true],
  ["delays", "Delays", true],
  ["runs", "Runs", true],
  ["hosts", "Hosts", true],
];

export function Overview({ place, session }: { place: Place; session: Session }) {
  const now = useClock(60e3);
  const asked = parseFilters(place.query);
  const filters: Filters =
    asked.span || asked.from !== undefined || asked.to !== undefined
      ? asked
      : { ...asked, span: "24h" };
  const wanted = place.query.get("order") ?? "change";
  const order = columns.some(([name]) => name === wanted) ? wanted : "change";
  const loaded = useGet<OverviewAnswer>(
    `/api/v1/overview${apiQuery(filters, { order, limit: 200 })}`,
  );
  return (
    <main id="main">
      <div class="title-row">
        <Title text="What got worse" />
        <span class="muted" data-testid="as-of">
          {filters.span
            ? `Updated ${formatTime(`${BigInt(now) * 1000000n}`).slice(11, 16)}, ` +
              "refreshes every minute"
            : "Fixed period"}
        </span>
      </div>
      <FilterBar filters={filters} search always_span={filters.span !== undefined} />
      <Ready of={loaded} height={400}>
        {(data) => (
          <>
            <Lost losses={data.lost} />
            <Ahead events={data.events} />
            {data.bundles_waiting > 0 && (
              <p class="muted" data-testid="waiting">
                {plural(data.bundles_waiting, "bundle is", "bundles are")} waiting to be read;{" "}
                {data.bundles_waiting === 1 ? "its" : "their"} delays and causes are not shown yet.
              </p>
            )}
            {data.events.length === 0 ? (
              <NothingHere filters={filters} session={session} />
            ) : (
              <Ranking data={data} filters={filters} order={order} session={session} />
            )}
          </>
        )}
      </Ready>
    </main>
  );
}

function NothingHere({ filters, session }: { filters: Filters; session: Session }) {
  const { span: _span, ...rest } = filters;
  const narrowed = narrowing(rest).length > 0;
  const all = useGet<EventList>(narrowed ? null : "/api/v1/events?limit=1");
  if (narrowed) return <NoEvents />;
  if (all.data === null) return null;
  if (all.data.events.length === 0) return <FirstSteps session={session} />;
  return (
    <Empty title="No data in this period.">
      <p>
        Choose a longer time span, or open the <a href="/events">list of events</a> of all time.
      </p>
    </Empty>
  );
}

const cards_shown = 12;

function Ranking({
  data,
  filters,
  order,
  session,
}: {
  data: OverviewAnswer;
  filters: Filters;
  order: string;
  session: Session;
}) {
  const all_worse = data.events.filter((event) => event.verdict === "worse");
  const worse = [...all_worse]
    .sort((a, b) => (b.factor ?? Infinity) - (a.factor ?? Infinity))
    .slice(0, cards_shown);
  const others = data.events.filter((event) => !worse.includes(event));
  const split = Number((BigInt(data.from_ns) - BigInt(data.before_ns)) / BigInt(data.unit_ns));
  return (
    <>
      <p class="verdict" data-testid="verdict">
        <strong>
          {worse.length === 0
            ? "No regressions found."
            : `${plural(all_worse.length, "event")} got worse.`}
        </strong>{" "}
        <span class="muted">
          {formatMoment(data.from_ns)} to {formatMoment(data.to_ns)}, compared with the{" "}
          {periodWords(data)} before; bold = significant.
        </span>
      </p>
      {worse.length > 0 && (
        <Regressions events={worse} split={split} filters={filters} session={session} />
      )}
      {others.length > 0 && (
        <table class="list ranking">
          <thead>
            <tr>
              {columns.map(([name, title, number]) => (
                <th
                  key={name}
                  scope="col"
                  class={number ? "number" : ""}
                  aria-sort={
                    order === name ? (name === "name" ? "ascending" : "descending") : undefined
                  }>
                  <button
                    type="button"
                    class="quiet sort"
                    onClick={() => setQuery({ order: name === "change" ? undefined : name })}>
                    {title}
                    {order === name && (
                      <span aria-hidden="true"> {name === "name" ? "↑" : "↓"}</span>
                    )}
                  </button>
                </th>
              ))}
              <th scope="col">Newest cause</th>
            </tr>
          </thead>
          <tbody>
            {others.map((event) => (
              <Row key={event.event} trend={event} split={split} filters={filters} />
            ))}
          </tbody>
        </table>
      )}
      <Help of={["certain", "q", "level"]} />
      {data.total > data.events.length && (
        <p class="muted">
          Showing {formatCount(data.events.length)} of {plural(data.total, "event")}; use the search
          to find others.
        </p>
      )}
    </>
  );
}

// "7 days", "24 hours".
function periodWords(data: OverviewAnswer): string {
  const hours = Math.round(Number(BigInt(data.to_ns) - BigInt(data.from_ns)) / 3600e9);
  return hours >= 48 && hours % 24 === 0 ? plural(hours / 24, "day") : plural(hours, "hour");
}

function Cell({
  value,
  change,
  children,
}: {
  value: string;
  change?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <td class="number">
      {value} {change}
      {children}
    </td>
  );
}

function Row({
  trend,
  split,
  filters,
}: {
  trend: OverviewAnswer["events"][number];
  split: number;
  filters: Filters;
}) {
  const { units, runs_recorded, delay_share: delays, newest_cause: cause } = trend;
  return (
    <tr>
      <th scope="row">
        <a href={eventAddress(trend.event, filters)}>{trend.event}</a>
        {!runs_recorded && (
          <span
            class="tag"
            title={'Only delays are recorded (record="delays"); durations are those of delays'}>
            delays only
          </span>
        )}
      </th>
      <td>
        <VerdictTag trend={trend} brief={trend.verdict !== "worse"} />
      </td>
      <Cell
        value={formatDuration(trend.p50.now_ns)}
        change={changeText(trend.p50.before_ns, trend.p50.now_ns, trend.p50.q_value)}
      />
      <Cell
        value={formatDuration(trend.p99.now_ns)}
        change={changeText(trend.p99.before_ns, trend.p99.now_ns, trend.p99.q_value)}>
        <Sparkline values={units.p99} split={split} gaps />
      </Cell>
      <Cell
        value={formatCount(trend.delays)}
        change={
          <>
            <span class="muted">{runs_recorded ? formatShare(delays.now) : ""}</span>{" "}
            {changeText(delays.before, delays.now, delays.q_value)}
          </>
        }
      />
      <Cell value={runs_recorded ? formatCount(trend.runs) : "–"} />
      <Cell value={formatCount(trend.hosts)} />
      <td class="newest-cause">
        {cause && (
          <>
            <a href={`/cause/${cause.id}`}>
              <CauseTitle title={cause.title} />
            </a>{" "}
            <CauseStatusTag cause={cause} />
          </>
        )}
      </td>
    </tr>
  );
}
