// The machine around a delay: rows, wakers, zoom, search, without a picture, and on a phone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { delayPath, keep, openPage, parameter, world } from "./support.mjs";

const canvas = (page) => page.locator(".machine canvas");
const told = (page) => page.getByTestId("machine-readout");
const rows = (page) => page.getByRole("application", { name: /^Timeline of the machine/ });
async function pixels(page) {
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  return canvas(page).evaluate((element) => element.toDataURL());
}
async function open(page, go) {
  await go(delayPath(world.delay));
  await page.getByRole("link", { name: "All threads and CPUs of the machine" }).click();
  await canvas(page).waitFor();
}
// Moves down to the delay's own thread, the first row of a thread.
async function toOwnThread(page) {
  await rows(page).focus();
  for (let step = 0; step < 30; ++step) {
    await page.keyboard.press("ArrowDown");
    if (/^.*\(\d+\): /.test(await told(page).innerText())) return;
  }
  assert.fail(await told(page).innerText());
}

test("from the delay to its thread and along its intervals, with the keyboard alone", async () => {
  const { page, go, done } = await openPage();
  await open(page, go);
  await toOwnThread(page);
  const stretches = new Set([await told(page).innerText()]);
  for (let step = 0; step < 100 && stretches.size < 3; ++step) {
    await page.keyboard.press(step < 50 ? "ArrowRight" : "ArrowLeft");
    stretches.add(await told(page).innerText());
  }
  assert.ok(stretches.size >= 3, [...stretches].join("; "));
  await done();
});

test("on to who woke the delay's thread, with the keyboard alone", async () => {
  const { page, go, done } = await openPage();
  await open(page, go);
  await toOwnThread(page);
  // From the middle of the delay to its end, then back to its begin.
  let wait = await told(page).innerText();
  for (let step = 0; step < 150 && !/blocked: .+, woken by /.test(wait); ++step) {
    await page.keyboard.press(step < 50 ? "ArrowRight" : "ArrowLeft");
    wait = await told(page).innerText();
  }
  assert.match(wait, /blocked: .+, woken by /);
  const waker = wait.split("woken by ")[1];
  const stretch = page.getByTestId("machine-chosen");
  await stretch.locator("ol.stack li").first().waitFor();
  await keep(page, "machine");
  await rows(page).focus();
  await page.keyboard.press("w");
  await page.waitForFunction(
    (name) => document.querySelector("[data-testid=machine-readout]").innerText.startsWith(name),
    waker,
  );
  await done();
});

test("wheel, keys, buttons and a drag look closer; the address keeps the part", async () => {
  const { page, go, done } = await openPage();
  await open(page, go);
  await page.waitForURL(/from=.*to=/);
  const span = () => Number(parameter(page, "to")) - Number(parameter(page, "from"));
  const whole = span();
  const narrower = async (what, than) => {
    await page
      .waitForFunction((limit) => {
        const query = new URLSearchParams(window.location.search);
        return Number(query.get("to")) - Number(query.get("from")) < limit;
      }, than)
      .catch(() => assert.fail(what));
    return span();
  };
  const picture = await pixels(page);
  const box = await canvas(page).boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -120);
  await page.keyboard.up("Control");
  let now = await narrower("wheel", whole);
  await rows(page).focus();
  await page.keyboard.press("+");
  now = await narrower("key", now);
  await page.getByRole("button", { name: "Zoom in" }).click();
  now = await narrower("button", now);
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.5, { steps: 4 });
  await page.mouse.up();
  await narrower("drag", now);
  assert.notEqual(await pixels(page), picture);
  const address = page.url();
  await page.goto(address);
  await canvas(page).waitFor();
  assert.equal(page.url(), address);
  await page.getByRole("button", { name: "Whole delay" }).click();
  await page.waitForFunction((wanted) => {
    const query = new URLSearchParams(window.location.search);
    return Math.abs(Number(query.get("to")) - Number(query.get("from")) - wanted) <= 2;
  }, whole);
  await done();
});

test("threads and functions are found", async () => {
  const { page, go, done } = await openPage();
  await open(page, go);
  await page.keyboard.press("/");
  const process = (
    await page
      .getByTestId("machine-table")
      .locator("tbody tr")
      .first()
      .locator("td")
      .last()
      .textContent()
  ).split(" (")[0];
  await page.keyboard.type(process);
  await page.waitForFunction(() =>
    /^[1-9]\d* match/.test(document.querySelector("[data-testid=machine-found]").innerText),
  );
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    /at 1$/.test(document.querySelector("[data-testid=machine-found]").innerText),
  );
  assert.match(await told(page).innerText(), new RegExp(process.slice(0, 4)));
  await page.waitForURL(/search=/);
  await page.locator("[name=machine-search]").fill("no such name at all");
  await page.waitForFunction(
    () => document.querySelector("[data-testid=machine-found]").innerText === "0 matches",
  );
  await done();
});

test("without a picture there is a table; on a phone all fits", async () => {
  const { page, go, done } = await openPage({ width: 390, height: 844, colours: "dark" });
  await open(page, go);
  await page.getByText("Show threads as a table").click();
  assert.ok((await page.getByTestId("machine-table").locator("tbody tr").count()) >= 1);
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(over <= 0, `${over} pixels too wide`);
  const before = await pixels(page);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Later" }).click();
  assert.notEqual(await pixels(page), before);
  await keep(page, "machine-phone", { fullPage: true });
  await done();
});
