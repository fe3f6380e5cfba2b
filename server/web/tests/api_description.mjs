// Checks with two independent tools that the API description is valid OpenAPI: node
// tests/api_description.mjs BUILD_FOLDER FILE
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [build_folder, file] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(build_folder, "package.json"));
const parser = require("@apidevtools/swagger-parser");
try {
  await (parser.default ?? parser).validate(file);
} catch (error) {
  console.error(`swagger-parser: ${error.message}`);
  process.exit(1);
}
const redocly = require("@redocly/openapi-core");
const problems = await redocly.lint({
  ref: file,
  config: await redocly.createConfig({ extends: ["recommended"] }),
});
const totals = redocly.getTotals(problems);
redocly.formatProblems(problems, { format: "codeframe", totals, version: redocly.version ?? "" });
process.exit(totals.errors === 0 ? 0 : 1);
