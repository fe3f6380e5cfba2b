// The questions that people bring, starting from the first page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, eventPath, keep, openPage, parameter, world } from "./support.mjs";

const card = (page) => page.getByRole("article", { name: world.worse.event, exact: true });
const rows = (page) => page.locator("table.ranking tbody tr"); // of other events

test("what got worse stands first; a click shows since when and with which build", async () => {
  const { page, go, done } = await openPage();
  await go("/");
  await card(page).waitFor();
  assert.match(await page.getByTestId("verdict").innerText(), /^\d+ events? got worse\./);
  assert.match(await page.getByRole("article").first().innerText(), /worse ×\d/);
  assert.match(
    await card(page).getByTestId("regression").innerText(),
    new RegExp(
      `^(delays|p50|p99) .* → .* since \\d+ \\w+ \\d\\d:\\d\\d, build ${world.worse.build}\\b`,
    ),
  );
  assert.match(
    await card(page).getByTestId("regression-cause").innerText(),
    new RegExp(`^(New|Most frequent cause): .*(${world.worse.causes.join("|")})`),
  );
  await card(page)
    .getByRole("link", { name: /^Compare / })
    .waitFor();
  await card(page).getByRole("link", { name: "Typical delay" }).waitFor();
  assert.equal(
    await rows(page).getByRole("link", { name: world.worse.event, exact: true }).count(),
    0,
  );
  await checkAxe(page);
  await keep(page, "overview");
  await card(page).getByRole("link", { name: world.worse.event, exact: true }).click();
  await page.waitForURL(/\/event\/.*span=24h/);
  await page
    .getByTestId("trend-verdict")
    .getByText(/Slower since/)
    .waitFor();
  const where = page.getByRole("region", { name: "Where it changed" });
  await where
    .getByTestId("where")
    .getByText(/the only host/)
    .waitFor();
  await where.getByRole("button", { name: "build", exact: true }).click();
  await where.getByRole("rowheader", { name: world.worse.build }).waitFor();
  const trend = page.getByRole("region", { name: "Trend" });
  await trend.getByTestId("changes").getByText(world.worse.build).first().waitFor();
  assert.ok((await trend.locator("svg line.change").count()) >= 1);
  const area = await trend.locator(".trend-area").boundingBox();
  await page.mouse.move(area.x + area.width * 0.9, area.y + 40);
  await trend.getByText(/p50 .*, p90 .*, p99 /).waitFor();
  await trend.getByText("Show builds as a table").click();
  await trend.getByRole("rowheader", { name: world.worse.build }).waitFor();
  await keep(page, "event-trend", { fullPage: true });
  await done();
});

test("a regression's links lead to its sets, to a delay of its cause and to its page", async () => {
  const { page, go, done } = await openPage();
  await go("/");
  const compare = card(page).getByRole("link", { name: /^Compare / });
  await compare.waitFor();
  const words = await compare.innerText();
  await compare.click();
  await page.getByTestId("set-verdict").waitFor();
  assert.equal(parameter(page, "event"), world.worse.event);
  assert.notEqual(parameter(page, "a"), parameter(page, "b"));
  if (words.includes(" with ")) assert.match(words, new RegExp(`with ${world.worse.build}$`));
  await keep(page, "compare-change", { fullPage: true });
  await go("/");
  await card(page).getByRole("link", { name: "Typical delay" }).click();
  await page
    .getByRole("heading", { level: 1, name: new RegExp(`^${world.worse.event} took `) })
    .waitFor();
  await done();
});

test("the ranking is sorted by clicks; its order and span are in the address", async () => {
  const { page, go, done } = await openPage();
  // The other events have runs of sixty days ago.
  const from = new Date(Date.now() - 70 * 86400e3).toISOString().slice(0, 10);
  await go(`/?from=${from}`);
  await rows(page).first().waitFor();
  await page.getByRole("columnheader", { name: "p99" }).getByRole("button").click();
  await page.waitForURL(/order=p99/);
  await page.locator('th[aria-sort="descending"]', { hasText: "p99" }).waitFor();
  assert.equal(parameter(page, "from"), from);
  await page.getByLabel("Span").selectOption({ label: "Last 24 hours" });
  await page.waitForURL(/span=24h/);
  await page.getByLabel("Search").fill("no event has this name");
  await page.getByText("No event matches these filters.").waitFor();
  await done();
});

test("events that got worse and have no card stand in the table", async () => {
  const { page, go, done } = await openPage();
  const cards = 12;
  await page.route(/\/api\/v1\/overview/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const worse = answer.events.find((event) => event.event === world.worse.event);
    answer.events = Array.from({ length: cards + 2 }, (_, place) => ({
      ...worse,
      event: `${worse.event}-${place}`,
      factor: 100 - place,
    }));
    answer.total = answer.events.length;
    await route.fulfill({ response, json: answer });
  });
  await go("/");
  await page
    .getByTestId("verdict")
    .getByText(`${cards + 2} events got worse.`)
    .waitFor();
  assert.equal(await page.getByRole("article").count(), cards);
  assert.deepEqual(await rows(page).getByRole("rowheader").allInnerTexts(), [
    `${world.worse.event}-${cards}`,
    `${world.worse.event}-${cards + 1}`,
  ]);
  await done();
});

test("names of builds are loaded again after a failure", async () => {
  const { page, go, done } = await openPage();
  await page.route("**/api/v1/builds", (route) => route.abort());
  const failed = page.waitForEvent("requestfailed", (request) => /\/builds$/.test(request.url()));
  await go("/");
  await card(page).waitFor();
  await failed;
  await page.unroute("**/api/v1/builds");
  await card(page).getByRole("link", { name: world.worse.event, exact: true }).click();
  const where = page.getByRole("region", { name: "Where it changed" });
  await where.getByRole("button", { name: "build", exact: true }).click();
  await where.getByRole("rowheader", { name: world.worse.build }).waitFor();
  await done();
});

test("a cause has a page: it is given to somebody and resolved in a build", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const section = page.getByRole("region", { name: "Causes of the delays" });
  await section.getByRole("link", { name: "Details", exact: true }).first().click();
  await page.waitForURL(/\/cause\/\d+$/);
  const status = page.getByTestId("cause-status");
  await status.waitFor();
  assert.match(
    await page.getByRole("heading", { level: 1 }).innerText(),
    new RegExp(world.event.cause.split("::").at(-1)),
  );
  assert.ok((await page.locator("#delays tbody tr").count()) > 0);
  await page
    .locator("#flame")
    .getByText(/^Width: mean of \d+ recorded delays? of this cause/)
    .waitFor();
  await page
    .getByRole("region", { name: /^A typical delay: / })
    .getByRole("application")
    .waitFor();
  await keep(page, "cause", { fullPage: true });
  await page.getByLabel("Owner").fill("rita <b>");
  await page.getByRole("textbox", { name: "Note" }).fill("the index is cold");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await status.getByText("Owner: rita <b>.").waitFor();
  await page.getByText("the index is cold").waitFor();
  await page.getByLabel("Resolved in").selectOption({ index: 1 });
  await page.getByRole("button", { name: "Mark as resolved" }).click();
  await status.getByText(/Resolved .* in build/).waitFor();
  await page.getByRole("button", { name: "Reopen" }).click();
  await status.locator(".state", { hasText: "known" }).waitFor();
  await page.getByRole("link", { name: "Causes", exact: true }).click();
  await page.locator("table.list tbody tr").first().waitFor();
  await keep(page, "causes");
  await done();
});

test("a cause's rate by day names builds and the threads that its delays waited for", async () => {
  const { page, go, done } = await openPage();
  const { causes } = await (
    await page.request.get(
      `${world.url}/api/v1/causes?event=${encodeURIComponent(world.worse.event)}`,
    )
  ).json();
  await page.route(/\/api\/v1\/causes\/\d+$/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const last = answer.days.at(-1);
    answer.days = [
      { from_ns: String(BigInt(last.from_ns) - 86400n * 1000000000n), delays: 3, rate: 0.012 },
      { ...last, rate: 0.034 },
    ];
    answer.builds = [{ build: "bbbb2222bbbb2222", from_ns: last.from_ns }];
    answer.by_holder = [
      { holder: "price-refresher", delays: 5, first_ns: last.from_ns, last_ns: last.from_ns },
    ];
    await route.fulfill({ response, json: answer });
  });
  await go(`/cause/${causes[0].id}`);
  const rate = page.getByRole("region", { name: "Rate by day" });
  await rate.getByText(/^Delays on 2 of \d+ days, at most 3\.4 % of a day's runs\./).waitFor();
  await rate.getByTestId("builds-marked").getByText(world.worse.build).waitFor();
  await page
    .getByRole("region", { name: "Threads waited for" })
    .getByRole("row", { name: /price-refresher 5/ })
    .waitFor();
  await checkAxe(page);
  await keep(page, "cause-rate", { fullPage: true });
  await done();
});

test("bundles that wait to be read are mentioned, and runs of the future", async () => {
  const { page, go, done } = await openPage();
  await page.route(/\/api\/v1\/overview/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.bundles_waiting = 4767;
    answer.events[0].last_ns = String(BigInt(Date.now() + 3.5 * 3600e3) * 1000000n);
    await route.fulfill({ response, json: answer });
  });
  await go("/");
  await page.getByText("4,767 bundles are waiting to be read").waitFor();
  await page
    .getByTestId("ahead")
    .getByText(/dated 3 h (29|30) min ahead/)
    .waitFor();
  await done();
});

test("a span begins at the same time on every page", async () => {
  const { page, go, done } = await openPage();
  await page.clock.setFixedTime(new Date());
  const from = async (path, pattern) => {
    const asked = page.waitForRequest(pattern);
    await go(path);
    return new URL((await asked).url()).searchParams.get("from");
  };
  for (const span of ["24h", "7d"]) {
    const begin = await from(`/?span=${span}`, /\/api\/v1\/overview/);
    assert.equal(BigInt(begin) % (3600n * 1000000000n), 0n);
    for (const part of ["summary", "trend", "split"])
      assert.equal(
        await from(`${eventPath(world.worse.event)}?span=${span}`, new RegExp(`/${part}\\?`)),
        begin,
      );
  }
  await done();
});

test("the page refreshes every minute", async () => {
  const { page, go, done } = await openPage();
  await page.clock.install();
  await go("/");
  await card(page).waitFor();
  const asked = page.waitForRequest(/\/api\/v1\/overview/);
  await page.clock.runFor(61_000);
  await asked;
  await done();
});

test("a server that is away leaves the overview, says so, and is asked again", async () => {
  const { page, go, done } = await openPage();
  await page.clock.install();
  await go("/");
  await card(page).waitFor();
  await page.route("**/api/v1/overview*", (route) => route.abort());
  await page.clock.runFor(61_000);
  await page
    .getByTestId("outdated")
    .getByText(/^Not updated: the server does not answer/)
    .waitFor();
  assert.equal(await card(page).count(), 1);
  await checkAxe(page);
  await keep(page, "overview-outdated");
  await page.unroute("**/api/v1/overview*");
  await page.clock.runFor(6_000);
  await page.getByTestId("outdated").waitFor({ state: "detached" });
  assert.equal(await card(page).count(), 1);
  await done();
});

test("on a small screen the menu has the pages and the account", async () => {
  const { page, go, done } = await openPage({ width: 390, height: 844 });
  await go("/");
  await card(page).waitFor();
  assert.ok((await page.locator("header.head").boundingBox()).height <= 60);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await page.getByRole("link", { name: "Bundles", exact: true }).click();
  await page.getByRole("heading", { name: "Bundles" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "hidden" });
  await done();
});

test("the header of an administrator takes one row at 768 and 800 pixels", async () => {
  for (const width of [768, 800]) {
    const { page, go, done } = await openPage({ width });
    await go("/");
    await card(page).waitFor();
    await page.getByRole("link", { name: "Audit", exact: true }).waitFor();
    assert.ok((await page.locator("header.head").boundingBox()).height <= 60);
    assert.ok((await page.getByRole("searchbox", { name: "Find" }).boundingBox()).width >= 80);
    await done();
  }
});

for (const [name, options] of Object.entries({
  dark: { colours: "dark" },
  phone: { width: 390, height: 844 },
})) {
  test(`the overview fits, ${name}`, async () => {
    const { page, go, done } = await openPage(options);
    await go("/");
    await card(page).waitFor();
    assert.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0,
    );
    await keep(page, `overview-${name}`);
    await done();
  });
}
