import assert from "node:assert/strict";
import { test } from "node:test";
import {
  absolute,
  addressQuery,
  apiQuery,
  eventAddress,
  narrowing,
  parseAddressTime,
  parseFilters,
} from "../src/filters";
import { inner, outer } from "../src/base";
import { parseRoute } from "../src/routes";

const parse = (text: string) => parseFilters(new URLSearchParams(text));

test("filters survive the way to the address and back", () => {
  const filters = {
    event: "a b",
    search: "<x> & y",
    host: ["web-1"],
    user: ["zoë", "zoë & co"],
    build: ["7f3a"],
    process: ["p=1"],
    start: "cold" as const,
    dirty: true,
    outliers: false as const,
    from: Date.UTC(2026, 10, 21, 10, 57),
    to: Date.UTC(2026, 10, 22, 0, 0, 30),
  };
  assert.deepEqual(parse(addressQuery(filters)), filters);
  assert.match(addressQuery(filters), /from=2026-11-21T10%3A57Z&to=2026-11-22T00%3A00%3A30Z/);
});

test("equal filters give equal addresses, whatever their order", () => {
  assert.equal(
    addressQuery({ user: ["u"], host: ["h", "g"] }),
    addressQuery({ host: ["g", "h"], user: ["u"] }),
  );
  assert.equal(addressQuery({}), "");
});

test("a filter with several names has each once, and no more than the server takes", () => {
  assert.deepEqual(parse("host=b&host=a&host=b&host=").host, ["a", "b"]);
  assert.equal(addressQuery({ host: ["b", "a"] }), "?host=a&host=b");
  assert.equal(
    parse(Array.from({ length: 300 }, (_, i) => `host=h${i}`).join("&")).host?.length,
    100,
  );
});

test("requests have nanoseconds, exactly", () => {
  assert.equal(apiQuery({ from: 1795258620123 }), "?from=1795258620123000000");
  assert.equal(
    apiQuery({ host: ["h", "i"] }, { limit: 5, after: undefined }),
    "?host=h&host=i&limit=5",
  );
});

test("a span stays relative in the address, and is counted from now in a request", () => {
  assert.deepEqual(parse("span=7d"), { span: "7d" });
  assert.equal(addressQuery({ span: "7d" }), "?span=7d");
  assert.deepEqual(absolute({ span: "1h", host: ["h"] }, Date.UTC(2026, 10, 21, 10, 57, 5)), {
    host: ["h"],
    from: Date.UTC(2026, 10, 21, 9),
  });
  // All begin at whole hours or days, as the server's trends do.
  assert.deepEqual(absolute({ span: "24h" }, Date.UTC(2026, 10, 21, 10, 57, 5)), {
    from: Date.UTC(2026, 10, 20, 11),
  });
  assert.deepEqual(absolute({ span: "7d" }, Date.UTC(2026, 10, 21, 10, 57, 5)), {
    from: Date.UTC(2026, 10, 15),
  });
  assert.match(apiQuery({ span: "24h" }), /^\?from=\d+000000000$/);
  assert.deepEqual(parse("span=7d&to=2026-11-21"), { to: Date.UTC(2026, 10, 21) });
  assert.deepEqual(parse("span=3w"), {});
});

test("what is not understood in an address is left out", () => {
  assert.deepEqual(
    parse("start=hot&dirty=yes&outliers=1&from=yesterday&to=2026-13-45&host=&bogus=1"),
    {},
  );
  assert.equal(parse(`host=${"x".repeat(5000)}`).host?.[0].length, 256);
  assert.equal(parseAddressTime("2026-11-21"), Date.UTC(2026, 10, 21));
  assert.equal(parseAddressTime("1795258620"), undefined);
  assert.equal(parseAddressTime("1969-12-31"), undefined);
});

test("the filters that narrow a list are known", () => {
  assert.deepEqual(narrowing({ event: "e", dirty: true, outliers: false }), []);
  assert.deepEqual(narrowing({ host: ["h"], start: "warm" }), ["host", "start"]);
});

test("an event's address carries the filters but not the search", () => {
  assert.equal(
    eventAddress("a/b <c>", { search: "b", host: ["h"] }),
    "/event/a%2Fb%20%3Cc%3E?host=h",
  );
  assert.deepEqual(parseRoute("/event/a%2Fb%20%3Cc%3E"), { page: "event", event: "a/b <c>" });
});

test("addresses lead to pages", () => {
  const digest = "ab".repeat(32);
  assert.deepEqual(parseRoute("/"), { page: "overview" });
  assert.deepEqual(parseRoute("/events"), { page: "events" });
  assert.deepEqual(parseRoute("/causes"), { page: "causes" });
  assert.deepEqual(parseRoute("/cause/12"), { page: "cause", id: "12" });
  assert.deepEqual(parseRoute("/cause/x"), { page: "missing" });
  assert.deepEqual(parseRoute("/bundles"), { page: "bundles" });
  assert.deepEqual(parseRoute("/watches"), { page: "watches" });
  assert.deepEqual(parseRoute("/watch/0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11"), {
    page: "watch",
    id: "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11",
  });
  assert.deepEqual(parseRoute("/watch/0b5f7c1e"), { page: "missing" });
  assert.deepEqual(parseRoute("/accounts/"), { page: "accounts" });
  assert.deepEqual(parseRoute("/audit"), { page: "audit" });
  assert.deepEqual(parseRoute(`/bundle/${digest}/3/machine`), {
    page: "machine",
    digest,
    number: 3,
  });
  assert.deepEqual(parseRoute(`/bundle/${digest}/3/machines`), { page: "missing" });
  assert.deepEqual(parseRoute("/run/18446744073709551615"), {
    page: "run",
    id: "18446744073709551615",
  });
  assert.deepEqual(parseRoute(`/bundle/${digest}`), { page: "delay", digest, number: null });
  assert.deepEqual(parseRoute(`/bundle/${digest}/12`), { page: "delay", digest, number: 12 });
  for (const path of [
    "/run/x",
    "/run/",
    "/event/",
    "/event/%E0%A4%A",
    `/bundle/${digest}/0`,
    "/bundle/xyz",
    "/other",
    "/event/a/b",
  ]) {
    assert.deepEqual(parseRoute(path), { page: "missing" }, path);
  }
});

test("addresses below a path of the host, and back", () => {
  assert.equal(outer("/event/a%20b?x=1", "/tools/lagtrap"), "/tools/lagtrap/event/a%20b?x=1");
  assert.equal(inner("/tools/lagtrap/event/a%20b", "/tools/lagtrap"), "/event/a%20b");
  assert.equal(inner("/tools/lagtrapper/x", "/tools/lagtrap"), null);
  for (const address of [
    "?order=p99",
    "#main",
    "https://elsewhere.example/",
    "//elsewhere.example/",
  ])
    assert.equal(outer(address, "/lagtrap"), address);
  assert.equal(inner(outer("/events", ""), ""), "/events");
});

test("each page has its address, and numbers have as many digits as the server's", () => {
  for (const page of [
    "events",
    "causes",
    "bundles",
    "objects",
    "watches",
    "account",
    "accounts",
    "audit",
    "compare",
    "rules",
  ])
    assert.deepEqual(parseRoute(`/${page}`), { page });
  const digits = (count: number) => "1".repeat(count);
  const digest = "ab".repeat(32);
  for (const [path, page] of [
    [`/rule/${digits(19)}`, "rule"],
    [`/rule/${digits(20)}`, "missing"],
    [`/cause/${digits(19)}`, "cause"],
    [`/cause/${digits(20)}`, "missing"],
    [`/run/${digits(20)}`, "run"],
    [`/run/${digits(21)}`, "missing"],
    [`/bundle/${digest}/${digits(6)}`, "delay"],
    [`/bundle/${digest}/${digits(7)}`, "missing"],
    [`/bundle/${digest}/${digits(6)}/machine`, "machine"],
    [`/bundle/${digest}/0/machine`, "missing"],
    [`/bundle/${digest}/1/machine/1`, "missing"],
    [`/bundle/${digest}0`, "missing"],
    ["/events/1", "missing"],
  ])
    assert.equal(parseRoute(path).page, page, path);
  assert.deepEqual(parseRoute("/rule/12"), { page: "rule", id: "12" });
});

test("times of addresses are days or UTC, since 1970", () => {
  assert.equal(parseAddressTime("1970-01-01"), 0);
  assert.equal(parseAddressTime("2026-11-21T10:57:08Z"), Date.UTC(2026, 10, 21, 10, 57, 8));
  for (const text of ["2026-11-21T10:57", "2026-11-21T10:57+02:00", "21 Nov 2026", "2026", ""])
    assert.equal(parseAddressTime(text), undefined, text);
  assert.equal(
    addressQuery({
      from: Date.UTC(2026, 10, 21, 10, 0, 0, 500),
      to: Date.UTC(2026, 10, 21, 0, 0, 7),
    }),
    "?from=2026-11-21T10%3A00%3A00Z&to=2026-11-21T00%3A00%3A07Z",
  );
});

test("each filter of an address, within its limits", () => {
  assert.deepEqual(parse("start=warm&outliers=0&dirty=1&span=1h"), {
    start: "warm",
    outliers: false,
    dirty: true,
    span: "1h",
  });
  assert.equal(parse(`search=${"x".repeat(300)}`).search?.length, 256);
  assert.deepEqual(parse("span=7d&from=2026-11-21"), { from: Date.UTC(2026, 10, 21) });
  assert.deepEqual(parse("search=&event="), {});
});

test("extra parts of a query replace filters, and empty ones remove them", () => {
  const filters = { event: "e", host: ["h"] };
  assert.equal(addressQuery(filters, { event: "f", order: "p99" }), "?event=f&host=h&order=p99");
  assert.equal(addressQuery(filters, { event: undefined }), "?host=h");
  assert.equal(addressQuery(filters, { event: "", host: "" }), "");
  assert.equal(apiQuery({ from: 1.9, to: 2 }), "?from=1000000&to=2000000");
});

test("spans are as long as they say", () => {
  const now = Date.UTC(2026, 10, 21);
  const hours = (span: "1h" | "24h" | "7d" | "30d") =>
    (now - (absolute({ span }, now).from as number)) / 3600e3;
  assert.deepEqual((["1h", "24h", "7d", "30d"] as const).map(hours), [1, 24, 168, 720]);
});

test("slashes and paths within addresses do not count", () => {
  assert.equal(outer("/event/a//b", "/lagtrap"), "/lagtrap/event/a//b");
  assert.equal(inner("/x/tools/lagtrap/y", "/tools/lagtrap"), null);
  assert.equal(inner("/tools/lagtrap/", "/tools/lagtrap"), "/");
  const uuid = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
  for (const path of [`/x/${uuid}`, `/x/${"ab".repeat(32)}`, `/x/${"ab".repeat(32)}/3`, "/x/1"])
    assert.deepEqual(parseRoute(path), { page: "missing" }, path);
  assert.deepEqual(parseRoute("/event/a/"), { page: "event", event: "a" });
});
