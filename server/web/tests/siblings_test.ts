// From one page to another of its kind: nothing that was typed or chosen stays.
import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { life } from "./answers/causes";
import { bundleDelays, delay } from "./answers/delays";
import { watch, watchSummary } from "./answers/details";
import { digest } from "./answers/digests";
import { machine } from "./answers/machines";
import { flame, timeline } from "./answers/profiles";
import { rule } from "./answers/rules";
import { detail, run, runList, summary } from "./answers/runs";
import { click, enter, find, go, open, press, submit } from "./page/page";
import { done } from "./page/server";

const value = (what: string) => (find(what) as HTMLInputElement).value;
const title = () => document.querySelector("h1")?.textContent;

test("causes", async () => {
  await open("/cause/7", {
    "/api/v1/causes/7": life({ owner: "ada" }),
    "/api/v1/causes/8": life({
      id: "8",
      title: "other",
      owner: "zoe",
      note: "n",
      link: "https://a",
    }),
  });
  await enter("input[name=owner]", "typed");
  await enter("select[name=resolved_build]", "b2b2b2b2b2b2b2b2");
  await go("/cause/8");
  assert.equal(title(), "other");
  assert.deepEqual(
    [
      "input[name=owner]",
      "input[name=note]",
      "input[name=link]",
      "select[name=resolved_build]",
    ].map(value),
    ["zoe", "n", "https://a", ""],
  );
});

test("rules", async () => {
  const of = (id: string, name: string) => ({ ...rule({ id, name }), messages: [], findings: [] });
  await open("/rule/5", { "/api/v1/rules/5": of("5", "five"), "/api/v1/rules/6": of("6", "six") });
  await enter("input[name=name]", "typed");
  await go("/rule/6");
  assert.equal(title(), "six");
  assert.equal(value("input[name=name]"), "six");
});

test("runs", async () => {
  await open("/run/9", {
    "/api/v1/runs/9": detail(),
    "/api/v1/runs/10": detail({ id: "10", duration_ns: 5e6 }),
  });
  const field = "section[aria-label='Exclude or include'] input";
  await enter(field, "typed");
  await go("/run/10");
  assert.match(title() ?? "", /took 5 ms/);
  assert.equal(value(field), "");
});

test("events", async () => {
  const runs = runList([run(1), run(2)]);
  await open("/event/a", {
    "/api/v1/events/a/summary": summary(),
    "/api/v1/events/b/summary": summary(),
    "/api/v1/events/a/runs": runs,
    "/api/v1/events/b/runs": runs,
  });
  await press("[data-testid=run-bars]", "Home");
  await press("[data-testid=run-bars]", "a");
  assert.ok(document.querySelector("[aria-label^=Comparison]"));
  await enter("section#stages select", "write");
  await go("/event/b");
  assert.equal(title(), "b");
  assert.equal(document.querySelector("[aria-label^=Comparison]"), null);
  assert.equal(value("section#stages select"), "begin");
});

const api = `/api/v1/bundles/${digest("a")}`;
const delays = (request: { path: string }) =>
  bundleDelays([delay({ number: Number(/number=(\d+)/.exec(request.path)?.[1]) })]);

test("delays", async () => {
  await open(`/bundle/${digest("a")}/3`, {
    [`${api}/delays`]: delays,
    [`${api}/delays/3/profile`]: flame(),
    [`${api}/delays/4/profile`]: flame(),
    [`${api}/delays/3/timeline`]: timeline(),
    [`${api}/delays/4/timeline`]: timeline(),
    "/api/v1/events/checkout/runs": runList([]),
  });
  await press(".timeline", "End");
  assert.ok(document.querySelector("[data-testid=interval]"));
  await go(`/bundle/${digest("a")}/4`);
  assert.ok(document.querySelector(".timeline"));
  assert.equal(document.querySelector("[data-testid=interval]"), null);
});

test("machines around delays", async () => {
  await open(`/bundle/${digest("a")}/3/machine`, {
    [`${api}/delays`]: delays,
    [`${api}/delays/3/machine`]: machine(),
    [`${api}/delays/4/machine`]: machine(),
  });
  await enter("input[name=machine-search]", "typed");
  await go(`/bundle/${digest("a")}/4/machine`);
  assert.equal(value("input[name=machine-search]"), "");
});

test("watches", async () => {
  const [one, other] = ["1", "2"].map((end) => `0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a1${end}`);
  await open(`/watch/${one}`, {
    [`/api/v1/objects/${one}/summary`]: watchSummary(),
    [`/api/v1/objects/${other}/summary`]: watchSummary({ watch: watch({ process: "db" }) }),
  });
  await click("Pause");
  await go(`/watch/${other}`);
  assert.match(title() ?? "", /^Objects of db/);
  assert.match(find("[data-testid=watch-head]").textContent ?? "", /Pause/);
});

test("forms of rules that addresses fill in", async () => {
  await open("/rules", { "/api/v1/rules": { rules: [] } });
  await enter("input[name=name]", "typed");
  await go("/rules?condition=p99&name=filled&event=e");
  assert.deepEqual(
    [value("input[name=name]"), value("select[name=condition]"), value("select[name=event]")],
    ["filled", "p99", "e"],
  );
  await go("/rules?condition=got_worse&name=other&event=f");
  assert.deepEqual(
    [value("input[name=name]"), value("select[name=condition]"), value("select[name=event]")],
    ["other", "got_worse", "f"],
  );
});

test("a saved rule shows what the server has", async () => {
  let name = "before";
  await open("/rule/5", {
    "/api/v1/rules/5": () => ({
      ...rule({ name, changed_ns: name === "before" ? "1" : "2" }),
      messages: [],
      findings: [],
    }),
    "PUT /api/v1/rules/5": () => {
      name = "as the server has it";
      return done;
    },
  });
  await enter("input[name=name]", " typed ");
  await submit("form[aria-label=Save]");
  assert.equal(value("input[name=name]"), "as the server has it");
});
