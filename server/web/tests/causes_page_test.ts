import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { causeAddress, culpritOf, exampleAddress } from "../src/pages/causes";
import { causes as answer, cause, record } from "./answers/causes";
import { digest } from "./answers/digests";
import { summary } from "./answers/runs";
import { ago, day_s, hour_s } from "./page/clock";
import { Expected, address, click, enter, open, shown } from "./page/page";

const expected = new Expected("causes_page");

const causes = [
  record({ id: "1", title: "b", event: "y", owner: "zoe", delays: 5, hosts: 30, holder: "h2" }),
  record({ id: "2", title: "a", event: "x", first_ns: ago(hour_s), last_ns: ago(0) }),
  record({ id: "3", title: "c", event: "x", owner: "ada", delays: 9, status: "known" }),
  record({ id: "4", title: "d", event: "z", delays: 7, hosts: 9, status: "regressed" }),
  record({ id: "5", title: "e", event: "z", status: "resolved", holder: "h1", hosts: 1 }),
  record({ id: "6", title: "old", noticed_ns: ago(8 * day_s), last_ns: ago(day_s) }),
  record({ id: "7", title: "part", part_of: "1" }),
];
const answers = { "/api/v1/causes": { causes } };
const listed = () =>
  [...document.querySelectorAll("tbody .cause-name a")].map((link) => link.getAttribute("href"));

test("all causes, the last delay first", async () => {
  await open("/causes", answers);
  expected.is("causes", shown());
});

test("no causes", async () => {
  await open("/causes", { "/api/v1/causes": { causes: causes.slice(6) } });
  expected.is("none", shown());
});

test("columns order the rows", async () => {
  await open("/causes?order=bogus", answers);
  const ids = (text: string) => text.split(" ").map((id) => `/cause/${id}`);
  assert.deepEqual(listed(), ids("2 1 3 4 5 6"));
  for (const [title, order, wanted] of [
    ["Cause", "cause", "2 1 3 4 5 6"],
    ["Event", "event", "6 2 3 1 4 5"],
    ["First delay", "first", "2 1 3 4 5 6"],
    ["Delays", "delays", "2 5 6 3 4 1"],
    ["Hosts", "hosts", "1 4 2 3 6 5"],
    ["Owner", "owner", "3 1 2 4 5 6"],
  ]) {
    await click(title);
    assert.equal(address(), `/causes?order=${order}`);
    assert.deepEqual(listed(), ids(wanted), order);
    expected.is(`ordered by ${order}`, shown("thead"));
  }
  await click("Last delay");
  assert.equal(address(), "/causes");
});

test("without an order, the last delay is first", async () => {
  const at = (id: string, first_s: number, last_s: number) =>
    record({ id, first_ns: ago(first_s), last_ns: ago(last_s) });
  const mixed = [at("1", 90, 30), at("2", 50, 40), at("3", 70, 10), at("4", 60, 20)];
  await open("/causes", { "/api/v1/causes": { causes: mixed } });
  assert.deepEqual(listed(), ["/cause/3", "/cause/4", "/cause/1", "/cause/2"]);
  await click("First delay");
  assert.deepEqual(listed(), ["/cause/2", "/cause/4", "/cause/3", "/cause/1"]);
});

test("words, a status and groups", async () => {
  await open("/causes", answers);
  await enter("input[name=cause-search]", "X ADA");
  assert.equal(address(), "/causes?search=X+ADA");
  assert.deepEqual(listed(), ["/cause/3"]);
  expected.is("one matches", shown("form > [role=status]"));
  await enter("input[name=cause-search]", "nothing");
  expected.is("none matches", shown("form > [role=status]", "main .notice"));
  await enter("input[name=cause-search]", "");
  for (const [status, wanted] of [
    ["new", ["/cause/2", "/cause/1"]],
    ["known", ["/cause/3", "/cause/6"]],
    ["regressed", ["/cause/4"]],
    ["resolved", ["/cause/5"]],
  ] as const) {
    await enter("select[name=status]", status);
    assert.deepEqual(listed(), wanted, status);
  }
  await enter("select[name=status]", "");
  await enter("select[name=group]", "event");
  expected.is("by event", shown("tbody th", "select[name=group]"));
  await enter("select[name=group]", "holder");
  expected.is("by thread waited for", shown("tbody th"));
  await open("/causes?group=bogus", answers);
  assert.equal(document.querySelectorAll("tbody").length, 1);
  assert.match(shown("select[name=group]"), /name="group" value>/);
});

test("a delay of a cause opens with the function at fault, or the state", () => {
  const frame = (name: string, module = "/usr/bin/shop") => ({ function: name, module });
  const state = (name: string) => frame(name, "");
  const of = (...frames: ReturnType<typeof frame>[]) => culpritOf({ frames });
  assert.equal(of(frame(""), state("[sleep]"), frame("f"), frame("main")), "f");
  assert.equal(of(frame(""), state("[sleep]"), state("[on CPU]")), "blocked: sleep");
  assert.equal(of(frame("")), "");
  assert.equal(of(), "");
  const bundle = digest("a");
  assert.equal(
    exampleAddress(bundle, 3, { frames: [frame("a b&c")] }),
    `/bundle/${bundle}/3?against=normal&search=a+b%26c`,
  );
  assert.equal(exampleAddress(bundle, 3, { frames: [] }), `/bundle/${bundle}/3?against=normal`);
  assert.equal(causeAddress(cause({ example: null })), null);
  assert.equal(causeAddress(cause()), `/bundle/${bundle}/3?against=normal&search=Cart%3A%3Aadd`);
});

test("the share of a build without a rate is unknown if others have rates", async () => {
  const build = { runs: 10, delayed: 4, affected: 2, excess_ns: 2e6 };
  const builds = [
    { ...build, build: "b1", rate: null },
    { ...build, build: "b2", rate: 0.25 },
    { ...build, build: "b3", affected: 0, rate: 0 },
    { ...build, build: "b4", delayed: 0, affected: 0, rate: null },
    { ...build, build: "b5", rate: null },
  ];
  const path = "/api/v1/events/checkout";
  await open("/event/checkout", {
    [`${path}/summary`]: summary(),
    [`${path}/causes`]: answer([cause({ builds, example: null })]),
  });
  expected.is("builds with and without rates", shown(".history svg", ".history tbody"));
});

test("words are found in titles, events and owners, in any case", async () => {
  const listed_ = [
    record({ id: "1", title: "Lock of Cart::add", event: "x", owner: "" }),
    record({ id: "2", title: "disk", event: "CheckOut", owner: "" }),
    record({ id: "3", title: "disk", event: "x", owner: "Ada" }),
  ];
  await open("/causes", { "/api/v1/causes": { causes: listed_ } });
  for (const [words, wanted] of [
    ["cart", ["/cause/1"]],
    ["checkout DISK", ["/cause/2"]],
    ["ada", ["/cause/3"]],
    ["cart ada", []],
    ["  ", ["/cause/1", "/cause/2", "/cause/3"]],
  ] as const) {
    await enter("input[name=cause-search]", words);
    assert.deepEqual(listed(), wanted, words);
  }
});
