// Compares two sets of runs given by filters in the page's address.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkAxe,
  comparePath,
  eventPath,
  keep,
  openPage,
  parameter,
  toggleNames,
  world,
} from "./support.mjs";

const set = (page, side) => new URLSearchParams(parameter(page, side));

test("from the event to two sets; the address shows what its sender saw", async () => {
  const { page, go, done } = await openPage();
  await go(`${eventPath(world.event.name)}?host=${encodeURIComponent(world.event.host)}`);
  await page.getByRole("link", { name: "Compare two sets" }).click();
  await page.waitForURL(/\/compare\?/);
  await page.getByText("A and B are the same runs.").waitFor();
  assert.equal(set(page, "a").get("host"), world.event.host);
  const a = page.getByRole("form", { name: "Set A" });
  const b = page.getByRole("form", { name: "Set B" });
  await toggleNames(a, "Host", world.event.host);
  await page.getByTestId("set-verdict").waitFor();
  assert.equal(set(page, "a").get("host"), null);
  assert.equal(set(page, "b").get("host"), world.event.host);
  await a.getByRole("button", { name: "Build: any" }).click();
  const builds = (
    await a.getByRole("dialog", { name: "Build" }).locator("label").allInnerTexts()
  ).map((text) => text.trim());
  await page.keyboard.press("Escape");
  assert.ok(builds.length >= 2, `builds ${builds}`);
  // Other builds may have delays but no runs.
  const [one, other] = world.event.builds ?? builds;
  assert.ok(builds.includes(one) && builds.includes(other), `builds ${builds}`);
  await toggleNames(b, "Host", world.event.host);
  await toggleNames(a, "Build", one);
  const answered = page.waitForResponse((answer) => {
    const { pathname, searchParams } = new URL(answer.url());
    return (
      pathname.endsWith("/compare") &&
      ["a", "b"].every((side) => new URLSearchParams(searchParams.get(side)).get("build") !== null)
    );
  });
  await toggleNames(b, "Build", other);
  await page.waitForURL(
    (url) => new URLSearchParams(url.searchParams.get("b")).get("build") !== null,
  );
  await answered;
  await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null);
  const figures = page.getByTestId("set-figures");
  await figures.getByRole("rowheader", { name: "p99" }).waitFor();
  const shown = await page.getByTestId("set-verdict").innerText();
  assert.match(shown, /In B|No significant/);
  const runs = (await figures.getByRole("row", { name: /^Runs/ }).innerText())
    .match(/[\d,]+/g)
    .map((text) => Number(text.replaceAll(",", "")));
  assert.ok(runs[0] > 0 && runs[1] > 0 && runs[0] < world.event.runs, `${runs}`);
  await page
    .getByRole("region", { name: "Stages" })
    .getByRole("rowheader", { name: world.event.stage, exact: true })
    .waitFor();
  await page.getByTestId("set-times").getByRole("rowheader", { name: "lock (futex)" }).waitFor();
  await page.reload();
  await figures.waitFor();
  assert.equal(await page.getByTestId("set-verdict").innerText(), shown);
  await checkAxe(page);
  await keep(page, "compare-sets", { fullPage: true });
  await b.getByLabel("From", { exact: true }).fill("2038-01-01T00:00");
  await page.getByText("Set B has no runs.").waitFor();
  await done();
});

test("stages stand by the percentile that changed, and each host before and after", async () => {
  const { page, go, done } = await openPage();
  const path = `/api/v1/events/${encodeURIComponent(world.worse.event)}`;
  const { change } = await (await page.request.get(`${world.url}${path}/change`)).json();
  const at = new Date(Number(BigInt(change.from_ns) / 1000000n))
    .toISOString()
    .replace(/\.\d+Z/, "Z");
  await go(
    `/compare?${new URLSearchParams({ event: world.worse.event, a: `to=${at}`, b: `from=${at}` })}`,
  );
  const stages = page.getByTestId("set-stages");
  await stages.waitFor();
  const measure = await page
    .getByRole("group", { name: "Percentile of the stages" })
    .locator("[aria-pressed=true]")
    .innerText();
  assert.match(
    await page.getByTestId("set-verdict").innerText(),
    new RegExp(`the ${measure} is .* longer`),
  );
  await stages.getByRole("columnheader", { name: `${measure} of the stage` }).waitFor();
  const differences = await stages
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => row.cells[3].textContent));
  assert.ok(differences.length >= 2 && differences[0].startsWith("+"), `${differences}`);
  await page
    .getByRole("group", { name: "Percentile of the stages" })
    .getByRole("button", { name: "p90" })
    .click();
  await stages.getByRole("columnheader", { name: "p90 of the stage" }).waitFor();
  await done();
});

test("hosts of both sets, those with the largest change first", async () => {
  const { page, go, done } = await openPage();
  await page.route(/\/compare\?/, async (route) => {
    if (!route.request().url().includes("/api/")) return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    const part = (name, before, after, changed) => ({
      name,
      changed,
      before: { runs: 1000, slow: before, share: before / 1000 },
      after: { runs: 1000, slow: after, share: after / 1000 },
      p50: { before_ns: 1e6, after_ns: 1e6 },
      p99: { before_ns: 2e6, after_ns: 4e6 },
    });
    answer.hosts = {
      changed: 2,
      total: 3,
      concentrated: true,
      pattern: "fra-*",
      parts: [
        part("fra-web-1", 10, 40, true),
        part("fra-web-2", 10, 30, true),
        part("ams-web-1", 10, 10, false),
      ],
    };
    answer.quantiles.forEach((figure) => (figure.evidence = true));
    await route.fulfill({ response, json: answer });
  });
  await go(`/compare?${new URLSearchParams({ event: world.event.name, a: "", b: "start=cold" })}`);
  const hosts = page.getByRole("region", { name: "Hosts", exact: true });
  await hosts.getByText("The difference is on 2 of 3 hosts (all fra-*).").waitFor();
  assert.match(
    await hosts.getByRole("row", { name: /fra-web-1/ }).innerText(),
    /1\.?0? %\s*→\s*4\.?0? %/,
  );
  await hosts.getByRole("link", { name: "fra-web-2" }).click();
  await page.waitForURL((url) =>
    ["a", "b"].every(
      (side) => new URLSearchParams(url.searchParams.get(side)).get("host") === "fra-web-2",
    ),
  );
  await done();
});

test("causes of both sets, and the flame graph of the difference", async () => {
  const { page, go, done } = await openPage();
  const all = new URLSearchParams({
    event: world.event.name,
    a: "",
    b: `host=${world.event.host}`,
  });
  await go(`/compare?${all}`);
  const causes = page.getByTestId("set-causes");
  await causes
    .getByRole("rowheader", { name: new RegExp(world.event.cause.split("::").at(-1)) })
    .first()
    .waitFor();
  const flame = page.getByRole("region", { name: "Differential flame graph" });
  await flame.getByTestId("difference-legend").waitFor();
  assert.match(await flame.getByTestId("difference-legend").innerText(), /more than in A/);
  await flame.getByRole("button", { name: "on CPU" }).click();
  await page.waitForURL(/state=on-cpu/);
  await flame.getByText(/recorded delays? of B/).waitFor();
  await done();
});

test("causes that only one set has come first", async () => {
  const { page, go, done } = await openPage();
  await page.route(/\/compare\?/, async (route) => {
    if (!route.request().url().includes("/api/")) return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    const [known] = answer.causes.causes;
    answer.causes.causes = [
      { ...known, change: "stays" },
      { ...known, title: "a cause of A", record: null, change: "went" },
      { ...known, title: "a cause of B", record: null, change: "came" },
    ];
    await route.fulfill({ response, json: answer });
  });
  await go(comparePath(world.event));
  const names = page.getByTestId("set-causes").getByRole("rowheader");
  await names.first().waitFor();
  assert.deepEqual((await names.allInnerTexts()).slice(0, 2), ["a cause of B", "a cause of A"]);
  assert.match(
    await page.locator("section.panel h2").first().innerText(),
    /New and resolved causes/,
  );
  await done();
});

for (const [name, options] of Object.entries({
  dark: { colours: "dark" },
  phone: { width: 390, height: 844 },
})) {
  test(`the comparison fits, ${name}`, async () => {
    const { page, go, done } = await openPage(options);
    await go(
      `/compare?${new URLSearchParams({ event: world.event.name, a: "", b: "start=cold" })}`,
    );
    await page.getByTestId("set-figures").waitFor();
    assert.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0,
    );
    await checkAxe(page);
    await keep(page, `compare-sets-${name}`, { fullPage: true });
    await done();
  });
}
