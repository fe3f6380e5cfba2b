// Watches of objects in running programs: the list, a running one, one that ended, and one that
// cannot be read. The tests send the parts of the running one like an uploader.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

async function sendNextPart(page) {
  const { id, host, make_objects } = world.watch;
  const { watch } = await (
    await page.request.get(`${world.url}/api/v1/objects/${id}/summary`)
  ).json();
  const part = execFileSync(make_objects, [id, host, String(watch.parts + 1)]);
  const digest = createHash("sha256").update(part).digest("hex");
  const answer = await page.request.put(`${world.url}/api/v1/batches/${digest}`, {
    data: part,
    headers: { "Content-Type": "application/zstd", "Sec-Fetch-Site": "same-origin" },
  });
  assert.equal(answer.status(), 201, await answer.text());
}
const rowOf = (page, text) =>
  page.getByTestId("watches").getByRole("row").filter({ hasText: text });
const callsTold = async (page) =>
  Number(
    /: ([\d,]+)/
      .exec(await page.getByText(/^Calls recorded individually/).innerText())[1]
      .replaceAll(",", ""),
  );
const moreTold = (page, than) =>
  page.waitForFunction(
    (least) =>
      Number(/individually: ([\d,]+)/.exec(document.body.innerText)?.[1].replaceAll(",", "")) >
      least,
    than,
  );

for (const colours of ["light", "dark"]) {
  test(`the list of watches, ${colours}`, async () => {
    const { page, go, done } = await openPage({ colours });
    await sendNextPart(page);
    await go("/objects");
    await page
      .getByRole("navigation", { name: "Pages of objects" })
      .getByRole("link", { name: "Watched live" })
      .click();
    const row = rowOf(page, world.watch.host).filter({ hasText: "running" });
    await row.waitFor();
    assert.match(
      await row.innerText(),
      /shop 4002[^]*shop::Cart, sqlite3_stmt[^]*2 of \d+ parts missing/,
    );
    await rowOf(page, "ended").first().waitFor();
    await checkAxe(page);
    await keep(page, `watches-${colours}`, { fullPage: true });
    await row.getByRole("link").click();
    await page.getByTestId("objects").waitFor();
    assert.ok(page.url().endsWith(`/watch/${world.watch.id}`));
    await page
      .getByTestId("watch-gaps")
      .getByText(/2 of \d+ parts missing/)
      .waitFor();
    await page.getByText("Limitations").click();
    await page.getByText("no symbols of 2 files").waitFor();
    await checkAxe(page);
    await keep(page, `watch-${colours}`, { fullPage: true });
    await done();
  });
}

test("a watch of which nothing has come for a while says so", async () => {
  const { page, go, done } = await openPage();
  await page.clock.setFixedTime(Date.now() + 600e3);
  await go("/watches");
  await rowOf(page, world.watch.host)
    .getByText(/^no data for 1\d min/)
    .waitFor();
  await go(`/watch/${world.watch.id}`);
  await page.getByText(/^No data for 1\d min/).waitFor();
  await done();
});

test("a watch that goes on is followed, filtered, marked and paused", async () => {
  const { page, go, done } = await openPage();
  await go(`/watch/${world.watch.id}`);
  await page.getByTestId("object-failures").locator("tbody tr").first().waitFor();
  const first = await callsTold(page);
  await sendNextPart(page);
  await moreTold(page, first);

  await page.getByTestId("objects-mark").fill("200");
  assert.equal(
    await page.getByTestId("object-latest").locator(".object-long").count(),
    2,
    "calls over 200 ms stand out",
  );
  const latest = page.getByTestId("object-latest").locator("tbody tr");
  const of_sqlite = latest.filter({ hasText: "sqlite3" });
  await page.getByTestId("objects-filter").fill("-sqlite");
  assert.ok((await latest.count()) > 0);
  assert.equal(await of_sqlite.count(), 0);
  await page.getByTestId("objects-filter").fill("finalize");
  assert.equal(await of_sqlite.count(), 1);
  assert.equal(await latest.count(), 2, "with its caller");
  await page.getByTestId("objects-filter").fill("");
  await page.getByLabel("failures only").check();
  assert.deepEqual((await latest.locator("td:last-child").allInnerTexts()).sort(), [
    "result 1, no such table: discounts",
    "result 1, no such table: discounts",
    "std::runtime_error: no customer 4711",
  ]);
  await page.getByLabel("failures only").uncheck();

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Paused at part/).waitFor();
  const paused = await callsTold(page);
  let asked = 0;
  page.on("request", (request) => (asked += request.url().includes("/summary") ? 1 : 0));
  // Another page polls meanwhile, and has requested the watch before this one does.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByTestId("objects").waitFor();
  await sendNextPart(other);
  await moreTold(other, paused);
  assert.equal(await callsTold(page), paused);
  assert.equal(asked, 0, "nothing is asked for meanwhile");
  await page.bringToFront();
  await page.getByRole("button", { name: "Resume" }).click();
  await moreTold(page, paused);
  await done();
});

test("a watch says why it ended, and whether its first part is missing", async () => {
  const { page, go, done } = await openPage();
  await go(`/watch/${world.watch.ended}`);
  await page.getByTestId("watch-head").getByText("time limit reached").waitFor();
  await page
    .getByTestId("watch-gaps")
    .getByText(/^1 older part was deleted to save space/)
    .waitFor();
  assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
  await go("/watches");
  await rowOf(page, world.watch.headless_host).getByRole("link").click();
  await page.getByText("The first part, which names classes and functions, is missing.").waitFor();
  await checkAxe(page);
  await go("/watch/ffffffff-8a52-4d55-9d0a-4a6f0b6b3a11");
  await page.getByRole("alert").waitFor();
  await done();
});
