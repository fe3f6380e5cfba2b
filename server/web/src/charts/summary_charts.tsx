// The distribution of durations, and the times of delays.
import { run_colours } from "../colours";
import { formatCount, formatDuration, formatTime, plural } from "../format";
import type { Summary } from "../types";
import { type BarChart, type BarConfiguration, ChartCanvas, axis } from "./chart";

const hour_ns = 3600n * 1000000000n;

// Vertical lines at the percentiles, labeled where there is room.
function percentileLines(summary: Summary, colour: string) {
  const { histogram, percentiles } = summary;
  return {
    id: "percentiles",
    afterDatasetsDraw(chart: BarChart) {
      const { ctx, chartArea, scales } = chart;
      let last = -Infinity;
      for (const name of ["p50", "p75", "p90", "p95", "p99"] as const) {
        const value = percentiles[name];
        const index = histogram.findIndex((bin) => value < bin.high_ns);
        if (index < 0) continue;
        const bin = histogram[index];
        const within = (value - bin.low_ns) / Math.max(1, bin.high_ns - bin.low_ns) - 0.5;
        const step = index + 1 < histogram.length ? scales.x.getPixelForValue(index + 1) - scales.x.getPixelForValue(index) : 0;
        const x = scales.x.getPixelForValue(index) + within * step;
        ctx.save();
        ctx.strokeStyle = colour;
        ctx.setLineDash([2, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        if (x - last > 26) {
          ctx.fillStyle = colour;
          ctx.font = "11px system-ui, sans-serif";
          ctx.textAlign = "center";
          ctx.fillText(name, x, chartArea.top - 4);
          last = x;
        }
        ctx.restore();
      }
    },
  };
}

export function Distribution({ summary }: { summary: Summary }) {
  const bins = summary.histogram;
  return (
    <ChartCanvas
      height={190} inputs={[summary]}
      label={`Distribution of ${plural(summary.runs, "run")}: half take up to ${formatDuration(summary.percentiles.p50)}, 95 of 100 up to ${formatDuration(summary.percentiles.p95)}`}
      make={(theme): BarConfiguration => ({
        type: "bar",
        data: {
          labels: bins.map((bin) => formatDuration(bin.low_ns)),
          datasets: [
            { label: "on time", data: bins.map((bin) => bin.runs - bin.delays), backgroundColor: run_colours.in_time, barPercentage: 1, categoryPercentage: 0.94 },
            { label: "delays", data: bins.map((bin) => bin.delays), backgroundColor: run_colours.late, barPercentage: 1, categoryPercentage: 0.94 },
          ],
        },
        options: {
          layout: { padding: { top: 14 } },
          scales: {
            x: { stacked: true, ...axis(theme, { grid: { display: false }, ticks: { color: theme.muted, maxRotation: 0, autoSkipPadding: 24 } }) },
            y: { stacked: true, beginAtZero: true, ...axis(theme, { title: { display: true, text: "runs", color: theme.muted }, ticks: { color: theme.muted, precision: 0, maxTicksLimit: 6 } }) },
          },
          interaction: { mode: "index", intersect: false },
          plugins: {
            tooltip: {
              callbacks: {
                title: (items) => `${formatDuration(bins[items[0].dataIndex].low_ns)} to ${formatDuration(bins[items[0].dataIndex].high_ns)}`,
                label: (item) => `${item.dataset.label}: ${formatCount(item.parsed.y ?? 0)}`,
              },
            },
          },
        },
        plugins: [percentileLines(summary, theme.text)],
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
  const full = Array.from({ length: count }, (_, index) => ({ hour_ns: String(first + BigInt(index) * hour_ns), runs: 0, delays: 0 }));
  for (const hour of hours) full[Number((BigInt(hour.hour_ns) - first) / hour_ns)] = hour;
  return full;
}

export function Hours({ summary }: { summary: Summary }) {
  const hours = fullHours(summary);
  return (
    <ChartCanvas
      height={190} inputs={[summary]}
      label={`Delays by hour: ${plural(summary.delays, "delay")} in ${plural(hours.length, "hour")}, at most ${Math.max(0, ...hours.map((hour) => hour.delays))} in one`}
      make={(theme): BarConfiguration => ({
        type: "bar",
        data: {
          labels: hours.map((hour) => formatTime(hour.hour_ns).slice(5, 16)),
          datasets: [{ label: "delays", data: hours.map((hour) => hour.delays), backgroundColor: run_colours.late, barPercentage: 1, categoryPercentage: hours.length > 60 ? 1 : 0.9 }],
        },
        options: {
          layout: { padding: { top: 14 } },
          scales: {
            x: axis(theme, { grid: { display: false }, ticks: { color: theme.muted, maxRotation: 0, autoSkipPadding: 24 } }),
            y: { beginAtZero: true, ...axis(theme, { title: { display: true, text: "delays", color: theme.muted }, ticks: { color: theme.muted, precision: 0, maxTicksLimit: 6 } }) },
          },
          interaction: { mode: "index", intersect: false },
          plugins: { tooltip: { callbacks: { label: (item) => `${plural(item.parsed.y ?? 0, "delay")} of ${plural(hours[item.dataIndex].runs, "run")}` } } },
        },
      })}
    />
  );
}
