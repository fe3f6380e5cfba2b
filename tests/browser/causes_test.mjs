// The list of all causes: filter, order and groups, which the address keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, parameter, world } from "./support.mjs";

const table = (page) => page.getByTestId("known-causes");
const rows = (page) => table(page).locator("tbody tr:has(td)");

async function listed(page) {
  const { causes } = await (await page.request.get(`${world.url}/api/v1/causes?limit=1000`)).json();
  return causes.filter((cause) => cause.part_of === null);
}

test("causes are filtered by words and status", async () => {
  const { page, go, done } = await openPage();
  const causes = await listed(page);
  await go("/causes");
  await table(page).waitFor();
  assert.equal(await rows(page).count(), causes.length);
  await page
    .getByRole("searchbox", { name: "Search" })
    .fill(`${world.worse.event} ${world.worse.cause}`.toUpperCase());
  const of_event = causes.filter(
    (cause) => cause.event === world.worse.event && cause.title.includes(world.worse.cause),
  );
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-testid=known-causes] tbody tr").length === count,
    of_event.length,
  );
  assert.ok(of_event.length > 0 && of_event.length < causes.length);
  await page.reload();
  await page.getByText(`${of_event.length} of ${causes.length} cause`).waitFor();
  await page.getByRole("searchbox", { name: "Search" }).fill("nothing is called like this");
  await page.getByText("No cause matches.").waitFor();
  await done();
});

test("causes are ordered by a column, and grouped by event or thread waited for", async () => {
  const { page, go, done } = await openPage();
  const causes = await listed(page);
  await go("/causes");
  await table(page).getByRole("button", { name: "Delays", exact: true }).click();
  await page.waitForURL(/order=delays/);
  await table(page)
    .getByRole("columnheader", { name: "Delays" })
    .and(page.locator("[aria-sort=descending]"))
    .waitFor();
  const delays = await rows(page).evaluateAll((all) =>
    all.map((row) => Number(row.cells[5].textContent.replaceAll(",", ""))),
  );
  assert.deepEqual(
    delays,
    causes.map((cause) => cause.delays).sort((a, b) => b - a),
  );
  await page.getByLabel("Group by").selectOption("event");
  const events = new Set(causes.map((cause) => cause.event));
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-testid=known-causes] tbody").length === count,
    events.size,
  );
  assert.equal(parameter(page, "group"), "event");
  await checkAxe(page);
  await page.route(/\/api\/v1\/causes\?/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.causes.forEach(
      (cause, place) => (cause.holder = place % 2 === 0 ? null : "price-refresher"),
    );
    await route.fulfill({ response, json: answer });
  });
  await go("/causes?group=holder");
  await table(page).waitFor();
  assert.equal(await page.getByLabel("Group by").inputValue(), "holder");
  assert.deepEqual(await table(page).locator("th[scope=rowgroup] strong").allInnerTexts(), [
    "price-refresher",
    "no other thread",
  ]);
  assert.equal(await rows(page).count(), causes.length);
  await keep(page, "causes-grouped");
  await done();
});

test("parts of causes are not listed", async () => {
  const { page, go, done } = await openPage();
  const causes = await listed(page);
  await page.route(/\/api\/v1\/causes\?/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const whole = answer.causes.find((cause) => cause.part_of === null);
    answer.causes.push({ ...whole, id: whole.id + 100000, part_of: whole.id });
    await route.fulfill({ response, json: answer });
  });
  await go("/causes");
  await page.getByText(new RegExp(`^${causes.length} causes?$`)).waitFor();
  assert.equal(await rows(page).count(), causes.length);
  await done();
});

test("the list of causes fits a phone", async () => {
  const { page, go, done } = await openPage({ width: 390, height: 844, colours: "dark" });
  await go("/causes?group=event");
  await table(page).waitFor();
  assert.ok(
    (await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0,
  );
  await checkAxe(page);
  await keep(page, "causes-phone", { fullPage: true });
  await done();
});
