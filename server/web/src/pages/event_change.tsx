// Where an event's lasting change happened, and the causes that came with it.
import { useBuildNames } from "../builds";
import { labels } from "../filter_bar";
import { type Filters, addressQuery, apiQuery } from "../filters";
import { formatCount, formatDuration, formatFactor, formatMoment, formatShare } from "../format";
import { useGet } from "../load";
import { shortenMiddle } from "../names";
import { CauseTitle, Choice, Scroll, Section } from "../parts";
import { type Place, setQuery } from "../router";
import type { Change, ChangeSplit, LevelChange, SlowRuns } from "../types";
import { partsText } from "../verdict";
import type { ChangeAround } from "./compare_sets";

type By = "host" | "build" | "unit";
type FullChange = Required<Change> & { change: NonNullable<Change["change"]> };
type Part = ChangeSplit["parts"][number];
const parts_shown = 30;

export function useChange(event: string, filters: Filters): Change | null {
  const shown: Filters =
    filters.span === undefined && filters.from === undefined && filters.to === undefined
      ? { ...filters, span: "30d" }
      : filters;
  return useGet<Change>(`/api/v1/events/${encodeURIComponent(event)}/change${apiQuery(shown)}`)
    .data;
}

// The ids of the causes that came with the change.
export function newCauses(change: Change | null): string[] {
  return (change?.causes ?? [])
    .filter((cause) => cause.came_with_change)
    .map(({ cause }) => cause.id);
}

// The change and the build that most runs had before it; null without a lasting change.
export function changeAround(change: Change | null): ChangeAround | null {
  if (
    change?.change == null ||
    !change.builds ||
    change.before_ns === undefined ||
    change.to_ns === undefined
  )
    return null;
  const { from_ns, build } = change.change;
  const count = (part: Part) => Math.max(part.before.runs, part.before.slow);
  const before = change.builds.parts
    .filter((part) => part.name !== build && part.name !== "" && count(part) > 0)
    .sort((a, b) => count(b) - count(a))[0];
  return {
    from_ns,
    build,
    before_ns: change.before_ns,
    to_ns: change.to_ns,
    build_before: before?.name ?? null,
  };
}

export function ChangeSection({
  change: data,
  filters,
  place,
}: {
  change: Change | null;
  filters: Filters;
  place: Place;
}) {
  if (data === null || data.change === null) return null;
  const asked = place.query.get("where");
  const by: By = asked === "build" || asked === "unit" ? asked : "host";
  return (
    <Section
      title="Where it changed"
      id="change"
      aside={
        <Choice<By>
          label="Split by"
          value={by}
          options={[
            ["host", "host"],
            ["build", "build"],
            ["unit", "unit"],
          ]}
          onChoose={(value) => setQuery({ where: value === "host" ? undefined : value })}
        />
      }>
      <NewCauses change={data as FullChange} />
      <Parts change={data as FullChange} by={by} filters={filters} />
    </Section>
  );
}

function NewCauses({ change }: { change: FullChange }) {
  const came = change.causes.filter((cause) => cause.came_with_change);
  if (came.length === 0) return <p class="muted">No cause came with this change.</p>;
  return (
    <ul data-testid="new-causes">
      {came.map(({ cause, before, after, part }) => (
        <li key={cause.id}>
          <span class="tag">came with the change</span>{" "}
          <a href={`/cause/${cause.id}`}>
            <CauseTitle title={cause.title} />
          </a>
          : {rateText(change, before)} → {rateText(change, after)},{" "}
          {partOfDelays(part, change.change)}
        </li>
      ))}
    </ul>
  );
}

// What part of the delays a cause that came with a change has.
export function partOfDelays(part: number, { measure }: LevelChange): string {
  const which = measure === "delays" ? "additional delays" : "delays since";
  return `${formatShare(part)} of the ${which}`;
}

function rateText(change: FullChange, rate: number): string {
  return change.runs_recorded ? `${formatShare(rate)} of runs` : `${rate.toPrecision(2)} per hour`;
}

function Parts({ change, by, filters }: { change: FullChange; by: By; filters: Filters }) {
  const split = change[`${by}s`];
  const where = partsText(split, `${by}s`);
  return (
    <>
      <p data-testid="where">
        {where ??
          (split.total === 1
            ? `It changed on the only ${by}`
            : split.parts.some((part) => part.before.runs > 0 && part.after.runs > 0)
              ? `It changed on all ${formatCount(split.total)} ${by}s alike`
              : `No ${by} has runs both before and after it`)}
        , {formatMoment(change.before_ns)} to {formatMoment(change.change.from_ns)} compared with
        the time from then to {formatMoment(change.to_ns)}.
        {split.pattern !== null && (
          <>
            {" "}
            <a href={addressQuery({ ...filters, [by]: [split.pattern] })}>
              Show only {split.pattern}
            </a>
          </>
        )}
      </p>
      <PartsTable
        split={split}
        by={by}
        slow={
          change.change.measure === "delays" ? "Delays" : `Over the ${change.change.measure} before`
        }
        runs={change.runs_recorded ? "Runs after" : null}
        addressOf={(name) => addressQuery({ ...filters, [by]: [name] })}
      />
    </>
  );
}

// Hosts, builds or units before and after. `slow` says which runs count as slow; `runs` names the
// column of runs, null if only delays are recorded.
export function PartsTable({
  split,
  by,
  slow,
  runs,
  addressOf,
}: {
  split: ChangeSplit;
  by: By;
  slow: string;
  runs: string | null;
  addressOf: (name: string) => string;
}) {
  const names = useBuildNames();
  const share = (side: SlowRuns) =>
    side.runs === 0 ? "–" : runs ? formatShare(side.share) : `${side.share.toPrecision(2)}/h`;
  const time = (ns: number) => (ns === 0 ? "–" : formatDuration(ns));
  const pair = (pair: Part["p50"]) => (
    <td class="number">
      {time(pair.before_ns)} → {time(pair.after_ns)}
    </td>
  );
  return (
    <>
      <Scroll label={`Before and after by ${by}`}>
        <table class="list compact cards">
          <thead>
            <tr>
              <th scope="col">{labels[by]}</th>
              <th scope="col" class="number">
                {slow}
              </th>
              <th scope="col" class="number">
                p50
              </th>
              <th scope="col" class="number">
                p99
              </th>
              {runs && (
                <th scope="col" class="number">
                  {runs}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {split.parts.slice(0, parts_shown).map((part) => (
              <tr key={part.name}>
                <th scope="row" class="name">
                  {part.name === "" ? (
                    "unknown"
                  ) : (
                    <a href={addressOf(part.name)} title={part.name}>
                      {shortenMiddle(
                        by === "build" ? (names.get(part.name) ?? part.name) : part.name,
                        40,
                      )}
                    </a>
                  )}
                </th>
                <td class={part.changed && split.concentrated ? "number problem" : "number"}>
                  {share(part.before)} → {share(part.after)}
                  {part.before.share > 0 &&
                    part.after.runs > 0 &&
                    ` (${formatFactor(part.after.share / part.before.share)})`}
                </td>
                {pair(part.p50)}
                {pair(part.p99)}
                {runs && <td class="number">{formatCount(Math.round(part.after.runs))}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {split.parts.length > parts_shown && (
        <p class="muted">
          Showing {parts_shown} of {formatCount(split.parts.length)} {by}s, largest change first.
        </p>
      )}
    </>
  );
}
