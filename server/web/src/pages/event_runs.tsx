// The runs of an event: bars, dirty runs, two sets, the stacks of a stage.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiError, send } from "../api";
import { RunBars } from "../charts/run_bars";
import { arrange, stageColours } from "../charts/run_order";
import { byTime, timeColours } from "../charts/run_times";
import { type Filters, apiQuery } from "../filters";
import { formatCount, formatDuration, plural } from "../format";
import { useFurther, useGet } from "../load";
import { Help } from "../help";
import { Choice, Empty, Failure, Ready, Section, Swatch, Time, Scroll } from "../parts";
import { type Place, navigate, setQuery } from "../router";
import type { Run, RunList, Session } from "../types";
import { Compare } from "./compare";
import { StageStackList } from "./stage_stacks";

type Order = "newest" | "slowest";
type Made = "stage" | "part"; // what the bars consist of: stages, or where the time went
const counts = ["100", "240", "1000"];

interface Sets {
  a: string[];
  b: string[];
}
const no_sets: Sets = { a: [], b: [] };

export function Runs({
  event,
  filters,
  place,
  session,
}: {
  event: string;
  filters: Filters;
  place: Place;
  session: Session;
}) {
  const order: Order = place.query.get("order") === "slowest" ? "slowest" : "newest";
  const asked = place.query.get("count") ?? "240";
  const count = counts.includes(asked) ? asked : "240";
  const stage = place.query.get("stage");
  const made: Made = place.query.get("bars") === "time" ? "part" : "stage";
  const path =
    `/api/v1/events/${encodeURIComponent(event)}/runs` +
    `${apiQuery(filters, { order, limit: count })}`;
  const list = useGet<RunList>(path);
  const [sets, setSets] = useState<Sets>(no_sets);
  const [target, setTarget] = useState<"a" | "b">("a");
  useEffect(() => {
    setSets(no_sets);
    setTarget("a");
  }, [path]);
  const put = (set: "a" | "b", runs: Run[]) => {
    if (runs.length === 0) return;
    const ids = runs.map((run) => run.id);
    const taken = new Set(ids);
    // A run can be in one set only.
    setSets((old) => ({
      a: set === "a" ? ids : old.a.filter((id) => !taken.has(id)),
      b: set === "b" ? ids : old.b.filter((id) => !taken.has(id)),
    }));
    setTarget("b");
  };
  return (
    <Section
      title="Runs"
      id="runs"
      aside={
        <>
          <Choice<Made>
            label="Bars by"
            value={made}
            options={[
              ["stage", "stage"],
              ["part", "time"],
            ]}
            onChoose={(value) => setQuery({ bars: value === "part" ? "time" : undefined })}
          />
          <Choice<Order>
            label="Order"
            value={order}
            options={[
              ["newest", "newest"],
              ["slowest", "slowest"],
            ]}
            onChoose={(value) => setQuery({ order: value === "newest" ? undefined : value })}
          />
          <label class="inline">
            <span>show</span>
            <select
              name="count"
              value={count}
              onChange={(change) =>
                setQuery({
                  count:
                    change.currentTarget.value === "240" ? undefined : change.currentTarget.value,
                })
              }>
              {counts.map((value) => (
                <option key={value} value={value}>
                  {formatCount(Number(value))}
                </option>
              ))}
            </select>
          </label>
          <span>
            Download:{" "}
            <a
              href={
                `/api/v1/events/${encodeURIComponent(event)}/runs/export` +
                `${apiQuery(filters, { format: "csv" })}`
              }
              download="">
              CSV
            </a>{" "}
            <a
              href={
                `/api/v1/events/${encodeURIComponent(event)}/runs/export` +
                `${apiQuery(filters, { format: "ndjson" })}`
              }
              download="">
              NDJSON
            </a>
          </span>
        </>
      }>
      <Ready of={list} height={420}>
        {(data) => (
          <>
            <DirtyLine list={data} shown={filters.dirty === true} />
            <OutlierLine list={data} shown={filters.outliers !== false} />
            {data.runs.length === 0 ? (
              <Empty title="No runs to show.">
                {data.hidden > 0 ? (
                  <p>All matching runs are hidden as dirty. Use the button above to show them.</p>
                ) : (
                  <p>Change the filters above.</p>
                )}
              </Empty>
            ) : (
              <Bars
                list={data}
                order={order}
                sets={sets}
                target={target}
                stage={stage}
                made={made}
                onPut={put}
                onTarget={setTarget}
                onClear={() => {
                  setSets(no_sets);
                  setTarget("a");
                }}
              />
            )}
            {(sets.a.length > 0 || sets.b.length > 0) && (
              <Compare a={sets.a} b={sets.b} slowest={order === "slowest"} />
            )}
            {stage !== null && <StageStackList event={event} filters={filters} stage={stage} />}
            {filters.dirty && (
              <DirtyRuns
                event={event}
                filters={filters}
                session={session}
                onChanged={list.reload}
              />
            )}
            <RunTable runs={data.runs} />
            <Help of={["dirty", "outlier", "weight"]} />
          </>
        )}
      </Ready>
    </Section>
  );
}

function Bars({
  list,
  order,
  sets,
  target,
  stage,
  made,
  onPut,
  onTarget,
  onClear,
}: {
  list: RunList;
  order: Order;
  sets: Sets;
  target: "a" | "b";
  stage: string | null;
  made: Made;
  onPut: (set: "a" | "b", runs: Run[]) => void;
  onTarget: (set: "a" | "b") => void;
  onClear: () => void;
}) {
  const runs = useMemo(() => (made === "part" ? list.runs.map(byTime) : list.runs), [list, made]);
  const bars = useMemo(() => arrange(runs, order), [runs, order]);
  const colours = useMemo(
    () => (made === "part" ? timeColours(runs) : stageColours(runs)),
    [runs, made],
  );
  const marked = useMemo(() => ({ a: new Set(sets.a), b: new Set(sets.b) }), [sets]);
  const chosen = sets.a.length + sets.b.length;
  const visible = list.total - list.hidden;
  const unwatched = list.runs.filter((run) => run.without_stages).length;
  return (
    <>
      <ul class="legend" aria-label={made === "part" ? "Where the time went" : "Stages"}>
        {colours.map((entry) => (
          <li key={entry.name ?? ""}>
            {entry.name === null || made === "part" ? (
              <span>
                <Swatch colour={entry.colour} /> {entry.name ?? entry.words ?? "other stages"}
              </span>
            ) : (
              <button
                type="button"
                class="legend-entry"
                aria-pressed={stage === entry.name}
                onClick={() =>
                  setQuery({ stage: stage === entry.name ? undefined : (entry.name as string) })
                }>
                <Swatch colour={entry.colour} /> {entry.name}
              </button>
            )}
          </li>
        ))}
      </ul>
      <RunBars
        bars={bars}
        colours={colours}
        sets={marked}
        stage={made === "part" ? null : stage}
        part={made}
        onChoose={(chosen_runs) => onPut(target, chosen_runs)}
        onSet={onPut}
        onStage={(name, run) =>
          made === "part" ? navigate(`/run/${run.id}`) : setQuery({ stage: name })
        }
        onOpen={(run) => navigate(`/run/${run.id}`)}
        onClear={onClear}
      />
      <div class="below-bars">
        <span>
          Drag to select set{" "}
          <Choice<"a" | "b">
            label="Set that dragging selects"
            value={target}
            options={[
              ["a", `A (${sets.a.length})`],
              ["b", `B (${sets.b.length})`],
            ]}
            onChoose={onTarget}
          />{" "}
          {chosen > 0 && (
            <button type="button" class="quiet" onClick={onClear}>
              Clear sets
            </button>
          )}
        </span>
        {list.runs.length < visible && (
          <span class="muted">
            Showing the {order} {formatCount(list.runs.length)} of {formatCount(visible)} runs.
          </span>
        )}
        {made === "stage" && unwatched > 0 && (
          <span class="muted" data-testid="without-stages">
            Stages of {formatCount(unwatched)} of these runs were not recorded because they exceeded
            the overhead budget; see <code>lagtrap status</code> on the machine.
          </span>
        )}
        <details class="keys">
          <summary>Keys</summary>
          <p id="run-keys">
            Left/right: move between runs; with Shift, select several. A, B: make the selection set
            A or B. Up/down: move between stages. Enter: open the stage's call stacks, or the run.
            O: open the run. Escape: clear the sets.
          </p>
        </details>
      </div>
    </>
  );
}

// "12 of 240 runs hidden: 9 duration, 3 suspended." The reasons cover only the newest runs.
function DirtyLine({ list, shown }: { list: RunList; shown: boolean }) {
  if (!shown && list.hidden === 0) return null;
  const reasons = list.hidden_because ?? [];
  const told = reasons.reduce((sum, entry) => sum + entry.runs, 0);
  const why = reasons.map((entry) => `${formatCount(entry.runs)} ${entry.rule}`).join(", ");
  return (
    <p class="dirty-line" data-testid="dirty-line">
      {shown ? (
        <span>Dirty runs are included in the figures and drawn pale; they are listed below.</span>
      ) : (
        <span>
          {formatCount(list.hidden)} of {formatCount(list.total)} runs hidden
          {why === "" ? "" : told < list.hidden ? `; among the newest: ${why}` : `: ${why}`}.
        </span>
      )}{" "}
      <button type="button" onClick={() => setQuery({ dirty: shown ? undefined : "1" })}>
        {shown ? "Hide dirty runs" : "Show them"}
      </button>
    </p>
  );
}

// Slow runs are what people look for, so outliers are marked but shown unless the user hides them.
function OutlierLine({ list, shown }: { list: RunList; shown: boolean }) {
  if (list.outliers === 0) return null;
  return (
    <p class="dirty-line" data-testid="outlier-line">
      <span>
        {plural(list.outliers ?? 0, "outlier")}, {shown ? "marked in the list of runs" : "excluded"}
        .
      </span>{" "}
      <button type="button" onClick={() => setQuery({ outliers: shown ? "0" : undefined })}>
        {shown ? "Exclude" : "Include"}
      </button>
    </p>
  );
}

// All dirty runs, also those that the bars do not show.
function DirtyRuns({
  event,
  filters,
  session,
  onChanged,
}: {
  event: string;
  filters: Filters;
  session: Session;
  onChanged: () => void;
}) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const shown = { ...filters, dirty: undefined, outliers: undefined };
  const path =
    `/api/v1/events/${encodeURIComponent(event)}/runs` +
    apiQuery(shown, { dirty: "only", limit: 200 });
  const first = useGet<RunList>(path);
  const list = useFurther(first, path);
  const dirty = list.parts.flatMap((part) => part.runs);
  const trouble = problem ?? list.problem ?? first.error;
  if (dirty.length === 0)
    return trouble ? (
      <Failure error={trouble} again={first.reload} />
    ) : (
      <p class="muted">{first.data === null ? "Loading…" : "No dirty runs."}</p>
    );
  const include = async (run: Run) => {
    setProblem(null);
    try {
      await send("PUT", `/api/v1/runs/${run.id}/dirty`, {
        dirty: false,
        reason: "included by hand",
      });
      first.reload();
      onChanged();
    } catch (error) {
      setProblem(error as ApiError);
    }
  };
  return (
    <details class="sub" open>
      <summary>Dirty runs ({formatCount(first.data?.total ?? dirty.length)})</summary>
      {trouble && <Failure error={trouble} />}
      <Scroll label="Dirty runs">
        <table class="list compact cards" data-testid="dirty-runs">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col">Rule</th>
              <th scope="col">Reason</th>
              <th scope="col">By</th>
              <th scope="col">Action</th>
            </tr>
          </thead>
          <tbody>
            {dirty.map((run) => (
              <tr key={run.id}>
                <th scope="row">
                  <a href={`/run/${run.id}`}>
                    <Time ns={run.begin_ns} />
                  </a>{" "}
                  <span class="muted">{run.host}</span>
                </th>
                <td class="number">{formatDuration(run.duration_ns)}</td>
                <td>{run.dirty?.rule}</td>
                <td>{run.dirty?.reason}</td>
                <td>{run.dirty?.by ?? "rule"}</td>
                <td>
                  {session.role === "reader" ? (
                    <span class="muted">needs the uploader role</span>
                  ) : (
                    <button type="button" onClick={() => void include(run)}>
                      Include
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {list.next && (
        <p>
          <button type="button" onClick={list.more}>
            Show more dirty runs
          </button>
        </p>
      )}
    </details>
  );
}

// The bars as figures, for people who cannot see them or want to copy them.
function RunTable({ runs }: { runs: Run[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="sub" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>List of runs ({formatCount(runs.length)})</summary>
      {open && (
        <Scroll label="Runs">
          <table class="list compact cards">
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col" class="number">
                  Duration
                </th>
                <th scope="col">Start</th>
                <th scope="col">Host</th>
                <th scope="col">User</th>
                <th scope="col">Stages</th>
                <th scope="col" class="number">
                  On CPU
                </th>
                <th scope="col" class="number">
                  Waiting for CPU
                </th>
                <th scope="col" class="number">
                  Blocked
                </th>
                <th scope="col">Bundle</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.id}>
                  <th scope="row">
                    <a href={`/run/${run.id}`}>
                      <Time ns={run.begin_ns} />
                    </a>
                  </th>
                  <td class={run.delay ? "number late" : "number"}>
                    {formatDuration(run.duration_ns)}
                    {run.delay && <span class="visually-hidden"> delay</span>}
                    {run.outlier && (
                      <span class="tag" title={run.outlier.reason}>
                        outlier
                      </span>
                    )}
                  </td>
                  <td>{run.start}</td>
                  <td>{run.host}</td>
                  <td>{run.user}</td>
                  <td>
                    {run.without_stages ? (
                      <span class="muted">not recorded</span>
                    ) : (
                      run.stages
                        .map((one) => `${one.name} ${formatDuration(one.duration_ns)}`)
                        .join(", ")
                    )}
                  </td>
                  <td class="number">{run.times ? formatDuration(run.times.on_cpu_ns) : ""}</td>
                  <td class="number">{run.times ? formatDuration(run.times.runnable_ns) : ""}</td>
                  <td
                    class="number"
                    title={run.times?.blocked
                      .map((one) => `${one.reason} ${formatDuration(one.ns)}`)
                      .join(", ")}>
                    {run.times ? formatDuration(run.times.blocked_ns) : ""}
                  </td>
                  <td>
                    {run.bundle && (
                      <a
                        href={
                          `/bundle/${run.bundle}` +
                          `${run.bundle_delay ? `/${run.bundle_delay}` : ""}`
                        }>
                        open
                      </a>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </details>
  );
}
