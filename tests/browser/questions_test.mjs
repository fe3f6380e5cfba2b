// The questions that people bring, each as a path from signing in with its clicks counted.
// docs/questions.md has the same list.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, world } from "./support.mjs";

// Signs in like a person. Clicks through `click` are counted; choosing from a list is one click.
async function begin() {
  const opened = await openPage({ account: null });
  const { page, go } = opened;
  await go("/");
  await page.getByLabel("Account").fill(world.accounts.admin.account);
  await page.getByLabel("Password").fill(world.accounts.admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await card(page).waitFor();
  let clicks = 0;
  const click = async (target) => {
    ++clicks;
    await target.click();
  };
  const choose = async (target, label) => {
    ++clicks;
    await target.selectOption({ label });
  };
  return { ...opened, click, choose, clicks: () => clicks };
}
const card = (page) => page.getByRole("article", { name: world.worse.event, exact: true });
const worst = (page) => card(page).getByRole("link", { name: world.worse.event, exact: true });
const any_cause = () => new RegExp(world.worse.causes.join("|"));
const function_of_cause = () => new RegExp(world.worse.cause.split("::").at(-1));

test("what got worse this week, and its cause: at most three clicks", async () => {
  const { page, click, choose, clicks, done } = await begin();
  await choose(page.getByLabel("Span"), "Last 7 days");
  await page.waitForURL(/span=7d/);
  await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null);
  await click(page.getByRole("link", { name: world.worse.event, exact: true }));
  const causes = page.getByRole("region", { name: "Causes of the delays" });
  await click(causes.getByRole("link", { name: "Details", exact: true }).first());
  await page.getByTestId("cause-status").waitFor();
  assert.match(await page.getByRole("heading", { level: 1 }).innerText(), function_of_cause());
  assert.ok(clicks() <= 3, `${clicks()} clicks`);
  await done();
});

test("the verdict and the first cause stand on the first screen of the event", async () => {
  const { page, click, clicks, done } = await begin();
  await click(worst(page));
  await page.getByTestId("trend-verdict").getByText(world.worse.build).first().waitFor();
  const first = page
    .getByRole("region", { name: "Causes of the delays" })
    .locator(".panel-head, .cause, .notice")
    .first();
  await first.waitFor();
  const box = await first.boundingBox();
  assert.ok(box.y + box.height < 900, `the causes begin at ${box.y}`);
  assert.equal(clicks(), 1);
  await done();
});

test("since when and since which build: one click", async () => {
  const { page, click, clicks, done } = await begin();
  await click(worst(page));
  await page
    .getByTestId("trend-verdict")
    .getByText(/Slower since/)
    .waitFor();
  await page.getByTestId("changes").getByText(world.worse.build).first().waitFor();
  assert.equal(clicks(), 1);
  await done();
});

test("why was this one slow: a typical delay and its sentence, in one click", async () => {
  const { page, click, clicks, done } = await begin();
  await click(card(page).getByRole("link", { name: "Typical delay" }));
  await page.getByRole("heading", { name: new RegExp(`^${world.worse.event} took `) }).waitFor();
  const cause = page.getByRole("region", { name: "Cause", exact: true });
  await cause
    .getByText(/[0-9]+ %/)
    .first()
    .waitFor();
  assert.match(
    await cause.innerText(),
    new RegExp(`(Waited|Computed) .* \\([0-9]+ %\\) .*(${world.worse.causes.join("|")})`),
  );
  await page.getByRole("region", { name: "Flame graph" }).getByTestId("flame-readout").waitFor();
  // The machine is at the end, closed.
  await page.getByTestId("surroundings").waitFor({ state: "hidden" });
  assert.equal(clicks(), 1);
  await done();
});

test("is B better than A: one click, with the change's own sets", async () => {
  const { page, click, clicks, done } = await begin();
  await click(card(page).getByRole("link", { name: /^Compare / }));
  assert.match(
    await page.getByTestId("set-verdict").innerText(),
    /^In B the p\d+ is .* longer.* than in A\.$/,
  );
  assert.equal(clicks(), 1);
  await done();
});

test("any two sets of an event: four clicks", async () => {
  const { page, click, clicks, done } = await begin();
  await click(worst(page));
  await click(page.getByRole("link", { name: /^Compare .* with / }));
  const b = page.getByRole("form", { name: "Set B" });
  await click(b.getByRole("button", { name: /^Host: / }));
  await click(b.getByRole("dialog", { name: "Host" }).getByRole("checkbox").first());
  await click(b.getByRole("button", { name: "Done" }));
  await page.getByTestId("set-verdict").waitFor();
  assert.ok(clicks() <= 5);
  await done();
});

test("what got worse, since when and because of what: no click", async () => {
  const { page, clicks, done } = await begin();
  assert.match(
    await card(page).getByTestId("regression").innerText(),
    new RegExp(` → .* since .*, build ${world.worse.build}`),
  );
  assert.match(await card(page).getByTestId("regression-cause").innerText(), any_cause());
  assert.equal(clicks(), 0);
  await done();
});

test("where: one click", async () => {
  const { page, click, clicks, done } = await begin();
  await click(worst(page));
  const where = page.getByRole("region", { name: "Where it changed" });
  assert.match(
    await where.getByTestId("where").innerText(),
    /the only host|of \d+ hosts|all \d+ hosts/,
  );
  assert.ok((await where.getByRole("rowheader").count()) >= 1);
  assert.equal(clicks(), 1);
  await done();
});

test("who should fix it: the cause's owner, build and hosts in one click", async () => {
  const { page, click, clicks, done } = await begin();
  await click(card(page).getByTestId("regression-cause").getByRole("link"));
  await page.getByTestId("cause-status").waitFor();
  assert.match(await page.getByRole("heading", { level: 1 }).innerText(), any_cause());
  await page
    .getByRole("region", { name: "Builds", exact: true })
    .getByRole("rowheader")
    .first()
    .waitFor();
  await page
    .getByRole("region", { name: "Hosts", exact: true })
    .getByRole("rowheader")
    .first()
    .waitFor();
  await page.getByLabel("Owner").waitFor();
  assert.equal(clicks(), 1);
  await done();
});

test("tell me: a rule's form, filled in for the event, is one click away", async () => {
  const { page, click, clicks, done } = await begin();
  await click(card(page).getByRole("link", { name: "Alert me" }));
  const form = page.getByRole("form", { name: "Create rule" });
  await form.waitFor();
  await page.waitForFunction(
    (event) => document.querySelector('select[name="event"]')?.value === event,
    world.worse.event,
  );
  assert.equal(await form.getByLabel("Condition").inputValue(), "got_worse");
  assert.equal(
    await form.getByLabel("Name", { exact: true }).inputValue(),
    `${world.worse.event} got worse`,
  );
  assert.equal(clicks(), 1);
  await done();
});

test("get it out: runs as CSV in two clicks, traces and other formats in three", async () => {
  const { page, click, clicks, done } = await begin();
  await click(worst(page));
  let coming = page.waitForEvent("download");
  await click(
    page.getByRole("region", { name: "Runs", exact: true }).getByRole("link", { name: "CSV" }),
  );
  await coming;
  assert.equal(clicks(), 2);
  await page.goto(`${world.url}/event/${encodeURIComponent(world.worse.event)}`);
  await click(page.getByRole("link", { name: "Open a typical delay" }).first());
  await page
    .getByRole("region", { name: "Export for other tools" })
    .getByRole("link")
    .first()
    .waitFor();
  coming = page.waitForEvent("download");
  await click(page.getByRole("link", { name: "Trace (.pftrace)" }));
  await coming;
  await done();
});
