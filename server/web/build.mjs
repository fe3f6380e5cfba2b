// Builds the pages: node build.mjs --out FOLDER [--embed FILE.cpp] [--limit BYTES]
// Expects packages in node_modules beside this file; the CMake build copies the sources into its
// own folder first.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { embed } from "./embed.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: { out: { type: "string" }, embed: { type: "string" }, limit: { type: "string" } },
});
const out = values.out ?? join(here, "dist");

const result = await build({
  entryPoints: [
    { in: join(here, "src/main.tsx"), out: "app" },
    { in: join(here, "src/style.css"), out: "style" },
  ],
  bundle: true,
  minify: true,
  write: false,
  outdir: out,
  entryNames: "[name]-[hash]",
  format: "esm",
  target: ["chrome109", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});

const files = result.outputFiles.map((file) => ({
  path: `/assets/${file.path.split("/").at(-1)}`,
  bytes: Buffer.from(file.contents),
}));
const nameOf = (suffix) =>
  files.find((file) => file.path.endsWith(suffix)).path.slice("/assets/".length);
const page = (await readFile(join(here, "src/index.html"), "utf8"))
  .replace("@STYLE@", nameOf(".css"))
  .replace("@SCRIPT@", nameOf(".js"));
files.push({ path: "/index.html", bytes: Buffer.from(page) });
files.push({ path: "/assets/licences.txt", bytes: Buffer.from(await licences(["preact"])) });

for (const file of files) {
  file.brotli = brotliCompressSync(file.bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: file.bytes.length,
    },
  });
  file.gzip = gzipSync(file.bytes, { level: 9, memLevel: 9 });
  file.etag = createHash("sha256").update(file.bytes).digest("hex").slice(0, 32);
}

await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });
for (const file of files) await writeFile(join(out, file.path), file.bytes);
if (values.embed) await writeFile(values.embed, embed(files));

const weight = files.reduce((sum, file) => sum + file.gzip.length, 0);
for (const file of files)
  console.log(
    `${file.path}: ${file.bytes.length} bytes, gzip ${file.gzip.length}, ` +
      `brotli ${file.brotli.length}`,
  );
console.log(
  `all: gzip ${weight}, brotli ${files.reduce((sum, file) => sum + file.brotli.length, 0)}`,
);
if (values.limit && weight > Number(values.limit)) {
  console.error(
    `the pages weigh ${weight} bytes compressed, more than the ${values.limit} that are allowed`,
  );
  process.exit(1);
}

// The bundle contains these packages, and their licences require passing on the licence text.
async function licences(names) {
  const texts = [];
  for (const name of names) {
    const folder = join(here, "node_modules", name);
    for (const file of ["LICENSE", "LICENSE.md"]) {
      try {
        texts.push(`${name}\n\n${await readFile(join(folder, file), "utf8")}`);
        break;
      } catch {
        // Try the other name.
      }
    }
  }
  if (texts.length !== names.length) throw new Error("a package has no licence file");
  return texts.join("\n\n");
}
