// The time between any two points of runs. Points are the begin and the end of a run and its
// stages, which begin at their markers.
import type { Run } from "./types";

export const begin_point = "begin";
export const end_point = "end";

// All points in the order in which runs reach them on average.
export function pointsOf(runs: Run[]): string[] {
  const times = new Map<string, { sum: number; count: number }>();
  for (const run of runs) {
    for (const stage of run.stages) {
      if (stage.name === begin_point || stage.name === end_point) continue;
      const time = times.get(stage.name) ?? { sum: 0, count: 0 };
      times.set(stage.name, { sum: time.sum + stage.at_ns, count: time.count + 1 });
    }
  }
  const mean = ([, { sum, count }]: [string, { sum: number; count: number }]) => sum / count;
  return times.size === 0
    ? []
    : [
        begin_point,
        ...[...times].sort((a, b) => mean(a) - mean(b)).map(([name]) => name),
        end_point,
      ];
}

function timeOf(run: Run, point: string): number | null {
  if (point === begin_point) return 0;
  if (point === end_point) return run.duration_ns;
  return run.stages.find((stage) => stage.name === point)?.at_ns ?? null;
}

export interface Percentiles {
  runs: number;
  p50: number;
  p90: number;
  p99: number;
}

// Each run counts with its weight. Null if no run reached both points in this order.
export function timesBetween(runs: Run[], from: string, to: string): Percentiles | null {
  const times: { ns: number; weight: number }[] = [];
  for (const run of runs) {
    if (run.stages.length === 0) continue;
    const [begin, end] = [timeOf(run, from), timeOf(run, to)];
    if (begin !== null && end !== null && end >= begin)
      times.push({ ns: end - begin, weight: run.weight });
  }
  if (times.length === 0) return null;
  times.sort((a, b) => a.ns - b.ns);
  const total = times.reduce((sum, time) => sum + time.weight, 0);
  const at = (share: number) => {
    let sum = 0;
    for (const time of times) if ((sum += time.weight) >= share * total) return time.ns;
    return times[times.length - 1].ns;
  };
  return { runs: times.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
