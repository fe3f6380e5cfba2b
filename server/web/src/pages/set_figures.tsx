// The figures, charts and causes of a comparison of two sets.
import { useState } from "preact/hooks";
import { ChartCanvas } from "../charts/chart";
import { partName } from "../charts/run_times";
import { set_colours } from "../colours";
import { formatCount, formatDifference, formatDuration, formatShare, plural } from "../format";
import { CauseTitle, Choice, Scroll, Section } from "../parts";
import type { CauseSide, FigureDifference, SetComparison } from "../types";
import { IntervalPicture } from "./compare";

export type Side = "a" | "b";
type Measure = SetComparison["measure"];

// The most meaningful figure: the median, then the tail, then the delays.
export function Verdict({ data }: { data: SetComparison }) {
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

export function Figures({ data }: { data: SetComparison }) {
  const reach = reachOf(data.quantiles);
  return (
    <Scroll label="Table of figures">
      <table class="list compact cards figures-table" data-testid="set-figures">
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

export function Distributions({ data }: { data: SetComparison }) {
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
export function Stages({ data }: { data: SetComparison }) {
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
        <table class="list compact cards figures-table" data-testid="set-stages">
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

export function Times({ data }: { data: SetComparison }) {
  const { parts, a_runs, b_runs } = data.times;
  const reach = reachOf(parts);
  if (parts.length === 0) return <p class="muted">No timing breakdown for these runs.</p>;
  return (
    <Scroll label="Table of times">
      <table class="list compact cards figures-table" data-testid="set-times">
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

export function hasChanged(data: SetComparison): boolean {
  return data.causes.causes.some((cause) => cause.change !== "stays");
}

// Those that only one set has first.
export function CausesOf({ data }: { data: SetComparison }) {
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
          <table class="list compact cards" data-testid="set-causes">
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
