// Percentiles over time of each host, build or unit, as small pictures with one scale.
import { useBuildNames } from "../builds";
import { Percentiles, trendScale, type TrendScale } from "../charts/trend_chart";
import { type Filters, addressQuery, apiQuery } from "../filters";
import { formatCount, formatDuration, formatMoment, plural } from "../format";
import { useGet } from "../load";
import { shortenMiddle } from "../names";
import { Choice, Ready, Scroll, Section, Shortened } from "../parts";
import { type Place, setQuery } from "../router";
import type { Split, SplitPart } from "../types";

type By = "host" | "build" | "unit";
const words = { host: "host", build: "build", unit: "unit or container" } as const;
const width = 240;
const height = 64;
const series = ["p99", "p90", "p50"] as const;

export function SplitSection({
  event,
  filters,
  place,
}: {
  event: string;
  filters: Filters;
  place: Place;
}) {
  const asked = place.query.get("by");
  const by: By = asked === "build" || asked === "unit" ? asked : "host";
  const all_time =
    filters.span === undefined && filters.from === undefined && filters.to === undefined;
  const shown: Filters = all_time ? { ...filters, span: "30d" } : filters;
  const loaded = useGet<Split>(
    `/api/v1/events/${encodeURIComponent(event)}/split${apiQuery(shown, { by })}`,
  );
  return (
    <Section
      title={`By ${words[by]}${all_time ? ", last 30 days" : ""}`}
      id="split"
      aside={
        <Choice<By>
          label="Split by"
          value={by}
          options={[
            ["host", "host"],
            ["build", "build"],
            ["unit", "unit"],
          ]}
          onChoose={(value) => setQuery({ by: value === "host" ? undefined : value })}
        />
      }>
      <Ready of={loaded} height={180}>
        {(split) =>
          split.parts.length === 0 ? (
            <p class="muted">No runs in this period.</p>
          ) : (
            <Pictures split={split} by={by} filters={filters} />
          )
        }
      </Ready>
    </Section>
  );
}

function Pictures({ split, by, filters }: { split: Split; by: By; filters: Filters }) {
  const names = useBuildNames();
  const all = split.others ? [...split.parts, split.others] : split.parts;
  const scale = trendScale(all.flatMap((part) => [...part.units.p50, ...part.units.p99]));
  const title = (part: SplitPart) => {
    if (part === split.others) return `${formatCount(split.other_names)} other ${by}s`;
    return part.name === ""
      ? "unknown"
      : by === "build"
        ? (names.get(part.name) ?? part.name)
        : part.name;
  };
  const cut = split.read_from_ns !== null && split.runs_read === split.runs_read_most;
  return (
    <>
      <p class="muted">
        Most delays first; by {split.unit_ns < 80000e9 ? "hour" : "day"} since{" "}
        {formatMoment(split.from_ns)}
        {scale.ticks.length > 0 &&
          `; same scale for all (${formatDuration(scale.low)} to ${formatDuration(scale.high)})`}
        .
        {cut &&
          ` Only the newest ${plural(split.runs_read, "run")} are included, ` +
            `back to ${formatMoment(split.read_from_ns as string)}; ` +
            "choose a shorter span to include all."}
      </p>
      <ul class="multiples" data-testid="split">
        {all.map((part, index) => (
          <li key={index}>
            <h3>
              {part === split.others || part.name === "" ? (
                title(part)
              ) : (
                <a href={addressQuery({ ...filters, [by]: [part.name] })} title={part.name}>
                  {shortenMiddle(title(part), 34)}
                </a>
              )}
            </h3>
            <p>
              p50 {formatDuration(part.p50)} · p90 {formatDuration(part.p90)} ·{" "}
              <strong>p99 {formatDuration(part.p99)}</strong>
            </p>
            <Picture part={part} scale={scale} label={title(part)} to_ns={split.to_ns} />
            <p class="muted">
              {plural(part.runs, "run")},{" "}
              <span class={part.delays > 0 ? "problem" : ""}>{plural(part.delays, "delay")}</span>
            </p>
          </li>
        ))}
      </ul>
      <ul class="legend trend-legend trend">
        {series.map((name) => (
          <li key={name}>
            <span class={`stroke ${name}`} aria-hidden="true" /> {name}
          </li>
        ))}
      </ul>
      <details class="sub">
        <summary>Show as a table</summary>
        <Scroll label={`Figures by ${words[by]}`}>
          <table class="list compact cards">
            <thead>
              <tr>
                <th scope="col">{words[by]}</th>
                <th scope="col" class="number">
                  Runs
                </th>
                <th scope="col" class="number">
                  Delays
                </th>
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
              {all.map((part, index) => (
                <tr key={index}>
                  <th scope="row">
                    <Shortened text={title(part)} most={48} />
                  </th>
                  <td class="number">{formatCount(part.runs)}</td>
                  <td class="number">{formatCount(part.delays)}</td>
                  <td class="number">{formatDuration(part.p50)}</td>
                  <td class="number">{formatDuration(part.p90)}</td>
                  <td class="number">{formatDuration(part.p99)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </>
  );
}

function Picture({
  part,
  scale,
  label,
  to_ns,
}: {
  part: SplitPart;
  scale: TrendScale;
  label: string;
  to_ns: string;
}) {
  const count = part.units.runs.length;
  const step = width / Math.max(1, count);
  const y = (value: number) =>
    height - (Math.log(value / scale.low) / Math.log(scale.high / scale.low)) * height;
  return (
    <div class="trend">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={
          `${label}: p50, p90 and p99 over time, the last p99 ` +
          `${formatDuration([...part.units.p99].reverse().find((value) => value > 0) ?? 0)}`
        }>
        {scale.ticks.map((tick) => (
          <line key={tick} class="grid" x1="0" x2={width} y1={y(tick)} y2={y(tick)} />
        ))}
        <Percentiles units={part.units} y={y} step={step} to_ns={to_ns} />
      </svg>
    </div>
  );
}
