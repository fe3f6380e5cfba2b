// The answers of the API, as server/api/openapi.yaml describes them. Durations are numbers of nanoseconds; times, ids and
// offsets are strings of digits.

export type Role = "reader" | "uploader" | "admin";
export type Scope = "read" | "upload" | "admin";
export type Start = "cold" | "warm" | "unknown";
export type ThreadState = "on CPU" | "runnable" | "blocked" | "unknown";

export interface Session {
  account: string;
  role: Role;
  expires_ns: string | null;
}

export interface EventRow {
  event: string;
  last_ns: string;
  runs: number;
  delays: number;
  hosts: number;
  bundles: number;
}
export interface EventList {
  events: EventRow[];
  next: string | null;
  lost: Losses;
}

export interface Losses {
  runs: number;
  hosts: { host: string; runs: number; last_ns: string }[];
}

export interface Choices {
  hosts: string[];
  users: string[];
  builds: string[];
  processes: string[];
  from: string | null;
  to: string | null;
}

export interface Summary {
  runs: number;
  delays: number;
  hidden: number;
  share_over: number;
  threshold_ns?: number | null;
  percentiles: { p50: number; p75: number; p90: number; p95: number; p99: number; max: number };
  histogram: { low_ns: number; high_ns: number; runs: number; delays: number }[];
  hours: { hour_ns: string; runs: number; delays: number }[];
}

export interface Stage {
  name: string;
  at_ns: number;
  duration_ns: number;
}
export interface Dirty {
  rule: string;
  reason: string;
  by: string | null;
  at_ns: string;
}
export interface Run {
  id: string;
  event: string;
  begin_ns: string;
  duration_ns: number;
  threshold_ns: number;
  host: string;
  user: string;
  build: string;
  process: string;
  executable: string;
  pid: number;
  tid: number;
  thread: string;
  start: Start;
  delay: boolean;
  weight: number;
  bundle: string | null;
  bundle_delay?: number | null;
  dirty: Dirty | null;
  stages: Stage[];
}
export interface RunList {
  runs: Run[];
  hidden: number;
  hidden_because?: { rule: string; reason?: string; runs: number }[];
  total: number;
  next: string | null;
}
export interface Frame {
  function: string;
  module: string;
  build_id: string;
  offset: string;
  file: string;
  line: number;
}
export interface RunDetail extends Run {
  markers: { name: string; at_ns: number; tid: number; stack: Frame[] }[];
}
export interface StageStacks {
  stacks: { frames: Frame[]; hits: number; median_ns: number; longest_ns: number }[];
}

export interface Comparison {
  a: { runs: number; median_ns: number };
  b: { runs: number; median_ns: number };
  difference_ns: number;
  low_ns: number;
  high_ns: number;
  confidence: number;
  evidence: boolean;
  stages: { name: string; difference_ns: number; low_ns: number; high_ns: number; evidence: boolean }[];
}

export interface Cause {
  signature: string;
  title: string;
  state: ThreadState;
  reason: string;
  frames: { function: string; module: string }[];
  excess_ns: number;
  affected_runs: number;
  hosts: number;
  users: number;
  share: number;
  p_value: number;
  q_value: number;
  single_host: boolean;
  builds: { build: string; runs: number; affected: number; excess_ns: number }[];
  example: { bundle: string; delay: number } | null;
}
export interface Causes {
  delayed_runs: number;
  normal_runs: number;
  bundles: number;
  causes: Cause[];
  silent_because: string | null;
}

export interface Bundle {
  digest: string;
  bytes: number;
  received_ns: string;
  started_ns: string | null;
  host: string;
  event: string;
  process: string;
  delays: number;
  longest_delay_ns: number;
  bad_reason: string | null;
}
export interface BundleList {
  bundles: Bundle[];
  next: string | null;
}
export interface Delay {
  number: number;
  event: string;
  begin_ns: string;
  trace_begin_ns?: string;
  duration_ns: number;
  threshold_ns: number;
  process: string;
  thread: string;
  pid: number;
  tid: number;
  on_cpu_ns: number;
  runnable_ns: number;
  blocked_ns: number;
  unknown_ns: number;
  blocked: { reason: string; ns: number }[];
  stages: Stage[];
  run?: string | null;
}
export interface Quality {
  samples?: number;
  samples_lost?: number;
  stacks_complete?: number | null;
  frames_named?: number | null;
  partial?: boolean;
  delays_left_out?: number;
  notes?: string[];
}
export interface BundleDelays {
  bundle?: Bundle;
  delays: Delay[];
  quality: Quality;
}

// [parent, name, value, baseline value, kind]
export type FlameNode = [number, number, number, number, number];
export interface Flame {
  unit: "ns";
  total: number;
  baseline_total: number | null;
  baseline_runs?: number;
  nodes: FlameNode[];
  names: { function: string; module: string }[];
  dropped: number;
}
export interface TimelineInterval {
  from_ns: number;
  to_ns: number;
  state: ThreadState;
  reason: string;
  cpu: number | null;
  waker: { process: string; thread: string } | null;
  stack: number | null;
}
export interface Timeline {
  from_ns: string;
  to_ns: string;
  stacks: Frame[][];
  intervals: TimelineInterval[];
  samples: { at_ns: number; stack: number }[];
  dropped: number;
}

export interface Account {
  account: string;
  role: Role;
  created_ns: string;
  last_sign_in_ns: string | null;
}
export interface Token {
  id: string;
  name: string;
  scope: Scope;
  host: string | null;
  created_ns: string;
  expires_ns: string | null;
  last_used_ns: string | null;
}
