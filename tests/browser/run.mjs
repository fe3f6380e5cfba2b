// Runs the browser tests in one process and one browser: node run.mjs [FILE...]; without a file,
// all *_test.mjs. README.md beside this file lists the settings.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.LAGTRAP_WEB_BUILD;
const browser = process.env.LAGTRAP_CHROMIUM ?? "chromium-headless-shell";

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}
if (!build || !existsSync(join(build, "node_modules")))
  skip("LAGTRAP_WEB_BUILD does not name a folder with the built pages");
if (spawnSync(browser, ["--version"]).status !== 0)
  skip(`${browser} cannot be started; ./dev setup installs it`);
if (!process.env.LAGTRAP_WEB_WORLD) {
  console.error(
    "LAGTRAP_WEB_WORLD does not name a server; tests/integration/test_server_pages.py --serve " +
      "starts one",
  );
  process.exit(2);
}

const named = process.argv.slice(2);
const files =
  named.length > 0 ? named : readdirSync(here).filter((name) => name.endsWith("_test.mjs"));
const { closeBrowser } = await import("./support.mjs");
// No test begins before all files are loaded.
let read;
const all_read = new Promise((resolve) => (read = resolve));
before(() => all_read);
after(closeBrowser);
for (const file of files) await import(join(here, file));
read();
