// Two sets of an event's runs, given by filters in the address: what differs, and how certain that
// is.
import { useMemo } from "preact/hooks";
import { useBuildNames } from "../builds";
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
import { formatCount, formatDuration, millisecondsOf, plural, shortId } from "../format";
import { HandOver } from "../hand_over";
import { useGet } from "../load";
import { Help } from "../help";
import { type NameKind, NamePicker } from "../name_picker";
import { Choice, Empty, Ready, Section, Swatch, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type { Choices, EventList, Flame, SetComparison } from "../types";
import { partsText } from "../verdict";
import { PartsTable } from "./event_change";
import { parseZoned } from "../zone";
import { DifferenceLegend, stateOf } from "./profile";
import {
  type Side,
  CausesOf,
  Distributions,
  Figures,
  Stages,
  Times,
  Verdict,
  hasChanged,
} from "./set_figures";

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
