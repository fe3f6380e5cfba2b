// The distribution of durations, and the times of delays.
import { run_colours } from "../colours";
import { formatCount, formatDuration, formatMoment, plural } from "../format";
import type { Summary } from "../types";
import type { BarArea } from "./bar_area";
import { ChartCanvas } from "./chart";

const hour_ns = 3600n * 1000000000n;

// Vertical lines at the percentiles, labeled where there is room.
function drawPercentiles(
  context: CanvasRenderingContext2D,
  area: BarArea,
  { histogram, percentiles }: Summary,
  colour: string,
): void {
  let last = -Infinity;
  context.strokeStyle = context.fillStyle = colour;
  for (const name of ["p50", "p75", "p90", "p95", "p99"] as const) {
    const value = percentiles[name];
    const index = histogram.findIndex((bin) => value < bin.high_ns);
    if (index < 0) continue;
    const bin = histogram[index];
    const x = area.x(index + (value - bin.low_ns) / Math.max(1, bin.high_ns - bin.low_ns) - 0.5);
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(x, area.box.top);
    context.lineTo(x, area.box.bottom);
    context.stroke();
    context.setLineDash([]);
    if (x - last <= 26) continue;
    context.fillText(name, Math.min(x, area.box.right - 10), area.box.top - 8);
    last = x;
  }
}

export function Distribution({ summary }: { summary: Summary }) {
  const bins = summary.histogram;
  return (
    <ChartCanvas
      height={190}
      inputs={[summary]}
      label={
        `Distribution of ${plural(summary.runs, "run")}: half take up to ` +
        `${formatDuration(summary.percentiles.p50)}, 95 of 100 up to ` +
        `${formatDuration(summary.percentiles.p95)}`
      }
      make={(theme) => ({
        sets: [
          { values: bins.map((bin) => bin.runs - bin.delays), colour: run_colours.in_time },
          { values: bins.map((bin) => bin.delays), colour: run_colours.late },
        ],
        stacked: true,
        filled: 0.94,
        whole: true,
        title: "runs",
        value: formatCount,
        labels: bins.map((bin) => formatDuration(bin.low_ns)),
        padding: { top: 14, bottom: 0 },
        after: (context, area) => drawPercentiles(context, area, summary, theme.text),
        tip: (slot) => [
          `${formatDuration(bins[slot].low_ns)} to ${formatDuration(bins[slot].high_ns)}`,
          `on time: ${formatCount(bins[slot].runs - bins[slot].delays)}`,
          `delays: ${formatCount(bins[slot].delays)}`,
        ],
      })}
    />
  );
}

// All hours including empty ones; for more than 1,500 hours, only those with runs.
function fullHours(summary: Summary): Summary["hours"] {
  const hours = summary.hours;
  if (hours.length < 2) return hours;
  const first = BigInt(hours[0].hour_ns);
  const count = Number((BigInt(hours[hours.length - 1].hour_ns) - first) / hour_ns) + 1;
  if (count > 1500 || count < hours.length) return hours;
  const full = Array.from({ length: count }, (_, index) => ({
    hour_ns: String(first + BigInt(index) * hour_ns),
    runs: 0,
    delays: 0,
  }));
  for (const hour of hours) full[Number((BigInt(hour.hour_ns) - first) / hour_ns)] = hour;
  return full;
}

export function Hours({ summary }: { summary: Summary }) {
  const hours = fullHours(summary);
  return (
    <ChartCanvas
      height={190}
      inputs={[summary]}
      label={
        `Delays by hour: ${plural(summary.delays, "delay")} in ${plural(hours.length, "hour")}, ` +
        `at most ${Math.max(0, ...hours.map((hour) => hour.delays))} in one`
      }
      make={() => ({
        sets: [{ values: hours.map((hour) => hour.delays), colour: run_colours.late }],
        stacked: true,
        filled: hours.length > 60 ? 1 : 0.9,
        whole: true,
        title: "delays",
        value: formatCount,
        labels: hours.map((hour) => formatMoment(hour.hour_ns)),
        padding: { top: 14, bottom: 0 },
        tip: (slot) => [
          formatMoment(hours[slot].hour_ns),
          `${plural(hours[slot].delays, "delay")} of ${plural(hours[slot].runs, "run")}`,
        ],
      })}
    />
  );
}
