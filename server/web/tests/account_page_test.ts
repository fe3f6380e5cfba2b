import assert from "node:assert/strict";
import { test } from "node:test";
import { ago } from "./page/clock";
import { Expected, admin, enter, open, reader, requested, shown, submit } from "./page/page";
import { Refusal, done, pending } from "./page/server";

const expected = new Expected("account_page");
const sections = "main > :not(section)";

test("who is signed in, and what they may see", async () => {
  await open("/account", {}, { ...admin, account: "" });
  expected.is("without accounts", shown());
  await open("/account", {}, { ...admin, expires_ns: ago(-3600) });
  expected.is("an admin", shown());
  await open("/account", {}, { ...reader, teams: ["shop"], sees_everything: false });
  expected.is("a reader in a team", shown(sections));
  await open("/account", {}, { ...reader, role: "uploader", teams: ["a", "b"] });
  expected.is("in two teams", shown(sections));
  await open("/account", {}, { ...reader, has_password: false, sees_everything: false });
  expected.is("without a team and a password", shown(sections));
});

async function change(answer: unknown, again = "new password 1"): Promise<void> {
  await open("/account", { "PUT /api/v1/session/password": answer });
  await enter("input[name=password]", "old password 1");
  await enter("input[name=new-password]", "new password 1");
  await enter("input[name=new-password-again]", again);
  requested();
  await submit("form[aria-label='Change password']");
}

test("the password is changed, with errors said", async () => {
  await change(done, "another");
  expected.is("not the same twice", shown("form .notice", "form > button"));
  await change(pending);
  expected.is("under way", shown("form > button"));
  await change(new Refusal(403, "the current password is wrong"));
  expected.is("refused", shown("form .notice", "form > button"));
  await change("not JSON");
  expected.is("an invalid answer", shown("form .notice", "form > button"));
  await change(done);
  expected.is("changed", shown("form"));
  assert.equal(document.querySelector("form .notice"), null);
});
