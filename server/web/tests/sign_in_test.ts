import assert from "node:assert/strict";
import { test } from "node:test";
import { no_losses } from "./answers/events";
import { Expected, admin, click, enter, open, requested, shown, submit } from "./page/page";
import { Refusal, done, pending, unreachable } from "./page/server";

const expected = new Expected("sign_in");
const signed_out = {
  "/api/v1/session": new Refusal(401, "sign in") as unknown,
  "/api/v1/session/ways": { provider: null as string | null },
};

test("the form, with and without a provider", async () => {
  await open("/events?host=a", signed_out);
  expected.is("without a provider", shown());
  await open("/events?host=a", { ...signed_out, "/api/v1/session/ways": { provider: "Corp" } });
  expected.is("with a provider", shown("main > .panel"));
});

test("why a sign-in at the provider failed", async () => {
  for (const reason of [
    "no-group",
    "name-taken",
    "bad-name",
    "expired",
    "refused",
    "no-answer",
    "other",
  ]) {
    await open(`/?sign_in=${reason}`, { ...signed_out, "/api/v1/session/ways": { provider: "C" } });
    expected.is(reason, shown(".panel > .button", "main .problem"));
  }
});

test("signing in shows the page that was asked for", async () => {
  let session: unknown = new Refusal(401);
  let answer: unknown = pending;
  await open("/events", {
    ...signed_out,
    "/api/v1/session": () => session,
    "POST /api/v1/session": () => answer,
    "/api/v1/events": { events: [], next: null, lost: no_losses },
  });
  requested();
  await enter("input[name=account]", "ada");
  await enter("input[name=password]", "correct horse");
  await submit("form[aria-label='Sign in']");
  assert.match(
    shown("form > button"),
    /<button class="primary" disabled type="submit">Signing in…/,
  );
  const refusals: [unknown, RegExp][] = [
    [new Refusal(401, "no"), /"alert">The account or the password is wrong\./],
    [new Refusal(429, "no"), /"alert">Too many attempts\. Wait a minute, then try again\./],
    [new Refusal(500, "broken"), /"alert">That did not work: broken\./],
    [unreachable, /"alert">That did not work: the server does not answer\./],
  ];
  for (const [refusal, said] of refusals) {
    answer = refusal;
    await open("/events", {
      ...signed_out,
      "/api/v1/session": () => session,
      "POST /api/v1/session": () => answer,
      "/api/v1/events": { events: [], next: null, lost: no_losses },
    });
    await enter("input[name=account]", "ada");
    await enter("input[name=password]", "correct horse");
    requested();
    await submit("form[aria-label='Sign in']");
    assert.match(shown("main .problem", "form > button"), said);
  }
  answer = done;
  session = admin;
  requested();
  await click("Sign in");
  expected.is("signed in", shown("main > h1"));
});
