// What runs of an event are like that were on time, to compare one run with.
import { partName, timeParts } from "./charts/run_times";
import { useGet } from "./load";
import type { Run, RunList } from "./types";

const runs_read = 300;
const min_runs = 10;

export interface NormalRuns {
  runs: number;
  duration_ns: number; // medians, as all figures
  stages: Map<string, number>;
  parts: Map<string, number>; // by partName(); absent: none of the runs has a timing breakdown
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0
    ? 0
    : (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) /
        2;
}

// The median of each name over all lists; a list without the name counts as 0.
function mediansByName(lists: { name: string; ns: number }[][]): Map<string, number> {
  const found = new Map<string, number[]>();
  for (const list of lists) {
    const sums = new Map<string, number>();
    for (const { name, ns } of list) sums.set(name, (sums.get(name) ?? 0) + ns);
    for (const [name, ns] of sums) found.set(name, [...(found.get(name) ?? []), ns]);
  }
  return new Map(
    [...found].map(([name, values]) => [
      name,
      median([...values, ...Array<number>(lists.length - values.length).fill(0)]),
    ]),
  );
}

// Null if too few runs were on time.
export function normalRuns(runs: Run[]): NormalRuns | null {
  const on_time = runs.filter((run) => !run.delay && run.dirty === null);
  if (on_time.length < min_runs) return null;
  const staged = on_time.filter((run) => run.stages.length > 0);
  const timed = on_time.flatMap((run) => (run.times ? [timeParts(run.times)] : []));
  return {
    runs: on_time.length,
    duration_ns: median(on_time.map((run) => run.duration_ns)),
    stages: mediansByName(
      staged.map((run) => run.stages.map((stage) => ({ name: stage.name, ns: stage.duration_ns }))),
    ),
    parts: mediansByName(
      timed.map((parts) => parts.map((part) => ({ name: partName(part), ns: part.ns }))),
    ),
  };
}

// Of the event's newest runs. Null while they are being loaded.
export function useNormalRuns(event: string): NormalRuns | null {
  const { data } = useGet<RunList>(
    `/api/v1/events/${encodeURIComponent(event)}/runs?limit=${runs_read}`,
  );
  return data === null ? null : normalRuns(data.runs);
}
