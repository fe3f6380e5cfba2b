// Runs the unit tests of the pages with Node's test runner:
// node tests/run.mjs BUILD_FOLDER [FILE...]
// The tests are TypeScript; esbuild from the build folder compiles them.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
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

async function compile(entries) {
  await esbuild.build({
    ...entries,
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    nodePaths: [join(build_folder, "node_modules")],
    jsx: "automatic",
    jsxImportSource: "preact",
    external: ["happy-dom"], // large, and found in the build folder
    logLevel: "warning",
  });
}

// Tests that open whole pages share two processes, because loading a document takes longer than
// most of them.
const opens_pages = (name) => readFileSync(join(here, name), "utf8").includes('"./page/page"');
const alone = tests.filter((name) => !opens_pages(name));
const compiled = alone.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
await compile({ entryPoints: alone.map((name) => join(here, name)), outdir: out });
for (const half of [0, 1]) {
  const members = tests.filter(opens_pages).filter((_, index) => index % 2 === half);
  if (members.length === 0) continue;
  const contents = members.map((name) => `import "./${name}";`).join("\n");
  const outfile = join(out, `pages_${half + 1}.mjs`);
  await compile({ stdin: { contents, resolveDir: here }, outfile });
  compiled.push(outfile);
}
process.env.LAGTRAP_WEB_EXPECTED = join(here, "expected");
process.exit(
  spawnSync(process.execPath, ["--test", ...compiled], { stdio: "inherit" }).status ?? 1,
);
