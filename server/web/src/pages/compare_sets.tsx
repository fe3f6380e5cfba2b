// Two sets of an event's runs, given by filters in the address: what differs, and how certain that
// is.
import { useMemo, useState } from "preact/hooks";
import { useBuildNames } from "../builds";
import { ChartCanvas } from "../charts/chart";
import { partName } from "../charts/run_times";
import { set_colours } from "../colours";
import { labels, localInput, span_names } from "../filter_bar";
import {
  type Filters,
  type Span,
  addressQuery,
  apiQuery,
  eventAddress,
  parseFilters,
} from "../filters";
import { FlameGraph } from "../flame/flame_graph";
import { largestMatch, readTree, searchTree } from "../flame/tree";
import {
  formatCount,
  formatDifference,
  formatDuration,
  formatShare,
  millisecondsOf,
  plural,
  shortId,
} from "../format";
import { HandOver } from "../hand_over";
import { useGet } from "../load";
import { Help } from "../help";
import { type NameKind, NamePicker } from "../name_picker";
import { CauseTitle, Choice, Empty, Ready, Scroll, Section, Swatch, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type {
  CauseSide,
  Choices,
  EventList,
  FigureDifference,
  Flame,
  SetComparison,
} from "../types";
import { partsText } from "../verdict";
import { IntervalPicture } from "./compare";
import { PartsTable } from "./event_change";
import { parseZoned } from "../zone";
import { DifferenceLegend, stateOf } from "./profile";

type Side = "a" | "b";
type Measure = SetComparison["measure"];

function setOf(place: Place, side: Side): Filters {
  const {
    event: _event,
    search: _search,
    ...filters
  } = parseFilters(new URLSearchParams(place.query.get(side) ?? ""));
  return filters;
}

// The sets in the API's form: a query within the query.
function setsQuery(a: Filters, b: Filters, more: Record<string, string> = {}): string {
  return `?${new URLSearchParams({ a: apiQuery(a).slice(1), b: apiQuery(b).slice(1), ...more })}`;
}

function setsAddress(event: string, a: Filters, b: Filters): string {
  const sets = { a: addressQuery(a).slice(1), b: addressQuery(b).slice(1) };
  return `/compare?${new URLSearchParams({ event, ...sets })}`;
}

// The address of a page that compares a set with itself, until the user changes one.
export function compareAddress(event: string, filters: Filters): string {
  return setsAddress(event, filters, filters);
}

// What the server knows of a lasting change, in the answers about changes and in the overview.
export interface ChangeAround {
  from_ns: string; // of the change
  build: string | null; // that came with it
  before_ns: string;
  to_ns: string;
  build_before: string | null;
}

// The sets of a change: the builds before and after it, if it came with a build; otherwise the
// times.
export function changeSets(
  change: ChangeAround,
  filters: Filters = {},
): { a: Filters; b: Filters } {
  const { span: _span, from: _from, to: _to, event: _event, search: _search, ...rest } = filters;
  const [before, at, to] = [change.before_ns, change.from_ns, change.to_ns].map(millisecondsOf);
  if (change.build === null || change.build_before === null)
    return { a: { ...rest, from: before, to: at }, b: { ...rest, from: at, to } };
  const both = { ...rest, from: before, to };
  return { a: { ...both, build: [change.build_before] }, b: { ...both, build: [change.build] } };
}

// A link to the comparison that shows what a change did.
export function CompareChange({
  event,
  change,
  filters,
}: {
  event: string;
  change: ChangeAround;
  filters?: Filters;
}) {
  const names = useBuildNames();
  const nameOf = (id: string) => names.get(id) ?? shortId(id);
  const { a, b } = changeSets(change, filters);
  const address = setsAddress(event, a, b);
  const words =
    change.build !== null && change.build_before !== null
      ? `Compare ${nameOf(change.build_before)} with ${nameOf(change.build)}`
      : "Compare before and after";
  return <a href={address}>{words}</a>;
}

export function ComparePage({ place }: { place: Place }) {
  const event = place.query.get("event") ?? "";
  const a = setOf(place, "a");
  const b = setOf(place, "b");
  const same = addressQuery(a) === addressQuery(b);
  return (
    <main id="main">
      <div class="title-row">
        <Title text={event === "" ? "Compare two sets" : `Compare two sets of ${event}`} />
        {event !== "" && (
          <div class="title-links">
            <a href={eventAddress(event)}>Back to the event</a>
            <HandOver />
          </div>
        )}
      </div>
      <EventPicker event={event} />
      {event !== "" && (
        <>
          <div class="set-bars">
            <SetBar side="a" event={event} filters={a} />
            <SetBar side="b" event={event} filters={b} />
          </div>
          {same ? (
            <Empty title="A and B are the same runs.">
              <p>Choose another build, host or time for one of them.</p>
            </Empty>
          ) : (
            <Compared event={event} a={a} b={b} place={place} />
          )}
        </>
      )}
    </main>
  );
}

function EventPicker({ event }: { event: string }) {
  const list = useGet<EventList>("/api/v1/events?limit=1000");
  const names = list.data?.events.map((row) => row.event) ?? [];
  const all = event !== "" && !names.includes(event) ? [event, ...names] : names;
  return (
    <form class="filters" aria-label="Event" onSubmit={(submit) => submit.preventDefault()}>
      <label class="field">
        <span>Event</span>
        <select
          name="event"
          value={event}
          onChange={(change) => setQuery({ event: change.currentTarget.value })}>
          <option value="">choose an event</option>
          {all.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

function SetBar({ side, event, filters }: { side: Side; event: string; filters: Filters }) {
  const choices = useGet<Choices>(`/api/v1/choices?event=${encodeURIComponent(event)}`);
  const names = useBuildNames();
  const change = (more: Filters) =>
    setQuery({ [side]: addressQuery({ ...filters, ...more }).slice(1) });
  const pick = (kind: NameKind) => (
    <NamePicker
      kind={kind}
      label={labels[kind]}
      chosen={filters[kind] ?? []}
      choices={choices.data}
      event={event}
      names={kind === "build" ? names : undefined}
      onChange={(chosen) => change({ [kind]: chosen.length > 0 ? chosen : undefined })}
    />
  );
  const time = (name: "from" | "to", label: string) => (
    <label class={filters[name] === undefined ? "field" : "field active"}>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={localInput(filters[name])}
        onChange={(chosen) => {
          const ms = parseZoned(chosen.currentTarget.value);
          change({ [name]: Number.isNaN(ms) ? undefined : ms, span: undefined });
        }}
      />
    </label>
  );
  const title = `Set ${side.toUpperCase()}`;
  return (
    <form class="filters" aria-label={title} onSubmit={(submit) => submit.preventDefault()}>
      <strong>
        <Swatch colour={set_colours[side]} /> {title}
      </strong>
      {pick("build")}
      {pick("host")}
      <label class={filters.span === undefined ? "field" : "field active"}>
        <span>Span</span>
        <select
          name="span"
          value={
            filters.span ?? (filters.from === undefined && filters.to === undefined ? "all" : "set")
          }
          onChange={(chosen) =>
            change({
              from: undefined,
              to: undefined,
              span:
                chosen.currentTarget.value === "all"
                  ? undefined
                  : (chosen.currentTarget.value as Span),
            })
          }>
          {span_names.map(([span, text]) => (
            <option key={span} value={span}>
              {text}
            </option>
          ))}
          <option value="all">All time</option>
          {(filters.from !== undefined || filters.to !== undefined) && (
            <option value="set" disabled>
              Custom
            </option>
          )}
        </select>
      </label>
      {time("from", "From")}
      {time("to", "To")}
      {pick("user")}
      {pick("process")}
      {pick("unit")}
    </form>
  );
}

function Compared({ event, a, b, place }: { event: string; a: Filters; b: Filters; place: Place }) {
  const path = `/api/v1/events/${encodeURIComponent(event)}/compare`;
  const loaded = useGet<SetComparison>(path + setsQuery(a, b));
  return (
    <Ready of={loaded} height={500}>
      {(data) =>
        data.a.runs === 0 || data.b.runs === 0 ? (
          <Empty title={`Set ${data.a.runs === 0 ? "A" : "B"} has no runs.`}>
            <p>Widen its time, or clear a filter.</p>
          </Empty>
        ) : (
          <>
            <Verdict data={data} />
            {hasChanged(data) && <CausesOf data={data} />}
            <div class="columns">
              <Section title="Figures">
                <Figures data={data} />
                <Help of={["evidence", "weight"]} />
              </Section>
              <Section title="Distribution of durations">
                <Distributions data={data} />
              </Section>
            </div>
            <Hosts data={data} event={event} a={a} b={b} />
            <div class="columns">
              <Stages key={data.measure} data={data} />
              <Section title="Where the time went">
                <Times data={data} />
              </Section>
            </div>
            {!hasChanged(data) && <CausesOf data={data} />}
            <SetFlame path={path} a={a} b={b} place={place} />
          </>
        )
      }
    </Ready>
  );
}

// The most meaningful figure: the median, then the tail, then the delays.
function Verdict({ data }: { data: SetComparison }) {
  const certain = data.quantiles.filter((figure) => figure.evidence);
  const words = certain.map(
    (figure) =>
      `the ${figure.name} is ${formatDuration(Math.abs(figure.difference))} ` +
      `${figure.difference > 0 ? "longer" : "shorter"}`,
  );
  if (data.delay_share.evidence)
    words.push(
      `there are ${data.delay_share.difference > 0 ? "more" : "fewer"} delays ` +
        `(${formatShare(data.delay_share.b)} instead of ${formatShare(data.delay_share.a)})`,
    );
  return (
    <p class="verdict" data-testid="set-verdict">
      {words.length === 0 ? (
        <>
          <strong>No significant difference.</strong> The intervals below show how large a
          difference is still possible.
        </>
      ) : (
        <>
          <strong>In B {words.join(", ")}</strong> than in A.
        </>
      )}
    </p>
  );
}

function Interval({
  figure,
  write,
  reach,
}: {
  figure: FigureDifference;
  write: (value: number) => string;
  reach: number;
}) {
  return (
    <>
      <td class="number">{write(figure.difference)}</td>
      <td>
        {figure.low === null || figure.high === null ? (
          <span class="muted">too few runs</span>
        ) : (
          `${write(figure.low)} to ${write(figure.high)}`
        )}
      </td>
      <td class="picture">
        {figure.low !== null && figure.high !== null && (
          <IntervalPicture
            low={figure.low}
            middle={figure.difference}
            high={figure.high}
            reach={reach}
            evidence={figure.evidence}
          />
        )}
      </td>
    </>
  );
}

// Of durations.
function FigureRow({
  name,
  figure,
  reach,
}: {
  name: string;
  figure: FigureDifference;
  reach: number;
}) {
  return (
    <tr class={figure.evidence ? "" : "faint"}>
      <th scope="row">{name}</th>
      <td class="number">{formatDuration(figure.a)}</td>
      <td class="number">{formatDuration(figure.b)}</td>
      <Interval figure={figure} write={formatDifference} reach={reach} />
    </tr>
  );
}

function reachOf(figures: { low: number | null; high: number | null }[]): number {
  return Math.max(
    1e-9,
    ...figures.flatMap((figure) => [Math.abs(figure.low ?? 0), Math.abs(figure.high ?? 0)]),
  );
}

function Head({ first }: { first: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        <th scope="col" class="number">
          A
        </th>
        <th scope="col" class="number">
          B
        </th>
        <th scope="col" class="number">
          Difference
        </th>
        <th scope="col">95 % interval</th>
        <th scope="col" class="picture" aria-hidden="true">
          less ← 0 → more
        </th>
      </tr>
    </thead>
  );
}

const points = (share: number) =>
  share === 0
    ? "0"
    : `${share > 0 ? "+" : share < 0 ? "−" : ""}${(Math.abs(share) * 100).toPrecision(2)} points`;

function Figures({ data }: { data: SetComparison }) {
  const reach = reachOf(data.quantiles);
  return (
    <Scroll label="Table of figures">
      <table class="list compact figures-table" data-testid="set-figures">
        <Head first="Figure" />
        <tbody>
          <tr>
            <th scope="row">Runs</th>
            <td class="number">{formatCount(data.a.runs)}</td>
            <td class="number">{formatCount(data.b.runs)}</td>
            <td />
            <td />
            <td />
          </tr>
          {data.quantiles.map((figure) => (
            <FigureRow key={figure.name} name={figure.name} figure={figure} reach={reach} />
          ))}
          <tr class={data.delay_share.evidence ? "" : "faint"}>
            <th scope="row">Delays</th>
            <td class="number">{formatShare(data.delay_share.a)}</td>
            <td class="number">{formatShare(data.delay_share.b)}</td>
            <Interval
              figure={data.delay_share}
              write={points}
              reach={reachOf([data.delay_share])}
            />
          </tr>
          <tr>
            <th scope="row">Longest</th>
            <td class="number">{formatDuration(data.a.longest_ns)}</td>
            <td class="number">{formatDuration(data.b.longest_ns)}</td>
            <td />
            <td />
            <td />
          </tr>
        </tbody>
      </table>
      <p class="muted">
        The intervals assume independent runs. Runs of the same hour are alike, so true intervals
        are wider if a set covers only a few hours.
      </p>
    </Scroll>
  );
}

function Distributions({ data }: { data: SetComparison }) {
  const bins = data.histogram;
  const share = (side: Side) => bins.map((bin) => (100 * bin[side]) / Math.max(1, data[side].runs));
  return (
    <ChartCanvas
      height={190}
      inputs={[data]}
      label={
        `Distributions of ${plural(data.a.runs, "run")} of A and ${plural(data.b.runs, "run")} ` +
        "of B; the table beside has their percentiles"
      }
      make={() => ({
        sets: (["a", "b"] as const).map((side) => ({
          values: share(side),
          colour: set_colours[side],
        })),
        stacked: false,
        filled: 0.9,
        whole: false,
        title: "% of the set's runs",
        value: (value) => String(Math.round(value * 100) / 100),
        labels: bins.map((bin) => formatDuration(bin.low_ns)),
        padding: { top: 0, bottom: 0 },
        tip: (slot) => [
          `${formatDuration(bins[slot].low_ns)} to ${formatDuration(bins[slot].high_ns)}`,
          ...(["a", "b"] as const).map(
            (side) => `${side.toUpperCase()}: ${formatShare(share(side)[slot] / 100)}`,
          ),
        ],
      })}
    />
  );
}

type Stage = SetComparison["stages"]["stages"][number];

// By one percentile, at first the one that changed most; the largest difference first.
function Stages({ data }: { data: SetComparison }) {
  const { a_runs, b_runs, stages } = data.stages;
  const [measure, setMeasure] = useState(data.measure);
  if (stages.length === 0)
    return (
      <Section title="Stages">
        <p class="muted">These runs have no stages.</p>
      </Section>
    );
  const figureOf = (stage: Stage) =>
    stage.quantiles.find(({ name }) => name === measure) ?? stage.quantiles[0];
  const rows = stages
    .map((stage) => ({ name: stage.name, figure: figureOf(stage) }))
    .sort((one, other) => Math.abs(other.figure.difference) - Math.abs(one.figure.difference));
  const reach = reachOf(rows.map(({ figure }) => figure));
  return (
    <Section
      title="Stages"
      aside={
        <Choice<Measure>
          label="Percentile of the stages"
          value={measure}
          options={[
            ["p50", "p50"],
            ["p90", "p90"],
            ["p99", "p99"],
          ]}
          onChoose={setMeasure}
        />
      }>
      <Scroll label="Table of stages">
        <table class="list compact figures-table" data-testid="set-stages">
          <Head first={`${measure} of the stage`} />
          <tbody>
            {rows.map(({ name, figure }) => (
              <FigureRow key={name} name={name} figure={figure} reach={reach} />
            ))}
          </tbody>
        </table>
        <p class="muted">
          From the newest {formatCount(a_runs)} runs of A and {formatCount(b_runs)} of B with
          recorded stages.
        </p>
      </Scroll>
    </Section>
  );
}

function Hosts({
  data,
  event,
  a,
  b,
}: {
  data: SetComparison;
  event: string;
  a: Filters;
  b: Filters;
}) {
  const { hosts } = data;
  if (hosts.total < 2) return null;
  const where = partsText(hosts, "hosts");
  const differs =
    data.quantiles.some((figure) => figure.evidence) &&
    hosts.parts.some((part) => part.before.runs > 0 && part.after.runs > 0);
  const addressOf = (host: string) =>
    setsAddress(event, { ...a, host: [host] }, { ...b, host: [host] });
  return (
    <Section title="Hosts" id="hosts">
      {differs && (
        <p data-testid="set-where">
          {where === null
            ? `All ${formatCount(hosts.total)} hosts differ alike.`
            : `The difference is on ${where}.`}
        </p>
      )}
      <PartsTable
        split={hosts}
        by="host"
        slow={`Over the ${data.measure} of A`}
        runs="Runs of B"
        addressOf={addressOf}
      />
    </Section>
  );
}

function Times({ data }: { data: SetComparison }) {
  const { parts, a_runs, b_runs } = data.times;
  const reach = reachOf(parts);
  if (parts.length === 0) return <p class="muted">No timing breakdown for these runs.</p>;
  return (
    <Scroll label="Table of times">
      <table class="list compact figures-table" data-testid="set-times">
        <Head first="Mean time of a run" />
        <tbody>
          {parts.map((part) => (
            <FigureRow key={partName(part)} name={partName(part)} figure={part} reach={reach} />
          ))}
        </tbody>
      </table>
      <p class="muted">
        From the newest {formatCount(a_runs)} runs of A and {formatCount(b_runs)} of B with a timing
        breakdown.
      </p>
    </Scroll>
  );
}

const change_words = { came: "only in B", went: "only in A", stays: "in both" };
const change_order = ["came", "went", "stays"];

function hasChanged(data: SetComparison): boolean {
  return data.causes.causes.some((cause) => cause.change !== "stays");
}

// Those that only one set has first.
function CausesOf({ data }: { data: SetComparison }) {
  const { a, b } = data.causes;
  const causes = [...data.causes.causes].sort(
    (one, other) => change_order.indexOf(one.change) - change_order.indexOf(other.change),
  );
  const side = (cause: CauseSide | null) =>
    cause === null ? (
      <span class="muted">not found</span>
    ) : (
      `${plural(cause.affected_runs, "run")}, +${formatDuration(cause.excess_ns)}, ` +
      `${formatShare(cause.share)}`
    );
  return (
    <Section title="New and resolved causes">
      <p class="muted">
        A has {plural(a.delayed_runs, "recorded delay")}, B has {formatCount(b.delayed_runs)}. Rare
        causes may be missing: only those are listed in which delays spend significantly more time
        than normal runs.
      </p>
      {causes.length === 0 ? (
        <p>No cause found{a.silent_because && `: ${a.silent_because}`}</p>
      ) : (
        <Scroll label="Table of causes">
          <table class="list compact" data-testid="set-causes">
            <thead>
              <tr>
                <th scope="col">Cause</th>
                <th scope="col">Found</th>
                <th scope="col">A: runs, extra time, share of it</th>
                <th scope="col">B</th>
              </tr>
            </thead>
            <tbody>
              {causes.map((cause) => (
                <tr key={`${cause.title} ${cause.record}`}>
                  <th scope="row" class="cause-name">
                    {cause.record === null ? (
                      <CauseTitle title={cause.title} />
                    ) : (
                      <a href={`/cause/${cause.record}`}>
                        <CauseTitle title={cause.title} />
                      </a>
                    )}
                  </th>
                  <td>
                    <span class={`state ${cause.change === "came" ? "worse" : ""}`}>
                      {change_words[cause.change]}
                    </span>
                  </td>
                  <td class="name">{side(cause.a)}</td>
                  <td class="name">{side(cause.b)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

function SetFlame({ path, a, b, place }: { path: string; a: Filters; b: Filters; place: Place }) {
  const state = stateOf(place);
  const loaded = useGet<Flame>(`${path}/flame${setsQuery(a, b, { state })}`);
  return (
    <Section
      title="Differential flame graph"
      id="flame"
      aside={
        <Choice
          label="Time shown"
          value={state}
          options={[
            ["all", "all time"],
            ["on-cpu", "on CPU"],
            ["off-cpu", "off CPU"],
          ]}
          onChoose={(value) =>
            setQuery({ state: value === "all" ? undefined : value, zoom: undefined })
          }
        />
      }>
      <Ready of={loaded} height={300}>
        {(flame) =>
          flame.nodes.length <= 1 || (flame.runs ?? 0) === 0 || flame.baseline_total === null ? (
            <Empty title="No recorded delays to compare.">
              <p>
                Set A has {plural(flame.baseline_runs ?? 0, "recorded delay")}, set B has{" "}
                {formatCount(flame.runs ?? 0)}.
              </p>
            </Empty>
          ) : (
            <DifferencePicture
              flame={flame}
              zoomed={zoomOf(place, flame)}
              of="B"
              others="of A"
              within="in A"
            />
          )
        }
      </Ready>
    </Section>
  );
}

// The node that the address zooms to.
export function zoomOf(place: Place, flame: Flame): number {
  const text = place.query.get("zoom") ?? "0";
  return /^\d{1,5}$/.test(text) && Number(text) < flame.nodes.length ? Number(text) : 0;
}

// Recorded delays against others. `of` and `others` say which: "B" and "of A"; `within`: "in A".
export function DifferencePicture({
  flame,
  zoomed,
  of,
  others,
  within,
  reveal,
}: {
  flame: Flame;
  zoomed: number;
  of: string;
  others: string;
  within: string;
  reveal?: string;
}) {
  const tree = useMemo(() => readTree(flame), [flame]);
  const found = useMemo(() => {
    const matches = searchTree(tree, reveal ?? "");
    return matches !== null && typeof matches !== "string" && matches.nodes.length > 0
      ? { node: largestMatch(tree, matches) }
      : null;
  }, [tree, reveal]);
  return (
    <>
      <p class="muted">
        Width: mean of {plural(flame.runs ?? 0, "recorded delay")} of {of} (
        {formatDuration(flame.total)}). Colour: difference from the mean of{" "}
        {formatCount(flame.baseline_runs ?? 0)} {others} (
        {formatDuration(flame.baseline_total ?? 0)}).
      </p>
      <FlameGraph
        tree={tree}
        width="value"
        difference
        matches={null}
        zoomed={zoomed}
        onZoom={(node) => setQuery({ zoom: node === 0 ? undefined : String(node) }, "replace")}
        reveal={found}
        against={within}
        label={
          `Flame graph of ${of} and the difference from ` +
          `${formatCount(flame.baseline_runs ?? 0)} ${others}, ` +
          `${formatCount(flame.nodes.length)} nodes`
        }
      />
      <div class="below-bars">
        <DifferenceLegend than={within} />{" "}
        {zoomed > 0 && (
          <button type="button" onClick={() => setQuery({ zoom: undefined }, "replace")}>
            Whole graph
          </button>
        )}
        <details class="keys">
          <summary>Keys</summary>
          <p id="flame-keys">
            Arrows: caller, callee, neighbours. Enter: zoom. Backspace: zoom out to the caller.
            Escape: whole graph.
          </p>
        </details>
      </div>
    </>
  );
}
