// The answers of the API, as server/api/openapi.yaml describes them. Durations are numbers of nanoseconds; times, ids and
// offsets are strings of digits.

export type Role = "reader" | "uploader" | "admin";
export type Scope = "read" | "upload" | "admin";
export type Start = "cold" | "warm" | "unknown";
export type ThreadState = "on CPU" | "runnable" | "blocked" | "unknown";

export interface Session {
  account: string;
  role: Role;
  has_password: boolean;
  teams: string[]; // none: everything is seen
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

export interface DurationChange {
  before_ns: number;
  now_ns: number;
  p_value: number | null;
  q_value: number | null;
}
export interface ShareChange {
  before: number;
  now: number;
  p_value: number | null;
  q_value: number | null;
}
export interface LevelChange {
  measure: "p50" | "p99";
  from_ns: string;
  before_ns: number;
  after_ns: number;
  p_value: number;
  build: string | null;
}
export interface TrendUnits {
  runs: number[];
  delays: number[];
  p50: number[];
  p90: number[];
  p99: number[];
}
export interface CauseRecord {
  id: string;
  part_of: string | null;
  event: string;
  signature: string;
  title: string;
  state: string;
  reason: string;
  status: "new" | "known" | "resolved" | "regressed";
  first_ns: string;
  last_ns: string;
  noticed_ns: string;
  resolved_ns: string | null;
  resolved_build: string | null;
  regressed_ns: string | null;
  owner: string;
  note: string;
  link: string;
  changed_by: string | null;
  delays: number;
  hosts: number;
}
export interface CauseCount {
  host?: string;
  build?: string;
  delays: number;
  first_ns: string;
  last_ns: string;
}
export interface CauseLife extends CauseRecord {
  frames: { function: string; module: string }[];
  parts: CauseRecord[];
  by_host: CauseCount[];
  by_build: CauseCount[];
  days: { from_ns: string; delays: number }[];
  newest_delays: { bundle: string | null; delay: number; host: string; build: string; begin_ns: string; excess_ns: number }[];
}
export interface EventTrend {
  event: string;
  runs_recorded: boolean;
  last_ns: string;
  runs: number;
  delays: number;
  hosts: number;
  delayed_hosts: number;
  builds: number;
  delayed_builds: number;
  p50: DurationChange;
  p99: DurationChange;
  delay_share: ShareChange;
  verdict: "worse" | "unchanged" | "better" | "untested";
  factor: number;
  changes: LevelChange[];
  units: TrendUnits;
}
export interface TrendSpan {
  before_ns: string;
  from_ns: string;
  to_ns: string;
  unit_ns: number;
}
export interface OverviewAnswer extends TrendSpan {
  total: number;
  events: (EventTrend & { newest_cause: CauseRecord | null })[];
  lost: Losses;
}
export interface Trend extends TrendSpan, EventTrend {
  builds_seen: { build: string; runs: number; delays: number; first_ns: string; last_ns: string }[];
}

export interface SplitPart {
  name: string;
  runs: number;
  delays: number;
  p50: number;
  p90: number;
  p99: number;
  units: TrendUnits;
}
export interface Split {
  from_ns: string;
  to_ns: string;
  unit_ns: number;
  runs_read: number;
  runs_read_most: number;
  read_from_ns: string | null;
  parts: SplitPart[];
  others: SplitPart | null;
  other_names: number;
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
  units: string[];
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
export interface Times {
  on_cpu_ns: number;
  runnable_ns: number;
  throttled_ns: number;
  blocked_ns: number;
  handed_over_ns: number;
  unknown_ns: number;
  blocked: { reason: string; ns: number }[];
}
export interface DurationGroup {
  runs: number;
  shortest_ns: number;
  longest_ns: number;
  mean_ns: number;
}
export interface PartShift {
  state: string;
  reason: string;
  middle_ns: number;
  slow_ns: number;
}
export interface TimeShift {
  runs_read: number;
  runs_timed: number;
  runs_needed: number;
  middle: DurationGroup | null;
  slow: DurationGroup | null;
  parts: PartShift[];
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
  unit: string;
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
  outlier: Dirty | null;
  stages: Stage[];
  times: Times | null;
}
export interface RunList {
  runs: Run[];
  hidden: number;
  outliers: number;
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
  runs_read: number;
  runs_read_most: number;
  stacks: { frames: Frame[]; hits: number; median_ns: number; longest_ns: number }[];
}

export interface Comparison {
  a: { runs: number; median_ns: number };
  b: { runs: number; median_ns: number };
  difference_ns: number;
  low_ns: number | null;
  high_ns: number | null;
  confidence: number;
  evidence: boolean;
  stages: { name: string; difference_ns: number; low_ns: number | null; high_ns: number | null; evidence: boolean }[];
}

export interface Cause {
  signature: string;
  title: string;
  state: ThreadState;
  reason: string;
  frames: { function: string; module: string }[];
  excess_ns: number;
  normal_ns: number;
  affected_runs: number;
  hosts: number;
  users: number;
  share: number;
  p_value: number;
  q_value: number;
  single_host: boolean;
  builds: { build: string; runs: number; affected: number; excess_ns: number }[];
  example: { bundle: string; delay: number } | null;
  record?: CauseRecord | null;
}
export interface Causes {
  delayed_runs: number;
  normal_runs: number;
  bundles: number;
  runs_left_out: number;
  causes: Cause[];
  unexplained_share: number;
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
  parsed: boolean;
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
  unit: string;
  user: string;
  build: string;
  thread: string;
  pid: number;
  tid: number;
  on_cpu_ns: number;
  runnable_ns: number;
  blocked_ns: number;
  handed_over_ns: number;
  unknown_ns: number;
  blocked: { reason: string; ns: number }[];
  stages: Stage[];
  calls?: RunCalls | null;
  traced_functions?: TracedFunctions | null;
  objects?: FollowedObjects | null;
  surroundings?: Surroundings | null;
  run?: string | null;
}
export interface Surroundings {
  machine: { kernel: string; os: string; architecture: string; cpus: number; cpu_model: string; memory_bytes: number };
  program: string;
  program_version: string;
  command_line: string;
  uid: number | null;
  cpu_use: { known_ns: number; idle_ns: number; others_ns: number; other_processes: number; processes: { pid: number; process: string; command_line: string; unit: string; on_cpu_ns: number }[] } | null;
  cpu_holders: { pid: number; process: string; thread: string; tid: number; threads: number; unit: string; real_time_priority: number; time_ns: number }[];
  started: { offset_ns: number; pid: number; process: string; command_line: string }[];
}
export interface CreationStack {
  alive: number;
  cut: boolean;
  frames: string[];
}

export interface FollowedObjects {
  process: string;
  length_ns: number;
  memory: string;
  told: number;
  not_told: number;
  taken_out: number;
  classes: { name: string; created: number; released: number; alive: number; failures: number; released_twice: number; used_after: number; unknown: number; replaced: number; not_followed: number }[];
  failures: { function: string; module: string; count: number; error: string; object: number; title: string }[];
  functions: { name: string; module: string; role: string; calls: number; failures: number; elapsed_ns: number }[];
  longest: { name: string; module: string; role: string; depth: number; begin_ns: number; elapsed_ns: number; bytes: number; object: number; title: string; state: string; error: string }[];
  oldest: { class: string; object: number; title: string; age_ns: number; uses: number; bytes: number; caller: string; shares_stack: boolean; stack: CreationStack | null }[];
}
export interface TracedFunctions {
  length_ns: number;
  before_breach_ns: number;
  watched: number;
  taken_out: number;
  least_ns: number;
  told: number;
  not_told: number;
  called: number;
  own_ns: number;
  functions: { name: string; module: string; source: string; calls: number; own_ns: number; longest_ns: number; path: string[] }[];
}
export interface RunCalls {
  count: number;
  longest: { name: string; module: string; source?: string; depth: number; begin_ns: number; wall_ns: number; own_ns: number; runnable_ns: number; blocked_ns: number; returned: boolean }[];
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
export interface Formats {
  formats: { name: string; title: string; use: string; suffix: string; state: string }[];
}
export interface BundleDelays {
  bundle?: Bundle;
  delays: Delay[];
  next: string | null;
  quality: Quality;
}

// [parent, name, value, baseline value, kind]
export type FlameNode = [number, number, number, number, number];
export interface DelayList {
  delays: (Delay & { bundle: string; host: string })[];
  next: string | null;
}
export interface DelaySummary extends Summary {
  delays_read: number;
  hosts: { host: string; delays: number; longest_ns: number }[];
  builds: { build: string; delays: number; longest_ns: number }[];
  units: { unit: string; delays: number; longest_ns: number }[];
}
export interface Flame {
  unit: "ns";
  total: number;
  baseline_total: number | null;
  baseline_runs?: number;
  runs?: number; // of two sets: delays of B
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
  names: string[];
  frames: (Omit<Frame, "function" | "module" | "build_id" | "file"> & { function: number; module: number; build_id: number; file: number })[]; // indices into names
  stacks: number[][]; // indices into frames
  intervals: TimelineInterval[];
  samples: { at_ns: number; stack: number }[];
  dropped: number;
}

export interface MachineAnswer {
  begin_ns: string;
  recorded_from_ns: number;
  recorded_to_ns: number;
  from_ns: number;
  to_ns: number;
  finest_ns: number;
  names: string[];
  frames: Timeline["frames"];
  stacks: number[][];
  cpus: { cpu: number; cells: number[] }[];
  processes: { pid: number; name: number; unit: number }[];
  threads: { tid: number; pid: number; name: number; of_delay: boolean; on_cpu_ns: number; runnable_ns: number; blocked_ns: number; cells: number[]; samples: number[] }[];
  wakes: number[];
  runs: { event: number; from_ns: number; to_ns: number; tid: number; delayed: boolean; stages: { name: number; at_ns: number }[] }[];
  asleep: number;
  left_out: { cpus: number; threads: number; wakes: number; samples: number; stacks: number; runs: number };
}

export interface Account {
  account: string;
  role: Role;
  created_ns: string;
  last_sign_in_ns: string | null;
}
export interface Team {
  team: string;
  events: string[];
  units: string[];
  groups: string[];
  accounts: { account: string; by_group: boolean }[];
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
export interface AuditEntry {
  id: string;
  at_ns: string;
  who: string | null;
  action: string;
  object: string | null;
  detail: string | null;
}
export interface AuditList {
  entries: AuditEntry[];
  next: string | null;
}

export type RuleCondition = "new_cause" | "cause_came_back" | "p99" | "delay_share" | "host_silent" | "runs_lost";
export type RuleWay = "webhook" | "email" | "slack" | "alertmanager";
interface RuleCore {
  name: string;
  enabled: boolean;
  condition: RuleCondition;
  way: RuleWay;
  address: string;
}
interface RuleMembers {
  event: string | null;
  host: string | null;
  over_ns: number | null;
  over_share: number | null;
  factor: number | null;
  hours: number | null;
  least_runs: number | null;
  silent_ns: number | null;
  over_runs: number | null;
  from: string | null;
  to: string[] | null;
  user: string | null;
  quiet_from: string | null;
  quiet_to: string | null;
  tell_ends: boolean | null;
  repeat_ns: number | null;
}
export type NewRule = RuleCore & Partial<RuleMembers> & { secret?: string };
export interface Rule extends RuleCore, RuleMembers {
  id: string;
  has_secret: boolean;
  changed_by: string | null;
  changed_ns: string;
  state: { looked_ns: string | null; look_failure: string | null; told_ns: string | null; failed_ns: string | null; failure: string | null; delivered: number; given_up: number };
}
export type MadeRule = Rule & { secret?: string };
export interface RuleMessage {
  id: string;
  test: boolean;
  made_ns: string;
  state: "waiting" | "sending" | "delivered" | "given_up";
  attempts: number;
  next_ns: string | null;
  settled_ns: string | null;
  reason: string | null;
  headline: string;
  findings: number;
}
export interface RuleDetail extends Rule {
  messages: RuleMessage[];
  findings: { subject: string; title: string; path: string; found_ns: string; ended_ns: string | null; told_ns: string | null }[];
}

export interface FigureDifference {
  a: number;
  b: number;
  difference: number;
  low: number | null;
  high: number | null;
  evidence: boolean;
}
interface ComparedSet {
  runs: number;
  delays: number;
  hidden: number;
  longest_ns: number;
}
interface SearchedSet {
  delayed_runs: number;
  normal_runs: number;
  silent_because: string | null;
}
export interface CauseSide {
  affected_runs: number;
  excess_ns: number;
  share: number;
}
export interface SetComparison {
  a: ComparedSet;
  b: ComparedSet;
  confidence: number;
  quantiles: (FigureDifference & { name: "p50" | "p90" | "p99" })[];
  delay_share: FigureDifference;
  histogram: { low_ns: number; high_ns: number; a: number; b: number }[];
  stages: { a_runs: number; b_runs: number; stages: Comparison["stages"] };
  times: { a_runs: number; b_runs: number; parts: (FigureDifference & { state: string; reason: string })[] };
  causes: { a: SearchedSet; b: SearchedSet; causes: { title: string; state: string; reason: string; change: "came" | "went" | "stays"; record: string | null; a: CauseSide | null; b: CauseSide | null }[] };
}
