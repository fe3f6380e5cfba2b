// The search in the header.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

const hits = (page) => page.getByTestId("hits");

test("the key / finds an event, and Enter opens it", async () => {
  const { page, go, done } = await openPage();
  await go("/causes");
  await page.getByRole("heading", { name: "Causes" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(world.event.name);
  await hits(page)
    .getByRole("link", { name: new RegExp(`^Event ${world.event.name}`) })
    .waitFor();
  await checkAxe(page);
  await keep(page, "search");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: world.event.name }).waitFor();
  await done();
});

test("functions lead to causes, hosts and units to events, by arrow keys too", async () => {
  const { page, go, done } = await openPage();
  const find = async (text) => {
    await go("/");
    await page.getByRole("searchbox", { name: "Find" }).fill(text);
  };
  for (const [text, kind, path] of [
    [world.event.cause, "Cause", /\/cause\/\d+$/],
    [world.event.host, "Host", /\?host=/],
    [world.event.unit, "Unit", /\?unit=/],
  ]) {
    await find(text);
    const hit = hits(page)
      .getByRole("link", { name: new RegExp(`^${kind} `) })
      .first();
    await hit.waitFor();
    while (!(await hit.evaluate((link) => link === document.activeElement)))
      await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(path);
  }
  await find("nothing has this name");
  await hits(page).getByText("Nothing found for").waitFor();
  await page.keyboard.press("Escape");
  await hits(page).waitFor({ state: "detached" });
  await done();
});

test("a function below the suspected one leads to the cause, a trace ID to its delay", async () => {
  const { page, go, done } = await openPage();
  await go("/");
  const find = page.getByRole("searchbox", { name: "Find" });
  await find.fill("PostgresMain");
  await hits(page)
    .getByRole("link", { name: /^Function PostgresMain/ })
    .first()
    .waitFor();
  await find.fill(`00-${world.delay.trace_id}-00f067aa0ba902b7-01`);
  await hits(page)
    .getByRole("link", { name: /^Delay .* took 81 ms/ })
    .first()
    .click();
  await page.waitForURL(new RegExp(`/bundle/${world.delay.bundle}/${world.delay.number}$`));
  await page.getByText(world.delay.trace_id).waitFor();
  await done();
});

test("a page that opens does not take the focus from who types", async () => {
  const { page, go, done } = await openPage();
  await go("/causes");
  await page.getByRole("heading", { name: "Causes" }).waitFor();
  await page.getByRole("link", { name: "Bundles", exact: true }).click();
  await page.getByRole("heading", { name: "Bundles" }).waitFor();
  const find = page.getByRole("searchbox", { name: "Find" });
  await find.fill(world.event.name);
  await page.goBack();
  await page.getByRole("heading", { name: "Causes" }).waitFor();
  await hits(page)
    .getByRole("link", { name: new RegExp(`^Event ${world.event.name}`) })
    .waitFor();
  assert.ok(await find.evaluate((input) => input === document.activeElement));
  await done();
});
