// The overview: every event against the period before, the worst change first.
import type { ComponentChildren } from "preact";
import { Sparkline } from "../charts/sparkline";
import { FilterBar } from "../filter_bar";
import { type Filters, apiQuery, eventAddress, narrowing, parseFilters } from "../filters";
import { formatCount, formatDuration, formatMoment, formatShare, formatTime, plural } from "../format";
import { useClock, useGet } from "../load";
import { Help } from "../help";
import { CauseStatusTag, Empty, FunctionName, Ready, Time, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type { EventList, OverviewAnswer, Session } from "../types";
import { VerdictTag, changeText, partsText } from "../verdict";
import { Lost, NoEvents } from "./events";
import { FirstSteps } from "./first_steps";

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
  const filters: Filters = asked.span || asked.from !== undefined || asked.to !== undefined ? asked : { ...asked, span: "24h" };
  const wanted = place.query.get("order") ?? "change";
  const order = columns.some(([name]) => name === wanted) ? wanted : "change";
  const loaded = useGet<OverviewAnswer>(`/api/v1/overview${apiQuery(filters, { order, limit: 200 })}`);
  return (
    <main id="main">
      <div class="title-row">
        <Title text="What is slow, and what got worse" />
        <span class="muted" data-testid="as-of">{filters.span ? `Updated ${formatTime(`${BigInt(now) * 1000000n}`).slice(11, 16)}, refreshes every minute` : "Fixed period"}</span>
      </div>
      <FilterBar filters={filters} search always_span={filters.span !== undefined} />
      <Ready of={loaded} height={400}>
        {(data) => (
          <>
            <Lost losses={data.lost} />
            {data.events.length === 0 ? <NothingHere filters={filters} session={session} /> : <Ranking data={data} filters={filters} order={order} />}
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
  return <Empty title="No data in this period."><p>Choose a longer time span, or open the <a href="/events">list of events</a> of all time.</p></Empty>;
}

function Ranking({ data, filters, order }: { data: OverviewAnswer; filters: Filters; order: string }) {
  const worse = data.events.filter((event) => event.verdict === "worse").length;
  const split = Number((BigInt(data.from_ns) - BigInt(data.before_ns)) / BigInt(data.unit_ns));
  return (
    <>
      <p class="verdict" data-testid="verdict">
        <strong>{worse === 0 ? "No regressions found." : `${plural(worse, "event")} got worse.`}</strong>{" "}
        <span class="muted">
          {formatMoment(data.from_ns)} to {formatMoment(data.to_ns)}, compared with the {periodWords(data)} before; bold = significant.
        </span>
      </p>
      <table class="list ranking">
        <thead>
          <tr>
            {columns.map(([name, title, number]) => (
              <th key={name} scope="col" class={number ? "number" : ""} aria-sort={order === name ? (name === "name" ? "ascending" : "descending") : undefined}>
                <button type="button" class="quiet sort" onClick={() => setQuery({ order: name === "change" ? undefined : name })}>{title}{order === name && <span aria-hidden="true"> {name === "name" ? "↑" : "↓"}</span>}</button>
              </th>
            ))}
            <th scope="col" class="number">Builds</th>
            <th scope="col">Cause</th>
          </tr>
        </thead>
        <tbody>{data.events.map((event) => <Row key={event.event} trend={event} split={split} filters={filters} />)}</tbody>
      </table>
      <Help of={["certain", "q", "level"]} />
      {data.total > data.events.length && <p class="muted">Showing {formatCount(data.events.length)} of {plural(data.total, "event")}; use the search to find others.</p>}
    </>
  );
}

// "7 days", "24 hours".
function periodWords(data: OverviewAnswer): string {
  const hours = Math.round(Number(BigInt(data.to_ns) - BigInt(data.from_ns)) / 3600e9);
  return hours >= 48 && hours % 24 === 0 ? plural(hours / 24, "day") : plural(hours, "hour");
}

function Cell({ value, change, children }: { value: string; change?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <td class="number">
      {value} {change}
      {children}
    </td>
  );
}

function Row({ trend, split, filters }: { trend: OverviewAnswer["events"][number]; split: number; filters: Filters }) {
  const { units, runs_recorded, extent } = trend;
  const cause = extent?.cause ?? trend.newest_cause;
  const where = extent && (partsText(extent.hosts, "hosts") ?? partsText(extent.units, "units"));
  const tone = trend.verdict === "worse" ? "bad" : undefined;
  const delays = trend.delay_share;
  const share = runs_recorded ? formatShare(delays.now) : "";
  return (
    <tr>
      <th scope="row">
        <a href={eventAddress(trend.event, filters)}>{trend.event}</a>
        {!runs_recorded && <span class="tag" title={'Only delays are recorded (record="delays"); durations are those of delays'}>delays only</span>}
      </th>
      <td><VerdictTag trend={trend} />{where && <small class="under">{where}</small>}</td>
      <Cell value={formatDuration(trend.p50.now_ns)} change={changeText(trend.p50.before_ns, trend.p50.now_ns, trend.p50.q_value)}><Sparkline values={units.p50} split={split} gaps /></Cell>
      <Cell value={formatDuration(trend.p99.now_ns)} change={changeText(trend.p99.before_ns, trend.p99.now_ns, trend.p99.q_value)}><Sparkline values={units.p99} split={split} gaps tone={tone} /></Cell>
      <Cell value={formatCount(trend.delays)} change={<><span class="muted">{share}</span> {changeText(delays.before, delays.now, delays.q_value)}</>}><Sparkline values={units.delays} split={split} /></Cell>
      <Cell value={runs_recorded ? formatCount(trend.runs) : "–"}>{runs_recorded && <Sparkline values={units.runs} split={split} />}</Cell>
      <td class="number">{formatCount(trend.hosts)}{trend.delayed_hosts > 0 && <small class="under">{formatCount(trend.delayed_hosts)} with recorded delays</small>}</td>
      <td class="number">{formatCount(trend.builds)}{trend.builds > 1 && <small class="under">{formatCount(trend.delayed_builds)} with delays</small>}</td>
      <td class="newest-cause">{cause && <><a href={`/cause/${cause.id}`}><FunctionName name={cause.title} still /></a><small class="under">{extent?.cause ? <span class="tag">came with the change</span> : <CauseStatusTag cause={cause} />} <Time ns={cause.regressed_ns ?? cause.noticed_ns} age /></small></>}</td>
    </tr>
  );
}

