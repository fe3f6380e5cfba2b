// Opens files in speedscope as its own command does, and prints what its sandwich view shows, as
// JSON: node speedscope.mjs WEB_BUILD SCRATCH FILE..., where WEB_BUILD's node_modules has
// speedscope and playwright-core.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";

const [build, scratch, ...files] = process.argv.slice(2);
const packages = createRequire(join(resolve(build), "package.json"));
const { chromium } = packages("playwright-core");
const release = join(
  dirname(packages.resolve("speedscope/package.json")),
  "dist/release/index.html",
);
const browser = await chromium.launch({
  executablePath: process.env.LAGTRAP_CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: [
    "--no-sandbox",
    "--use-gl=swiftshader",
    "--enable-unsafe-swiftshader",
    "--allow-file-access-from-files",
  ],
});
const seen = {};
for (const file of files) {
  const name = basename(file);
  const script = join(resolve(scratch), `${name}.js`);
  writeFileSync(
    script,
    `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ` +
      `${JSON.stringify(readFileSync(file).toString("base64"))})`,
  );
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (dialog) => {
    errors.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(`file://${release}#view=sandwich&localProfilePath=${script}`);
  try {
    await page.waitForFunction(() => document.title.endsWith(" - speedscope"));
    await page.waitForFunction(() => document.querySelectorAll("tr").length > 1);
  } catch (error) {
    errors.push(String(error));
  }
  seen[name] = {
    errors,
    title: await page.title(),
    rows: await page.evaluate(() =>
      [...document.querySelectorAll("tr")]
        .slice(1)
        .map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
    ),
  };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(seen));
