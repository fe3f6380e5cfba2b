import "./page/dom"; // the clock and the time zone
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  baseName,
  formatAge,
  formatBytes,
  formatCount,
  formatDifference,
  formatDuration,
  formatFactor,
  formatMoment,
  formatShare,
  formatTime,
  frameName,
  millisecondsOf,
  plural,
  shortId,
} from "../src/format";
import { ago, day_s, hour_s, start_ms } from "./page/clock";
import { chooseUtc, inUtc, parseZoned, zoneName, zoneOffset } from "../src/zone";
import { localInput } from "../src/filter_bar";

function each<Value>(write: (value: Value) => string, cases: [Value, string][]): void {
  for (const [value, text] of cases) assert.equal(write(value), text, String(value));
}

test("durations change their unit and digits at round values", () => {
  each(formatDuration, [
    [0.4, "0 ns"],
    [1, "1 ns"],
    [999.4, "999 ns"],
    [999.5, "1 µs"],
    [9994, "9.99 µs"],
    [9995, "10 µs"],
    [99940, "99.9 µs"],
    [99950, "100 µs"],
    [999499, "999 µs"],
    [999500, "1 ms"],
    [1.1e6, "1.1 ms"],
    [10.05e6, "10.1 ms"],
    [999.5e6, "1 s"],
    [59.99e9, "60 s"],
    [60e9, "1 min 0 s"],
    [3599.4e9, "59 min 59 s"],
    [3599.5e9, "1 h 0 min"],
    [90061e9, "25 h 1 min"],
    [-60e9, "−1 min 0 s"],
    [-3725e9, "−1 h 2 min"],
    [-850, "−850 ns"],
  ]);
  each(formatDifference, [
    [1, "+1 ns"],
    [-1, "−1 ns"],
    [0, "0"],
  ]);
});

test("sizes", () => {
  each(formatBytes, [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [1024 ** 2 - 1, "1024 KiB"],
    [1024 ** 2, "1 MiB"],
    [1024 ** 3, "1 GiB"],
    [1024 ** 4, "1 TiB"],
    [5000 * 1024 ** 4, "5000 TiB"],
  ]);
});

test("shares", () => {
  each(formatShare, [
    [0, "0 %"],
    [0.00099, "<0.1 %"],
    [0.001, "0.1 %"],
    [0.5, "50.0 %"],
    [0.999, "99.9 %"],
    [0.9991, ">99.9 %"],
    [1, "100 %"],
    [1.5, "150 %"],
  ]);
});

test("factors", () => {
  each(formatFactor, [
    [1, "±0 %"],
    [1.004, "±0 %"],
    [1.006, "+1 %"],
    [0.994, "−1 %"],
    [0.5, "−50 %"],
    [1.99, "+99 %"],
    [2, "×2"],
    [2.58, "×2.58"],
    [123.4, "×123"],
  ]);
});

test("counts and words", () => {
  each(formatCount, [
    [999, "999"],
    [1234567, "1,234,567"],
  ]);
  assert.equal(plural(0, "run"), "0 runs");
  assert.equal(plural(1, "run"), "1 run");
  assert.equal(plural(1234, "match", "matches"), "1,234 matches");
});

test("ages", () => {
  const age = (seconds: number) => formatAge(ago(seconds), start_ms);
  each(age, [
    [-1, "2026-11-24 13:34:57"],
    [0, "just now"],
    [59.4, "just now"],
    [59.5, "1 minute ago"],
    [119, "1 minute ago"],
    [120, "2 minutes ago"],
    [hour_s - 1, "59 minutes ago"],
    [hour_s, "1 hour ago"],
    [day_s - 1, "23 hours ago"],
    [day_s, "1 day ago"],
    [400 * day_s, "400 days ago"],
  ]);
});

test("times, in the zone and in UTC, in winter and in summer", () => {
  const winter = "1795523696012345678";
  const summer = String(BigInt(Date.UTC(2026, 6, 1, 23, 5, 9)) * 1000000n);
  assert.equal(zoneName(), "Europe/Vienna");
  assert.equal(formatTime(winter), "2026-11-24 13:34:56");
  assert.equal(formatTime(winter, true), "2026-11-24 13:34:56.012");
  assert.equal(formatTime(summer), "2026-07-02 01:05:09");
  assert.equal(zoneOffset(start_ms), 3600e3);
  assert.equal(localInput(start_ms), "2026-11-24T13:34");
  assert.equal(localInput(undefined), "");
  assert.equal(parseZoned("2026-11-24T13:34"), Date.UTC(2026, 10, 24, 12, 34));
  chooseUtc(true);
  assert.deepEqual([inUtc(), zoneName(), zoneOffset(start_ms)], [true, "UTC", 0]);
  assert.equal(formatTime(summer), "2026-07-01 23:05:09");
  assert.equal(parseZoned("2026-11-24T13:34"), Date.UTC(2026, 10, 24, 13, 34));
  assert.ok(Number.isNaN(parseZoned("")));
  chooseUtc(false);
  assert.ok(Number.isNaN(parseZoned("")));
  assert.equal(formatTime("99999999999999999999999"), "at an unknown time");
});

test("moments name the month, and the year if it is another", () => {
  for (const [month, name] of [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
  ].entries()) {
    const moment = `${BigInt(Date.UTC(2026, month, 5, 12, 0)) * 1000000n}`;
    assert.match(formatMoment(moment), new RegExp(`^5 ${name} 1[34]:00$`));
  }
  assert.equal(formatMoment(`${BigInt(Date.UTC(2025, 11, 31)) * 1000000n}`), "31 Dec 2025 01:00");
});

test("ids, paths and frames", () => {
  assert.equal(shortId("b".repeat(14)), "b".repeat(14));
  assert.equal(shortId("b".repeat(15)), "b".repeat(12));
  assert.equal(baseName("/usr/bin/shop"), "shop");
  assert.equal(baseName("shop"), "shop");
  assert.equal(baseName("/usr/bin/"), "/usr/bin/");
  assert.equal(frameName({ function: "f", module: "/m", offset: "16" }), "f");
  assert.equal(frameName({ function: "", module: "/lib/m", offset: "0" }), "m");
  assert.equal(frameName({ function: "", module: "/lib/m" }), "m");
  assert.equal(frameName({ function: "", module: "", offset: "16" }), "unknown code+0x10");
  assert.equal(millisecondsOf("1999999"), 1);
});

test("nanoseconds are rounded", () => {
  assert.deepEqual([formatDuration(1.6), formatDuration(-1.4)], ["2 ns", "−1 ns"]);
});
