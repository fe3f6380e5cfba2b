// Whether the description of the API is valid OpenAPI, by two programs of others: node tests/api_description.mjs BUILD_FOLDER FILE
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const [build_folder, file] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(build_folder, "package.json"));
const parser = require("@apidevtools/swagger-parser");
try {
  await (parser.default ?? parser).validate(file);
} catch (error) {
  console.error(`swagger-parser: ${error.message}`);
  process.exit(1);
}
const redocly = join(dirname(require.resolve("@redocly/cli/package.json")), "bin", "cli.js");
const linted = spawnSync(process.execPath, [redocly, "lint", file], {
  stdio: "inherit", cwd: build_folder, env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
});
process.exit(linted.status ?? 1);
