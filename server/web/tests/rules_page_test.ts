import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { causeRuleAddress, filledFields, worseRuleAddress } from "../src/pages/rule_form";
import type { NewRule, Rule, RuleDetail } from "../src/types";
import { finding, message, rule, state } from "./answers/rules";
import { ago, day_s, hour_s, pass } from "./page/clock";
import {
  Expected,
  address,
  check,
  click,
  enter,
  open,
  reader,
  requested,
  shown,
  submit,
} from "./page/page";
import { Refusal, done } from "./page/server";

const expected = new Expected("rules_page");

const events = { events: [{ event: "checkout" }, { event: "login" }], next: null };
const lists = { "/api/v1/events": events, "/api/v1/rules": { rules: [] as Rule[] } };

// One rule of each condition, way and state.
const rules = [
  rule(),
  rule({ id: "6", event: null, condition: "weekly_digest", enabled: false }),
  rule({ id: "7", condition: "new_cause", state: state({ looked_ns: null }) }),
  rule({
    id: "8",
    condition: "cause_came_back",
    way: "slack",
    state: state({ look_failure: "no store", failure: "not shown" }),
  }),
  rule({
    id: "9",
    condition: "p99",
    over_ns: 50e6,
    hours: 1,
    way: "email",
    address: "smtp://mail.example.org",
    to: ["a@example.org", "b@example.org"],
    state: state({ failure: "refused", notified_ns: ago(day_s), failed_ns: ago(hour_s) }),
  }),
  rule({ id: "10", condition: "p99", factor: 1.5, hours: 24, way: "alertmanager" }),
  rule({ id: "11", condition: "delay_share", over_share: 0.05, event: null }),
  rule({ id: "12", condition: "delay_share", factor: 2, hours: 3 }),
  rule({ id: "13", condition: "host_silent", host: "web-1", silent_ns: 1800e9 }),
  rule({ id: "14", condition: "runs_lost", host: null, over_runs: 1, hours: 1 }),
  rule({ id: "15", condition: "runs_lost", host: "web-1", over_runs: 0, hours: 5 }),
];

test("rules with their conditions, ways and states", async () => {
  await open("/rules", lists, reader);
  expected.is("a reader", shown());
  await open("/rules", { ...lists, "/api/v1/rules": { rules } });
  expected.is("all kinds", shown("main > section:first-of-type"));
  await open("/rules", lists);
  expected.is("no rules", shown());
});

test("a form that an address fills in comes first", async () => {
  await open(`/rules?condition=cause_came_back&event=gone&name=${"n".repeat(70)}`, lists);
  expected.is("filled", shown("main > section h2", "section fieldset:first-of-type"));
  await open("/rules?condition=bogus&event=gone&name=n", lists);
  expected.is("not filled", shown("main > section h2", "section fieldset:first-of-type"));
});

// Fills the form in order, and returns what is sent.
async function made(fields: [string, string][], more: [string, boolean][] = []): Promise<unknown> {
  await open("/rules", { ...lists, "POST /api/v1/rules": rule() });
  await enter("input[name=name]", " r ");
  await enter("input[name=address]", " https://a ");
  for (const [name, value] of fields) await enter(`[name=${name}]`, value);
  for (const [name, checked] of more) await check(`[name=${name}]`, checked);
  requested();
  await submit("form[aria-label='Create rule']");
  const [post] = requested();
  assert.match(post, /^POST \/api\/v1\/rules \{/);
  return JSON.parse(post.replace("POST /api/v1/rules ", ""));
}

const common = { name: "r", enabled: true, way: "webhook", address: "https://a", tell_ends: false };

test("each condition sends what belongs to it, in the API's units", async () => {
  assert.deepEqual(await made([]), { ...common, condition: "new_cause" });
  assert.deepEqual(await made([["event", "login"]], [["enabled", false], ["tell_ends", true]]), {
    ...common,
    condition: "new_cause",
    event: "login",
    enabled: false,
    tell_ends: true,
  }); // prettier-ignore
  assert.deepEqual(await made([["condition", "p99"], ["over_ms", "12.5"]]), {
    ...common,
    condition: "p99",
    over_ns: 12.5e6,
    hours: 2,
    least_runs: 100,
  }); // prettier-ignore
  assert.deepEqual(
    await made([
      ["condition", "p99"],
      ["measure", "factor"],
      ["factor", "3"],
      ["hours", "5"],
      ["least_runs", "7"],
    ]),
    { ...common, condition: "p99", factor: 3, hours: 5, least_runs: 7 },
  );
  assert.deepEqual(await made([["condition", "delay_share"], ["over_percent", "2.5"]]), {
    ...common,
    condition: "delay_share",
    over_share: 0.025,
    hours: 2,
    least_runs: 100,
  }); // prettier-ignore
  assert.deepEqual(await made([["condition", "delay_share"], ["measure", "factor"]]), {
    ...common,
    condition: "delay_share",
    factor: 1.5,
    hours: 2,
    least_runs: 100,
  }); // prettier-ignore
  assert.deepEqual(
    await made([
      ["event", "login"],
      ["condition", "host_silent"],
      ["host", "web-1"],
    ]),
    { ...common, condition: "host_silent", host: "web-1", silent_ns: 1800e9 },
  );
  assert.deepEqual(
    await made([
      ["condition", "runs_lost"],
      ["host", "web-1"],
      ["over_runs", "3"],
      ["condition", "runs_lost"],
    ]),
    { ...common, condition: "runs_lost", host: "web-1", hours: 2, over_runs: 3 },
  );
  const { tell_ends: _ends, ...digest } = common;
  assert.deepEqual(await made([["repeat_hours", "1"], ["condition", "weekly_digest"]]), {
    ...digest,
    condition: "weekly_digest",
  }); // prettier-ignore
});

test("each way sends what belongs to it", async () => {
  const condition = "new_cause";
  const quiet: [string, string][] = [
    ["quiet_from", "22:00"],
    ["quiet_to", "06:00"],
    ["repeat_hours", "0.5"],
  ];
  const quiet_sent = {
    quiet_from: "22:00",
    quiet_to: "06:00",
    quiet_zone: "Europe/Vienna",
    repeat_ns: 1800e9,
  };
  assert.deepEqual(await made([...quiet, ["secret", "s"]]), {
    ...common,
    condition,
    ...quiet_sent,
    secret: "s",
  });
  assert.deepEqual(await made([["secret", "s"], ["way", "slack"], ["quiet_to", "06:00"]]), {
    ...common,
    condition,
    way: "slack",
    quiet_from: "",
    quiet_to: "06:00",
    quiet_zone: "Europe/Vienna",
  }); // prettier-ignore
  assert.deepEqual(
    await made([
      ["way", "email"],
      ["from", " a@example.org "],
      ["to", "b@example.org, ,c@example.org "],
      ["user", "u"],
      ["secret", "p"],
    ]),
    {
      ...common,
      condition,
      way: "email",
      from: "a@example.org",
      to: ["b@example.org", "c@example.org"],
      user: "u",
      secret: "p",
    },
  );
  const { tell_ends: _ends, ...alertmanager } = common;
  assert.deepEqual(await made([...quiet, ["way", "alertmanager"], ["user", "u"]]), {
    ...alertmanager,
    condition,
    way: "alertmanager",
    user: "u",
  });
});

test("what was typed for another condition or way is not sent", async () => {
  const condition = "new_cause";
  const silent: [string, string][] = [
    ["condition", "host_silent"],
    ["host", "web-1"],
  ];
  assert.deepEqual(await made([...silent, ["condition", condition]]), { ...common, condition });
  assert.deepEqual(await made([["condition", "host_silent"]]), {
    ...common,
    condition: "host_silent",
    silent_ns: 1800e9,
  });
  assert.deepEqual(
    await made([
      ["condition", "p99"],
      ["measure", "factor"],
      ["condition", condition],
    ]),
    { ...common, condition },
  );
  const mail: [string, string][] = [
    ["way", "email"],
    ["user", "u"],
    ["from", "a@example.org"],
    ["to", "b@example.org"],
  ];
  assert.deepEqual(await made([...mail, ["way", "slack"]]), { ...common, condition, way: "slack" });
  assert.deepEqual(
    await made([
      ["quiet_from", "22:00"],
      ["quiet_zone", " UTC "],
    ]),
    { ...common, condition, quiet_from: "22:00", quiet_to: "", quiet_zone: "UTC" },
  );
});

test("times that binary fractions miss are sent as whole nanoseconds", async () => {
  const { over_ns } = (await made([
    ["condition", "p99"],
    ["over_ms", "2.01"],
  ])) as NewRule;
  assert.equal(over_ns, 2010000);
  const { silent_ns } = (await made([
    ["condition", "host_silent"],
    ["silent_minutes", "0.57"],
  ])) as NewRule;
  assert.equal(silent_ns, 34.2e9);
  const { repeat_ns } = (await made([["repeat_hours", "0.29"]])) as NewRule;
  assert.equal(repeat_ns, 1044e9);
});

test("addresses of new rules", async () => {
  assert.equal(
    worseRuleAddress("a/b c"),
    "/rules?name=a%2Fb+c+got+worse&condition=got_worse&event=a%2Fb+c",
  );
  assert.equal(
    causeRuleAddress("login"),
    "/rules?name=A+cause+of+login+came+back&condition=cause_came_back&event=login",
  );
  const long = "e".repeat(70);
  assert.equal(
    worseRuleAddress(long),
    `/rules?name=${"e".repeat(64)}&condition=got_worse&event=${long}`,
  );
  const filled = (query: string) => filledFields(new URLSearchParams(query));
  assert.deepEqual(filled("condition=p99"), { name: "", condition: "p99", event: "" });
  assert.equal(filled("name=n&event=e"), null);
  assert.equal(filled(`condition=p99&event=${"e".repeat(300)}`)?.event, "e".repeat(256));
});

test("the form shows what applies to the condition and the way", async () => {
  await open("/rules", lists);
  for (const condition of [
    "got_worse",
    "cause_came_back",
    "p99",
    "delay_share",
    "host_silent",
    "runs_lost",
    "weekly_digest",
  ]) {
    await enter("select[name=condition]", condition);
    expected.is(condition, shown("section fieldset:first-of-type", "select[name=way]"));
  }
  await enter("select[name=condition]", "p99");
  await enter("select[name=measure]", "factor");
  expected.is("p99 against the week before", shown("section fieldset:first-of-type"));
  await enter("select[name=condition]", "weekly_digest");
  const notify = ["section fieldset:nth-of-type(2)", "section fieldset:nth-of-type(3)"];
  expected.is("a digest by webhook", shown(...notify));
  await enter("select[name=condition]", "p99");
  for (const way of ["email", "slack", "alertmanager"]) {
    await enter("select[name=way]", way);
    expected.is(way, shown(...notify));
  }
});

test("a created rule shows its secret once; refusals keep what was typed", async () => {
  let answer: unknown = new Refusal(400, "a bad address", "write https");
  await open("/rules", { ...lists, "POST /api/v1/rules": () => answer });
  await enter("input[name=name]", "mine");
  await enter("input[name=address]", "https://a");
  await submit("form[aria-label='Create rule']");
  expected.is("refused", shown("form .notice", "input[name=name]"));
  answer = "not JSON";
  await submit("form[aria-label='Create rule']");
  expected.is("an invalid answer", shown("form .notice", "input[name=name]"));
  answer = { ...rule({ name: "mine" }), secret: "s3cret" };
  await submit("form[aria-label='Create rule']");
  expected.is("created", shown("[data-testid=made-rule]", "form .notice", "input[name=name]"));
  await click("I copied it");
  assert.equal(document.querySelector("[data-testid=made-rule]"), null);
});

function detail(more: Partial<RuleDetail> = {}): RuleDetail {
  return {
    ...rule({ condition: "p99", over_ns: 50e6, hours: 1 }),
    messages: [],
    findings: [],
    ...more,
  };
}

test("one rule: its messages and findings", async () => {
  await open("/rule/5", {}, reader);
  expected.is("a rule for a reader", shown());
  await open("/rule/5", { ...lists, "/api/v1/rules/5": detail() });
  expected.is("a new rule", shown());
  await open("/rule/5", {
    ...lists,
    "/api/v1/rules/5": detail({
      state: state({ delivered: 1, given_up: 1234 }),
      messages: [
        message({ test: true }),
        message({ id: "2", attempts: 3 }),
        message({ id: "3", state: "given_up", attempts: 9, reason: "refused" }),
        message({ id: "4", state: "waiting", attempts: 1, reason: "busy", next_ns: ago(-60) }),
        message({ id: "5", state: "waiting", attempts: 2, reason: "busy" }),
        message({ id: "6", state: "sending", attempts: 1 }),
      ],
      findings: [
        finding(),
        finding({
          subject: "b",
          path: "//evil.example",
          ended_ns: ago(day_s),
          notified_ns: ago(60),
        }),
        finding({ subject: "c", path: "https://evil.example" }),
      ],
    }),
  });
  expected.is("a busy rule", shown("main p", "table"));
  await pass(999);
  assert.deepEqual(requested(), []);
  await pass(1);
  assert.deepEqual(requested(), ["GET /api/v1/rules/5"]);
});

test("a rule that is settled is not asked for again", async () => {
  const settled = [message(), message({ id: "2", state: "given_up", reason: "x" })];
  await open("/rule/5", { ...lists, "/api/v1/rules/5": detail({ messages: settled }) });
  requested();
  await pass(5000);
  assert.deepEqual(requested(), []);
});

test("a rule is tested, changed and removed", async () => {
  let answer: unknown = new Refusal(429, "too many tests");
  await open("/rule/5", {
    ...lists,
    "/api/v1/rules/5": detail({
      factor: 1.75,
      over_ns: null,
      hours: 6,
      least_runs: 50,
      quiet_from: "22:00",
      quiet_to: "06:00",
      quiet_zone: "UTC",
      tell_ends: true,
      repeat_ns: 5400e9,
      user: "u",
    }),
    "POST /api/v1/rules/5/test": () => answer,
    "PUT /api/v1/rules/5": done,
    "DELETE /api/v1/rules/5": () => answer,
  });
  requested();
  await click("Send a test");
  expected.is("test refused", shown("main > [aria-busy] > .notice"));
  answer = done;
  await click("Send a test");
  expected.is("tested", shown("main > [aria-busy] > .notice"));
  await submit("form[aria-label=Save]");
  expected.is("saved", shown("h1"));
  answer = new Refusal(503, "no store");
  await click("Remove");
  await click("Remove checkout got worse");
  expected.is("not removed", shown("main > [aria-busy] > .notice"));
  answer = done;
  await click("Remove");
  await click("Remove checkout got worse");
  assert.equal(address(), "/rules");
});

test("a rule is asked for again while one of its messages is on its way", async () => {
  for (const state of ["sending", "waiting"] as const) {
    const under_way = detail({ messages: [message(), message({ id: "2", state })] });
    await open("/rule/5", { ...lists, "/api/v1/rules/5": under_way });
    requested();
    await pass(1000);
    assert.deepEqual(requested(), ["GET /api/v1/rules/5"], state);
  }
});

test("findings link only to this server", async () => {
  const findings = ["/event/a//b", "//evil.example/x", "event/x"].map((path) =>
    finding({ subject: path, path }),
  );
  await open("/rule/5", { ...lists, "/api/v1/rules/5": detail({ findings }) });
  const links = [...document.querySelectorAll("section[aria-label=Findings] td a")];
  assert.deepEqual(
    links.map((link) => link.getAttribute("href")),
    ["/event/a//b"],
  );
});

test("a rule of a host is saved as it was", async () => {
  const base = { way: "slack", address: "https://a", has_secret: false } as const;
  for (const [more, sent] of [
    [
      { condition: "host_silent", event: null, host: "gone-1", silent_ns: 90e9 },
      { condition: "host_silent", host: "gone-1", silent_ns: 90e9 },
    ],
    [
      { condition: "runs_lost", event: null, host: "web-1", hours: 7, over_runs: 12 },
      { condition: "runs_lost", host: "web-1", hours: 7, over_runs: 12 },
    ],
    [
      { condition: "delay_share", over_ns: null, over_share: 0.07, hours: 6, least_runs: 50 },
      { condition: "delay_share", event: "checkout", over_share: 0.07, hours: 6, least_runs: 50 },
    ],
  ] as const) {
    await open("/rule/5", {
      ...lists,
      "/api/v1/rules/5": detail({ over_ns: null, hours: null, ...base, ...more }),
      "PUT /api/v1/rules/5": done,
    });
    requested();
    await submit("form[aria-label=Save]");
    const put = requested().find((one) => one.startsWith("PUT")) ?? "";
    assert.deepEqual(JSON.parse(put.replace("PUT /api/v1/rules/5 ", "")), {
      name: "checkout got worse",
      enabled: true,
      way: "slack",
      address: "https://a",
      tell_ends: false,
      ...sent,
    });
  }
});

test("a rule in the form has its values in the form's units", async () => {
  await open("/rule/5", {
    ...lists,
    "/api/v1/rules/5": detail({ condition: "delay_share", over_share: 0.07, has_secret: false }),
  });
  expected.is("a share", shown("section fieldset:first-of-type"));
  await open("/rule/5", { ...lists, "/api/v1/rules/5": detail({ over_ns: 1100000 }) });
  assert.match(shown("input[name=over_ms]"), /value="1.1"/);
  await open("/rule/5", {
    ...lists,
    "/api/v1/rules/5": detail({
      condition: "host_silent",
      silent_ns: 90e9,
      way: "email",
      from: "a@example.org",
      to: ["b@example.org", "c@example.org"],
      has_secret: true,
      enabled: false,
      repeat_ns: 3600e9,
    }),
  });
  expected.is("silence by e-mail", shown("section fieldset"));
});
