// Single sign-on through an OpenID Connect provider's own pages. Run by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage } from "./support.mjs";

async function toProvider(page) {
  await page.getByRole("link", { name: "Sign in with Example Login" }).click();
  await page.locator('input[name="login"]').waitFor();
}

async function fillIn(page, account) {
  await page.locator('input[name="login"]').fill(account);
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("one is signed in at the provider and comes back to the page that was wanted", async () => {
  const { page, go, context, done } = await openPage({ account: null });
  await go("/bundles");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByRole("link", { name: "Sign in with Example Login" }).waitFor();
  await keep(page, "sign-in-provider");
  await checkAxe(page);
  await toProvider(page);
  await fillIn(page, "ann+admins");
  await page.getByRole("heading", { name: "Bundles" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/bundles");
  await page.getByRole("link", { name: "ann", exact: true }).waitFor();
  await page.getByRole("link", { name: "Audit" }).waitFor();
  const names = (await context.cookies()).map((cookie) => cookie.name);
  assert.ok(names.includes("lagtrap") && !names.includes("lagtrap-oidc"), String(names));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in with Example Login" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await done();
});

test("whoever may not come in is told why", async () => {
  const { page, go, done } = await openPage({ account: null });
  await go("/");
  await toProvider(page);
  await fillIn(page, "eve+others");
  await page
    .getByRole("alert")
    .filter({ hasText: "none of your groups may use this server" })
    .waitFor();
  await keep(page, "sign-in-no-group");
  await done();
});

test("whoever gives up there may begin again", async () => {
  const { page, go, done } = await openPage({ account: null });
  await go("/");
  await toProvider(page);
  await page.getByRole("link", { name: /Abort|Cancel/ }).click();
  await page.getByRole("alert").filter({ hasText: "The provider did not sign you in" }).waitFor();
  await toProvider(page);
  await done();
});
