// The page that the server sends fills in addresses in these elements (server/web/build.mjs and
// the server).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

test("the page has what the server and the script look for", () => {
  const page = readFileSync(
    join(process.env.LAGTRAP_WEB_EXPECTED ?? "", "../../src/index.html"),
    "utf8",
  );
  for (const part of [
    "<!doctype html>",
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="lagtrap-base" content="">',
    '<meta name="lagtrap-viewer" content="">',
    '<meta name="referrer" content="same-origin">',
    '<link rel="stylesheet" href="/assets/@STYLE@">',
    '<script type="module" src="/assets/@SCRIPT@"></script>',
    '<div id="app"></div>',
    "<noscript>These pages need JavaScript.",
    "/api/v1/openapi.yaml",
  ])
    assert.ok(page.includes(part), part);
});
