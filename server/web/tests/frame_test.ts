import { dom, scrolled, system } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { no_losses } from "./answers/events";
import { pass } from "./page/clock";
import {
  Expected,
  address,
  admin,
  click,
  enter,
  find,
  open,
  point,
  press,
  reader,
  requested,
  shown,
  submit,
} from "./page/page";
import { Refusal, done, pending, unreachable } from "./page/server";

const expected = new Expected("frame");
const no_events = { "/api/v1/events": { events: [], next: null, lost: no_losses } };
const no_bundles = { "/api/v1/bundles": { bundles: [], next: null } };

test("the head has the pages that the role may see", async () => {
  await open("/events", no_events);
  expected.is("an admin", shown("header"));
  await open("/bundles", no_bundles, reader);
  expected.is("a reader", shown("header"));
  await open("/bundles", no_bundles, { ...admin, account: "" });
  expected.is("without accounts", shown("header"));
});

test("the current page is marked", async () => {
  const current = () =>
    [...document.querySelectorAll("header [aria-current]")].map(
      (link) => `${link.getAttribute("href")} ${link.getAttribute("aria-current")}`,
    );
  for (const [path, marked] of [
    ["/", ["/ page"]],
    ["/events", ["/events page"]],
    ["/causes", ["/causes page"]],
    ["/bundles", ["/bundles page"]],
    ["/objects", ["/objects page"]],
    ["/watches", ["/objects true"]],
    ["/watch/0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11", ["/objects true"]],
    ["/rules", ["/rules page"]],
    ["/accounts", ["/accounts page"]],
    ["/audit", ["/audit page"]],
    ["/account", ["/account page"]],
    ["/compare", []],
  ] as const) {
    await open(path, {});
    assert.deepEqual(current(), marked, path);
  }
});

test("the menu of small screens closes when a page opens", async () => {
  await open("/events", { ...no_events, ...no_bundles });
  await click("Menu");
  assert.match(shown("header > .menu"), /aria-expanded="true"/);
  assert.equal(document.querySelector("header")?.className, "head open");
  await click("Bundles");
  assert.equal(document.querySelector("header")?.className, "head");
  assert.equal(address(), "/bundles");
  assert.deepEqual(scrolled, ["the page's top"]);
});

test("the session: asked for, failed, signed out", async () => {
  await open("/", { "/api/v1/session": pending });
  expected.is("asking", shown("main"));
  await open("/", { "/api/v1/session": unreachable });
  expected.is("no server", shown("main"));
  await open("/", { "/api/v1/session": "not JSON" });
  expected.is("an invalid session", shown("main"));
  await open("/events", { ...no_events, "DELETE /api/v1/session": done });
  requested();
  await click("Sign out");
  expected.is("signed out", shown("main > h1"));
  await open("/events", { ...no_events, "DELETE /api/v1/session": new Refusal(503) });
  await click("Sign out");
  expected.is("signing out failed", shown("main"));
  await click("Try again");
  assert.match(shown("main > h1"), /Events/);
  await open("/events", { "/api/v1/events": new Refusal(401, "sign in again") });
  expected.is("the session ended", shown("main > h1"));
});

test("times are in the browser's zone or in UTC, as chosen", async () => {
  await open("/bundles", no_bundles);
  await click("Times: Europe/Vienna");
  assert.equal(localStorage.getItem("lagtrap-zone"), "UTC");
  expected.is("UTC", shown(".head-end > button"));
  await click("Times: UTC");
  assert.equal(localStorage.getItem("lagtrap-zone"), "local");
  expected.is("local", shown(".head-end > button"));
});

test("colours follow the system until they are chosen", async () => {
  const theme = () => document.documentElement.dataset.theme;
  await open("/bundles", no_bundles);
  assert.equal(theme(), "light");
  system.dark = true;
  system.changed();
  assert.equal(theme(), "dark");
  await click("Colours: system");
  assert.deepEqual([theme(), localStorage.getItem("lagtrap-theme")], ["light", "light"]);
  await click("Colours: light");
  assert.deepEqual([theme(), localStorage.getItem("lagtrap-theme")], ["dark", "dark"]);
  system.dark = false;
  system.changed();
  assert.equal(theme(), "dark");
  await click("Colours: dark");
  assert.deepEqual([theme(), localStorage.getItem("lagtrap-theme")], ["light", "system"]);
});

test("an address without a page", async () => {
  await open("/nothing", {});
  expected.is("missing", shown("main"));
});

test("links within the pages open without a reload; others are the browser's", async () => {
  const answers = { ...no_events, ...no_bundles };
  await open("/nothing", answers);
  const links: [string, string | null][] = [
    ['<a href="/events?host=h#x">go</a>', "/events?host=h"],
    ['<a href="/bundles"><b id="inner">go</b></a>', "/bundles"],
    ['<a href="/events" target="_blank">go</a>', null],
    ['<a href="/events" download>go</a>', null],
    ['<a href="/api/v1/formats">go</a>', null],
    ['<a href="https://elsewhere.example/events">go</a>', null],
    ['<a href="#main">go</a>', null],
    ['<a href="/nothing?a=b">go</a>', "/nothing?a=b"],
    ['<a href="/event/x%2F/api/">go</a>', "/event/x%2F/api/"],
    ["<a>go</a>", null],
  ];
  for (const [markup, opened] of links) {
    dom.history.replaceState({}, "", "/nothing");
    const box = document.createElement("div");
    box.innerHTML = markup;
    document.body.append(box);
    const target = box.querySelector("#inner") ?? box.querySelector("a");
    const event = new dom.MouseEvent("click", { bubbles: true, cancelable: true, button: 0 });
    target?.dispatchEvent(event as never);
    assert.deepEqual([event.defaultPrevented, address()], [
      opened !== null,
      opened ?? "/nothing",
    ], markup); // prettier-ignore
    box.remove();
  }
  for (const more of [
    { ctrlKey: true },
    { metaKey: true },
    { shiftKey: true },
    { altKey: true },
    { button: 1 },
  ]) {
    await open("/nothing", answers);
    await point("main a", "click", 0, 0, more);
    assert.equal(address(), "/nothing", JSON.stringify(more));
  }
});

test("the heading of a page has the focus, unless somebody types", async () => {
  await open("/events", no_events);
  assert.equal(document.activeElement?.tagName, "H1");
  assert.equal(document.title, "Events · lagtrap");
});

test("on phones, cells have the titles of their columns", async () => {
  const row = { event: "e", last_ns: "0", runs: 1, delays: 1, hosts: 1, bundles: 1 };
  await open("/events", { "/api/v1/events": { events: [row], next: null, lost: no_losses } });
  const labels = [...document.querySelectorAll<HTMLElement>("tbody tr > *")];
  assert.deepEqual(
    labels.map((cell) => cell.dataset.label),
    ["Event", "Last data", "Runs", "Delays", "Delayed", "Hosts", "Bundles"],
  );
});

const found = {
  delays: [],
  events: ["checkout", "login"],
  causes: [{ id: "1", title: "Waits for a lock", event: "login" }],
  functions: [],
  builds: [],
  hosts: [`web-${"1".repeat(150)}`],
  units: [],
  processes: [],
  users: [],
};

test("the search of the head asks after a pause, and opens what is chosen", async () => {
  const field = "input[name=find]";
  await open("/events", { ...no_events, "/api/v1/search": found });
  await press("main", "/");
  assert.equal(document.activeElement, find(field));
  requested();
  await enter(field, " check out ");
  expected.is("searching", shown(".search-box"));
  await pass(149);
  assert.deepEqual(requested(), []);
  await pass(1);
  expected.is("found", shown(".hits"));
  const focus = () => document.activeElement?.textContent;
  await press(field, "ArrowDown");
  assert.equal(focus(), "Event checkout ");
  await press(".hits a", "ArrowDown");
  assert.equal(focus(), "Event login ");
  await press(".hits a", "ArrowUp");
  await press(".hits a", "ArrowUp");
  assert.equal(document.activeElement, find(field));
  await press(field, "ArrowUp");
  assert.match(focus() ?? "", /^Host/);
  await press(".hits a", "Escape");
  assert.equal(document.querySelector(".hits"), null);
  assert.equal(document.activeElement, find(field));
  await enter(field, "check out");
  assert.ok(document.querySelector(".hits"));
  await submit(".search-box");
  assert.equal(address(), "/event/checkout");
  assert.equal((find(field) as HTMLInputElement).value, "");
});

test("the search shows and opens only what was found for its text", async () => {
  const field = "input[name=find]";
  let answer: unknown = found;
  await open("/events", { ...no_events, "/api/v1/search": () => answer });
  await enter(field, "check");
  await pass(150);
  await enter(field, "check out");
  await submit(".search-box");
  assert.equal(address(), "/events", "the answer is to another question");
  await enter(field, "");
  await enter(field, "x");
  assert.match(shown(".hits"), /Searching…/);
  answer = new Refusal(429, "too many requests");
  await pass(150);
  assert.match(shown(".hits"), /too many requests/);
  answer = found;
  await enter(field, "xy");
  await pass(150);
  assert.doesNotMatch(shown(".hits"), /too many requests/);
  assert.match(shown(".hits"), /checkout/);
  for (const name of ["search", "find"]) {
    find(`input[name=${name}]`).focus();
    await press(`input[name=${name}]`, "/");
    assert.equal(document.activeElement?.getAttribute("name"), name, "it is typed there");
  }
});

test("clicks on hits open them; clicks elsewhere close the list", async () => {
  const field = "input[name=find]";
  await open("/events", { ...no_events, ...no_bundles, "/api/v1/search": found });
  await enter(field, "x");
  await pass(150);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { button: 1 }]) {
    await point(".hits li + li a", "click", 0, 0, more);
    assert.equal(address(), "/events", "a new tab is the browser's");
    assert.ok(document.querySelector(".hits"));
  }
  await point(".hits li + li a", "click", 0, 0);
  assert.equal(address(), "/event/login");
  for (const type of ["pointerdown", "focusin"]) {
    await enter(field, "x");
    assert.ok(document.querySelector(".hits"));
    find("input[name=find]").dispatchEvent(new dom.Event(type, { bubbles: true }) as never);
    await pass(0);
    assert.ok(document.querySelector(".hits"));
    await point("main", type, 0, 0);
    assert.equal(document.querySelector(".hits"), null);
  }
});

test("the search says that nothing was found, or what went wrong", async () => {
  const field = "input[name=find]";
  const nothing = { ...found, events: [], causes: [], hosts: [] };
  let answer: unknown = nothing;
  await open("/events", { ...no_events, "/api/v1/search": () => answer });
  await enter(field, "x".repeat(100));
  await pass(150);
  expected.is("nothing found", shown(".hits"));
  await submit(".search-box");
  assert.equal(address(), "/events");
  assert.equal((find(field) as HTMLInputElement).value, "x".repeat(100));
  answer = new Refusal(429, "too many requests");
  await enter(field, "y");
  await pass(150);
  expected.is("a refused search", shown(".hits"));
  await enter(field, " ");
  assert.equal(document.querySelector(".hits"), null);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) {
    find("h1").focus();
    await press("h1", "/", more);
    assert.equal(document.activeElement, find("h1"));
  }
});

test("a search whose answer is invalid says so", async () => {
  await open("/events", { ...no_events, "/api/v1/search": "not JSON" });
  await enter("input[name=find]", "y");
  await pass(150);
  assert.match(shown(".hits [role=alert]"), /That did not work: Error: not JSON\./);
});

test("a search that fails late does not hide what a newer one found", async () => {
  let come: (answer: unknown) => void = () => {};
  const later = new Promise((resolve) => (come = resolve));
  await open("/events", {
    ...no_events,
    "/api/v1/search": (request: { path: string }) =>
      request.path.endsWith("=x") ? later : { ...found },
  });
  await enter("input[name=find]", "x");
  await pass(150);
  await enter("input[name=find]", "che");
  await pass(150);
  const hits = () => document.querySelector(".hits")?.textContent;
  const before = hits();
  assert.match(before ?? "", /checkout/);
  come(new Refusal(500, "late"));
  await pass(0);
  assert.equal(hits(), before);
});

test("names of builds are loaded again for each session", async () => {
  const answers = {
    ...no_bundles,
    "DELETE /api/v1/session": done,
    "POST /api/v1/session": done,
    "/api/v1/session/ways": { provider: null },
  };
  const loaded = () => requested().filter((one) => one === "GET /api/v1/builds").length;
  const sign_in = async () => {
    await enter("input[autocomplete=username]", "rita");
    await enter("input[type=password]", "p");
    await submit("form[aria-label='Sign in']");
  };
  await open("/bundles", answers);
  assert.equal(loaded(), 1);
  await click("Events");
  await click("Bundles");
  assert.equal(loaded(), 0);
  await click("Sign out");
  await sign_in();
  assert.equal(loaded(), 1);
  // The same if the server ends the session.
  let ended = false;
  await open("/bundles", {
    ...answers,
    "/api/v1/bundles": () =>
      ended ? new Refusal(401, "signed out") : no_bundles["/api/v1/bundles"],
  });
  assert.equal(loaded(), 1);
  ended = true;
  await enter("select[name=start]", "cold");
  ended = false;
  await sign_in();
  assert.equal(loaded(), 1);
});
