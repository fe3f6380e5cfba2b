// The answers of the API, described in server/api/openapi.yaml. Durations are numbers in
// nanoseconds; times, ids and offsets are strings of digits.
// api_types.ts is generated from it (npm run types); only type checks need it, not the build.
import type { components } from "./api_types";

type Schemas = components["schemas"];

export type Session = Schemas["Session"];
export type EventList = Schemas["EventList"];
export type DurationChange = Schemas["DurationChange"];
export type ShareChange = Schemas["ShareChange"];
export type LevelChange = Schemas["LevelChange"];
export type TrendUnits = Schemas["TrendUnits"];
export type CauseRecord = Schemas["CauseRecord"];
export type CauseCount = Schemas["CauseCount"];
export type CauseLife = Schemas["CauseLife"];
export type EventTrend = Schemas["EventTrend"];
export type Change = Schemas["Change"];
export type ChangeSplit = Schemas["ChangeSplit"];
export type PartsChanged = Schemas["PartsChanged"];
export type SlowRuns = Schemas["SlowRuns"];
export type Trend = Schemas["Trend"];
export type SplitPart = Schemas["SplitPart"];
export type Split = Schemas["Split"];
export type Losses = Schemas["Losses"];
export type Choices = Schemas["Choices"];
export type Found = Schemas["Found"];
export type Summary = Schemas["Summary"];
export type Stage = Schemas["Stage"];
export type Times = Schemas["Times"];
export type DurationGroup = Schemas["DurationGroup"];
export type TimeShift = Schemas["TimeShift"];
export type Dirty = Schemas["Dirty"];
export type Run = Schemas["Run"];
export type RunList = Schemas["RunList"];
export type Frame = Schemas["Frame"];
export type RunDetail = Schemas["RunDetail"];
export type StageStacks = Schemas["StageStacks"];
export type Comparison = Schemas["Comparison"];
export type Cause = Schemas["Cause"];
export type Causes = Schemas["Causes"];
export type Bundle = Schemas["Bundle"];
export type BundleList = Schemas["BundleList"];
export type Delay = Schemas["Delay"];
export type WaitChain = Schemas["WaitChain"];
export type Surroundings = Schemas["Surroundings"];
export type FollowedObjects = Schemas["Objects"];
export type ObjectWatch = Schemas["ObjectWatch"];
export type ObjectWatches = Schemas["ObjectWatches"];
export type ObjectWatchSummary = Schemas["ObjectWatchSummary"];
export type CreationStack = Schemas["CreationStack"];
export type TracedFunctions = Schemas["TracedFunctions"];
export type RunCalls = Schemas["RunCalls"];
export type Quality = Schemas["Quality"];
export type Formats = Schemas["Formats"];
export type BundleDelays = Schemas["BundleDelays"];
export type DelayList = Schemas["DelayList"];
export type DelaySummary = Schemas["DelaySummary"];
export type WhoDelaysWhom = Schemas["WhoDelaysWhom"];
export type RequestPair = Schemas["RequestPair"];
export type Flame = Schemas["Flame"];
export type Timeline = Schemas["Timeline"];
export type Account = Schemas["Account"];
export type Team = Schemas["Team"];
export type Token = Schemas["Token"];
export type AuditEntry = Schemas["AuditEntry"];
export type AuditList = Schemas["AuditList"];
export type NewRule = Schemas["NewRule"];
export type Rule = Schemas["Rule"];
export type MadeRule = Schemas["MadeRule"];
export type RuleDetail = Schemas["RuleDetail"];
export type FigureDifference = Schemas["FigureDifference"];
export type CauseSide = Schemas["CauseSide"];
export type SetComparison = Schemas["SetComparison"];

export type Role = "reader" | "uploader" | "admin";
export type Scope = "read" | "upload" | "admin";
export type Start = "cold" | "warm" | "unknown";
export type ThreadState = "on CPU" | "runnable" | "blocked" | "unknown";

export interface EventRow {
  event: string;
  last_ns: string;
  runs: number;
  delays: number;
  hosts: number;
  bundles: number;
}
export interface TrendSpan {
  before_ns: string;
  from_ns: string;
  to_ns: string;
  unit_ns: number;
}
export interface OverviewAnswer extends TrendSpan {
  total: number;
  events: Schemas["OverviewEvent"][];
  lost: Losses;
  bundles_waiting: number;
}
export interface PartShift {
  state: string;
  reason: string;
  middle_ns: number;
  slow_ns: number;
}
export type FlameNode = [number, number, number, number, number];
export interface TimelineInterval {
  from_ns: number;
  to_ns: number;
  state: ThreadState;
  reason: string;
  cpu: number | null;
  waker: { process: string; thread: string } | null;
  stack: number | null;
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
  threads: {
    tid: number;
    pid: number;
    name: number;
    of_delay: boolean;
    on_cpu_ns: number;
    runnable_ns: number;
    blocked_ns: number;
    cells: number[];
    samples: number[];
  }[];
  wakes: number[];
  runs: {
    event: number;
    from_ns: number;
    to_ns: number;
    tid: number;
    delayed: boolean;
    stages: { name: number; at_ns: number }[];
  }[];
  asleep: number;
  left_out: {
    cpus: number;
    threads: number;
    wakes: number;
    samples: number;
    stacks: number;
    runs: number;
  };
}

export type RuleCondition =
  | "got_worse"
  | "new_cause"
  | "cause_came_back"
  | "p99"
  | "delay_share"
  | "host_silent"
  | "runs_lost"
  | "weekly_digest";
export type RuleWay = "webhook" | "email" | "slack" | "alertmanager";
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
