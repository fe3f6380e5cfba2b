// Chart.js, limited to the parts used here, in the page's colours.
import { BarController, BarElement, CategoryScale, Chart, type ChartConfiguration, LinearScale, Tooltip } from "chart.js";
import { useEffect, useRef } from "preact/hooks";
import type { Theme } from "../colours";
import { useTheme } from "../theme";

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);
Chart.defaults.animation = false;
Chart.defaults.font.family = "system-ui, sans-serif";
Chart.defaults.font.size = 11;
Chart.defaults.maintainAspectRatio = false;

export type BarChart = Chart<"bar", (number | null)[], string>;
export type BarConfiguration = ChartConfiguration<"bar", (number | null)[], string>;

// Lines and labels of the axes in the theme's colours.
export function axis(theme: Theme, options: object = {}): object {
  return { grid: { color: theme.line, tickLength: 4 }, border: { color: theme.line }, ticks: { color: theme.muted, maxRotation: 0 }, ...options };
}

// `label` describes the picture in words. A canvas is not accessible, so the page also has the
// figures as text.
export function ChartCanvas({ make, inputs, height, label, onChart }: {
  make: (theme: Theme) => BarConfiguration;
  inputs: unknown[];
  height: number;
  label: string;
  onChart?: (chart: BarChart) => void;
}) {
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (!canvas.current) return undefined;
    const chart = new Chart(canvas.current, make(theme));
    onChart?.(chart);
    return () => chart.destroy();
  }, [theme, ...inputs]);
  return (
    <div class="chart" style={{ height: `${height}px` }}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}
