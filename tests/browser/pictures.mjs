// Takes the documentation's pictures of a delay's page and of the machine around the delay. Started
// by tests/pictures.py.
import { closeBrowser, delayPath, keep, openPage, world } from "./support.mjs";

const { page, go, done } = await openPage({ account: null, width: 1100, height: 760 });
const settled = () => page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null);

await go(delayPath(world.delay));
await page.locator("#flame canvas.flame-canvas").waitFor();
await settled();
await keep(page, "delay");
await page.getByRole("link", { name: "All threads and CPUs of the machine" }).click();
await page.locator(".machine canvas").waitFor();
await settled();
await keep(page, "timeline");
await done();
await closeBrowser();
