// Runs the browser tests: node run.mjs [FILE...]; without a file, all whose name ends with _test.mjs. README.md beside this file says what can be set.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.LAGTRAP_WEB_BUILD;
const browser = process.env.LAGTRAP_CHROMIUM ?? "chromium-headless-shell";

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}
if (!build || !existsSync(join(build, "node_modules"))) skip("LAGTRAP_WEB_BUILD does not name a folder with the built pages");
if (spawnSync(browser, ["--version"]).status !== 0) skip(`${browser} cannot be started; ./dev setup installs it`);

const folder = mkdtempSync(join(tmpdir(), "lagtrap-browser-"));
let server;
let world = process.env.LAGTRAP_WEB_WORLD;
if (!world) {
  world = join(folder, "world.json");
  server = spawn(process.execPath, [join(here, "../../server/web/development/serve.mjs"), "--pages", join(build, "dist"), "--world", world], { stdio: ["ignore", "pipe", "inherit"] });
  // Its first line comes once it listens and the file is written.
  await new Promise((resolve, reject) => {
    server.stdout.once("data", resolve);
    server.once("exit", (code) => reject(new Error(`the development server ended with ${code}`)));
  });
}
JSON.parse(readFileSync(world, "utf8"));
const named = process.argv.slice(2);
const tests = (named.length > 0 ? named : readdirSync(here).filter((name) => name.endsWith("_test.mjs"))).map((name) => join(here, name));
const child = spawn(process.execPath, ["--test", "--test-concurrency=1", ...tests], {
  stdio: "inherit", env: { ...process.env, LAGTRAP_WEB_WORLD: world, LAGTRAP_CHROMIUM: browser },
});
child.on("exit", (code) => {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
  process.exit(code ?? 1);
});
