// Percentiles over time on a logarithmic scale, with level changes and first runs of builds marked.
import { useState } from "preact/hooks";
import { formatCount, formatDuration, formatMoment, millisecondsOf, plural } from "../format";
import { BuildName } from "../builds";
import { Scroll } from "../parts";
import type { Trend, TrendUnits } from "../types";
import { levelChangeText } from "../verdict";

const width = 1000;
const height = 200;
const series = ["p99", "p90", "p50"] as const;

export interface TrendScale {
  low: number;
  high: number;
  ticks: number[];
}

// The bounds of all values, and round durations between them: 1, 2 and 5 times each power of ten,
// reduced to a few.
export function trendScale(values: number[]): TrendScale {
  const known = values.filter((value) => value > 0);
  if (known.length === 0) return { low: 1, high: 10, ticks: [] };
  const low = Math.min(...known) / 1.15;
  const high = Math.max(...known) * 1.15;
  let ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
  ticks = ticks.filter((tick) => tick >= low && tick <= high);
  while (ticks.length > 5) ticks = ticks.filter((_, index) => index % 2 === 0);
  return { low, high, ticks };
}

// The points of polylines; the line is broken where the value is unknown.
export function lines(values: number[], y: (value: number) => number, step: number): string[] {
  const parts: string[][] = [[]];
  values.forEach((value, index) => {
    if (value === 0) parts.push([]);
    else parts[parts.length - 1].push(`${(index + 0.5) * step},${y(value).toFixed(1)}`);
  });
  return parts
    .filter((part) => part.length > 0)
    .map((part) =>
      (part.length > 1
        ? part
        : [part[0], part[0].replace(/^[\d.]+/, (x) => String(Number(x) + 2))]
      ).join(" "),
    );
}

// p99, p90 and p50. The last unit is dotted if it is not over yet.
export function Percentiles({
  units,
  y,
  step,
  to_ns,
}: {
  units: TrendUnits;
  y: (value: number) => number;
  step: number;
  to_ns: string;
}) {
  const is_partial = millisecondsOf(to_ns) > Date.now();
  const draw = (name: (typeof series)[number], type: string, from: number, to: number) =>
    lines(
      units[name].map((value, index) => (index >= from && index < to ? value : 0)),
      y,
      step,
    ).map((points, index) => (
      <polyline key={name + type + index} class={name + type} points={points} />
    ));
  return (
    <>
      {series.map((name) => {
        const count = units[name].length;
        return is_partial
          ? [draw(name, "", 0, count - 1), draw(name, " partial", count - 2, count)]
          : draw(name, "", 0, count);
      })}
    </>
  );
}

export function TrendChart({ trend }: { trend: Trend }) {
  const [at, setAt] = useState<number | null>(null);
  const { units } = trend;
  const count = units.runs.length;
  const scale = trendScale([...units.p50, ...units.p99]);
  const step = width / count;
  const y = (value: number) =>
    height - (Math.log(value / scale.low) / Math.log(scale.high / scale.low)) * height;
  const place = (time_ns: string) =>
    Number(BigInt(time_ns) - BigInt(trend.before_ns)) / (trend.unit_ns * count);
  const time = (index: number) =>
    String(BigInt(trend.before_ns) + BigInt(index) * BigInt(trend.unit_ns));
  const time_ends = trend.unit_ns < 80000e9 ? undefined : -6; // without the hour
  const moment = (index: number) => formatMoment(time(index)).slice(0, time_ends);
  const labels = Array.from({ length: 4 }, (_, index) => Math.floor((index * count) / 4));
  const newcomers = trend.builds_seen.filter((build) => place(build.first_ns) > 0).slice(0, 8);
  return (
    <div class="trend">
      <p class="readout" aria-live="off">
        {at === null ? (
          <span class="muted">
            Hover for figures. The dotted line separates this period from the one before.
          </span>
        ) : (
          <>
            {moment(at)}:{" "}
            {units.runs[at] === 0 ? (
              "no runs"
            ) : (
              <>
                p50 {formatDuration(units.p50[at])}, p90 {formatDuration(units.p90[at])},{" "}
                <strong>p99 {formatDuration(units.p99[at])}</strong>;{" "}
                {plural(units.runs[at], trend.runs_recorded ? "run" : "delay")}
                {trend.runs_recorded && `, ${plural(units.delays[at], "delay")}`}
              </>
            )}
          </>
        )}
      </p>
      <div class="trend-frame">
        <div class="trend-ticks" aria-hidden="true">
          {scale.ticks.map((tick) => (
            <span key={tick} style={{ top: `${(y(tick) / height) * 100}%` }}>
              {formatDuration(tick)}
            </span>
          ))}
        </div>
        <div
          class="trend-area"
          onMouseMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            setAt(
              Math.min(
                count - 1,
                Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * count)),
              ),
            );
          }}
          onMouseLeave={() => setAt(null)}>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={
              `p50, p90 and p99 in ${plural(count, trend.unit_ns < 80000e9 ? "hour" : "day")}; ` +
              `${plural(trend.changes.length, "level change")}`
            }>
            {scale.ticks.map((tick) => (
              <line key={tick} class="grid" x1="0" x2={width} y1={y(tick)} y2={y(tick)} />
            ))}
            {labels.map((index) => (
              <line
                key={`time ${index}`}
                class="grid"
                x1={index * step}
                x2={index * step}
                y1="0"
                y2={height}
              />
            ))}
            <line
              class="split"
              x1={place(trend.from_ns) * width}
              x2={place(trend.from_ns) * width}
              y1="0"
              y2={height}
            />
            {newcomers.map((build) => (
              <line
                key={build.build}
                class="build"
                x1={place(build.first_ns) * width}
                x2={place(build.first_ns) * width}
                y1={height - 14}
                y2={height}
              />
            ))}
            {trend.changes.map((change) => (
              <line
                key={change.measure + change.from_ns}
                class={change.after > change.before ? "change worse" : "change"}
                x1={place(change.from_ns) * width}
                x2={place(change.from_ns) * width}
                y1="0"
                y2={height}
              />
            ))}
            <Percentiles units={units} y={y} step={step} to_ns={trend.to_ns} />
            {at !== null && (
              <line
                class="cursor"
                x1={(at + 0.5) * step}
                x2={(at + 0.5) * step}
                y1="0"
                y2={height}
              />
            )}
          </svg>
        </div>
        <div class="trend-times" aria-hidden="true">
          {labels.map((index) => (
            <span key={index} style={{ left: `${(index / count) * 100}%` }}>
              {moment(index)}
            </span>
          ))}
        </div>
      </div>
      <ul class="legend trend-legend">
        {series.map((name) => (
          <li key={name}>
            <span class={`stroke ${name}`} aria-hidden="true" /> {name}
          </li>
        ))}
        {millisecondsOf(trend.to_ns) > Date.now() && <li class="muted">dotted: not over yet</li>}
      </ul>
      <ChangeList trend={trend} />
      <details class="sub">
        <summary>Show builds as a table</summary>
        <BuildTable trend={trend} />
      </details>
    </div>
  );
}

function ChangeList({ trend }: { trend: Trend }) {
  const { changes } = trend;
  if (changes.length === 0)
    return (
      <p class="muted">No level change beyond the usual hourly, daily and weekly variation.</p>
    );
  return (
    <ul class="changes" data-testid="changes">
      {changes.map((change) => (
        <li key={change.measure + change.from_ns}>
          <strong>{formatMoment(change.from_ns)}</strong>: {levelChangeText(trend, change)}
          {change.build !== null && (
            <>
              , with build <BuildName id={change.build} />
            </>
          )}{" "}
          <span class="muted">p = {change.p_value.toPrecision(2)}</span>
        </li>
      ))}
    </ul>
  );
}

function BuildTable({ trend }: { trend: Trend }) {
  return (
    <Scroll label="Builds">
      <table class="list compact">
        <thead>
          <tr>
            <th scope="col">Build</th>
            <th scope="col">First seen</th>
            <th scope="col">Last seen</th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col" class="number">
              Delays
            </th>
          </tr>
        </thead>
        <tbody>
          {trend.builds_seen.map((build) => (
            <tr key={build.build}>
              <th scope="row">
                <BuildName id={build.build} />
              </th>
              <td>{formatMoment(build.first_ns)}</td>
              <td>{formatMoment(build.last_ns)}</td>
              <td class="number">{formatCount(build.runs)}</td>
              <td class="number">{formatCount(build.delays)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
