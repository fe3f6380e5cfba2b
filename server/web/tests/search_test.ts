import assert from "node:assert/strict";
import { test } from "node:test";
import { type Found, hitsOf, matchesWords } from "../src/search";
import type { CauseRecord } from "../src/types";

const cause = (id: string, title: string, more: Partial<CauseRecord> = {}) => ({ id, title, event: "checkout", owner: "", reason: "", part_of: null, ...more }) as CauseRecord;
const found: Found = {
  events: ["checkout", "check", "recheck"],
  causes: [
    cause("1", "Waits for a lock held by price-refresher in parse_price_list"),
    cause("2", "Computes in deflate (libz)"),
    cause("3", "Computes in parse_price_list", { part_of: "1" }),
  ],
  choices: { hosts: ["fra-web-01", "ams-web-01"], users: [], builds: ["abc123"], processes: ["", "checkout"], units: ["shop.service"], from: null, to: null },
  build_names: new Map([["ffff", "v1.1"]]),
};
const addresses = (query: string) => hitsOf(query, found).map((hit) => hit.address);

test("all words must occur, in any order and case", () => {
  assert.ok(matchesWords("Waits for a Lock held by price-refresher", "PRICE lock"));
  assert.ok(!matchesWords("Waits for a lock", "lock disk"));
});

test("causes are found by function, library and holder, each once", () => {
  assert.deepEqual(hitsOf("parse_price", found).filter((hit) => hit.kind === "Cause").map((hit) => hit.address), ["/cause/1"]);
  assert.ok(addresses("libz").includes("/cause/2"));
  assert.ok(addresses("price-refresher").includes("/cause/1"));
});

test("what begins with the query comes first, then the shortest", () => {
  assert.deepEqual(hitsOf("check", found).filter((hit) => hit.kind === "Event").map((hit) => hit.text), ["check", "checkout", "recheck"]);
});

test("builds are found by the name that people gave them, and the id beside it", () => {
  const build = hitsOf("v1", found).find((hit) => hit.kind === "Build");
  assert.deepEqual(build, { kind: "Build", text: "v1.1", note: "ffff", address: "/?build=ffff&span=7d" });
});

test("hosts and units lead to the overview of their events", () => {
  assert.ok(addresses("fra").includes("/?host=fra-web-01&span=7d"));
  assert.ok(addresses("shop").includes("/?unit=shop.service&span=7d"));
  assert.ok(!hitsOf("check", found).some((hit) => hit.text === ""));
});

test("a number may be a run, and 64 digits a bundle", () => {
  assert.equal(addresses("12345")[0], "/run/12345");
  assert.equal(addresses("AB".repeat(32))[0], `/bundle/${"ab".repeat(32)}`);
});
