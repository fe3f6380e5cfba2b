import assert from "node:assert/strict";
import { test } from "node:test";
import { furthestAhead } from "../src/clock_ahead";

test("the event that is furthest ahead is named, minutes are tolerated", () => {
  const at = (event: string, minutes: number) => ({
    event,
    last_ns: `${1000 * 60e9 + minutes * 60e9}`,
  });
  const now_ms = 1000 * 60e3;
  assert.deepEqual(furthestAhead([at("a", 10), at("b", 210), at("c", -5)], now_ms), {
    event: "b",
    ahead_ns: 210 * 60e9,
  });
  assert.equal(furthestAhead([at("b", 210), at("a", 10)], now_ms)?.event, "b");
  assert.equal(furthestAhead([at("a", 5), at("c", -5)], now_ms), null);
  assert.equal(furthestAhead([], now_ms), null);
});
