// Objects of many delays: failures of all of them, classes, delays and call trees, and the filter
// for all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

test("objects of all delays: failures first, with their delays, and a filter", async () => {
  const { page, go, done } = await openPage();
  const name = world.delay.followed_class;
  await go("/objects");
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Objects", exact: true })
    .waitFor();
  const failures = page.getByTestId("object-failures").locator("tbody tr");
  await page.getByTestId("object-classes").getByText(name, { exact: true }).waitFor();
  const all = await failures.count();
  assert.ok(all > 0);
  const counts = (await failures.locator("td:first-child").allInnerTexts()).map((text) =>
    Number(text.replaceAll(/\D/g, "")),
  );
  assert.deepEqual(
    counts,
    [...counts].sort((one, other) => other - one),
    "those that happened most come first",
  );
  assert.equal(counts[0], 21, "delays of one recording tell of the same calls");
  assert.ok((await page.getByTestId("all-objects").boundingBox()).height > 0);
  await page.getByText(/\d+ of the newest [\d,]+ delays? ha(s|ve) object records/).waitFor();
  await checkAxe(page);
  await keep(page, "all-objects", { fullPage: true });

  await page.getByTestId("objects-filter").fill("no object has this name");
  await page.getByText("No call failed.").waitFor();
  assert.equal(await page.getByTestId("object-delays").locator("tbody tr").count(), 0);
  await page.getByTestId("objects-filter").fill("");
  await page.getByLabel("failures only").check();
  await page.getByTestId("object-classes").waitFor({ state: "detached" });
  assert.equal(await failures.count(), all);
  await page.getByTestId("object-delays").locator("tbody tr a").first().click();
  await page.getByTestId("objects").waitFor();
  assert.match(page.url(), /\/bundle\/[0-9a-f]{64}\/\d+$/);
  await done();
});

test("where no delay tells of objects the page says how they come", async () => {
  const { page, go, done } = await openPage();
  await go("/objects?host=no-such-host");
  await page
    .getByText(/No delay matches these filters|None of these delays has object records/)
    .waitFor();
  await checkAxe(page);
  await done();
});
