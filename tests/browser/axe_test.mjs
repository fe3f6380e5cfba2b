// Checks every page with axe and for horizontal overflow: on a desktop, and on a phone in dark
// colours.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, delayPath, eventPath, keep, openPage, world } from "./support.mjs";

async function pagesOf(context) {
  const ask = async (path) => (await context.request.get(`${world.url}/api/v1/${path}`)).json();
  const event = encodeURIComponent(world.event.name);
  const { runs } = await ask(`events/${event}/runs?limit=1`);
  const { causes } = await ask("causes?limit=1");
  return {
    overview: "/", events: "/events", event: eventPath(world.event.name), "event of delays": eventPath(world.delays_event), "unknown event": "/event/unheard%20of",
    causes: "/causes", cause: `/cause/${causes[0].id}`, run: `/run/${runs[0].id}`, bundles: "/bundles", delay: delayPath(world.delay), machine: `${delayPath(world.delay)}/machine`, "bad bundle": `/bundle/${world.bad_bundle}`,
    compare: `/compare?${new URLSearchParams({ event: world.event.name, a: "", b: `host=${world.event.host}` })}`,
    account: "/account", accounts: "/accounts", audit: "/audit", rules: "/rules", objects: "/objects", watches: "/watches", watch: `/watch/${world.watch.id}`, "no page": "/nowhere/at/all",
  };
}

for (const [name, options] of Object.entries({ desk: {}, phone: { width: 390, height: 844, colours: "dark" } })) {
  test(`no page has findings, and none is wider than the screen: ${name}`, async () => {
    const { page, context, go, done } = await openPage(options);
    const findings = [];
    for (const [what, path] of Object.entries(await pagesOf(context))) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForFunction(() => document.querySelector("main .loading") === null);
      await checkAxe(page).catch((error) => findings.push(`${what}: ${error.message}`));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) findings.push(`${what}: ${over} pixels too wide`);
      await keep(page, `all-${name}-${what.replaceAll(" ", "-")}`);
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
