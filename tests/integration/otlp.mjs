// Prints an ExportTraceServiceRequest as JSON, decoded by OpenTelemetry's own generated code: node
// otlp.mjs WEB_BUILD FILE, where WEB_BUILD's node_modules has @opentelemetry/otlp-transformer.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const [build, file] = process.argv.slice(2);
const packages = createRequire(join(resolve(build), "package.json"));
const folder = dirname(packages.resolve("@opentelemetry/otlp-transformer/package.json"));
const { opentelemetry } = packages(join(folder, "build/src/generated/root.js"));
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;
const request = ExportTraceServiceRequest.decode(readFileSync(file));
console.log(
  JSON.stringify(
    ExportTraceServiceRequest.toObject(request, { longs: String, enums: String, bytes: String }),
  ),
);
