import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle } from "./answers/delays";
import { digest } from "./answers/digests";
import { pass } from "./page/clock";
import { Expected, click, enter, open, requested, shown } from "./page/page";
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

test("each further part of the list is added to those before", async () => {
  const part = (letter: string, next: string | null) => ({
    bundles: [bundle({ digest: digest(letter) })],
    next,
  });
  await open("/bundles", {
    "/api/v1/bundles": (request: { path: string }) =>
      request.path.includes("after=2%20b")
        ? part("b", "3")
        : request.path.includes("after=3")
          ? part("c", null)
          : part("a", "2 b"),
  });
  const rows = () =>
    [...document.querySelectorAll("tbody tr a[href^='/bundle/']")].map((link) =>
      link.getAttribute("href")?.slice(8, 9),
    );
  assert.deepEqual(rows(), ["a"]);
  await click("Show more bundles");
  assert.deepEqual(rows(), ["a", "b"]);
  await click("Show more bundles");
  assert.deepEqual(rows(), ["a", "b", "c"]);
  assert.doesNotMatch(shown("main"), /Show more/);
});

test("an answer that comes late does not replace that of a newer request", async () => {
  for (const late of [{ bundles: [], next: null }, new Refusal(500, "late")]) {
    let come: (answer: unknown) => void = () => {};
    const later = new Promise((resolve) => (come = resolve));
    await open("/bundles", {
      "/api/v1/bundles": (request: { path: string }) =>
        request.path.includes("start=cold") ? { bundles: [bundle()], next: null } : later,
    });
    await enter("select[name=start]", "cold");
    assert.equal(document.querySelectorAll("tbody tr").length, 1);
    come(late);
    await pass(0);
    assert.equal(document.querySelectorAll("tbody tr").length, 1);
    assert.equal(document.querySelector("main .failure"), null);
  }
});

test("a list that could not be loaded is loaded from its begin again", async () => {
  let answer: unknown = new Refusal(500, "broken");
  await open("/bundles", { "/api/v1/bundles": () => answer });
  requested();
  answer = { bundles: [bundle()], next: null };
  await click("Try again");
  assert.deepEqual(requested(), ["GET /api/v1/bundles?limit=100"]);
  assert.equal(document.querySelectorAll("tbody tr").length, 1);
});
