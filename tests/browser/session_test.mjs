// Signing in and out, and what each role may do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keep, openPage, world } from "./support.mjs";

test("a wrong password is refused; the right one leads to the page asked for", async () => {
  const { page, go, context, done } = await openPage({ account: null });
  await go("/bundles");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal(await page.locator("table").count(), 0);
  await page.getByLabel("Account").fill(world.accounts.admin.account);
  await page.getByLabel("Password").fill("certainly not it");
  await page.getByLabel("Password").press("Enter");
  assert.match(await page.getByRole("alert").innerText(), /wrong/);
  await keep(page, "sign-in");
  await page.getByLabel("Password").fill(world.accounts.admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Bundles" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/bundles");
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Lax");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await done();
});

test("a session that ended elsewhere leads back to signing in", async () => {
  const { page, go, context, done } = await openPage();
  await go("/");
  await page.getByRole("heading", { name: "What got worse" }).waitFor();
  await context.clearCookies();
  // The page may have noticed by itself.
  await page.evaluate(() => document.querySelector('a[href="/bundles"]')?.click());
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await done();
});

test("readers see no accounts", async () => {
  const { page, go, done } = await openPage({ account: "reader" });
  await go("/accounts");
  await page.getByText("Only admins may see accounts").waitFor();
  assert.equal(await page.getByRole("link", { name: "Accounts" }).count(), 0);
  await done();
});

test("an admin makes and deletes accounts and tokens", async () => {
  const { page, go, done } = await openPage();
  await go("/accounts");
  const name = `test-${process.pid}`;
  await page.getByLabel("New account").fill(name);
  await page.getByLabel("Password (at least 12 characters)").fill("a long enough password");
  await page.getByRole("button", { name: "Add account" }).click();
  const row = page.getByTestId("accounts").getByRole("row", { name });
  await row.waitFor();
  await page.getByLabel("New token").fill(name);
  await page.getByRole("button", { name: "Create token" }).click();
  const secret = await page.getByTestId("made-token").locator("code").innerText();
  assert.ok(secret.length > 30, secret);
  await keep(page, "accounts");
  await page.getByRole("button", { name: "I copied it" }).click();
  const token = page.getByTestId("tokens").getByRole("row", { name });
  await token.waitFor();
  assert.ok(
    !(await page.locator("main").innerText()).includes(secret),
    "the secret is shown once only",
  );
  await token.getByRole("button", { name: "Revoke" }).click();
  await token.getByRole("button", { name: `Revoke ${name}` }).click();
  await token.waitFor({ state: "detached" });
  await row.getByRole("button", { name: "Delete" }).click();
  await row.getByRole("button", { name: `Delete ${name}` }).click();
  await row.waitFor({ state: "detached" });
  await done();
});

test("an admin reads who did what, and older entries too", async () => {
  const { page, go, context, done } = await openPage();
  await context.request.post(`${world.url}/api/v1/session`, {
    data: { account: world.accounts.admin.account, password: "not the password" },
  });
  await go("/audit");
  const rows = page.getByTestId("audit").getByRole("row");
  const refused = rows
    .filter({ hasText: "refuse sign-in" })
    .filter({ hasText: world.accounts.admin.account })
    .first();
  await refused.waitFor();
  assert.match(await refused.innerText(), /unknown.*account and password do not fit, from /s);
  await rows
    .filter({ hasText: world.accounts.admin.account })
    .filter({ hasText: "sign in" })
    .first()
    .waitFor();
  assert.ok(!(await page.locator("main").innerText()).includes("not the password"));
  await keep(page, "audit");
  await done();
});

test("readers see no audit", async () => {
  const { page, go, done } = await openPage({ account: "reader" });
  await go("/audit");
  await page.getByText("Only admins may see the audit").waitFor();
  assert.equal(await page.getByRole("link", { name: "Audit" }).count(), 0);
  await done();
});

test("a server that does not answer is said, with what to do", async () => {
  const { page, go, done } = await openPage();
  await go("/");
  await page.getByRole("heading", { name: "What got worse" }).waitFor();
  await page.route("**/api/v1/bundles*", (route) => route.abort());
  await page.getByRole("link", { name: "Bundles", exact: true }).click();
  const alert = page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /does not answer.*\n*.*try again/is);
  await page.unroute("**/api/v1/bundles*");
  await page.getByRole("button", { name: "Try again" }).click();
  await alert.waitFor({ state: "detached" });
  await done();
});

test("an address that leads nowhere says so", async () => {
  const { page, go, done } = await openPage();
  await go("/nowhere/at/all");
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  await done();
});

test("times are of the browser's zone, or of UTC, which it keeps", async () => {
  const { page, go, done } = await openPage({ zone: "Asia/Tokyo" });
  await go(`/event/${encodeURIComponent(world.event.name)}?from=2026-11-21T10:57Z`);
  const from = page.getByRole("search", { name: "Filters" }).getByLabel("From");
  assert.equal(await from.inputValue(), "2026-11-21T19:57");
  await page.getByRole("button", { name: "Times: Asia/Tokyo" }).click();
  assert.equal(await from.inputValue(), "2026-11-21T10:57");
  await page.reload();
  await page.getByRole("button", { name: "Times: UTC" }).waitFor();
  await from.fill("2026-11-21T11:00");
  await page.waitForURL(/from=2026-11-21T11%3A00Z/);
  await done();
});
