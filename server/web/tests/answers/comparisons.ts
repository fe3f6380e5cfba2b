// Made-up answers about two sets of runs.
import type { FigureDifference, SetComparison } from "../../src/types";
import { part, splitOf } from "./events";

export function figure(a: number, b: number, more: Partial<FigureDifference> = {}) {
  const difference = b - a;
  return {
    a,
    b,
    difference,
    low: difference - Math.abs(difference) / 2,
    high: difference + Math.abs(difference) / 4,
    evidence: true,
    ...more,
  };
}

const unknown = { low: null, high: null, evidence: false };

const quantiles = (factor: number) => [
  { name: "p50" as const, ...figure(2e6, 2e6 * factor, { evidence: false }) },
  { name: "p90" as const, ...figure(5e6, 9e6 * factor) },
  { name: "p99" as const, ...figure(60e6, 20e6 * factor, unknown) },
];

export function sets(more: Partial<SetComparison> = {}): SetComparison {
  const stage = (name: string, factor: number) => ({
    name,
    difference_ns: 1,
    low_ns: null,
    high_ns: null,
    evidence: false,
    quantiles: quantiles(factor),
  });
  return {
    a: { runs: 1234, delays: 5, hidden: 0, longest_ns: 1e9 },
    b: { runs: 2345, delays: 50, hidden: 0, longest_ns: 2e9 },
    confidence: 0.95,
    quantiles: quantiles(1),
    measure: "p90",
    delay_share: figure(0.02, 0.01),
    histogram: [
      { low_ns: 0, high_ns: 2e6, a: 617, b: 0 },
      { low_ns: 2e6, high_ns: 8e6, a: 0, b: 2345 },
    ],
    hosts: splitOf([part("web-1", 0.01, 0.05, { changed: true }), part("web-2", 0.01, 0.01)], {
      concentrated: true,
      pattern: null,
    }),
    stages: { a_runs: 1000, b_runs: 2000, stages: [stage("read", 1), stage("write", 3)] },
    times: {
      a_runs: 999,
      b_runs: 1999,
      parts: [
        { state: "on CPU", reason: "", ...figure(1e6, 2e6) },
        { state: "blocked", reason: "disk", ...figure(5e6, 1e6, unknown) },
      ],
    },
    causes: {
      a: { delayed_runs: 1, normal_runs: 9, silent_because: null },
      b: { delayed_runs: 1234, normal_runs: 9, silent_because: null },
      causes: [
        {
          title: "in both",
          state: "blocked",
          reason: "disk",
          change: "stays",
          record: null,
          a: { affected_runs: 1, excess_ns: 1e6, share: 0.1 },
          b: { affected_runs: 2, excess_ns: 2e6, share: 0.2 },
        },
        {
          title: "gone",
          state: "blocked",
          reason: "disk",
          change: "went",
          record: "8",
          a: { affected_runs: 3, excess_ns: 3e6, share: 0.3 },
          b: null,
        },
        {
          title: "new",
          state: "blocked",
          reason: "disk",
          change: "came",
          record: "9",
          a: null,
          b: { affected_runs: 4, excess_ns: 4e6, share: 0.4 },
        },
      ],
    },
    ...more,
  };
}
