// The answers of the server under test against server/api/openapi.yaml.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { needs, packages, world } from "./support.mjs";

const Ajv = packages("ajv/dist/2020").default;
const description = packages("yaml").parse(readFileSync(new URL("../../server/api/openapi.yaml", import.meta.url), "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ ...description, $id: "api" });
let cookie = "";

before(async () => {
  const answer = await fetch(`${world.url}/api/v1/session`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(world.accounts.admin) });
  assert.equal(answer.status, 204);
  cookie = answer.headers.get("set-cookie").split(";")[0];
});

// Asks, and checks status and body against what the description says of this operation.
async function check(operation, path, { status = 200, body, query = "" } = {}) {
  const [route, methods] = Object.entries(description.paths).find(([, candidate]) => Object.values(candidate).some((entry) => entry.operationId === operation)) ?? [];
  assert.ok(route, `${operation} is not described`);
  const pattern = new RegExp(`^${route.replace(/[.]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`);
  assert.match(path, pattern);
  const [method, entry] = Object.entries(methods).find(([, candidate]) => candidate.operationId === operation);
  const answer = await fetch(world.url + path + query, {
    method: method.toUpperCase(), headers: { Cookie: cookie, ...(body ? { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", Origin: world.url } : {}) }, body: body && JSON.stringify(body),
  });
  assert.equal(answer.status, status, `${path}: ${await answer.clone().text()}`);
  const described = entry.responses[String(status)];
  assert.ok(described, `${operation} does not say that it answers ${status}`);
  const data = await answer.json();
  const reference = described.$ref ? described.$ref.replace("#/components/responses/", "") : null;
  const schema = (reference ? description.components.responses[reference] : described).content["application/json"].schema;
  const validate = ajv.getSchema(`api${schema.$ref}`);
  assert.ok(validate(data), `${path}: ${ajv.errorsText(validate.errors)}`);
  return data;
}
const event = (name) => `/api/v1/events/${encodeURIComponent(name)}`;

test("every operation of the description has a name and its errors", () => {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      if (method === "parameters") continue;
      assert.ok(entry.operationId && entry.summary, `${method} ${path}`);
      if (entry.security === undefined) assert.ok(entry.responses["401"], `${method} ${path} does not say what happens without a session`);
    }
  }
});

test("session, events, choices", needs("event"), async () => {
  await check("getSession", "/api/v1/session");
  const list = await check("listEvents", "/api/v1/events", { query: "?limit=3" });
  assert.ok(list.events.length <= 3);
  if (list.next !== null) {
    const next = await check("listEvents", "/api/v1/events", { query: `?limit=3&after=${encodeURIComponent(list.next)}` });
    const names = new Set(list.events.map((row) => row.event));
    assert.ok(next.events.every((row) => !names.has(row.event)));
  }
  await check("getChoices", "/api/v1/choices");
});

test("an event: summary, runs, stages, causes, comparison", needs("event"), async () => {
  const { name, stage, runs, hidden } = world.event;
  const summary = await check("getSummary", `${event(name)}/summary`);
  assert.equal(summary.runs + summary.hidden, runs);
  assert.equal(summary.histogram.reduce((sum, bin) => sum + bin.runs, 0), summary.runs);
  assert.equal(summary.hours.reduce((sum, hour) => sum + hour.delays, 0), summary.delays);
  const list = await check("listRuns", `${event(name)}/runs`, { query: "?order=slowest&limit=50" });
  assert.equal(list.hidden, hidden);
  assert.equal(list.total, runs);
  const durations = list.runs.map((run) => run.duration_ns);
  assert.deepEqual(durations, [...durations].sort((one, other) => other - one));
  await check("getRun", `/api/v1/runs/${list.runs[0].id}`);
  await check("getStageStacks", `${event(name)}/stages`, { query: `?stage=${encodeURIComponent(stage)}` });
  await check("getCauses", `${event(name)}/causes`);
  const ids = list.runs.map((run) => run.id);
  const compared = await check("compareRuns", "/api/v1/compare", { body: { a: ids.slice(25), b: ids.slice(0, 25) } });
  assert.ok(compared.difference_ns > 0);
  const none = await check("getSummary", `${event(name)}/summary`, { query: "?host=no-such-host" });
  assert.equal(none.runs, 0);
});

test("a delay: profile and timeline add up", needs("delay"), async () => {
  const { bundle, number } = world.delay;
  await check("listBundles", "/api/v1/bundles");
  const { delays } = await check("listDelays", `/api/v1/bundles/${bundle}/delays`);
  const delay = delays.find((candidate) => candidate.number === number);
  assert.ok(Math.abs(delay.on_cpu_ns + delay.runnable_ns + delay.blocked_ns + delay.unknown_ns - delay.duration_ns) <= delay.duration_ns * 0.001 + 1000);
  const path = `/api/v1/bundles/${bundle}/delays/${number}`;
  for (const query of ["", "?state=on-cpu", "?state=off-cpu", "?against=normal"]) {
    const flame = await check("getProfile", `${path}/profile`, { query });
    const children = new Array(flame.nodes.length).fill(0);
    flame.nodes.forEach(([parent, name, value], node) => {
      assert.ok(node === 0 ? parent === -1 : parent >= 0 && parent < node, `node ${node}`);
      assert.ok(name >= 0 && name < flame.names.length);
      if (node > 0) children[parent] += value;
    });
    flame.nodes.forEach(([, , value], node) => assert.ok(children[node] <= value * 1.0001 + 1000, `node ${node} has less than its children`));
  }
  const timeline = await check("getTimeline", `${path}/timeline`);
  let at = 0;
  for (const interval of timeline.intervals) {
    assert.equal(interval.from_ns, at);
    at = interval.to_ns;
    assert.ok(interval.stack === null || interval.stack < timeline.stacks.length);
  }
  assert.equal(BigInt(timeline.from_ns) + BigInt(at), BigInt(timeline.to_ns));
});

test("administration", async () => {
  await check("listAccounts", "/api/v1/accounts");
  await check("listTokens", "/api/v1/tokens");
});

test("what does not exist, can not be read or is not allowed is answered in the described form", async () => {
  await check("getRun", "/api/v1/runs/1", { status: 404 });
  await check("listDelays", `/api/v1/bundles/${"0".repeat(64)}/delays`, { status: 404 });
  if (world.bad_bundle) await check("listDelays", `/api/v1/bundles/${world.bad_bundle}/delays`, { status: 422 });
  const without = await fetch(`${world.url}/api/v1/events`);
  assert.equal(without.status, 401);
  assert.ok((await without.json()).error.message);
});
