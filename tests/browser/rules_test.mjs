// Alert rules: created, tested, changed and removed on their pages.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { checkAxe, keep, openPage } from "./support.mjs";

const taken = [];
let status = 200;
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  taken.push({ id: request.headers["webhook-id"], path: request.url, body: JSON.parse(body) });
  response.writeHead(status).end();
});
const address = () => `http://127.0.0.1:${receiver.address().port}/hook`;

await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
receiver.unref();

test("a rule is made, its secret shown once, tested, changed and removed", async () => {
  const { page, go, done } = await openPage();
  await go("/");
  await page.getByRole("link", { name: "Alerts", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Alerts" }).waitFor();
  const name = `too slow ${process.pid}`;
  const form = page.getByRole("form", { name: "Create rule" });
  await form.getByLabel("Name").fill(name);
  await form.getByLabel("Condition").selectOption({ label: "The p99 of an event is too high" });
  // So slow that the server under test finds nothing; its own messages would interfere.
  await form.getByLabel("Limit (ms)").fill("300000");
  await form.getByLabel("Address").fill(address());
  await form.getByLabel("Quiet from").fill("22:00");
  await form.getByLabel("Quiet to").fill("07:00");
  assert.equal(
    await form.getByLabel("Time zone").inputValue(),
    await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone),
    "of whoever writes the rule",
  );
  await form.getByLabel("Time zone").fill("Europe/Atlantis");
  await form.getByRole("button", { name: "Create rule" }).click();
  await form.getByText(/has no time zone "Europe\/Atlantis"/).waitFor();
  await form.getByLabel("Time zone").fill("Europe/Berlin");
  await checkAxe(page);
  await form.getByRole("button", { name: "Create rule" }).click();
  const made = page.getByTestId("made-rule");
  const secret = await made.locator("code").innerText();
  assert.match(secret, /^whsec_/);
  await keep(page, "rules", { fullPage: true });
  await made.getByRole("button", { name: "I copied it" }).click();
  const row = page.getByTestId("rules").getByRole("row", { name });
  assert.match(await row.innerText(), /p99 of any event over 2 hours above 5 min 0 s/);
  await row.getByRole("link", { name }).click();
  await page.waitForURL(/\/rule\/\d+$/);
  await page.getByRole("heading", { level: 1, name }).waitFor();
  assert.equal(await page.getByLabel("Time zone").inputValue(), "Europe/Berlin");
  assert.ok(
    !(await page.locator("main").innerText()).includes(secret),
    "the secret is shown once only",
  );

  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByTestId("messages").getByText("delivered").waitFor();
  const told = taken.find((message) => message.body.headline.includes(name));
  assert.equal(told.path, "/hook");
  assert.equal(told.body.test, true);
  assert.equal(told.id, told.body.id);
  await checkAxe(page);
  await keep(page, "rule", { fullPage: true });

  status = 500;
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByTestId("messages").getByText("not delivered").waitFor();
  assert.match(await page.getByTestId("rule-state").innerText(), /not delivered.*500/);
  status = 200;

  const change = page.getByRole("form", { name: "Save" });
  assert.equal(await change.getByLabel("Limit (ms)").inputValue(), "300000");
  assert.equal(await change.getByLabel("Quiet from").inputValue(), "22:00");
  await change.getByLabel("Condition").selectOption({ label: "A host stops sending" });
  await change.getByLabel("For (minutes)").fill("45");
  await change.getByRole("checkbox", { name: "Enabled" }).uncheck();
  await change.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("rule-state").getByText("off", { exact: true }).waitFor();
  assert.match(
    await page.getByTestId("rule-state").innerText(),
    /no data from any host for 45 min/,
  );
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: `Remove ${name}` }).click();
  await page.waitForURL(/\/rules$/);
  await page.getByRole("heading", { level: 1, name: "Alerts" }).waitFor();
  assert.equal(await page.getByRole("link", { name }).count(), 0);
  await done();
});

test("what is wrong with a rule is said above its form", async () => {
  const { page, go, done } = await openPage();
  await go("/rules");
  const form = page.getByRole("form", { name: "Create rule" });
  await form.getByLabel("Name").fill("wrong");
  await form.getByLabel("Address").fill("ftp://example.org");
  await form.getByRole("button", { name: "Create rule" }).click();
  assert.match(
    await form.getByRole("alert").innerText(),
    /"address": expected an address that begins with https/,
  );
  assert.equal(await form.getByLabel("Name").inputValue(), "wrong", "what was typed stays");
  await done();
});

for (const [name, options] of Object.entries({
  dark: { colours: "dark" },
  phone: { width: 390, height: 844 },
})) {
  test(`the form of each way and condition fits, ${name}`, async () => {
    const { page, go, done } = await openPage(options);
    await go("/rules");
    const form = page.getByRole("form", { name: "Create rule" });
    for (const way of ["email", "slack", "alertmanager"])
      await form.getByLabel("Send by").selectOption(way);
    for (const condition of ["cause_came_back", "delay_share", "host_silent", "runs_lost"])
      await form.getByLabel("Condition").selectOption(condition);
    await form.getByLabel("Send by").selectOption("email");
    await checkAxe(page);
    assert.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0,
    );
    await keep(page, `rules-${name}`, { fullPage: true });
    await done();
  });
}

test("readers see no rules", async () => {
  const { page, go, done } = await openPage({ account: "reader" });
  await go("/rules");
  await page.getByText("Only admins may see alerts").waitFor();
  assert.equal(await page.getByRole("link", { name: "Alerts", exact: true }).count(), 0);
  await done();
});
