// Runs the unit tests of the pages with Node's test runner:
// node tests/run.mjs BUILD_FOLDER [FILE...]
// The tests are TypeScript; esbuild from the build folder compiles them.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const build_folder = resolve(process.argv[2] ?? join(here, ".."));
const esbuild = createRequire(join(build_folder, "package.json"))("esbuild");
const wanted = process.argv.slice(3);
const tests = readdirSync(here).filter(
  (name) => name.endsWith("_test.ts") && (wanted.length === 0 || wanted.includes(name)),
);
if (tests.length === 0) throw new Error("there are no tests");
const out = join(build_folder, "unit-tests");
rmSync(out, { recursive: true, force: true });
await esbuild.build({
  entryPoints: tests.map((name) => join(here, name)),
  bundle: true,
  platform: "node",
  format: "esm",
  outdir: out,
  outExtension: { ".js": ".mjs" },
  nodePaths: [join(build_folder, "node_modules")],
  jsx: "automatic",
  jsxImportSource: "preact",
  external: ["happy-dom"], // large, and found in the build folder
  logLevel: "warning",
});
process.env.LAGTRAP_WEB_EXPECTED = join(here, "expected");
const compiled = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
process.exit(
  spawnSync(process.execPath, ["--test", ...compiled], { stdio: "inherit" }).status ?? 1,
);
