// What the development server answers about rules: it keeps them, and sends tests of webhooks.
import { randomBytes, randomUUID } from "node:crypto";
import { Refusal } from "./answers.mjs";
import { ns } from "./data.mjs";

const rules = new Map();
let last_id = 0;
const members = ["event", "host", "over_ns", "over_share", "factor", "hours", "least_runs", "silent_ns", "over_runs", "from", "to", "user", "quiet_from", "quiet_to", "quiet_zone", "tell_ends", "repeat_ns"];

function isZone(name) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}

function ruleOf(id, body, account, old) {
  if (!/^(https?|smtps?):\/\//.test(body.address)) throw new Refusal(400, '"address": expected an address that begins with https:// or http://');
  if ([...rules.values()].some((other) => other.name === body.name && other.id !== id)) throw new Refusal(409, "there is a rule of that name already");
  if (body.quiet_zone && !isZone(body.quiet_zone)) throw new Refusal(400, `"quiet_zone": the server's machine knows no time zone "${body.quiet_zone}"`);
  const { secret: _secret, ...rest } = body;
  return {
    ...Object.fromEntries(members.map((name) => [name, null])), enabled: true, ...rest, id, has_secret: true, changed_by: account, changed_ns: ns(Date.now()),
    state: old?.state ?? { looked_ns: ns(Date.now()), look_failure: null, told_ns: null, failed_ns: null, failure: null, delivered: 0, given_up: 0 }, messages: old?.messages ?? [],
    findings: [{ subject: "event checkout", title: "The p99 of checkout is 412 ms in the last 2 hours (1234 runs), over 300 ms.", path: "/event/checkout?span=24h", found_ns: ns(Date.now() - 60e3), ended_ns: null, told_ns: null }],
  };
}

async function test(rule) {
  const message = { id: randomUUID(), test: true, made_ns: ns(Date.now()), state: "waiting", attempts: 1, next_ns: null, settled_ns: null, reason: null, headline: `This is a test of the rule ${rule.name}; nothing was found.`, findings: 1 };
  rule.messages.unshift(message);
  const settle = (state, reason) => Object.assign(message, { state, reason, settled_ns: ns(Date.now()) }) && Object.assign(rule.state, { failure: reason, failed_ns: reason && ns(Date.now()) });
  fetch(rule.address, { method: "POST", body: JSON.stringify(message), headers: { "webhook-id": message.id } }).then(
    (answer) => settle(answer.ok ? "delivered" : "given_up", answer.ok ? null : `it answered ${answer.status}`),
    () => settle("given_up", `${new URL(rule.address).host}: Couldn't connect to server`),
  );
  return { message: message.id };
}

const shown = ({ messages: _messages, findings: _findings, ...rule }) => rule;

export async function answerRules(method, id, what, body, account) {
  if (id === undefined && method === "GET") return { rules: [...rules.values()].map(shown) };
  if (id === undefined) {
    const made = ruleOf(String(++last_id), body, account);
    rules.set(made.id, made);
    return { ...shown(made), secret: `whsec_${randomBytes(32).toString("base64")}` };
  }
  const rule = rules.get(id);
  if (!rule) return null;
  if (what === "test") return test(rule);
  if (method === "DELETE") return rules.delete(id) && "removed";
  if (method === "PUT") rules.set(id, ruleOf(id, body, account, rule));
  return rules.get(id);
}
