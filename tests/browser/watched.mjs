// A page that follows a running program. Run by name, by a test whose program acts whenever a file
// appears in the folder of its world.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

const reached = (step) => writeFileSync(join(world.folder, step), "");

test("a page follows a running program from the empty list to the watch's end", async () => {
  const { page, go, done } = await openPage();
  page.setDefaultTimeout(120_000);
  await go("/watches");
  await page.getByText("No objects received yet.").waitFor();
  await checkAxe(page);
  await keep(page, "watched-none");
  reached("nothing-yet");

  const row = page.getByTestId("watches").getByRole("row").filter({ hasText: "running" });
  await row.waitFor();
  assert.match(await row.innerText(), new RegExp(`objects \\d+\\s+${world.host}\\s`));
  assert.match(await row.innerText(), /shop::Item/);
  await row.getByRole("link").click();
  await page.getByTestId("objects").getByText("No call failed.").waitFor();
  reached("running");

  const failures = page.getByTestId("object-failures").locator("tbody tr");
  const count = (wanted) =>
    failures
      .filter({ hasText: "no gadget of size -1" })
      .filter({ has: page.locator("td:first-child", { hasText: new RegExp(`^${wanted}$`) }) });
  await count(3).waitFor();
  assert.match(
    await failures.first().innerText(),
    /shop::Gadget::Gadget[^]*objects[^]*std::runtime_error: no gadget of size -1/,
  );
  const kept = page
    .getByTestId("object-classes")
    .getByRole("row")
    .filter({ hasText: "shop::Item" });
  await kept.filter({ hasText: /^shop::Item4040/ }).waitFor();
  const latest = page.getByTestId("object-latest").locator("tbody tr");
  await latest.filter({ hasText: "shop::Item::Item" }).nth(3).waitFor();
  assert.ok((await page.getByTestId("object-latest").locator(".object-created").count()) >= 4);
  assert.equal(
    (await page.getByTestId("object-latest").locator("td.object-failed.code").count()) > 0,
    true,
  );
  assert.equal(await page.getByTestId("watch-gaps").count(), 0);
  await checkAxe(page);
  await keep(page, "watched-running", { fullPage: true });
  reached("failures-seen");

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Paused at part/).waitFor();
  reached("paused");
  // Waits until the server has what happened meanwhile.
  const address =
    `${world.url}/api/v1` +
    `${new URL(page.url()).pathname.replace("/watch/", "/objects/")}/summary`;
  for (let told = 0; told !== 5;) {
    const answer = await page.context().request.get(address);
    told = (await answer.json()).objects.failures[0].count;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.equal(await count(3).count(), 1, "the page stands still");
  await page.getByRole("button", { name: "Resume" }).click();
  await count(5).waitFor();
  reached("gone-on");

  await page.getByTestId("watch-head").getByText("ended", { exact: true }).waitFor();
  await page.getByRole("heading", { name: "Longest-lived objects" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
  await keep(page, "watched-ended", { fullPage: true });
  await done();
});
