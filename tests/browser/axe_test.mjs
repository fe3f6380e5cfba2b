// Checks every page with axe, for horizontal overflow and for squeezed names: on a desktop, on half
// a screen, and on a phone in dark colours. With a folder for screenshots, all sizes in both
// colours.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, comparePath, delayPath, eventPath, keep, openPage, world } from "./support.mjs";

async function pagesOf(context) {
  const ask = async (path) => (await context.request.get(`${world.url}/api/v1/${path}`)).json();
  const event = encodeURIComponent(world.event.name);
  const { runs } = await ask(`events/${event}/runs?limit=1`);
  const { causes } = await ask("causes?limit=1");
  return {
    overview: "/",
    events: "/events",
    event: eventPath(world.event.name),
    "event of delays": eventPath(world.delays_event),
    "unknown event": "/event/unheard%20of",
    causes: "/causes",
    cause: `/cause/${causes[0].id}`,
    run: `/run/${runs[0].id}`,
    bundles: "/bundles",
    delay: delayPath(world.delay),
    machine: `${delayPath(world.delay)}/machine`,
    "bad bundle": `/bundle/${world.bad_bundle}`,
    compare: comparePath(world.event),
    account: "/account",
    accounts: "/accounts",
    audit: "/audit",
    rules: "/rules",
    objects: "/objects",
    watches: "/watches",
    watch: `/watch/${world.watch.id}`,
    "no page": "/nowhere/at/all",
  };
}

// Names in tables of which each line has only a few letters.
const squeezed = () =>
  [...document.querySelectorAll("th[scope=row]")]
    .filter((cell) => cell.innerText.length > 24 && cell.checkVisibility() && cell.clientWidth < 90)
    .map((cell) => cell.innerText.slice(0, 40));

const kept = Boolean(process.env.LAGTRAP_WEB_SCREENSHOTS);
const looks = [
  ["desk", 1440, 900, "light"],
  ["half", 800, 900, "light"],
  ["phone", 390, 844, "dark"],
  ...(kept
    ? [
        ["desk", 1440, 900, "dark"],
        ["half", 800, 900, "dark"],
        ["phone", 390, 844, "light"],
      ]
    : []),
];
for (const [name, width, height, colours] of looks) {
  test(`no page has findings, and none is wider than the screen: ${name}, ${colours}`, async () => {
    const { page, context, go, done } = await openPage({ width, height, colours });
    const findings = [];
    for (const [what, path] of Object.entries(await pagesOf(context))) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForFunction(() => document.querySelector("main .loading") === null);
      await checkAxe(page).catch((error) => findings.push(`${what}: ${error.message}`));
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      if (over > 0) findings.push(`${what}: ${over} pixels too wide`);
      const narrow = await page.evaluate(squeezed);
      if (narrow.length > 0) findings.push(`${what}: squeezed: ${narrow.join(" | ")}`);
      await keep(page, `${what.replaceAll(" ", "-")}-${width}-${colours}`, { fullPage: true });
    }
    assert.deepEqual(findings, []);
    await done();
  });
}

test("the page to sign in has no findings", async () => {
  const { page, go, done } = await openPage({ account: null });
  await go("/");
  await page.getByLabel("Password").waitFor();
  await checkAxe(page);
  await done();
});
