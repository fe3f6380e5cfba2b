// A new server without accounts: the first account is created on its page, and nobody is locked
// out. Run by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

test("from the empty page to an account, signed in, and a token", async () => {
  const { page, go, done } = await openPage({ account: null });
  const { account, password } = world.accounts.admin;
  await go("/events");
  await page.getByText("Nothing has been received yet").waitFor();
  await keep(page, "empty");
  await page.locator("main").getByRole("link", { name: "Accounts" }).click();
  await page.getByText("Nobody has an account yet").waitFor();
  assert.equal(await page.getByRole("button", { name: "Make token" }).count(), 0, "a token would lock everybody out");
  assert.deepEqual(await page.getByLabel("Role").locator("option").allInnerTexts(), ["admin: may do everything"]);
  await keep(page, "first-account");
  await checkAxe(page);
  await page.getByLabel("New account").fill(account);
  await page.getByLabel("Password, 12 letters or more").fill(password);
  await page.getByRole("button", { name: "Add account" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByLabel("Account").fill(account);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("New token").fill("rack");
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByTestId("made-token").waitFor();
  await done();
});
