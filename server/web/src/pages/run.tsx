// One run: its stages on a line, its markers with their stacks, its bundle, and whether it is
// dirty.
import { useMemo, useState } from "preact/hooks";
import { type ApiError, send } from "../api";
import { useBuildNames } from "../builds";
import { stageColours } from "../charts/run_order";
import { byTime, mainShift, partName, timeColours, timeParts } from "../charts/run_times";
import { other_stages_colour } from "../colours";
import { eventAddress } from "../filters";
import { formatCount, formatDuration, formatShare, shortId } from "../format";
import { useGet } from "../load";
import { type NormalRuns, useNormalRuns } from "../normal_runs";
import { Help } from "../help";
import { Failure, Figure, Ready, Scroll, Section, StackList, Swatch, Time, Title } from "../parts";
import { zoneName } from "../zone";
import { MostOfThat } from "./time_shift";
import type { BundleDelays, Run, RunDetail, Session } from "../types";

// The stages in order, as wide as their durations.
export function StageLine({
  stages,
  unwatched,
  whole_ns,
  runs,
  normal,
}: {
  stages: Run["stages"];
  unwatched: boolean;
  whole_ns: number;
  runs: Run[];
  normal: NormalRuns | null;
}) {
  const colours = useMemo(() => stageColours(runs), [runs]);
  const colourOf = (name: string) =>
    (colours.find((entry) => entry.name === name) ?? colours[colours.length - 1])?.colour ??
    other_stages_colour;
  if (unwatched)
    return (
      <p class="muted" data-testid="without-stages">
        The stages of this run were not recorded because they exceeded the overhead budget; see{" "}
        <code>lagtrap status</code> on the machine.
      </p>
    );
  if (stages.length === 0) return <p class="muted">This run has no stages.</p>;
  return (
    <>
      <div class="stage-line" aria-hidden="true">
        {stages.map((stage, index) => (
          <span
            key={index}
            title={`${stage.name}: ${formatDuration(stage.duration_ns)}`}
            style={{
              flexGrow: Math.max(stage.duration_ns, whole_ns / 2000),
              backgroundColor: colourOf(stage.name),
            }}
          />
        ))}
      </div>
      <Scroll label="Stages of the run">
        <table class="list compact stage-table">
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col" class="number">
                Start
              </th>
              <th scope="col" class="number">
                Duration
              </th>
              {normal && <NormalHeader normal={normal} />}
              <th scope="col" class="number">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {stages.map((stage, index) => (
              <tr key={index}>
                <th scope="row">
                  <Swatch colour={colourOf(stage.name)} /> {stage.name}
                </th>
                <td class="number">{formatDuration(stage.at_ns)}</td>
                <td class="number">{formatDuration(stage.duration_ns)}</td>
                {normal && (
                  <td class="number">
                    {normal.stages.has(stage.name)
                      ? formatDuration(normal.stages.get(stage.name) ?? 0)
                      : "–"}
                  </td>
                )}
                <td class="number">
                  {whole_ns > 0 ? formatShare(Math.min(1, stage.duration_ns / whole_ns)) : ""}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function NormalHeader({ normal }: { normal: NormalRuns }) {
  return (
    <th scope="col" class="number" title={`Median of ${formatCount(normal.runs)} runs on time`}>
      Normally
    </th>
  );
}

// The parts of the run's time, as wide as their durations, in no order of time.
function TimeLine({ run, normal }: { run: Run; normal: NormalRuns | null }) {
  if (!run.times) return <p class="muted">No timing breakdown for this run.</p>;
  const { stages } = byTime(run);
  const colours = timeColours([{ ...run, stages }]);
  const colourOf = (name: string) =>
    colours.find((entry) => entry.name === name)?.colour ?? other_stages_colour;
  return (
    <>
      <div class="stage-line" aria-hidden="true">
        {stages.map((part) => (
          <span
            key={part.name}
            title={`${part.name}: ${formatDuration(part.duration_ns)}`}
            style={{ flexGrow: part.duration_ns, backgroundColor: colourOf(part.name) }}
          />
        ))}
      </div>
      <Scroll label="Where the time of the run went">
        <table class="list compact stage-table" data-testid="run-times">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Duration
              </th>
              {normal && <NormalHeader normal={normal} />}
              <th scope="col" class="number">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {stages.map((part) => (
              <tr key={part.name}>
                <th scope="row">
                  <Swatch colour={colourOf(part.name)} /> {part.name}
                </th>
                <td class="number">{formatDuration(part.duration_ns)}</td>
                {normal && (
                  <td class="number">
                    {normal.parts.size > 0 ? formatDuration(normal.parts.get(part.name) ?? 0) : "–"}
                  </td>
                )}
                <td class="number">
                  {formatShare(Math.min(1, part.duration_ns / Math.max(1, run.duration_ns)))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function DirtyBox({
  run,
  session,
  onChanged,
}: {
  run: Run;
  session: Session;
  onChanged: () => void;
}) {
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<ApiError | null>(null);
  const may = session.role !== "reader";
  const change = async (dirty: boolean) => {
    setProblem(null);
    try {
      await send("PUT", `/api/v1/runs/${run.id}/dirty`, {
        dirty,
        reason: dirty ? reason : "included by hand",
      });
      setReason("");
      onChanged();
    } catch (error) {
      setProblem(error as ApiError);
    }
  };
  return (
    <Section title="Exclude or include">
      {problem && <Failure error={problem} />}
      {run.outlier && (
        <p class="muted" data-testid="outlier">
          Outlier: {run.outlier.reason} It is included in all figures.
        </p>
      )}
      {run.dirty ? (
        <p data-testid="dirty-state">
          <strong>This run is dirty</strong> and excluded from figures and lists:{" "}
          {run.dirty.reason || run.dirty.rule} (rule: {run.dirty.rule}
          {run.dirty.by ? `, by ${run.dirty.by}` : ""}, <Time ns={run.dirty.at_ns} />
          ).{" "}
          {may && (
            <button type="button" onClick={() => void change(false)}>
              Include
            </button>
          )}
        </p>
      ) : (
        <div data-testid="dirty-state">
          <p>
            This run is included in all figures.{" "}
            {may
              ? "Exclude it if it is not representative, for example because the machine was " +
                "disturbed."
              : ""}
          </p>
          {may && (
            <form
              class="row-form"
              onSubmit={(event) => {
                event.preventDefault();
                void change(true);
              }}>
              <label class="field grow">
                <span>Reason</span>
                <input
                  name="reason"
                  required
                  maxLength={500}
                  value={reason}
                  onInput={(event) => setReason(event.currentTarget.value)}
                />
              </label>
              <button type="submit">Exclude</button>
            </form>
          )}
        </div>
      )}
    </Section>
  );
}

// "79 ms longer than normal (22.9 ms). 97.4 % of that is lock (futex)."
function Extra({ run, normal }: { run: Run; normal: NormalRuns }) {
  const longer_ns = run.duration_ns - normal.duration_ns;
  if (longer_ns <= 0) return null;
  const parts = (run.times ? timeParts(run.times) : []).map((part) => ({
    ...part,
    middle_ns: normal.parts.get(partName(part)) ?? 0,
    slow_ns: part.ns,
  }));
  return (
    <p data-testid="extra-time">
      <strong>{formatDuration(longer_ns)} longer</strong> than normal (
      {formatDuration(normal.duration_ns)}).{" "}
      <MostOfThat of={mainShift(parts, normal.duration_ns, run.duration_ns)} />
    </p>
  );
}

function Parts({ run, normal }: { run: Run; normal: NormalRuns | null }) {
  return (
    <div class="columns">
      <Section title="Stages">
        <StageLine
          stages={run.stages}
          unwatched={run.without_stages}
          whole_ns={run.duration_ns}
          runs={[run]}
          normal={normal}
        />
      </Section>
      <Section title="Where the time went">
        <TimeLine run={run} normal={normal} />
      </Section>
    </div>
  );
}

// What the recording says about the run.
function RecordedCause({ bundle, delay }: { bundle: string; delay: number }) {
  const { data } = useGet<BundleDelays>(`/api/v1/bundles/${bundle}/delays?number=${delay}`);
  const sentences = data?.delays[0]?.cause?.sentences ?? [];
  if (sentences.length === 0) return null;
  return (
    <Section title="Cause" id="cause">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Section>
  );
}

function Why({ run }: { run: RunDetail }) {
  const normal = useNormalRuns(run.event);
  return (
    <>
      {normal && <Extra run={run} normal={normal} />}
      {run.bundle && run.bundle_delay && (
        <RecordedCause bundle={run.bundle} delay={run.bundle_delay} />
      )}
      <Parts run={run} normal={normal} />
    </>
  );
}

export function RunPage({ id, session }: { id: string; session: Session }) {
  const loaded = useGet<RunDetail>(`/api/v1/runs/${id}`);
  const builds = useBuildNames();
  return (
    <main id="main">
      <Ready of={loaded} height={400}>
        {(run) => (
          <>
            <p class="crumbs">
              <a href={eventAddress(run.event)}>{run.event}</a> › run
            </p>
            <Title text={`${run.event} took ${formatDuration(run.duration_ns)} on ${run.host}`} />
            <dl class="figures">
              <Figure
                label="Duration"
                value={formatDuration(run.duration_ns)}
                tone={run.delay ? "bad" : undefined}
                note={
                  run.delay
                    ? `delay, over ${formatDuration(run.threshold_ns)}`
                    : run.threshold_ns > 0
                      ? `threshold ${formatDuration(run.threshold_ns)}`
                      : undefined
                }
              />
              <Figure label="Start" value={run.start} />
              <Figure
                label="Host"
                value={run.host}
                note={run.user === "" ? undefined : `user ${run.user}`}
              />
              <Figure
                label="Process"
                value={run.process}
                note={`${run.thread} · pid ${run.pid}, tid ${run.tid}`}
              />
              {run.unit !== "" && <Figure label="Unit" value={run.unit} />}
              <Figure
                label="Build"
                value={builds.get(run.build) ?? shortId(run.build)}
                note={run.executable}
              />
            </dl>
            <p>
              Started <Time ns={run.begin_ns} precise /> {zoneName()}.{" "}
              {run.weight > 1 && (
                <>Represents {run.weight} runs; the others were dropped by sampling. </>
              )}
              {run.bundle ? (
                <a href={`/bundle/${run.bundle}${run.bundle_delay ? `/${run.bundle_delay}` : ""}`}>
                  Open the recording of this delay
                </a>
              ) : (
                <span class="muted">This run was not recorded.</span>
              )}
            </p>
            <Why run={run} />
            <Section title="Markers and call stacks">
              {run.markers.length === 0 ? (
                <p class="muted">No markers stored.</p>
              ) : (
                <div class="markers">
                  {run.markers.map((marker, index) => (
                    <details key={index} open={marker.stack.length > 0 && index < 4}>
                      <summary>
                        <strong>{marker.name}</strong>{" "}
                        <span class="muted">
                          at {formatDuration(marker.at_ns)}, thread {marker.tid}
                        </span>
                      </summary>
                      <StackList frames={marker.stack} />
                    </details>
                  ))}
                </div>
              )}
            </Section>
            <Help of={["dirty", "outlier", "weight"]} />
            <DirtyBox run={run} session={session} onChanged={loaded.reload} />
          </>
        )}
      </Ready>
    </main>
  );
}
