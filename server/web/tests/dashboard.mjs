// Checks the example dashboard against Grafana's own types: node tests/dashboard.mjs BUILD_FOLDER
// FILE
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [build_folder, file] = process.argv.slice(2).map((path) => resolve(path));
// In the build folder, so that the packages are found.
const folder = mkdtempSync(join(build_folder, "dashboard-"));
try {
  const typed = `
import type { Dashboard } from "@grafana/schema";
// Of an enumeration, the texts that stand for it in JSON.
type Plain<T> = T extends string ? \`\${T}\` : T extends number | boolean | null | undefined ? T
  : T extends (infer E)[] ? Plain<E>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
export const dashboard: Plain<Dashboard> = ${readFileSync(file, "utf8")};
`;
  writeFileSync(join(folder, "dashboard.ts"), typed);
  const checked = spawnSync(
    process.execPath,
    [
      join(build_folder, "node_modules/typescript/bin/tsc"),
      "--noEmit",
      "--skipLibCheck",
      "--strict",
      "--moduleResolution",
      "bundler",
      "--module",
      "esnext",
      join(folder, "dashboard.ts"),
    ],
    { stdio: "inherit" },
  );
  process.exitCode = checked.status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
