// A new server without accounts: the first account is created on its page, and nobody is locked
// out. Run by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

test("from the empty page to an account, signed in, and a token", async () => {
  const { page, go, done } = await openPage({ account: null });
  const { account, password } = world.accounts.admin;
  await go("/");
  await page.getByText("No data yet. Three steps to the first data:").waitFor();
  assert.equal(await page.getByTestId("first-steps").locator("li").count(), 3);
  await checkAxe(page);
  await keep(page, "empty");
  await page.locator("main").getByRole("link", { name: "Accounts" }).click();
  await page.getByText("There are no accounts yet").waitFor();
  assert.equal(
    await page.getByRole("button", { name: "Create token" }).count(),
    0,
    "a token would lock everybody out",
  );
  assert.deepEqual(await page.getByLabel("Role").locator("option").allInnerTexts(), [
    "admin: can do everything",
  ]);
  await keep(page, "first-account");
  await checkAxe(page);
  await page.getByLabel("New account").fill(account);
  await page.getByLabel("Password (at least 12 characters)").fill(password);
  await page.getByRole("button", { name: "Add account" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByLabel("Account").fill(account);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("New token").fill("rack");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByTestId("made-token").waitFor();
  await done();
});
