// Percentiles of an event's stages and of the time between any two points, and how a lasting change
// moved them.
import { useState } from "preact/hooks";
import { type Filters, apiQuery } from "../filters";
import { formatCount, formatDuration, plural } from "../format";
import { useGet } from "../load";
import { Scroll, Section } from "../parts";
import { type Percentiles, begin_point, end_point, pointsOf, timesBetween } from "../stage_times";
import type { Run, RunList } from "../types";
import type { ChangeAround } from "./compare_sets";

const runs_read = 1000;

export function StagePercentiles({
  event,
  filters,
  around,
}: {
  event: string;
  filters: Filters;
  around: ChangeAround | null;
}) {
  const { span: _span, from: _from, to: _to, ...rest } = filters;
  const path = `/api/v1/events/${encodeURIComponent(event)}/runs`;
  const limit = runs_read;
  const now = useGet<RunList>(
    path +
      (around
        ? apiQuery(rest, { from: around.from_ns, to: around.to_ns, limit })
        : apiQuery(filters, { limit })),
  );
  const before = useGet<RunList>(
    around
      ? `${path}${apiQuery(rest, { from: around.before_ns, to: around.from_ns, limit })}`
      : null,
  );
  const points = pointsOf(now.data?.runs ?? []);
  if (now.data === null || points.length === 0) return null;
  return (
    <Section title="Stages" id="stages">
      <Table
        points={points}
        runs={now.data.runs}
        before={around ? (before.data?.runs ?? []) : null}
      />
    </Section>
  );
}

function Table({ points, runs, before }: { points: string[]; runs: Run[]; before: Run[] | null }) {
  const [from, setFrom] = useState(begin_point);
  const [to, setTo] = useState(end_point);
  const staged = runs.filter((run) => run.stages.length > 0).length;
  const pick = (label: string, value: string, set: (point: string) => void) => (
    <label class="inline">
      {label}{" "}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {points.map((point) => (
          <option key={point} value={point}>
            {point}
          </option>
        ))}
      </select>
    </label>
  );
  const row = (name: string, one: string, other: string) => (
    <Row
      key={name}
      name={name}
      now={timesBetween(runs, one, other)}
      before={before && timesBetween(before, one, other)}
    />
  );
  return (
    <>
      <Scroll label="Percentiles by stage">
        <table class="list compact" data-testid="stage-percentiles">
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col" class="number">
                p50
              </th>
              <th scope="col" class="number">
                p90
              </th>
              <th scope="col" class="number">
                p99
              </th>
            </tr>
          </thead>
          <tbody>
            {points.slice(0, -1).map((point, index) => row(point, point, points[index + 1]))}
            {row(`${from} → ${to}`, from, to)}
          </tbody>
        </table>
      </Scroll>
      <p class="controls">
        Between {pick("from", from, setFrom)} {pick("to", to, setTo)}
      </p>
      <p class="muted">
        The newest {plural(staged, "run")} with stages
        {before
          ? `; before → after the lasting change, ${formatCount(before.length)} runs before it`
          : ""}
        .
      </p>
    </>
  );
}

function Row({
  name,
  now,
  before,
}: {
  name: string;
  now: Percentiles | null;
  before: Percentiles | null;
}) {
  const cell = (figure: "p50" | "p90" | "p99") => (
    <td class="number">
      {before && `${formatDuration(before[figure])} → `}
      {now ? formatDuration(now[figure]) : "–"}
    </td>
  );
  return (
    <tr>
      <th scope="row">{name}</th>
      {cell("p50")}
      {cell("p90")}
      {cell("p99")}
    </tr>
  );
}
