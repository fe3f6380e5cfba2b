// Choices that the browser stores, and browsers without storage.
import { dom, system } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";

const theme = () => document.documentElement.dataset.theme;

test("the stored colours are those at first, unless nobody knows them", async () => {
  const { startTheme } = await import("../src/theme");
  for (const [stored, dark, shown] of [
    ["dark", false, "dark"],
    ["light", true, "light"],
    ["system", true, "dark"],
    ["system", false, "light"],
    ["pink", true, "dark"],
    [null, true, "dark"],
    [null, false, "light"],
  ] as const) {
    if (stored === null) localStorage.removeItem("lagtrap-theme");
    else localStorage.setItem("lagtrap-theme", stored);
    system.dark = dark;
    startTheme();
    assert.equal(theme(), shown, `${stored} ${dark}`);
  }
});

test("the stored time zone is the one at first", async () => {
  localStorage.setItem("lagtrap-zone", "UTC");
  const { chooseUtc, inUtc, parseZoned, zoneName, zoneOffset } = await import("../src/zone");
  assert.deepEqual([inUtc(), zoneName(), zoneOffset(0)], [true, "UTC", 0]);
  assert.equal(parseZoned("2026-11-21T10:57"), Date.UTC(2026, 10, 21, 10, 57));
  assert.ok(Number.isNaN(parseZoned("")));
  chooseUtc(false);
  assert.deepEqual([inUtc(), zoneName(), zoneOffset(0)], [false, "Europe/Vienna", 3600e3]);
  assert.equal(localStorage.getItem("lagtrap-zone"), "local");
  assert.equal(parseZoned("2026-11-21T10:57"), Date.UTC(2026, 10, 21, 9, 57));
  assert.ok(Number.isNaN(parseZoned("")));
});

test("without storage, choices last as long as the page", async () => {
  const { startTheme } = await import("../src/theme");
  const { chooseUtc, inUtc } = await import("../src/zone");
  Object.defineProperty(dom, "localStorage", {
    configurable: true,
    get() {
      throw new Error("no storage");
    },
  });
  system.dark = true;
  startTheme();
  assert.equal(theme(), "dark");
  chooseUtc(true);
  assert.equal(inUtc(), true);
});

test("pictures are light while they are saved, and as before afterwards", async () => {
  const { inLight } = await import("../src/theme");
  const { pass } = await import("./page/clock");
  for (const before of ["dark", "light"]) {
    document.documentElement.dataset.theme = before;
    const seen: unknown[] = [];
    let outcome: unknown = null;
    void inLight(() => seen.push(theme())).then((length) => (outcome = length));
    await pass(0);
    assert.deepEqual([seen, outcome, theme()], [["light"], 1, before]);
    let problem: unknown = null;
    void inLight(() => {
      throw new Error("broken");
    }).catch((error: Error) => (problem = error.message));
    await pass(0);
    assert.deepEqual([problem, theme()], ["broken", before]);
  }
});
