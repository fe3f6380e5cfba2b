// Watches of objects of running programs: the list, one that goes on, one that ended, and one that cannot be read.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { checkAxe, closeBrowser, keep, needs, openPage, world } from "./support.mjs";

after(closeBrowser);

for (const colours of ["light", "dark"]) {
  test(`the list of watches, ${colours}`, needs("watch"), async () => {
    const { page, go, done } = await openPage({ colours });
    await go("/objects");
    await page.getByRole("navigation", { name: "Pages of objects" }).getByRole("link", { name: "Watched live" }).click();
    const row = page.getByTestId("watches").getByRole("row").filter({ hasText: "running" }).filter({ hasText: world.watch.process }).first();
    await row.waitFor();
    assert.match(await row.innerText(), /2 parts of 60 have not come/);
    await page.getByTestId("watches").getByText("ended").first().waitFor();
    await page.getByTestId("watches").getByText(/^nothing new for/).first().waitFor();
    await checkAxe(page);
    await keep(page, `watches-${colours}`, { fullPage: true });
    await row.getByRole("link").click();
    await page.getByTestId("objects").waitFor();
    assert.ok(page.url().endsWith(`/watch/${world.watch.id}`));
    await page.getByTestId("watch-gaps").getByText("2 parts of 60 have not come").waitFor();
    await checkAxe(page);
    await keep(page, `watch-${colours}`, { fullPage: true });
    await done();
  });
}

test("a watch that goes on is followed, filtered, marked and paused", needs("watch"), async () => {
  const { page, go, done } = await openPage();
  await go(`/watch/${world.watch.id}`);
  const told = async () => Number((await page.getByText(/^Calls looked at one by one/).innerText()).replaceAll(/^[^:]*: ([\d,]+).*$/gs, "$1").replaceAll(",", ""));
  const failures = page.getByTestId("object-failures").locator("tbody tr");
  await failures.first().waitFor();
  const first = await told();
  await page.waitForFunction((before) => Number(/one by one: ([\d,]+)/.exec(document.body.innerText)[1].replaceAll(",", "")) > before, first);

  await page.getByTestId("objects-mark").fill("200");
  assert.equal(await page.getByTestId("object-latest").locator(".object-long").count(), 2, "calls over 200 ms stand out");
  const latest = page.getByTestId("object-latest").locator("tbody tr");
  const of_sqlite = page.getByTestId("object-latest").locator("tbody tr", { hasText: "sqlite3" });
  await page.getByTestId("objects-filter").fill("-sqlite");
  assert.ok((await latest.count()) > 0);
  assert.equal(await of_sqlite.count(), 0);
  await page.getByTestId("objects-filter").fill("finalize");
  assert.equal(await of_sqlite.count(), 1);
  assert.equal(await latest.count(), 2, "with its caller");
  await page.getByTestId("objects-filter").fill("");
  await page.getByLabel("failures only").check();
  assert.match(await latest.last().innerText(), /no customer 4711/);
  await page.getByLabel("failures only").uncheck();

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Paused: this is what was there/).waitFor();
  const paused = await told();
  let asked = 0;
  page.on("request", (request) => (asked += request.url().includes("/summary") ? 1 : 0));
  // Another page goes on meanwhile, and has asked again before this one is looked at.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByTestId("objects").waitFor();
  await other.waitForFunction((before) => Number(/one by one: ([\d,]+)/.exec(document.body.innerText)[1].replaceAll(",", "")) > before + 4, paused);
  assert.equal(await told(), paused);
  assert.equal(asked, 0, "nothing is asked for meanwhile");
  await page.bringToFront();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.waitForFunction((before) => Number(/one by one: ([\d,]+)/.exec(document.body.innerText)[1].replaceAll(",", "")) > before, paused);
  await done();
});

test("a watch that ended says why and is not asked for again; one without its first part says so", needs("watch"), async () => {
  const { page, go, done } = await openPage();
  await go(`/watch/${world.watch.ended}`);
  await page.getByTestId("watch-head").getByText("the time is over").waitFor();
  await page.getByTestId("watch-gaps").getByText(/4 older parts were removed here/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
  await go("/watches");
  await page.getByTestId("watches").getByRole("row").filter({ hasText: "office" }).getByRole("link").click();
  await page.getByText("The first part, which names classes and functions, has not come.").waitFor();
  await checkAxe(page);
  await go("/watch/ffffffff-8a52-4d55-9d0a-4a6f0b6b3a11");
  await page.getByRole("alert").waitFor();
  await done();
});
