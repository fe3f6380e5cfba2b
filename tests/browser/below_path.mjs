// A server below a path of its host, behind a TLS proxy: follows the links of every page. Run by
// name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { delayPath, eventPath, openPage, world } from "./support.mjs";

const { origin, pathname: base } = new URL(world.url);

test("pages, links, data and cookie stay below the path", async () => {
  const { page, go, context, done } = await openPage({ account: null });
  const outside = [];
  page.on("request", (request) => {
    if (request.url().startsWith(origin) && !request.url().startsWith(`${world.url}/`))
      outside.push(request.url());
  });
  // Redirects an address that lacks the prefix.
  await page.goto(world.url);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByLabel("Account").fill(world.accounts.admin.account);
  await page.getByLabel("Password").fill(world.accounts.admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "What got worse" }).waitFor();
  assert.equal(new URL(page.url()).pathname, `${base}/`);
  const [cookie] = await context.cookies();
  assert.deepEqual(
    [cookie.name, cookie.path, cookie.secure, cookie.httpOnly],
    ["__Secure-lagtrap", `${base}/`, true, true],
  );
  for (const [name, path] of [
    ["Events", "events"],
    ["Causes", "causes"],
    ["Bundles", "bundles"],
    ["Alerts", "rules"],
    ["Accounts", "accounts"],
    ["Audit", "audit"],
  ]) {
    await page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link", { name, exact: true })
      .click();
    assert.equal(new URL(page.url()).pathname, `${base}/${path}`);
    await page
      .getByRole("navigation", { name: "Pages" })
      .locator('[aria-current="page"]', { hasText: name })
      .waitFor();
  }
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.getByRole("link", { name: world.event.name, exact: true }).click();
  await page.getByRole("heading", { name: world.event.name }).waitFor();
  assert.equal(new URL(page.url()).pathname, base + eventPath(world.event.name));
  await page.reload();
  await page.getByRole("heading", { name: world.event.name }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Events" }).waitFor();
  await go(delayPath(world.delay));
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  await page.locator(".forms a").first().waitFor();
  // Every link of the page as the browser resolves it, because people open links in another tab.
  const hrefs = await page
    .locator("a[href]")
    .evaluateAll((links) => links.map((link) => link.href));
  assert.ok(hrefs.length > 10);
  for (const href of hrefs)
    assert.ok(!href.startsWith(origin) || href.startsWith(`${world.url}/`), href);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(
    outside.filter((url) => url !== world.url),
    [],
  );
  await done();
});

test("what else the host has is left alone", async () => {
  const { page, done } = await openPage();
  const response = await page.goto(`${origin}/elsewhere`);
  assert.equal(await response.text(), "another page of this host\n");
  assert.equal((await response.request().allHeaders()).cookie, undefined);
  await done();
});
