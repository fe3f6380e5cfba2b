// Checks the answers of the server under test against server/api/openapi.yaml.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { packages, world } from "./support.mjs";

const Ajv = packages("ajv/dist/2020").default;
const description = packages("yaml").parse(
  readFileSync(new URL("../../server/api/openapi.yaml", import.meta.url), "utf8"),
);
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ ...description, $id: "api" });
const signed_in = await fetch(`${world.url}/api/v1/session`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(world.accounts.admin),
});
assert.equal(signed_in.status, 204);
const cookie = signed_in.headers.get("set-cookie").split(";")[0];

// Sends a request, and checks status and body against the description of this operation.
async function check(operation, path, { status = 200, body, query = "" } = {}) {
  const [route, methods] =
    Object.entries(description.paths).find(([, candidate]) =>
      Object.values(candidate).some((entry) => entry.operationId === operation),
    ) ?? [];
  assert.ok(route, `${operation} is not described`);
  const pattern = new RegExp(`^${route.replace(/[.]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`);
  assert.match(path, pattern);
  const [method, entry] = Object.entries(methods).find(
    ([, candidate]) => candidate.operationId === operation,
  );
  const answer = await fetch(world.url + path + query, {
    method: method.toUpperCase(),
    headers: {
      Cookie: cookie,
      ...(body
        ? { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", Origin: world.url }
        : {}),
    },
    body: body && JSON.stringify(body),
  });
  assert.equal(answer.status, status, `${path}: ${await answer.clone().text()}`);
  const described = entry.responses[String(status)];
  assert.ok(described, `${operation} does not say that it answers ${status}`);
  const data = await answer.json();
  const reference = described.$ref ? described.$ref.replace("#/components/responses/", "") : null;
  const schema = (reference ? description.components.responses[reference] : described).content[
    "application/json"
  ].schema;
  const validate = schema.$ref
    ? ajv.getSchema(`api${schema.$ref}`)
    : ajv.compile({
        $id: `api-${operation}`,
        ...JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')),
      });
  assert.ok(validate(data), `${path}: ${ajv.errorsText(validate.errors)}`);
  return data;
}
const event = (name) => `/api/v1/events/${encodeURIComponent(name)}`;

test("every operation of the description has a name and its errors", () => {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      if (method === "parameters") continue;
      assert.ok(entry.operationId && entry.summary, `${method} ${path}`);
      if (entry.security === undefined)
        assert.ok(
          entry.responses["401"],
          `${method} ${path} does not say what happens without a session`,
        );
    }
  }
});

test("session, events, choices", async () => {
  await check("getSession", "/api/v1/session");
  const list = await check("listEvents", "/api/v1/events", { query: "?limit=3" });
  assert.ok(list.events.length <= 3);
  if (list.next !== null) {
    const next = await check("listEvents", "/api/v1/events", {
      query: `?limit=3&after=${encodeURIComponent(list.next)}`,
    });
    const names = new Set(list.events.map((row) => row.event));
    assert.ok(next.events.every((row) => !names.has(row.event)));
  }
  await check("getOverview", "/api/v1/overview", { query: "?limit=5" });
  await check("getOverview", "/api/v1/overview", {
    query: `?order=p99&from=${BigInt(Date.now() - 30 * 86400e3) * 1000000n}`,
  });
  await check("getTrend", `${event(world.event.name)}/trend`);
  const { causes } = await check("listCauses", "/api/v1/causes");
  if (causes.length > 0) await check("getCause", `/api/v1/causes/${causes[0].id}`);
  if (causes.length > 0)
    await check("getCauseFlame", `/api/v1/causes/${causes[0].id}/flame`, {
      query: "?state=on-cpu",
    });
  await check("listBuildLabels", "/api/v1/builds");
  await check("getChoices", "/api/v1/choices");
  await check("search", "/api/v1/search", { query: `?search=${world.delay.trace_id}` });
  await check("search", "/api/v1/search", { query: "?search=e" });
});

test("an event: summary, runs, stages, causes, comparison", async () => {
  const { name, stage, runs, hidden } = world.event;
  const summary = await check("getSummary", `${event(name)}/summary`);
  assert.equal(summary.runs + summary.hidden, runs);
  assert.equal(
    summary.histogram.reduce((sum, bin) => sum + bin.runs, 0),
    summary.runs,
  );
  assert.equal(
    summary.hours.reduce((sum, hour) => sum + hour.delays, 0),
    summary.delays,
  );
  const list = await check("listRuns", `${event(name)}/runs`, { query: "?order=slowest&limit=50" });
  assert.equal(list.hidden, hidden);
  assert.equal(list.total, runs);
  const durations = list.runs.map((run) => run.duration_ns);
  assert.deepEqual(
    durations,
    [...durations].sort((one, other) => other - one),
  );
  await check("getRun", `/api/v1/runs/${list.runs[0].id}`);
  await check("getStageStacks", `${event(name)}/stages`, {
    query: `?stage=${encodeURIComponent(stage)}`,
  });
  const timed = list.runs.filter((run) => run.times !== null);
  assert.ok(timed.length > 0, "no run has times");
  for (const { times, duration_ns } of timed)
    assert.equal(
      times.on_cpu_ns +
        times.runnable_ns +
        times.blocked_ns +
        times.handed_over_ns +
        times.unknown_ns,
      duration_ns,
    );
  for (const by of ["host", "build", "unit"]) {
    const split = await check("getSplit", `${event(name)}/split`, {
      query:
        `?by=${by}&from=${summary.hours[0].hour_ns}&to=` +
        `${BigInt(summary.hours.at(-1).hour_ns) + 3600000000000n}`,
    });
    const parts = split.others ? [...split.parts, split.others] : split.parts;
    assert.equal(
      parts.reduce((sum, part) => sum + part.runs, 0),
      summary.runs,
    );
  }
  const shift = await check("getTimeShift", `${event(name)}/times`);
  assert.ok(shift.slow.mean_ns > shift.middle.mean_ns);
  for (const group of ["middle", "slow"]) {
    const sum = shift.parts.reduce((total, part) => total + part[`${group}_ns`], 0);
    assert.ok(
      Math.abs(sum - shift[group].mean_ns) <= shift.parts.length,
      `${group}: the parts are ${sum} of ${shift[group].mean_ns}`,
    );
  }
  const few = await check("getTimeShift", `${event(name)}/times`, { query: "?host=no-such-host" });
  assert.deepEqual([few.middle, few.slow, few.parts], [null, null, []]);
  await check("getCauses", `${event(name)}/causes`);
  const ids = list.runs.map((run) => run.id);
  const compared = await check("compareRuns", "/api/v1/compare", {
    body: { a: ids.slice(25), b: ids.slice(0, 25) },
  });
  assert.ok(compared.difference_ns > 0);
  const causes = await check("getCauses", `${event(name)}/causes`);
  const explained = causes.causes.reduce((sum, cause) => sum + cause.share, 0);
  assert.ok(
    Math.abs(explained + causes.unexplained_share - 1) < 1e-6,
    `${explained} explained, ${causes.unexplained_share} not`,
  );
  const few_runs = await check("compareRuns", "/api/v1/compare", {
    body: { a: ids.slice(25, 28), b: ids.slice(0, 3) },
  });
  assert.deepEqual([few_runs.low_ns, few_runs.high_ns, few_runs.evidence], [null, null, false]);
  const without = await check("listRuns", `${event(name)}/runs`, { query: "?outliers=0&limit=1" });
  assert.equal(without.total, list.total - list.outliers);
  const none = await check("getSummary", `${event(name)}/summary`, { query: "?host=no-such-host" });
  assert.equal(none.runs, 0);
});

test("a delay: profile and timeline add up", async () => {
  const { bundle, number } = world.delay;
  await check("listBundles", "/api/v1/bundles");
  const { delays } = await check("listDelays", `/api/v1/bundles/${bundle}/delays`);
  const delay = delays.find((candidate) => candidate.number === number);
  assert.ok(
    Math.abs(
      delay.on_cpu_ns + delay.runnable_ns + delay.blocked_ns + delay.unknown_ns - delay.duration_ns,
    ) <=
      delay.duration_ns * 0.001 + 1000,
  );
  const path = `/api/v1/bundles/${bundle}/delays/${number}`;
  for (const query of ["", "?state=on-cpu", "?state=off-cpu", "?against=normal"]) {
    const flame = await check("getProfile", `${path}/profile`, { query });
    const children = new Array(flame.nodes.length).fill(0);
    flame.nodes.forEach(([parent, name, value], node) => {
      assert.ok(node === 0 ? parent === -1 : parent >= 0 && parent < node, `node ${node}`);
      assert.ok(name >= 0 && name < flame.names.length);
      if (node > 0) children[parent] += value;
    });
    flame.nodes.forEach(([, , value], node) =>
      assert.ok(children[node] <= value * 1.0001 + 1000, `node ${node} has less than its children`),
    );
  }
  const { formats } = await check("listFormats", "/api/v1/formats");
  assert.ok(formats.some(({ name }) => name === "folded"));
  const timeline = await check("getTimeline", `${path}/timeline`);
  let at = 0;
  for (const interval of timeline.intervals) {
    assert.equal(interval.from_ns, at);
    at = interval.to_ns;
    assert.ok(interval.stack === null || interval.stack < timeline.stacks.length);
  }
  assert.equal(BigInt(timeline.from_ns) + BigInt(at), BigInt(timeline.to_ns));
  const machine = await check("getMachine", `${path}/machine`, { query: "?columns=200" });
  for (const { cells } of machine.threads)
    assert.ok(
      cells.length % 5 === 0 &&
        cells
          .filter((_, place) => place % 5 < 2)
          .reduce((sum, one) => sum + one, machine.from_ns) <= machine.to_ns,
    );
  for (const { cells } of machine.cpus) assert.equal(cells.length % 4, 0);
});

test("delays of all bundles, and of an event without runs", async () => {
  const name = world.delays_event;
  const summary = await check("getDelaySummary", `${event(name)}/delays`);
  assert.ok(summary.delays > 1 && summary.delays === summary.delays_read);
  assert.equal(
    summary.histogram.reduce((sum, bin) => sum + bin.delays, 0),
    summary.delays,
  );
  for (const list of [summary.hosts, summary.builds])
    assert.equal(
      list.reduce((sum, row) => sum + row.delays, 0),
      summary.delays,
    );
  const seen = new Set();
  for (let after = ""; ;) {
    const page = await check("listAllDelays", "/api/v1/delays", {
      query: `?event=${encodeURIComponent(name)}&order=slowest&limit=1${after}`,
    });
    for (const delay of page.delays) seen.add(`${delay.bundle}/${delay.number}`);
    if (page.next === null) break;
    after = `&after=${encodeURIComponent(page.next)}`;
  }
  assert.equal(seen.size, summary.delays);
  const [bundle, number] = [...seen][0].split("/");
  const one = await check("listDelays", `/api/v1/bundles/${bundle}/delays`, {
    query: `?number=${number}`,
  });
  assert.deepEqual(
    one.delays.map((delay) => String(delay.number)),
    [number],
  );
  assert.equal(one.delays[0].duration_ns, summary.percentiles.max);
});

test("administration", async () => {
  await check("listAccounts", "/api/v1/accounts");
  await check("listTokens", "/api/v1/tokens");
  await check("listTeams", "/api/v1/teams");
  await check("listAudit", "/api/v1/audit");
});

test("errors are answered in the described form", async () => {
  await check("getRun", "/api/v1/runs/1", { status: 404 });
  await check("listDelays", `/api/v1/bundles/${"0".repeat(64)}/delays`, { status: 404 });
  if (world.bad_bundle)
    await check("listDelays", `/api/v1/bundles/${world.bad_bundle}/delays`, { status: 422 });
  const without = await fetch(`${world.url}/api/v1/events`);
  assert.equal(without.status, 401);
  assert.ok((await without.json()).error.message);
});
