// Shared by browser tests: the browser, a signed-in page, screenshots, and the content of the
// server under test.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const packages = createRequire(join(process.env.LAGTRAP_WEB_BUILD, "package.json"));
export const world = JSON.parse(readFileSync(process.env.LAGTRAP_WEB_WORLD, "utf8"));
assert.ok(world.url && world.accounts, "the world names neither a server nor accounts");

let browser;
export async function openBrowser() {
  const { chromium } = packages("playwright-core");
  // The browser's sandbox needs namespaces that root in a container does not have; the pages are
  // our own.
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  // Software rendering without the process that emulates a GPU takes a fifth of the time and shows
  // the same.
  browser ??= await chromium.launch({
    executablePath: findBrowser(),
    args: ["--disable-gpu", "--disable-software-rasterizer", ...sandbox],
  });
  return browser;
}
export async function closeBrowser() {
  await browser?.close();
}
function findBrowser() {
  const name = process.env.LAGTRAP_CHROMIUM ?? "chromium-headless-shell";
  if (name.includes("/")) return name;
  for (const folder of process.env.PATH.split(":")) {
    const path = join(folder, name);
    try {
      readFileSync(path, { flag: "r" });
      return path;
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not in the PATH`);
}

// Sessions of the accounts that the world names, reused because signing in is deliberately slow.
const sessions = new Map();

async function signIn(context, account) {
  if (sessions.has(account)) return context.addCookies(sessions.get(account));
  const made = await context.request.post(`${world.url}/api/v1/session`, {
    data: world.accounts[account],
  });
  assert.equal(made.status(), 204, await made.text());
  sessions.set(account, await context.cookies());
}

// A page with its own cookies, signed in; `new_session` gives it a separate session. A script error
// or a violation of the content security policy fails the test when it calls `done`.
export async function openPage({
  account = "admin",
  new_session = false,
  colours = "light",
  width = 1440,
  height = 900,
  zone,
} = {}) {
  const context = await (
    await openBrowser()
  ).newContext({
    viewport: { width, height },
    colorScheme: colours,
    reducedMotion: "reduce",
    timezoneId: zone,
    ignoreHTTPSErrors: world.own_certificate === true,
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`thrown: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/i.test(message.text()))
      problems.push(message.text());
  });
  page.on("dialog", (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  if (new_session) sessions.delete(account);
  if (account !== null) await signIn(context, account);
  return {
    page,
    context,
    problems,
    go: (path) => page.goto(world.url + path),
    done: async () => {
      // Or a request that a test answers itself fails after the test, if the page has just repeated
      // it.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
      assert.deepEqual(problems, []);
    },
  };
}

export async function keep(page, name, options = {}) {
  const folder = process.env.LAGTRAP_WEB_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), ...options });
}

export const eventPath = (name) => `/event/${encodeURIComponent(name)}`;
export const delayPath = (delay) => `/bundle/${delay.bundle}/${delay.number}`;
// Compares all runs of an event with those of its host.
export const comparePath = ({ name, host }) =>
  `/compare?${new URLSearchParams({ event: name, a: "", b: `host=${host}` })}`;

export function parameter(page, name) {
  return new URL(page.url()).searchParams.get(name);
}

// Opens the choice of hosts (builds, units) within `scope`, ticks or unticks each of `names`, and
// closes it.
export async function toggleNames(scope, label, ...names) {
  await scope.getByRole("button", { name: `${label}: ` }).click();
  const panel = scope.getByRole("dialog", { name: label });
  for (const name of names) {
    const box = panel.getByRole("checkbox", { name, exact: true });
    const before = await box.isChecked();
    await box.click();
    await panel.getByRole("checkbox", { name, exact: true, checked: !before }).waitFor();
  }
  await panel.getByRole("button", { name: "Done" }).click();
}
export const chosenNames = (scope, label) =>
  scope.getByRole("button", { name: `${label}: ` }).innerText();

// Expects that axe finds nothing wrong with the page as it is.
export async function checkAxe(page) {
  // Content that is reloading is pale.
  await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null);
  await page.evaluate(readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"] }),
  );
  assert.deepEqual(
    violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`,
    ),
    [],
  );
}
