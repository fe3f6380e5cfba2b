// The order of runs side by side: cold ones, a gap, warm ones, each by time or duration; and which
// of their stages get their own colour. Draws nothing.
import { other_stages_colour, stage_colours } from "../colours";
import type { Run } from "../types";

export interface Bars {
  slots: (Run | null)[]; // null is a gap between groups
  groups: { name: string; from: number; to: number }[]; // slots, excluding `to`
}

const group_names: Record<string, string> = {
  cold: "cold starts",
  warm: "warm starts",
  unknown: "runs",
};

export function arrange(runs: Run[], order: "newest" | "slowest"): Bars {
  const bars: Bars = { slots: [], groups: [] };
  for (const start of ["cold", "warm", "unknown"] as const) {
    const members = runs.filter((run) => run.start === start);
    if (members.length === 0) continue;
    // Time runs from left to right; by duration, the slowest come first.
    if (order === "newest")
      members.sort((one, other) => (BigInt(one.begin_ns) < BigInt(other.begin_ns) ? -1 : 1));
    else members.sort((one, other) => other.duration_ns - one.duration_ns);
    const gap = Math.max(1, Math.round(runs.length / 60));
    if (bars.slots.length > 0) bars.slots.push(...new Array<null>(gap).fill(null));
    bars.groups.push({
      name: group_names[start],
      from: bars.slots.length,
      to: bars.slots.length + members.length,
    });
    bars.slots.push(...members);
  }
  return bars;
}

export interface StageColour {
  name: string | null; // null: all stages without their own colour
  colour: string;
  words?: string; // what those are called, if not "other stages"
}

export const other_stages = null;

// In order of appearance, which is the order of the stages. If there are more names than colours,
// those that take the most time get one.
export function stageColours(runs: Run[]): StageColour[] {
  const totals = new Map<string, number>();
  for (const run of runs)
    for (const stage of run.stages)
      totals.set(stage.name, (totals.get(stage.name) ?? 0) + stage.duration_ns);
  let names = [...totals.keys()];
  const too_many = names.length > stage_colours.length;
  if (too_many) {
    const longest = new Set(
      [...names]
        .sort((one, other) => totals.get(other)! - totals.get(one)!)
        .slice(0, stage_colours.length),
    );
    names = names.filter((name) => longest.has(name));
  }
  const found: StageColour[] = names.map((name, index) => ({ name, colour: stage_colours[index] }));
  const bare = runs.filter((run) => run.stages.length === 0);
  if (names.length > 0 && bare.length > 0) {
    const none = bare.every((run) => run.without_stages) ? "stages not recorded" : "without stages";
    found.push({
      name: other_stages,
      colour: other_stages_colour,
      words: too_many ? `other stages, or ${none}` : none,
    });
  } else if (too_many) {
    found.push({ name: other_stages, colour: other_stages_colour });
  }
  return found;
}

// The durations of a run's coloured stages in milliseconds. A run without stages counts completely
// as the last colour, so that its bar has the right height.
export function stageHeights(run: Run, colours: StageColour[]): number[] {
  const heights = new Array<number>(colours.length).fill(0);
  if (run.stages.length === 0 && colours.length > 0)
    heights[colours.length - 1] = run.duration_ns / 1e6;
  for (const stage of run.stages) {
    let index = colours.findIndex((colour) => colour.name === stage.name);
    if (index < 0) index = colours.length - 1;
    if (index >= 0) heights[index] += stage.duration_ns / 1e6;
  }
  return heights;
}

// Where the axis ends, in milliseconds, or undefined for the default. Dirty runs and outliers
// far above all others are cut off, so that they do not flatten the rest.
export function axisEnd(bars: Bars): number | undefined {
  let clean = 0;
  let longest = 0;
  for (const run of bars.slots) {
    if (!run) continue;
    longest = Math.max(longest, run.duration_ns);
    if (!run.dirty && !run.outlier) clean = Math.max(clean, run.duration_ns);
  }
  return clean > 0 && longest > clean * 1.5 ? Math.round((clean * 1.15) / 1e6) : undefined;
}

// The stage of a run at a height of `ms`; -1 above the bar.
export function stageAt(heights: number[], ms: number): number {
  let top = 0;
  for (let index = 0; index < heights.length; ++index) {
    top += heights[index];
    if (ms <= top && heights[index] > 0) return index;
  }
  return -1;
}

// The runs of slots `from` to `to`, inclusive, in either order.
export function runsBetween(bars: Bars, from: number, to: number): Run[] {
  return bars.slots
    .slice(Math.min(from, to), Math.max(from, to) + 1)
    .filter((run): run is Run => run !== null);
}
