// Where the time of runs went, as parts that bars show instead of stages. Draws nothing.
import { colourOfReason, state_colours } from "../colours";
import type { PartShift, Run, Stage, Times } from "../types";
import type { StageColour } from "./run_order";

export interface TimePart {
  state: string;
  reason: string;
  ns: number;
}

// "on CPU", "waiting for a CPU", "blocked: lock (futex)".
export function partName(part: { state: string; reason: string }): string {
  if (part.state === "blocked") return part.reason;
  if (part.state === "runnable")
    return part.reason === "" ? "waiting for a CPU" : `waiting for a CPU (${part.reason})`;
  return part.state;
}

// Only parts that are not zero.
export function timeParts(times: Times): TimePart[] {
  const parts: TimePart[] = [
    { state: "on CPU", reason: "", ns: times.on_cpu_ns },
    { state: "runnable", reason: "", ns: times.runnable_ns - times.throttled_ns },
    { state: "runnable", reason: "CPU quota", ns: times.throttled_ns },
    ...times.blocked.map((one) => ({ state: "blocked", reason: one.reason, ns: one.ns })),
    { state: "handed over", reason: "", ns: times.handed_over_ns },
    { state: "unknown", reason: "", ns: times.unknown_ns },
  ];
  return parts.filter((part) => part.ns > 0);
}

// The run with the parts of its time as its stages, for code that draws stages. Their order has no
// meaning.
export function byTime(run: Run): Run {
  const parts = run.times
    ? timeParts(run.times)
    : [{ state: "unknown", reason: "", ns: run.duration_ns }];
  let at_ns = 0;
  const stages: Stage[] = parts.map((part) => {
    at_ns += part.ns;
    return { name: partName(part), at_ns: at_ns - part.ns, duration_ns: part.ns };
  });
  return { ...run, stages };
}

const fixed_colours: Record<string, string> = {
  "on CPU": state_colours["on CPU"],
  "waiting for a CPU": state_colours.runnable,
  "waiting for a CPU (CPU quota)": state_colours.throttled,
  "handed over": state_colours["handed over"],
  unknown: state_colours.unknown,
};
const order = Object.keys(fixed_colours);

// The colours of parts with these names: states first, then reasons of waiting in the given order,
// then the rest.
export function partColours(names: Iterable<string>): StageColour[] {
  const given = [...new Set(names)];
  const place = (name: string) => (order.indexOf(name) < 0 ? 2.5 : order.indexOf(name));
  const sorted = given.sort((one, other) => place(one) - place(other));
  return sorted.map((name) => ({ name, colour: fixed_colours[name] ?? colourOfReason(name) }));
}

// For runs from byTime(). The longest reasons of waiting come first, so that their colours differ
// most.
export function timeColours(runs: Run[]): StageColour[] {
  const totals = new Map<string, number>();
  for (const run of runs)
    for (const part of run.stages)
      totals.set(part.name, (totals.get(part.name) ?? 0) + part.duration_ns);
  return partColours(
    [...totals.keys()].sort(
      (one, other) => (totals.get(other) as number) - (totals.get(one) as number),
    ),
  );
}

// "The slowest runs take 310 ms longer than the middle ones: 94 % of that is lock (futex)."
// Returned in pieces for the page.
export function mainShift(
  parts: PartShift[],
  middle_ns: number,
  slow_ns: number,
): { name: string; share: number } | null {
  const longer = slow_ns - middle_ns;
  const most = [...parts].sort(
    (one, other) => other.slow_ns - other.middle_ns - (one.slow_ns - one.middle_ns),
  )[0];
  if (!most || longer <= 0 || most.slow_ns <= most.middle_ns) return null;
  return { name: partName(most), share: Math.min(1, (most.slow_ns - most.middle_ns) / longer) };
}
