import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle } from "./answers/delays";
import { digest } from "./answers/digests";
import { Expected, click, open, requested, shown } from "./page/page";
import { Refusal } from "./page/server";

const expected = new Expected("bundles_page");

test("bundles: read, waiting and unreadable", async () => {
  let further: unknown = new Refusal(500, "broken");
  await open("/bundles?host=web-1&order=x", {
    "/api/v1/bundles": (request: { path: string }) =>
      request.path.includes("after")
        ? further
        : {
            bundles: [
              bundle({ delays: 1234 }),
              bundle({ digest: digest("b"), bad_reason: "cut short", parsed: true }),
              bundle({ digest: digest("c"), parsed: false, bytes: 1023 }),
              bundle({ digest: digest("d"), parsed: false, host: "", bytes: 1024 }),
            ],
            next: "x&1",
          },
  });
  expected.is("all kinds", shown("h1", "main > [aria-busy]"));
  await click("Show more bundles");
  expected.is("more fail", shown(".failure"));
  further = { bundles: [bundle({ digest: digest("e") })], next: null };
  await click("Try again");
  assert.deepEqual(requested(), ["GET /api/v1/bundles?host=web-1&limit=100&after=x%261"]);
  assert.equal(document.querySelectorAll("tbody tr").length, 5);
  assert.equal(document.querySelector(".failure, table + p"), null);
});

test("no bundles", async () => {
  const none = { "/api/v1/bundles": { bundles: [], next: null } };
  await open("/bundles", none);
  expected.is("none at all", shown("h1", "main > [aria-busy]"));
  await open("/bundles?event=checkout", none);
  expected.is("none of an event", shown("h1", "main > [aria-busy]"));
  await open("/bundles?start=cold", none);
  expected.is("none that matches", shown("h1", "main > [aria-busy]"));
});
