// The form to create and change an alert rule. It shows only what applies to the chosen condition
// and way.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api";
import { useGet } from "../load";
import { Failure } from "../parts";
import type { Choices, EventList, NewRule, Rule, RuleCondition, RuleWay } from "../types";

export const way_names: Record<RuleWay, string> = {
  webhook: "webhook",
  email: "e-mail",
  slack: "Slack",
  alertmanager: "Alertmanager",
};

const conditions: [RuleCondition, string][] = [
  ["got_worse", "An event got worse"],
  ["new_cause", "A new cause of delays is found"],
  ["cause_came_back", "A resolved cause comes back"],
  ["p99", "The p99 of an event is too high"],
  ["delay_share", "Too many runs are delays"],
  ["host_silent", "A host stops sending"],
  ["runs_lost", "Runs are lost on a host"],
  ["weekly_digest", "Weekly digest, every Monday"],
];
const max_rule_name = 64;
const addresses: Record<RuleWay, [label: string, placeholder: string]> = {
  webhook: ["Address", "https://example.org/hook"],
  email: ["SMTP server", "smtp://mail.example.org:587"],
  slack: ["Address (contains the secret)", "https://hooks.slack.com/services/..."],
  alertmanager: ["Address", "http://alertmanager.example.org:9093"],
};

// Quiet hours are in the author's own time zone unless they choose another.
const own_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

// Every field as text, as in the form.
type Fields = Record<
  | "name"
  | "condition"
  | "event"
  | "host"
  | "measure"
  | "over_ms"
  | "over_percent"
  | "factor"
  | "hours"
  | "least_runs"
  | "silent_minutes"
  | "over_runs"
  | "way"
  | "address"
  | "from"
  | "to"
  | "user"
  | "secret"
  | "quiet_from"
  | "quiet_to"
  | "quiet_zone"
  | "repeat_hours",
  string
>;

function fieldsOf(rule: Rule | undefined): Fields {
  // 0.07 is "7" percent, not "7.000000000000001".
  const text = (value: number | null | undefined, factor = 1) =>
    value === null || value === undefined ? "" : String(Number((value * factor).toPrecision(12)));
  return {
    name: rule?.name ?? "",
    condition: rule?.condition ?? "new_cause",
    event: rule?.event ?? "",
    host: rule?.host ?? "",
    measure: rule !== undefined && rule.factor !== null ? "factor" : "bound",
    over_ms: text(rule?.over_ns, 1e-6),
    over_percent: text(rule?.over_share, 100),
    factor: text(rule?.factor) || "1.5",
    hours: text(rule?.hours) || "2",
    least_runs: text(rule?.least_runs) || "100",
    silent_minutes: text(rule?.silent_ns, 1 / 60e9) || "30",
    over_runs: text(rule?.over_runs) || "0",
    way: rule?.way ?? "webhook",
    address: rule?.address ?? "",
    from: rule?.from ?? "",
    to: rule?.to?.join(", ") ?? "",
    user: rule?.user ?? "",
    secret: "",
    quiet_from: rule?.quiet_from ?? "",
    quiet_to: rule?.quiet_to ?? "",
    quiet_zone: rule?.quiet_zone ?? own_zone,
    repeat_hours: text(rule?.repeat_ns, 1 / 3600e9),
  };
}

function ruleOf(fields: Fields, enabled: boolean, tell_ends: boolean): NewRule {
  const condition = fields.condition as RuleCondition;
  const way = fields.way as RuleWay;
  const measured = condition === "p99" || condition === "delay_share";
  const of_host = condition === "host_silent" || condition === "runs_lost";
  const rule: NewRule = {
    name: fields.name.trim(),
    enabled,
    condition,
    way,
    address: fields.address.trim(),
  };
  if (!of_host && fields.event !== "") rule.event = fields.event;
  if (of_host && fields.host !== "") rule.host = fields.host;
  if (measured && fields.measure === "factor") rule.factor = Number(fields.factor);
  if (condition === "p99" && fields.measure === "bound")
    rule.over_ns = Math.round(Number(fields.over_ms) * 1e6);
  if (condition === "delay_share" && fields.measure === "bound")
    rule.over_share = Number(fields.over_percent) / 100;
  if (measured || condition === "runs_lost") rule.hours = Number(fields.hours);
  if (measured) rule.least_runs = Number(fields.least_runs);
  if (condition === "host_silent")
    rule.silent_ns = Math.round(Number(fields.silent_minutes) * 60e9);
  if (condition === "runs_lost") rule.over_runs = Number(fields.over_runs);
  if (way === "email")
    Object.assign(rule, {
      from: fields.from.trim(),
      to: fields.to
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    });
  if ((way === "email" || way === "alertmanager") && fields.user !== "") rule.user = fields.user;
  if (way !== "slack" && fields.secret !== "") rule.secret = fields.secret;
  if (way === "alertmanager") return rule;
  if (fields.quiet_from !== "" || fields.quiet_to !== "")
    Object.assign(rule, {
      quiet_from: fields.quiet_from,
      quiet_to: fields.quiet_to,
      quiet_zone: fields.quiet_zone.trim(),
    });
  if (condition === "weekly_digest") return rule;
  if (fields.repeat_hours !== "") rule.repeat_ns = Math.round(Number(fields.repeat_hours) * 3600e9);
  return { ...rule, tell_ends };
}

// Addresses that open the form of a new rule with some of its fields filled in.
export function worseRuleAddress(event: string): string {
  return newRuleAddress({ name: `${event} got worse`, condition: "got_worse", event });
}
export function causeRuleAddress(event: string): string {
  return newRuleAddress({
    name: `A cause of ${event} came back`,
    condition: "cause_came_back",
    event,
  });
}
function newRuleAddress(fields: Filled): string {
  return `/rules?${new URLSearchParams({ ...fields, name: fields.name.slice(0, max_rule_name) })}`;
}

interface Filled {
  name: string;
  condition: RuleCondition;
  event: string;
}

// Ignores conditions that do not exist, because an address is untrusted text.
export function filledFields(query: URLSearchParams): Filled | null {
  const condition = conditions.find(([name]) => name === query.get("condition"));
  if (!condition) return null;
  return {
    name: (query.get("name") ?? "").slice(0, max_rule_name),
    condition: condition[0],
    event: (query.get("event") ?? "").slice(0, 256),
  };
}

export function RuleForm({
  rule,
  filled,
  button,
  onSend,
}: {
  rule?: Rule;
  filled?: Filled | null;
  button: string;
  onSend: (rule: NewRule) => Promise<void>;
}) {
  const [fields, setFields] = useState(() => ({ ...fieldsOf(rule), ...filled }));
  const [enabled, setEnabled] = useState(rule?.enabled ?? true);
  const [ends, setEnds] = useState(rule?.tell_ends ?? false);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const choices = useGet<Choices>("/api/v1/choices");
  const events = useGet<EventList>("/api/v1/events?limit=1000");
  const change = (name: keyof Fields) => (event: Event) => {
    const value = (event.currentTarget as HTMLInputElement | HTMLSelectElement).value;
    setFields((old) => ({ ...old, [name]: value }));
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(null);
    try {
      await onSend(ruleOf(fields, enabled, ends));
      if (rule === undefined) setFields(fieldsOf(undefined));
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, String(error), "Try again."));
    }
  };
  const way = fields.way as RuleWay;
  const measured = fields.condition === "p99" || fields.condition === "delay_share";
  const of_host = fields.condition === "host_silent" || fields.condition === "runs_lost";
  const digest = fields.condition === "weekly_digest";
  const number = (name: keyof Fields, label: string, min: number, step: string) => (
    <label class="field">
      <span>{label}</span>
      <input
        name={name}
        type="number"
        required
        min={min}
        step={step}
        value={fields[name]}
        onInput={change(name)}
      />
    </label>
  );
  return (
    <form onSubmit={(event) => void submit(event)} aria-label={button}>
      {problem && <Failure error={problem} />}
      <Group title="Condition">
        <label class="field">
          <span>Name</span>
          <input
            name="name"
            required
            maxLength={max_rule_name}
            value={fields.name}
            onInput={change("name")}
          />
        </label>
        <label class="field">
          <span>Condition</span>
          <select name="condition" value={fields.condition} onChange={change("condition")}>
            {conditions.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {of_host ? (
          <OneOf
            name="host"
            label="Host"
            none="any host"
            value={fields.host}
            options={choices.data?.hosts ?? []}
            onChange={change("host")}
          />
        ) : (
          <OneOf
            name="event"
            label="Event"
            none="any event"
            value={fields.event}
            options={events.data?.events.map((row) => row.event) ?? []}
            onChange={change("event")}
          />
        )}
        {measured && (
          <label class="field">
            <span>Compare with</span>
            <select name="measure" value={fields.measure} onChange={change("measure")}>
              <option value="bound">a fixed limit</option>
              <option value="factor">the week before</option>
            </select>
          </label>
        )}
        {measured &&
          fields.measure === "factor" &&
          number("factor", "Limit (times the week before)", 1.01, "any")}
        {fields.condition === "p99" &&
          fields.measure === "bound" &&
          number("over_ms", "Limit (ms)", 0.001, "any")}
        {fields.condition === "delay_share" &&
          fields.measure === "bound" &&
          number("over_percent", "Limit (% of runs)", 0.001, "any")}
        {(measured || fields.condition === "runs_lost") &&
          number("hours", "Over the last (hours)", 1, "1")}
        {measured && number("least_runs", "Minimum number of runs", 1, "1")}
        {fields.condition === "host_silent" && number("silent_minutes", "For (minutes)", 1, "any")}
        {fields.condition === "runs_lost" && number("over_runs", "More than (runs)", 0, "1")}
      </Group>
      <Group title="Notify">
        <label class="field">
          <span>Send by</span>
          <select name="way" value={way} onChange={change("way")}>
            {Object.entries(way_names)
              .filter(([value]) => !(digest && value === "alertmanager"))
              .map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
          </select>
        </label>
        <label class="field grow">
          <span>{addresses[way][0]}</span>
          <input
            name="address"
            required
            maxLength={500}
            autocomplete="off"
            placeholder={addresses[way][1]}
            value={fields.address}
            onInput={change("address")}
          />
        </label>
        {way === "email" && (
          <label class="field">
            <span>From</span>
            <input name="from" type="email" required value={fields.from} onInput={change("from")} />
          </label>
        )}
        {way === "email" && (
          <label class="field grow">
            <span>To (comma-separated)</span>
            <input
              name="to"
              type="email"
              multiple
              required
              value={fields.to}
              onInput={change("to")}
            />
          </label>
        )}
        {(way === "email" || way === "alertmanager") && (
          <label class="field">
            <span>User (optional)</span>
            <input name="user" autocomplete="off" value={fields.user} onInput={change("user")} />
          </label>
        )}
        {way !== "slack" && (
          <label class="field">
            <span>
              {way === "webhook" ? "Signing secret" : "Password"}
              {rule?.has_secret
                ? " (empty: unchanged)"
                : way === "webhook"
                  ? " (empty: generated)"
                  : ""}
            </span>
            <input
              name="secret"
              type="password"
              autocomplete="new-password"
              value={fields.secret}
              onInput={change("secret")}
            />
          </label>
        )}
      </Group>
      <Group title="Options">
        {way === "alertmanager" ? (
          <p class="muted">
            Alertmanager groups, silences and repeats by itself. It is also notified when a finding
            is resolved.
          </p>
        ) : (
          <>
            <label class="field">
              <span>Quiet from</span>
              <input
                name="quiet_from"
                type="time"
                value={fields.quiet_from}
                onInput={change("quiet_from")}
              />
            </label>
            <label class="field">
              <span>Quiet to</span>
              <input
                name="quiet_to"
                type="time"
                value={fields.quiet_to}
                onInput={change("quiet_to")}
              />
            </label>
            <label class="field">
              <span>Time zone</span>
              <input
                name="quiet_zone"
                required
                maxLength={64}
                list="zones"
                autocomplete="off"
                value={fields.quiet_zone}
                onInput={change("quiet_zone")}
              />
            </label>
            <datalist id="zones">
              {zones.map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
            {!digest && (
              <label class="field">
                <span>Repeat after (hours; empty: never)</span>
                <input
                  name="repeat_hours"
                  type="number"
                  min={0.02}
                  step="any"
                  value={fields.repeat_hours}
                  onInput={change("repeat_hours")}
                />
              </label>
            )}
            {!digest && (
              <label class="check">
                <input
                  type="checkbox"
                  name="tell_ends"
                  checked={ends}
                  onChange={(event) => setEnds(event.currentTarget.checked)}
                />{" "}
                Also notify when resolved
              </label>
            )}
          </>
        )}
        <label class="check">
          <input
            type="checkbox"
            name="enabled"
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />{" "}
          Enabled
        </label>
        <button type="submit" class="primary">
          {button}
        </button>
      </Group>
    </form>
  );
}

function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      <div class="row-form">{children}</div>
    </fieldset>
  );
}

function OneOf({
  name,
  label,
  none,
  value,
  options,
  onChange,
}: {
  name: string;
  label: string;
  none: string;
  value: string;
  options: string[];
  onChange: (event: Event) => void;
}) {
  const all = value !== "" && !options.includes(value) ? [value, ...options] : options;
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} value={value} onChange={onChange}>
        <option value="">{none}</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
