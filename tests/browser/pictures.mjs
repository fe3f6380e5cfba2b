// Takes the documentation's pictures of a delay's page and of the machine around the delay, and
// pictures of pages in three sizes and both colours to look at. Started by tests/pictures.py.
import { cpus } from "node:os";
import { closeBrowser, delayPath, eventPath, keep, openPage, world } from "./support.mjs";

const settled = (page) =>
  page.waitForFunction(() => document.querySelector('[aria-busy="true"], main .loading') === null);

const { page, go, done } = await openPage({ account: null, width: 1100, height: 745 });
await go(delayPath(world.delay));
await page.locator("#flame canvas.flame-canvas").waitFor();
await settled(page);
await keep(page, "delay");
await page.getByRole("link", { name: "All threads and CPUs of the machine" }).click();
const timeline = page.locator(".machine canvas");
await timeline.waitFor();
await settled(page);
// Tall enough for the rows that come first: CPUs, the delay's thread, and the busiest others. The
// mouse is on the delay's thread, and the line above says what it did.
await page.setViewportSize({ width: 1100, height: 483 });
const [axis, row] = [20, 20];
await timeline.hover({ position: { x: 600, y: axis + (1 + cpus().length) * row + row / 2 } });
await settled(page);
await keep(page, "timeline");
const { events } = await (await page.request.get(`${world.url}/api/v1/events?limit=1`)).json();
await done();

process.env.LAGTRAP_WEB_SCREENSHOTS = process.env.LAGTRAP_WEB_SIZES;
const pages = {
  overview: "/",
  event: eventPath(events[0].event),
  delay: delayPath(world.delay),
  machine: `${delayPath(world.delay)}/machine`,
  causes: "/causes",
};
for (const width of [1440, 800, 390]) {
  for (const colours of ["light", "dark"]) {
    const look = await openPage({ account: null, width, height: 900, colours });
    for (const [name, path] of Object.entries(pages)) {
      await look.go(path);
      await look.page.getByRole("heading", { level: 1 }).waitFor();
      await settled(look.page);
      await keep(look.page, `${name}-${width}-${colours}`, { fullPage: true });
    }
    await look.done();
  }
}
await closeBrowser();
