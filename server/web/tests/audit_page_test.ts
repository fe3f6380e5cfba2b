import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, hour_s } from "./page/clock";
import { Expected, address, click, enter, open, reader, requested, shown } from "./page/page";
import { Refusal } from "./page/server";

const expected = new Expected("audit_page");

const entries = [
  {
    id: "3",
    at_ns: ago(0),
    who: null,
    action: "refuse sign-in",
    object: "x".repeat(25),
    detail: "wrong password",
  },
  { id: "2", at_ns: ago(hour_s), who: "ada", action: "sign in", object: null, detail: null },
  {
    id: "1",
    at_ns: ago(hour_s),
    who: "ada",
    action: "refused",
    object: "y".repeat(24),
    detail: "",
  },
];

test("who may see the log, and what it says", async () => {
  await open("/audit", {}, reader);
  expected.is("a reader", shown());
  let further: unknown = new Refusal(500, "broken");
  await open("/audit", {
    "/api/v1/audit": (request: { path: string }) =>
      request.path.includes("after") ? further : { entries, next: "1" },
  });
  expected.is("an admin", shown());
  await click("Show older entries");
  expected.is("older ones fail", shown(".failure"));
  further = { entries: [{ ...entries[1], id: "0" }], next: null };
  await click("Try again");
  expected.is("older ones", shown(".failure", "table + p"));
  assert.equal(document.querySelectorAll("tbody tr").length, 4);
});

test("a part of the log", async () => {
  await open("/audit?only=bogus", { "/api/v1/audit": { entries: [], next: null } });
  expected.is("empty", shown());
  await enter("select[name=only]", "refusals");
  assert.equal(address(), "/audit?only=refusals");
  assert.deepEqual(requested(), ["GET /api/v1/audit?limit=100&only=refusals"]);
  expected.is("refusals", shown(".row-form"));
  await enter("select[name=only]", "sign-ins");
  assert.deepEqual(requested(), ["GET /api/v1/audit?limit=100&only=sign-ins"]);
  await enter("select[name=only]", "");
  assert.equal(address(), "/audit");
});

test("only refused attempts stand out", async () => {
  const actions = ["refuse sign-in", "refused", "remove rule: refuse all", "sign in"];
  const listed = actions.map((action, index) => ({ ...entries[1], id: String(index), action }));
  await open("/audit", { "/api/v1/audit": { entries: listed, next: null } });
  const marked = [...document.querySelectorAll("td.problem")].map((cell) => cell.textContent);
  assert.deepEqual(marked, ["refuse sign-in", "refused"]);
});
