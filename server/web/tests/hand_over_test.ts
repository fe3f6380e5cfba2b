import assert from "node:assert/strict";
import { test } from "node:test";
import { escaped, fileName } from "../src/hand_over";

test("a saved page is named after its title, and markup in names stays text", () => {
  assert.equal(
    fileName("checkout took 124 ms on fra-web-01"),
    "checkout-took-124-ms-on-fra-web-01.html",
  );
  assert.equal(fileName("../../etc/passwd"), "etc-passwd.html");
  assert.equal(fileName("???"), "lagtrap.html");
  assert.equal(fileName("x".repeat(200)), `${"x".repeat(80)}.html`);
  assert.equal(escaped('<script>"&'), "&lt;script&gt;&quot;&amp;");
});
