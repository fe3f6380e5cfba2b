// Pages saved as one file, and on paper.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { delayPath, eventPath, keep, openBrowser, openPage, world } from "./support.mjs";

// Opens the saved file without a network and returns its page.
async function saved(page, expected) {
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as HTML" }).click();
  const download = await coming;
  assert.match(download.suggestedFilename(), expected);
  const file = join(await mkdtemp(join(tmpdir(), "lagtrap-saved-")), "page.html");
  await download.saveAs(file);
  const html = await readFile(file, "utf8");
  const context = await (await openBrowser()).newContext({ offline: true });
  const copy = await context.newPage();
  const problems = [];
  const requests = [];
  copy.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  copy.on("request", (request) => requests.push(request.url()));
  await copy.goto(pathToFileURL(file).href);
  return {
    html,
    copy,
    close: async () => {
      await context.close();
      await rm(dirname(file), { recursive: true });
      assert.deepEqual(problems, []);
      assert.deepEqual(
        requests.filter((url) => !/^(file|data):/.test(url)),
        [],
      );
    },
  };
}

test("an event's page is saved as one file without scripts", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  await page
    .getByRole("region", { name: "Causes of the delays" })
    .getByText(world.event.cause)
    .first()
    .waitFor();
  await page.waitForFunction(() => document.querySelector("main .loading") === null);
  const { html, copy, close } = await saved(page, new RegExp(`^${world.event.name}\\.html$`));
  assert.doesNotMatch(html, /<script|<button|<input|javascript:/i);
  await copy.getByRole("heading", { level: 1, name: world.event.name }).waitFor();
  await copy.getByText(world.event.cause).first().waitFor();
  await copy.getByText(/^Saved from http/).waitFor();
  assert.ok((await copy.locator("img[src^='data:image/png']").count()) > 0);
  const links = await copy
    .locator("a[href]")
    .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  assert.ok(links.length > 0);
  assert.deepEqual(
    links.filter((link) => !/^https?:\/\//.test(link)),
    [],
  );
  await keep(copy, "saved-event", { fullPage: true });
  await close();
  await done();
});

test("a delay's page is saved in light colours, with hostile names as text", async () => {
  const { page, go, done } = await openPage({ colours: "dark" });
  await go(delayPath(world.delay));
  await page.getByRole("region", { name: "Flame graph" }).getByTestId("flame-readout").waitFor();
  await page.waitForFunction(() => document.querySelector("main .loading") === null);
  const title = await page.getByRole("heading", { level: 1 }).innerText();
  const { html, copy, close } = await saved(page, /\.html$/);
  assert.doesNotMatch(html, /<script/i);
  await copy.getByRole("heading", { level: 1, name: title }).waitFor();
  assert.equal(await copy.evaluate(() => getComputedStyle(document.body).colorScheme), "light");
  await keep(copy, "saved-delay", { fullPage: true });
  await close();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await done();
});

test("names of functions that fold are kept in a saved page, and on paper", async () => {
  const { page, go, done } = await openPage();
  await page.route(/\/delays\?number=/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    for (const delay of answer.delays)
      for (const link of delay.cause.chain) link.function = "shop::Cart<std::vector<int> >::add";
    await route.fulfill({ response, json: answer });
  });
  await go(delayPath(world.delay));
  const chain = page.getByTestId("wait-chain");
  await chain.getByRole("button", { name: "shop::Cart<…>::add" }).first().waitFor();
  await page.waitForFunction(() => document.querySelector("main .loading") === null);
  const lines = await chain.getByRole("listitem").allInnerTexts();
  const { copy, close } = await saved(page, /\.html$/);
  assert.deepEqual(
    await copy.getByTestId("wait-chain").getByRole("listitem").allInnerTexts(),
    lines,
  );
  assert.equal(
    await copy
      .getByTestId("wait-chain")
      .getByText("shop::Cart<…>::add")
      .first()
      .getAttribute("title"),
    "shop::Cart<std::vector<int> >::add",
  );
  assert.ok((await copy.getByTestId("wait-chain").locator("rect").count()) > 2);
  await copy.getByTestId("wait-chain").scrollIntoViewIfNeeded();
  await keep(copy, "saved-chain");
  await close();
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await chain.getByRole("listitem").allInnerTexts(), lines);
  await done();
});

test("on paper there are no filters and no buttons", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  await page.getByRole("region", { name: "Causes of the delays" }).waitFor();
  await page.emulateMedia({ media: "print" });
  await page.getByRole("heading", { level: 1, name: world.event.name }).waitFor();
  assert.equal(
    await page
      .locator("header.head, form.filters, main button:not(.function-name, .sort, .legend-entry)")
      .filter({ visible: true })
      .count(),
    0,
  );
  await keep(page, "printed-event", { fullPage: true });
  await done();
});
