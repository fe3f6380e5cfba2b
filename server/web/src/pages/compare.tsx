// Two sets of runs: how much slower one is, how certain that is, and in which stages.
import { set_colours } from "../colours";
import { formatCount, formatDifference, formatDuration } from "../format";
import { usePost } from "../load";
import { Ready, Swatch } from "../parts";
import type { Comparison } from "../types";

// Zero in the middle, the interval as a line, the difference as a dot.
export function IntervalPicture({
  low,
  middle,
  high,
  reach,
  evidence,
}: {
  low: number;
  middle: number;
  high: number;
  reach: number;
  evidence: boolean;
}) {
  const x = (value: number) => 100 + (reach > 0 ? (value / reach) * 96 : 0);
  return (
    <svg
      class={evidence ? "interval sure" : "interval"}
      viewBox="0 0 200 14"
      preserveAspectRatio="none"
      aria-hidden="true">
      <line class="zero" x1="100" x2="100" y1="0" y2="14" />
      <line x1={x(low)} x2={x(high)} y1="7" y2="7" />
      <line x1={x(low)} x2={x(low)} y1="3" y2="11" />
      <line x1={x(high)} x2={x(high)} y1="3" y2="11" />
      <rect x={x(middle) - 2} y="3" width="4" height="8" />
    </svg>
  );
}

export function interval(low: number | null, high: number | null): string {
  return low === null || high === null
    ? "too few runs"
    : `${formatDifference(low)} to ${formatDifference(high)}`;
}

function Verdict({ data }: { data: Comparison }) {
  const percent = `${Math.round(data.confidence * 100)} %`;
  return (
    <>
      <p class="sets">
        <span>
          <Swatch colour={set_colours.a} /> A: {formatCount(data.a.runs)} runs, median{" "}
          {formatDuration(data.a.median_ns)}
        </span>
        <span>
          <Swatch colour={set_colours.b} /> B: {formatCount(data.b.runs)} runs, median{" "}
          {formatDuration(data.b.median_ns)}
        </span>
      </p>
      <p class="verdict" data-testid="verdict">
        {data.low_ns === null ? (
          <>
            <strong>Too few runs to tell.</strong> The median difference is{" "}
            {formatDifference(data.difference_ns)}, which may be chance. Choose at least four runs
            for each set.
          </>
        ) : data.evidence ? (
          <>
            <strong>
              B takes {formatDuration(Math.abs(data.difference_ns))}{" "}
              {data.difference_ns > 0 ? "longer" : "less"} than A
            </strong>{" "}
            ({percent} interval {interval(data.low_ns, data.high_ns)}).
          </>
        ) : (
          <>
            <strong>No significant difference</strong> (median difference{" "}
            {formatDifference(data.difference_ns)}, {percent} interval{" "}
            {interval(data.low_ns, data.high_ns)}). More runs would narrow the interval.
          </>
        )}
      </p>
    </>
  );
}

export function Compare({ a, b, slowest }: { a: string[]; b: string[]; slowest: boolean }) {
  const ready = a.length > 0 && b.length > 0;
  const comparison = usePost<Comparison>(ready ? "/api/v1/compare" : null, { a, b });
  return (
    <div class="sub" role="region" aria-label="Comparison of two sets">
      <h3>Set A compared with set B</h3>
      {slowest && (
        <p class="note" data-testid="picked">
          The runs above are sorted by duration, so sets picked from them differ because of how they
          were picked. To compare hosts, builds or times, sort by newest or use the filters.
        </p>
      )}
      {!ready ? (
        <p>
          {a.length > 0
            ? `A has ${a.length} ${a.length === 1 ? "run" : "runs"}`
            : `B has ${b.length} ${b.length === 1 ? "run" : "runs"}`}
          . Now choose the other set: drag over its runs, or select them with Shift and the arrow
          keys and press {a.length > 0 ? "B" : "A"}.
        </p>
      ) : (
        <Ready of={comparison}>
          {(data) => {
            const reach = Math.max(
              1,
              ...data.stages.flatMap((stage) => [
                Math.abs(stage.low_ns ?? 0),
                Math.abs(stage.high_ns ?? 0),
              ]),
            );
            return (
              <>
                <Verdict data={data} />
                {data.stages.length > 0 && (
                  <table class="list compact cards">
                    <thead>
                      <tr>
                        <th scope="col">Stage</th>
                        <th scope="col" class="number">
                          Median difference
                        </th>
                        <th scope="col">Interval</th>
                        <th scope="col" class="picture" aria-hidden="true">
                          less ← 0 → more
                        </th>
                        <th scope="col">Significant</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.stages.map((stage) => (
                        <tr key={stage.name} class={stage.evidence ? "" : "faint"}>
                          <th scope="row">{stage.name}</th>
                          <td class="number">{formatDifference(stage.difference_ns)}</td>
                          <td>{interval(stage.low_ns, stage.high_ns)}</td>
                          <td class="picture">
                            {stage.low_ns !== null && stage.high_ns !== null && (
                              <IntervalPicture
                                low={stage.low_ns}
                                middle={stage.difference_ns}
                                high={stage.high_ns}
                                reach={reach}
                                evidence={stage.evidence}
                              />
                            )}
                          </td>
                          <td>
                            {stage.evidence ? "yes" : stage.low_ns === null ? "too few runs" : "no"}
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                )}
              </>
            );
          }}
        </Ready>
      )}
    </div>
  );
}
