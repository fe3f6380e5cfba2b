// The causes of delays across many bundles, largest first, each with its picture and history.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiError, get } from "../api";
import { BuildName } from "../builds";
import { colourOfState } from "../colours";
import { type Filters, apiQuery } from "../filters";
import { FlameGraph } from "../flame/flame_graph";
import { foldTree } from "../flame/fold";
import { largestMatch, readTree, searchTree } from "../flame/tree";
import {
  baseName,
  formatAge,
  formatCount,
  formatDuration,
  formatShare,
  plural,
  shortId,
} from "../format";
import { useGet } from "../load";
import { isState, stateName } from "../names";
import { Help } from "../help";
import {
  CauseStatusTag,
  CauseTitle,
  Empty,
  Failure,
  FunctionName,
  Ready,
  Section,
  Swatch,
} from "../parts";
import type { Cause, Causes, Flame } from "../types";

export function causeAddress(cause: Cause): string | null {
  return cause.example ? exampleAddress(cause.example.bundle, cause.example.delay, cause) : null;
}

// A delay of a cause, with the function at fault marked in its flame graph.
export function exampleAddress(
  bundle: string,
  delay: number,
  cause: { frames: Cause["frames"] },
): string {
  const search = culpritOf(cause);
  const query = new URLSearchParams({ against: "normal", ...(search === "" ? {} : { search }) });
  return `/bundle/${bundle}/${delay}?${query}`;
}

// The function at fault, as the flame graph calls it; if there is none, the state.
export function culpritOf(cause: { frames: Cause["frames"] }): string {
  const named = cause.frames.filter((frame) => frame.function !== "");
  const found = named.find((frame) => !isState(frame)) ?? named[0];
  return found ? stateName(found) : "";
}

// `first`: the ids of causes that stand before all others.
export function CauseList({
  event,
  filters,
  first = [],
}: {
  event: string;
  filters: Filters;
  first?: string[];
}) {
  const loaded = useGet<Causes>(
    `/api/v1/events/${encodeURIComponent(event)}/causes${apiQuery(filters)}`,
  );
  return (
    <Section title="Causes of the delays" id="causes">
      <Ready of={loaded} height={160}>
        {(data) => (
          <>
            <p class="muted">
              {plural(data.delayed_runs, "delayed run")} compared with{" "}
              {plural(data.normal_runs, "normal run")} from {plural(data.bundles, "bundle")}; ranked
              by total extra time.
              {data.runs_left_out > 0 && ` ${plural(data.runs_left_out, "older run")} left out.`}
            </p>
            {data.causes.length === 0 ? (
              <Empty title="No cause found.">
                <p>
                  {data.silent_because ??
                    "Nothing takes significantly more time in delayed runs than in normal ones."}
                </p>
              </Empty>
            ) : (
              <>
                <ol class="causes">
                  {newFirst(data.causes, first).map((cause, index) => (
                    <CauseItem
                      key={cause.signature}
                      cause={cause}
                      first={index === 0}
                      came={isOneOf(cause, first)}
                    />
                  ))}
                </ol>
                <p class="unexplained">
                  <strong>{formatShare(1 - data.unexplained_share)}</strong> of the extra time is
                  explained, <strong>{formatShare(data.unexplained_share)}</strong> unexplained.
                </p>
                <Help of={["extra", "q", "p", "signature"]} />
              </>
            )}
          </>
        )}
      </Ready>
    </Section>
  );
}

function isOneOf(cause: Cause, ids: string[]): boolean {
  return cause.record != null && ids.includes(cause.record.id);
}

function newFirst(causes: Cause[], first: string[]): Cause[] {
  return [
    ...causes.filter((cause) => isOneOf(cause, first)),
    ...causes.filter((cause) => !isOneOf(cause, first)),
  ];
}

function CauseItem({ cause, first, came }: { cause: Cause; first: boolean; came: boolean }) {
  const [open, setOpen] = useState(first);
  const address = causeAddress(cause);
  return (
    <li class="cause">
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="cause-title">
            <CauseTitle title={cause.title} />
          </span>
          <span class="cause-facts">
            <span>
              <Swatch colour={colourOfState(cause.state, cause.reason)} /> {cause.state}
              {cause.reason === "" ? "" : `: ${cause.reason}`}
            </span>
            <span>
              <strong>+{formatDuration(cause.excess_ns)}</strong> per run
              {cause.normal_ns > 0 && `, normally ${formatDuration(cause.normal_ns)}`}
            </span>
            <span>{plural(cause.affected_runs, "run")}</span>
            <span>
              {plural(cause.hosts, "host")}
              {cause.users > 0 && `, ${plural(cause.users, "user")}`}
            </span>
            <span class="cause-share">
              <meter min={0} max={1} value={cause.share} aria-hidden="true" />{" "}
              {formatShare(cause.share)} of the extra time
            </span>
            {cause.record && (
              <span>
                <CauseStatusTag cause={cause.record} /> first seen{" "}
                {formatAge(cause.record.first_ns, Date.now())}
                {cause.record.owner !== "" && `, ${cause.record.owner}`}
              </span>
            )}
            {came && <span class="tag">came with the change</span>}
            {cause.single_host && <span class="tag">few hosts</span>}
          </span>
        </summary>
        {open && (
          <div class="cause-body">
            <div>
              <h3>Call stack at fault</h3>
              <ol class="stack">
                {cause.frames.map((frame, index) => (
                  <li key={index}>
                    <FunctionName name={stateName(frame) || "unknown function"} />
                    <span class="muted">{baseName(frame.module)}</span>
                  </li>
                ))}
              </ol>
              <p class="muted">
                q = {cause.q_value.toPrecision(2)} (p = {cause.p_value.toPrecision(2)})
                {" · signature "}
                <span class="code">{shortId(cause.signature)}</span>
              </p>
              {address && (
                <p>
                  <a href={address}>Open a typical delay</a>
                </p>
              )}
              {cause.record && (
                <p>
                  <a href={`/cause/${cause.record.id}`}>Details</a>
                </p>
              )}
            </div>
            <BuildHistory cause={cause} />
            {cause.example && <ExamplePicture cause={cause} />}
          </div>
        )}
      </details>
    </li>
  );
}

// The share of affected runs in each build. The figures are in the bars' titles, and in a table for
// screen readers.
function BuildHistory({ cause }: { cause: Cause }) {
  const builds = cause.builds.slice(-24);
  const of_runs = builds.some((build) => build.rate !== null);
  // Null if the build has delays, but none of its runs is stored, although those of others are.
  const known = (build: Build) =>
    build.delayed === 0 ? 0 : of_runs ? build.rate : build.affected / build.delayed;
  const share = (build: Build) => known(build) ?? 0;
  const words = (build: Build) => (known(build) === null ? "unknown" : formatShare(share(build)));
  const highest = Math.max(of_runs ? 1e-6 : 0.01, ...builds.map(share));
  const width = 22;
  return (
    <div class="history">
      <h3>{of_runs ? "Runs affected, by build" : "Recorded delays affected, by build"}</h3>
      {builds.length === 0 ? (
        <p class="muted">No builds known.</p>
      ) : (
        <>
          <svg
            viewBox={`0 0 ${Math.max(builds.length, 6) * width} 62`}
            preserveAspectRatio="xMinYMax meet"
            role="img"
            aria-label={
              `Share of runs affected in ${builds.length} builds, the last ` +
              words(builds[builds.length - 1])
            }>
            {builds.map((build, index) => {
              const height = Math.max(share(build) > 0 ? 1.5 : 0.5, (share(build) / highest) * 56);
              return (
                <rect
                  key={build.build}
                  class={build.affected > 0 ? "hit" : "none"}
                  x={index * width + 2}
                  y={60 - height}
                  width={width - 4}
                  height={height}>
                  <title>
                    {`${build.build}: ${words(build)}, ${build.affected} of ` +
                      `${build.delayed} recorded delays, +${formatDuration(build.excess_ns)}`}
                  </title>
                </rect>
              );
            })}
            <line x1="0" x2={Math.max(builds.length, 6) * width} y1="60.5" y2="60.5" />
          </svg>
          <table class="list compact">
            <thead>
              <tr>
                <th scope="col">Build</th>
                <th scope="col" class="number">
                  Affected
                </th>
                <th scope="col" class="number">
                  Extra time
                </th>
              </tr>
            </thead>
            <tbody>
              {[...builds]
                .reverse()
                .slice(0, 4)
                .map((build) => (
                  <tr key={build.build}>
                    <th scope="row">
                      <BuildName id={build.build} />
                    </th>
                    <td
                      class="number"
                      title={
                        `${formatCount(build.affected)} of ${formatCount(build.delayed)} ` +
                        "recorded delays"
                      }>
                      {words(build)}
                    </td>
                    <td class="number">
                      {build.affected > 0 ? `+${formatDuration(build.excess_ns)}` : "none"}
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}

type Build = Cause["builds"][number];

// The flame graph of a typical delay against normal runs, with the function at fault marked.
function ExamplePicture({ cause }: { cause: Cause }) {
  const [flame, setFlame] = useState<Flame | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [zoomed, setZoomed] = useState(0);
  const example = cause.example as NonNullable<Cause["example"]>;
  useEffect(() => {
    const abort = new AbortController();
    get<Flame>(
      `/api/v1/bundles/${example.bundle}/delays/${example.delay}/profile?state=all&against=normal`,
      abort.signal,
    ).then(setFlame, (error) => {
      if (!abort.signal.aborted) setProblem(error as ApiError);
    });
    return () => abort.abort();
  }, [example.bundle, example.delay]);
  const { tree, matches, reveal } = useMemo(() => {
    const whole = flame ? readTree(flame) : null;
    if (whole === null) return { tree: null, matches: null, reveal: null };
    for (const candidate of [foldTree(whole), whole]) {
      const found = searchTree(candidate, culpritOf(cause));
      if (found !== null && typeof found !== "string" && found.nodes.length > 0)
        return {
          tree: candidate,
          matches: found,
          reveal: { node: largestMatch(candidate, found) },
        };
    }
    return { tree: foldTree(whole), matches: null, reveal: null };
  }, [flame, cause]);
  return (
    <div class="example">
      <h3>Typical delay; the function at fault is highlighted</h3>
      {problem ? (
        <Failure error={problem} />
      ) : tree === null ? (
        <p class="loading" role="status">
          Loading…
        </p>
      ) : (
        <FlameGraph
          tree={tree}
          width="value"
          difference={matches === null}
          matches={matches}
          zoomed={zoomed}
          onZoom={setZoomed}
          reveal={reveal}
          tallest={220}
          label={`Flame graph of a typical delay: ${cause.title}`}
        />
      )}
    </div>
  );
}
