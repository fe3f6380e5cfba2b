// Made-up answers about alert rules.
import type { Rule, RuleDetail } from "../../src/types";
import { ago, day_s, hour_s } from "../page/clock";

export function rule(more: Partial<Rule> = {}): Rule {
  return {
    id: "5",
    name: "checkout got worse",
    enabled: true,
    condition: "got_worse",
    event: "checkout",
    host: null,
    over_ns: null,
    over_share: null,
    factor: null,
    hours: null,
    least_runs: null,
    silent_ns: null,
    over_runs: null,
    way: "webhook",
    address: "https://example.org/hook",
    from: null,
    to: null,
    user: null,
    quiet_from: null,
    quiet_to: null,
    quiet_zone: null,
    tell_ends: false,
    repeat_ns: null,
    has_secret: true,
    changed_by: "ada",
    changed_ns: ago(day_s),
    state: state(),
    ...more,
  };
}

export function state(more: Partial<Rule["state"]> = {}): Rule["state"] {
  return {
    looked_ns: ago(120),
    look_failure: null,
    notified_ns: null,
    failed_ns: null,
    failure: null,
    delivered: 0,
    given_up: 0,
    ...more,
  };
}

type Message = RuleDetail["messages"][number];
type Finding = RuleDetail["findings"][number];

export function message(more: Partial<Message> = {}): Message {
  return {
    id: "1",
    test: false,
    made_ns: ago(hour_s),
    state: "delivered",
    attempts: 1,
    next_ns: null,
    settled_ns: null,
    reason: null,
    headline: "checkout got worse",
    findings: 1,
    ...more,
  };
}

export function finding(more: Partial<Finding> = {}): Finding {
  return {
    subject: "checkout",
    title: "checkout got worse",
    path: "/event/checkout",
    found_ns: ago(hour_s),
    ended_ns: null,
    notified_ns: null,
    ...more,
  };
}
