import "./page/dom"; // the time zone
import assert from "node:assert/strict";
import { test } from "node:test";
import { hitsOf } from "../src/search";
import type { Found } from "../src/types";

const nothing: Found = {
  delays: [],
  events: [],
  causes: [],
  functions: [],
  builds: [],
  hosts: [],
  units: [],
  processes: [],
  users: [],
};
const hits = (query: string, found: Partial<Found>) => hitsOf(query, { ...nothing, ...found });

test("events and causes have pages of their own", () => {
  assert.equal(hits("a", { events: ["a/b"] })[0].address, "/event/a%2Fb");
  assert.deepEqual(
    hits("lock", { causes: [{ id: "1", title: "Waits for a lock", event: "checkout" }] }),
    [{ kind: "Cause", text: "Waits for a lock", note: "checkout", address: "/cause/1" }],
  );
});

test("functions and libraries lead to the cause that has them", () => {
  const hit = {
    id: "2",
    title: "Computes in compress",
    event: "checkout",
    function: "deflate",
    library: "/usr/lib/libz.so.1",
    by_library: false,
  };
  assert.deepEqual(hits("defl", { functions: [hit] }), [
    { kind: "Function", text: "deflate", note: "checkout", address: "/cause/2" },
  ]);
  assert.deepEqual(hits("libz", { functions: [{ ...hit, by_library: true }] }), [
    {
      kind: "Library",
      text: "/usr/lib/libz.so.1: Computes in compress",
      note: "checkout",
      address: "/cause/2",
    },
  ]);
});

test("delays of a trace lead to their pages", () => {
  const [hit] = hits("4bf92f3577b34da6a3ce929d0e0e4736", {
    delays: [
      {
        bundle: "ab",
        number: 2,
        event: "checkout",
        host: "web-1",
        begin_ns: "0",
        duration_ns: 81e6,
      },
    ],
  });
  assert.deepEqual(hit, {
    kind: "Delay",
    text: "checkout took 81 ms on web-1",
    note: "1970-01-01 01:00:00",
    address: "/bundle/ab/2",
  });
});

test("builds are shown by the name that people gave them, and the id beside it", () => {
  assert.deepEqual(hits("v1", { builds: [{ build: "ffff", name: "v1.1" }] }), [
    { kind: "Build", text: "v1.1", note: "ffff", address: "/?build=ffff&span=7d" },
  ]);
  assert.equal(hits("ff", { builds: [{ build: "ffff", name: null }] })[0].text, "ffff");
});

test("hosts and units lead to the overview of their events", () => {
  assert.equal(hits("fra", { hosts: ["fra-web-01"] })[0].address, "/?host=fra-web-01&span=7d");
  assert.equal(hits("shop", { units: ["shop.service"] })[0].address, "/?unit=shop.service&span=7d");
});

test("a number may be a run, and 64 digits a bundle", () => {
  assert.deepEqual(hits("12345", {}), [
    { kind: "Run", text: "12345", note: "", address: "/run/12345" },
  ]);
  const digits = "AB".repeat(32);
  assert.deepEqual(hits(digits, {}), [
    { kind: "Bundle", text: digits, note: "", address: `/bundle/${"ab".repeat(32)}` },
  ]);
});

test("kinds stand in their order, with what each leads to", () => {
  const found: Found = {
    delays: [{ bundle: "ab", number: 2, event: "e", host: "h", begin_ns: "0", duration_ns: 1e6 }],
    events: ["e"],
    causes: [{ id: "1", title: "c", event: "e" }],
    functions: [
      { id: "2", title: "t", event: "e", function: "f", library: "l", by_library: false },
    ],
    builds: [{ build: "b b", name: null }],
    hosts: ["h"],
    units: ["u"],
    processes: ["p"],
    users: ["1000"],
  };
  assert.deepEqual(
    hitsOf("12345678901234567890", found).map(({ kind, address }) => `${kind} ${address}`),
    [
      "Run /run/12345678901234567890",
      "Delay /bundle/ab/2",
      "Event /event/e",
      "Cause /cause/1",
      "Function /cause/2",
      "Build /?build=b+b&span=7d",
      "Host /?host=h&span=7d",
      "Unit /?unit=u&span=7d",
      "Process /?process=p&span=7d",
      "User /?user=1000&span=7d",
    ],
  );
});

test("builds are shown by their names, and those without one by their ids", () => {
  const found = hits("b", {
    builds: [
      { build: "b1", name: null },
      { build: "b2", name: "v2" },
    ],
  });
  assert.deepEqual(found, [
    { kind: "Build", text: "b1", note: "", address: "/?build=b1&span=7d" },
    { kind: "Build", text: "v2", note: "b2", address: "/?build=b2&span=7d" },
  ]);
});

test("other numbers and digits are neither runs nor bundles", () => {
  for (const query of ["123456789012345678901", "12a", "a".repeat(63), "a".repeat(65), "-1"])
    assert.deepEqual(hits(query, {}), [], query);
});
