import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, day_s, hour_s } from "./page/clock";
import { Expected, admin, click, enter, open, reader, requested, shown, submit } from "./page/page";
import { Refusal, done } from "./page/server";

const expected = new Expected("accounts_page");

const accounts = [
  { account: "ada", role: "admin", created_ns: ago(9 * day_s), last_sign_in_ns: ago(0) },
  { account: "r/ita", role: "reader", created_ns: ago(day_s), last_sign_in_ns: null },
  { account: "uwe", role: "uploader", created_ns: ago(day_s), last_sign_in_ns: ago(hour_s) },
];
const tokens = [
  {
    id: "t/1",
    name: "web",
    scope: "upload",
    host: null,
    created_ns: ago(day_s),
    expires_ns: null,
    last_used_ns: null,
  },
  {
    id: "2",
    name: "script",
    scope: "read",
    host: "web-1",
    created_ns: ago(9 * day_s),
    expires_ns: ago(-90 * day_s),
    last_used_ns: ago(hour_s),
  },
];
const teams = [
  {
    team: "sh/op",
    events: ["checkout.*", "cart"],
    units: [],
    groups: ["g1", "g2"],
    accounts: [
      { account: "ada", by_group: false },
      { account: "uwe", by_group: true },
    ],
  },
  {
    team: "all",
    events: [],
    units: ["u"],
    groups: [],
    accounts: accounts.map(({ account }) => ({ account, by_group: false })),
  },
];
const lists = {
  "/api/v1/accounts": { accounts },
  "/api/v1/tokens": { tokens },
  "/api/v1/teams": { teams },
};

test("who may see the page, and what it lists", async () => {
  await open("/accounts", lists, reader);
  expected.is("a reader", shown());
  await open("/accounts", lists);
  expected.is("an admin", shown());
  await open("/accounts", { "/api/v1/accounts": { accounts: [] } }, { ...admin, account: "" });
  expected.is("without accounts", shown());
  await open("/accounts", {
    ...lists,
    "/api/v1/tokens": { tokens: [] },
    "/api/v1/teams": { teams: [] },
  });
  expected.is("without tokens and teams", shown("section .notice"));
});

test("an account is added; its form is emptied only if that worked", async () => {
  let answer: unknown = new Refusal(409, "the account exists", "choose another");
  await open("/accounts", { ...lists, "POST /api/v1/accounts": () => answer });
  requested();
  const form = "form[aria-label='Add an account']";
  const add = async () => {
    await enter("input[name=new-account]", "neo");
    await enter("input[name=new-password]", "correct horse");
    await enter("select[name=new-role]", "uploader");
    await submit(form);
  };
  await add();
  expected.is("not added", shown("section .notice", `${form} [name]`));
  answer = done;
  await add();
  expected.is("added", shown("section .notice", `${form} [name]`));
});

test("deleting asks first", async () => {
  const path = "DELETE /api/v1/accounts/r%2Fita";
  await open("/accounts", { ...lists, [path]: done });
  requested();
  const row = "[data-testid=accounts] tbody tr:nth-child(2) td:last-child";
  await click("Delete");
  expected.is("asked", shown(row));
  await click("Cancel");
  expected.is("not deleted", shown(row));
  await click("Delete");
  await click("Delete r/ita");
  expected.is("deleted", shown(row));
});

test("a token is shown once", async () => {
  await open("/accounts", {
    ...lists,
    "POST /api/v1/tokens": { id: "9", token: "lt_secret" },
    "DELETE /api/v1/tokens/t%2F1": done,
  });
  requested();
  const form = "form[aria-label='Create a token']";
  await enter("input[name=token-name]", "web-2");
  await enter("input[name=token-host]", "web-2");
  await submit(form);
  expected.is("created", shown("[data-testid=made-token]", `${form} [name]`));
  const copied: string[] = [];
  Object.defineProperty(navigator, "clipboard", {
    value: { writeText: (text: string) => copied.push(text) },
    configurable: true,
  });
  await click("Copy");
  assert.deepEqual(copied, ["lt_secret"]);
  await click("I copied it");
  assert.equal(document.querySelector("[data-testid=made-token]"), null);
  await enter("input[name=token-name]", "x");
  await enter("select[name=token-scope]", "read");
  await enter("select[name=token-days]", "0");
  await submit(form);
  expected.is("never expires, any host", shown(`${form} [name]`));
  await enter("select[name=token-days]", "90");
  await submit(form);
  expected.is("90 days", shown());
  await click("Revoke");
  await click("Revoke web");
  expected.is("revoked", shown("main > h1"));
});

test("a token that is refused", async () => {
  await open("/accounts", { ...lists, "POST /api/v1/tokens": new Refusal(400, "bad name") });
  await enter("input[name=token-name]", "x");
  await submit("form[aria-label='Create a token']");
  expected.is("refused", shown("section .notice", "input[name=token-name]"));
});

test("teams: members, patterns, forms", async () => {
  let answer: unknown = done;
  await open("/accounts", {
    ...lists,
    "DELETE /api/v1/teams/sh%2Fop": done,
    "DELETE /api/v1/teams/sh%2Fop/accounts/uwe": done,
    "PUT /api/v1/teams/sh%2Fop/accounts/r%2Fita": done,
    "PUT /api/v1/teams/sh%2Fop": () => answer,
    "PUT /api/v1/teams/n%2Few": done,
  });
  requested();
  await enter("select[aria-label='Add an account to sh/op']", "r/ita");
  expected.is("member added", shown("main > h1"));
  await click("[data-testid=teams] tbody td:nth-child(4) > div:nth-child(2) button");
  await click("Cancel");
  await click("[data-testid=teams] tbody td:nth-child(4) > div:nth-child(2) button");
  await click("Remove uwe from sh/op");
  expected.is("member removed", shown("main > h1"));
  const fields = "form[aria-label*=team] :is(input, textarea, button)";
  await enter("input[name=team-name]", "n/ew");
  await enter("textarea[name=team-events]", " a.* \n\n b ");
  await enter("textarea[name=team-units]", "u\n");
  await submit("form[aria-label='Create a team']");
  expected.is("team created", shown(fields));
  await click("Edit sh/op");
  expected.is("edited", shown("form[aria-label='Change team sh/op']"));
  answer = new Refusal(400, "a bad pattern");
  await enter("textarea[name=team-groups]", "g3");
  await submit("form[aria-label='Change team sh/op']");
  expected.is("not saved", shown("section .notice", fields));
  answer = done;
  await submit("form[aria-label='Change team sh/op']");
  expected.is("saved", shown("section .notice", fields));
  await click("Edit all");
  await click("Cancel");
  expected.is("not edited", shown(fields));
  await click("[data-testid=teams] tbody td:last-child button:last-child");
  await click("Delete sh/op");
  expected.is("team deleted", shown("main > h1"));
});

test("a token whose answer is invalid", async () => {
  await open("/accounts", { ...lists, "POST /api/v1/tokens": "not JSON" });
  await enter("input[name=token-name]", "x");
  await submit("form[aria-label='Create a token']");
  expected.is("invalid", shown("section .notice", "[data-testid=made-token]"));
});

test("the form of a team has its patterns, and is empty after it was saved", async () => {
  await open("/accounts", {
    ...lists,
    "/api/v1/teams": { teams: [{ ...teams[0], units: ["u1", "u2"] }] },
    "PUT /api/v1/teams/sh%2Fop": done,
    "PUT /api/v1/teams/new": done,
  });
  const values = () =>
    [...document.querySelectorAll<HTMLInputElement>("form[aria-label*=team] [name]")].map(
      ({ name, value }) => `${name}: ${value}`,
    );
  const put = () => requested().find((request) => request.startsWith("PUT"));
  const empty = ["team-name: ", "team-events: ", "team-units: ", "team-groups: "];
  await click("Edit sh/op");
  assert.deepEqual(values(), [
    "team-name: sh/op",
    "team-events: checkout.*\ncart",
    "team-units: u1\nu2",
    "team-groups: g1\ng2",
  ]);
  requested();
  await submit("form[aria-label='Change team sh/op']");
  assert.equal(
    put(),
    'PUT /api/v1/teams/sh%2Fop {"events":["checkout.*","cart"],"units":["u1","u2"],' +
      '"groups":["g1","g2"]}',
  );
  assert.deepEqual(values(), empty);
  for (const [name, value] of [
    ["input[name=team-name]", "new"],
    ["textarea[name=team-events]", "a"],
    ["textarea[name=team-units]", "b"],
    ["textarea[name=team-groups]", "c"],
  ])
    await enter(name, value);
  requested();
  await submit("form[aria-label='Create a team']");
  assert.equal(put(), 'PUT /api/v1/teams/new {"events":["a"],"units":["b"],"groups":["c"]}');
  assert.deepEqual(values(), empty);
});
