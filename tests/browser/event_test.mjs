// The list of events, and the page of an event.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkAxe,
  chosenNames,
  eventPath,
  keep,
  openPage,
  parameter,
  toggleNames,
  world,
} from "./support.mjs";

const bars = (page) => page.getByTestId("run-bars");
const overlay = (page) => page.locator(".run-canvas canvas.overlay");
// The position of the bars, once nothing above them grows any more and they are in view.
async function placeOfBars(page) {
  await page.waitForFunction(
    () => document.querySelector("main .loading, main [aria-busy=true]") === null,
  );
  await overlay(page).scrollIntoViewIfNeeded();
  return overlay(page).boundingBox();
}
async function shownBars(page) {
  await bars(page).waitFor();
  return Number(await bars(page).getAttribute("data-runs"));
}

test("the newest event stands first; search and filters are in the address", async () => {
  const { page, go, done } = await openPage();
  await go("/events");
  await page.locator("table.list tbody tr").first().waitFor();
  const times = await page
    .locator("table.list tbody time")
    .evaluateAll((list) => list.map((time) => time.title));
  assert.deepEqual(times, [...times].sort().reverse());
  await keep(page, "events");
  await page.getByLabel("Search").fill(world.event.name.toUpperCase());
  await page.waitForURL(/search=/);
  // The old content stays until the answer arrives.
  const answered = page.waitForResponse((answer) =>
    /\/api\/v1\/events\?.*(search=.*host=|host=.*search=)/.test(answer.url()),
  );
  await toggleNames(page, "Host", world.event.host);
  await page.waitForURL(/host=/);
  await page.getByRole("button", { name: "Clear 2 filters" }).waitFor();
  await (await answered).finished();
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
  await page.getByRole("link", { name: world.event.name, exact: true }).waitFor();
  const shown = await page.locator("table.list tbody").innerText();
  await page.goto(page.url());
  await page.getByRole("link", { name: world.event.name, exact: true }).waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), world.event.name.toUpperCase());
  assert.equal(await chosenNames(page, "Host"), world.event.host);
  assert.equal(
    (await page.locator("table.list tbody").innerText()).replace(
      /\d+ (seconds|minutes?|hours?) ago/g,
      "",
    ),
    shown.replace(/\d+ (seconds|minutes?|hours?) ago/g, ""),
  );
  await page.getByLabel("Search").fill("no event has this name");
  await page.getByText("No event matches these filters.").waitFor();
  await done();
});

test("runs that were lost are told, with their machine", async () => {
  const { page, go, done } = await openPage();
  await go("/events");
  const told = page.locator("#lost");
  await told.waitFor();
  assert.match(
    await told.innerText(),
    new RegExp(
      `^${world.lost.runs} runs were lost[^]*\\n${world.lost.runs} on ${world.lost.host} \\(`,
    ),
  );
  await done();
});

test("filters narrow an event's runs; back undoes them", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const runs = page.locator(".figure", { hasText: "Runs" }).locator("dd").first();
  await runs.waitFor();
  const all = await runs.innerText();
  assert.equal(Number(all.replace(/,/g, "")), world.event.runs - world.event.hidden);
  await page.getByLabel("Start").selectOption("cold");
  await page.waitForFunction(
    (before) => document.querySelector(".figure dd").innerText !== before,
    all,
  );
  assert.equal(parameter(page, "start"), "cold");
  await page.goBack();
  await page.waitForFunction(
    (before) => document.querySelector(".figure dd").innerText === before,
    all,
  );
  assert.equal(parameter(page, "start"), null);
  await page.getByLabel("Span").selectOption({ label: "Last hour" });
  await page.waitForURL(/span=1h/);
  assert.equal(parameter(page, "from"), null);
  await done();
});

test("several hosts are found, ticked, in the address, and in the pictures of each", async () => {
  const { page, go, done } = await openPage();
  const runs = page.locator(".figure", { hasText: "Runs" }).locator("dd").first();
  const count = async (query) => {
    await go(eventPath(world.event.name) + query);
    await runs.waitFor();
    return Number((await runs.innerText()).replace(/,/g, ""));
  };
  const choices = await (
    await page.request.get(
      `${world.url}/api/v1/choices?event=${encodeURIComponent(world.event.name)}`,
    )
  ).json();
  const other = choices.hosts.find((host) => host !== world.event.host);
  const { hours } = await (
    await page.request.get(
      `${world.url}/api/v1/events/${encodeURIComponent(world.event.name)}/summary`,
    )
  ).json();
  const time = (hour_ns, more_ms) =>
    new Date(Number(BigInt(hour_ns) / 1000000n) + more_ms).toISOString().replace(":00.000Z", "Z");
  const span = new URLSearchParams({
    from: time(hours[0].hour_ns, 0),
    to: time(hours.at(-1).hour_ns, 3600e3),
  });
  const of_one = await count(`?${span}&host=${encodeURIComponent(world.event.host)}`);
  const of_other = await count(`?${span}&host=${encodeURIComponent(other)}`);
  await count(`?${span}`);
  await page.getByRole("button", { name: "Host: any" }).click();
  const panel = page.getByRole("dialog", { name: "Host" });
  await page.getByRole("searchbox", { name: "Search in hosts" }).fill("no host has this name");
  await panel.getByText("No hosts match.").waitFor();
  for (const host of [world.event.host, other]) {
    await page.getByRole("searchbox", { name: "Search in hosts" }).fill(host.toUpperCase());
    await panel.getByRole("checkbox", { name: host, exact: true }).click();
    await panel.getByRole("checkbox", { name: host, exact: true, checked: true }).waitFor();
  }
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Host: 2 selected" }).waitFor();
  const address = new URL(page.url());
  assert.deepEqual(address.searchParams.getAll("host").sort(), [world.event.host, other].sort());
  assert.equal(await count(address.search), of_one + of_other);
  const split = page.getByTestId("split");
  assert.deepEqual(
    (await split.locator("h3").allInnerTexts()).sort(),
    [world.event.host, other].sort(),
  );
  await keep(page, "two-hosts");
  await page
    .getByRole("region", { name: "By host" })
    .getByRole("button", { name: "build" })
    .click();
  await page.waitForURL(/by=build/);
  await page
    .getByRole("region", { name: "By build" })
    .getByTestId("split")
    .locator("polyline.p99")
    .first()
    .waitFor({ state: "attached" }); // a flat line counts as hidden
  await page.goBack();
  await split.getByRole("link", { name: other, exact: true }).click();
  await page.getByRole("button", { name: `Host: ${other}` }).waitFor();
  assert.deepEqual(new URL(page.url()).searchParams.getAll("host"), [other]);
  await done();
});

test("a pattern in a filter stands for all hosts that match", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const pattern = `${world.event.host.slice(0, 3)}*`;
  const runs = page.locator(".figure", { hasText: "Runs" }).locator("dd").first();
  await runs.waitFor();
  await page.getByRole("button", { name: "Host: any" }).click();
  const panel = page.getByRole("dialog", { name: "Host" });
  await page.getByRole("searchbox", { name: "Search in hosts" }).fill(pattern);
  await panel.getByRole("checkbox", { name: world.event.host, exact: true }).waitFor();
  await panel.getByRole("checkbox", { name: `${pattern} all that match`, exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get("host") === pattern);
  await panel.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: `Host: ${pattern}` }).waitFor();
  const summary = async (host) =>
    (
      await (
        await page.request.get(
          `${world.url}/api/v1/events/${encodeURIComponent(world.event.name)}/summary?host=` +
            `${encodeURIComponent(host)}`,
        )
      ).json()
    ).runs;
  const expected = await summary(pattern);
  assert.equal(expected, await summary(world.event.host));
  await page.waitForFunction(
    (count) => document.querySelector(".figure dd").innerText === count,
    expected.toLocaleString("en"),
  );
  await done();
});

test("an event's runs are narrowed to a unit, and a run says which it is of", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const runs = page.locator(".figure", { hasText: "Runs" }).locator("dd").first();
  await runs.waitFor();
  const all = await runs.innerText();
  await toggleNames(page, "Unit", world.event.unit);
  await page.waitForFunction(
    (before) => document.querySelector(".figure dd").innerText !== before,
    all,
  );
  assert.equal(parameter(page, "unit"), world.event.unit);
  const count = (text) => Number(text.replace(/,/g, ""));
  assert.ok(count(await runs.innerText()) > 0 && count(await runs.innerText()) < count(all));
  await shownBars(page);
  const box = await placeOfBars(page);
  await page.mouse.click(box.x + 75, box.y + box.height - 6);
  await page.getByRole("heading", { name: new RegExp(`^${world.event.name} took `) }).waitFor();
  assert.equal(
    await page.locator(".figure", { hasText: "Unit" }).locator("dd").innerText(),
    world.event.unit,
  );
  await done();
});

test("a stage clicked shows its stacks, the mark below a bar opens the run", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?order=slowest&count=100`);
  assert.equal(await shownBars(page), 100);
  await page.getByRole("button", { name: world.event.stage, exact: true }).waitFor();
  const box = await placeOfBars(page);
  // Each of its stages is somewhere along the tallest bar; the read-out names the one under the
  // mouse.
  let found = false;
  for (let part = 0.95; part > 0.05 && !found; part -= 0.02) {
    await page.mouse.move(box.x + 75, box.y + box.height * part);
    found = (await page.getByTestId("run-readout").innerText()).includes(
      `stage ${world.event.stage}`,
    );
  }
  assert.ok(found, `no stage ${world.event.stage} under the mouse`);
  await page.mouse.down();
  await page.mouse.up();
  await page.getByTestId("stage-stacks").locator("tbody tr").first().waitFor();
  assert.equal(parameter(page, "stage"), world.event.stage);
  await keep(page, "event", { fullPage: true });
  // The stacks may have scrolled the page.
  await overlay(page).scrollIntoViewIfNeeded();
  const now = await overlay(page).boundingBox();
  await page.mouse.click(now.x + 75, now.y + now.height - 6);
  await page.getByRole("heading", { name: new RegExp(`^${world.event.name} took `) }).waitFor();
  await page.getByText("Markers and call stacks").waitFor();
  await keep(page, "run", { fullPage: true });
  await page.goBack();
  await page.getByTestId("stage-stacks").waitFor();
  await done();
});

test("bars show where the time of runs went; a click on a bar opens its run", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?order=slowest&count=100&bars=time`);
  assert.equal(await shownBars(page), 100);
  const legend = page.getByRole("list", { name: "Where the time went" });
  assert.deepEqual(
    (await legend.locator("li").allInnerTexts()).map((text) => text.trim()).slice(0, 2),
    ["on CPU", "waiting for a CPU"],
  );
  assert.ok((await legend.innerText()).includes("lock (futex)"));
  const box = await placeOfBars(page);
  // Some bars are mostly a wait for a lock.
  let found = false;
  for (let x = 75; x < box.width - 20 && !found; x += 12) {
    for (let part = 0.8; part > 0.2 && !found; part -= 0.2) {
      await page.mouse.move(box.x + x, box.y + box.height * part);
      found = (await page.getByTestId("run-readout").innerText()).includes("part lock (futex)");
    }
  }
  assert.ok(found, "no wait for a lock under the mouse");
  await keep(page, "event-times", { fullPage: true });
  await page.mouse.down();
  await page.mouse.up();
  await page.getByRole("heading", { name: new RegExp(`^${world.event.name} took `) }).waitFor();
  assert.match(await page.getByTestId("run-times").innerText(), /lock \(futex\)\s+[\d.]+ ms\s+\d/);
  await page.goBack();
  await page.getByRole("group", { name: "Bars by" }).getByRole("button", { name: "stage" }).click();
  await page.waitForURL((url) => !url.search.includes("bars="));
  await page.getByRole("button", { name: world.event.stage, exact: true }).waitFor();
  await done();
});

test("runs whose stages were not watched have a bar all the same, and say so", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?count=1000`);
  await shownBars(page);
  await page.getByRole("list", { name: "Stages" }).getByText("stages not recorded").waitFor();
  assert.match(
    await page.getByTestId("without-stages").innerText(),
    /^Stages of \d+ of these runs were not recorded/,
  );
  await keep(page, "event-without-stages", { fullPage: true });
  await page.getByText(/^List of runs/).click();
  const row = page.locator("tr", { hasText: "not recorded" }).first();
  await row.getByRole("link").first().click();
  await page.getByRole("heading", { name: new RegExp(`^${world.event.name} took `) }).waitFor();
  assert.match(
    await page.getByTestId("without-stages").innerText(),
    /^The stages of this run were not recorded/,
  );
  await keep(page, "run-without-stages", { fullPage: true });
  await done();
});

test("where slow runs differ from the middle ones is said in words and figures", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const words = page.getByTestId("time-shift-words");
  await words.waitFor();
  assert.match(
    await words.innerText(),
    /longer on average than typical runs.*% of that is lock \(futex\)\./s,
  );
  const first = page.getByTestId("time-shift-table").locator("tbody tr").first();
  assert.match(await first.innerText(), /^\s*lock \(futex\).*\+[\d.]+ m?s/s);
  await page.getByRole("region", { name: "Where slow runs differ" }).scrollIntoViewIfNeeded();
  await keep(page, "time-shift");
  await done();
});

test("two sets dragged with the mouse are compared", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?order=slowest&count=240`);
  assert.equal(await shownBars(page), 240);
  await overlay(page).scrollIntoViewIfNeeded();
  const box = await placeOfBars(page);
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + 70);
    await page.mouse.move(box.x + box.width * to, box.y + 80);
    await page.mouse.up();
  };
  await drag(0.9, 0.98);
  await page.getByText("Now choose the other set").waitFor();
  await drag(0.3, 0.38);
  const verdict = page.getByTestId("verdict");
  await verdict.waitFor();
  // Far apart in a list by duration, the sets certainly differ; the words must agree with the
  // medians.
  const [a, b] = (await page.locator(".sets").innerText())
    .match(/median [\d.]+ (ms|s)/g)
    .map((text) => parseFloat(text.slice(7)) * (text.endsWith("ms") ? 1 : 1000));
  const sign = b > a ? "\\+" : "−";
  assert.match(
    await verdict.innerText(),
    new RegExp(
      `^B takes .+ ${b > a ? "longer" : "less"} than A \\(95 % interval ${sign}.+ to ${sign}.+\\)`,
    ),
  );
  // Sets picked by duration prove nothing, and the page says so.
  await page.getByTestId("picked").waitFor();
  await keep(page, "compare");
  await page.getByRole("button", { name: "Clear sets" }).click();
  await verdict.waitFor({ state: "detached" });
  await done();
});

test("two sets chosen with the keyboard are compared; Enter opens a run", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?order=slowest&count=240`);
  await shownBars(page);
  await bars(page).focus();
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press(
    "End",
    "Shift+ArrowLeft",
    "Shift+ArrowLeft",
    "Shift+ArrowLeft",
    "Shift+ArrowLeft",
    "a",
  );
  await press(
    "Home",
    "Shift+ArrowRight",
    "Shift+ArrowRight",
    "Shift+ArrowRight",
    "Shift+ArrowRight",
    "b",
  );
  await page.getByTestId("verdict").waitFor();
  assert.match(await page.locator(".sets").innerText(), /A: 5 runs.*B: 5 runs/s);
  await press("Escape");
  await page.getByTestId("verdict").waitFor({ state: "detached" });
  await press("ArrowUp", "Enter");
  await page.getByTestId("stage-stacks").waitFor();
  await press("o");
  await page.getByRole("heading", { name: new RegExp(`^${world.event.name} took `) }).waitFor();
  await done();
});

test("dirty runs are hidden with the reason, shown on request, and put back by hand", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?count=100`);
  const line = page.getByTestId("dirty-line");
  await line.waitFor();
  const hidden = async () =>
    Number(/^([\d,]+) of/.exec(await line.innerText())[1].replace(/,/g, ""));
  const before = await hidden();
  assert.equal(before, world.event.hidden);
  await page.getByRole("button", { name: "Show them" }).click();
  await page.waitForURL(/dirty=1/);
  const row = page.getByTestId("dirty-runs").locator("tbody tr").first();
  await row.waitFor();
  assert.ok((await row.locator("td").nth(2).innerText()).length > 3, "the reason is given");
  await keep(page, "dirty");
  const run = await row.getByRole("link").getAttribute("href");
  const rows = await page.getByTestId("dirty-runs").locator("tbody tr").count();
  assert.equal(rows, before, "all are listed, also those that the bars do not show");
  await row.getByRole("button", { name: "Include", exact: true }).click();
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-testid=dirty-runs] tbody tr").length === count - 1,
    rows,
  );
  await page.getByRole("button", { name: "Hide dirty runs" }).click();
  await page.getByRole("button", { name: "Show them" }).waitFor();
  assert.equal(await hidden(), before - 1);
  // Removed by hand this time, so that the next test starts from the same state.
  await go(run);
  await page.getByLabel("Reason").fill("a test put it back");
  await page.getByRole("button", { name: "Exclude", exact: true }).click();
  await page.getByText("This run is dirty").waitFor();
  assert.match(
    await page.getByTestId("dirty-state").innerText(),
    new RegExp(`a test put it back.*by ${world.accounts.admin.account}`, "s"),
  );
  await done();
});

test("1,000 runs are shown, and moving over them draws the bars no second time", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?count=1000`);
  assert.equal(await shownBars(page), Math.min(1000, world.event.runs - world.event.hidden));
  await overlay(page).scrollIntoViewIfNeeded();
  const box = await placeOfBars(page);
  await page.evaluate(() => {
    const context = document.querySelector(".run-canvas .chart canvas").getContext("2d");
    window.drawn = 0;
    for (const name of ["fillRect", "rect", "fill"]) {
      const original = context[name].bind(context);
      context[name] = (...given) => {
        ++window.drawn;
        return original(...given);
      };
    }
  });
  const seen = new Set();
  for (let step = 0; step <= 40; ++step) {
    await page.mouse.move(box.x + 60 + ((box.width - 70) * step) / 40, box.y + 250);
    seen.add(await page.getByTestId("run-readout").innerText());
  }
  assert.ok(seen.size > 30, `${seen.size} different runs were named`);
  assert.equal(await page.evaluate(() => window.drawn), 0);
  await keep(page, "thousand-runs");
  await done();
});

test("the first cause names the planted function and leads to a marked example", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.event.name));
  const cause = page.locator(".cause").first();
  await cause.locator(".example canvas").waitFor();
  assert.ok((await cause.locator(".stack").first().innerText()).includes(world.event.cause));
  assert.match(await cause.innerText(), /affected, by build/);
  await cause.getByRole("link", { name: "Open a typical delay" }).click();
  await page.getByTestId("flame-found").waitFor();
  assert.match(await page.getByTestId("flame-found").innerText(), /% in \d+ match/);
  await done();
});

test("an event of which delays alone are recorded has a page of them", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.delays_event));
  await page.getByTestId("delays-only").waitFor();
  const rows = page.getByTestId("delays").locator("tbody tr");
  await rows.first().waitFor();
  assert.ok((await rows.count()) > 1);
  await page.getByRole("heading", { name: "Distribution above the threshold" }).waitFor();
  await page.getByRole("heading", { name: "Causes of the delays" }).waitFor();
  assert.equal(await page.getByText("No runs of this event").count(), 0);
  await keep(page, "delays-only", { fullPage: true });
  await rows.first().getByRole("link").click();
  await page.waitForURL(/\/bundle\/[0-9a-f]{64}\/\d+$/);
  await done();
});

test("without a cause the page says why", async () => {
  const { page, go, done } = await openPage();
  await go(eventPath(world.quiet_event));
  const section = page.getByRole("region", { name: "Causes of the delays" });
  await section.getByText("No cause found.").waitFor();
  assert.equal(await section.locator(".cause").count(), 0);
  await done();
});

test("a hostile name of an event is text", async () => {
  const { page, go, done } = await openPage();
  await go("/events");
  await page.getByRole("link", { name: world.hostile_event, exact: true }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), world.hostile_event);
  await shownBars(page);
  assert.equal(await page.title(), `${world.hostile_event} · lagtrap`);
  assert.equal(await page.locator("main script, main img, main iframe, main b").count(), 0);
  await keep(page, "hostile-event");
  await done();
});

test("dark colours, and what is focused is visible", async () => {
  const { page, go, done } = await openPage({ colours: "dark" });
  await go(eventPath(world.event.name));
  await shownBars(page);
  const background = await page.evaluate(
    () => getComputedStyle(document.documentElement).backgroundColor,
  );
  assert.ok(
    background
      .match(/\d+/g)
      .slice(0, 3)
      .every((part) => Number(part) < 60),
    background,
  );
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none");
  await page
    .locator(".example canvas")
    .first()
    .waitFor({ timeout: 5000 })
    .catch(() => {});
  await keep(page, "event-dark", { fullPage: true });
  await page.getByRole("button", { name: "Colours: system" }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await done();
});

test("stages have percentiles, before and after a change and between any two points", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.worse.event)}?span=7d`);
  const stages = page.getByRole("region", { name: "Stages", exact: true });
  await stages.getByRole("row", { name: /^execute .* ms → .* ms/ }).waitFor();
  await stages.getByLabel("from").selectOption("parse");
  await stages.getByLabel("to").selectOption("execute");
  await stages.getByRole("row", { name: /^parse → execute/ }).waitFor();
  await checkAxe(page);
  await done();
});
