import assert from "node:assert/strict";
import { test } from "node:test";
import { record } from "./answers/causes";
import { no_losses } from "./answers/events";
import { pass } from "./page/clock";
import {
  Expected,
  address,
  check,
  click,
  enter,
  find,
  open,
  press,
  requested,
  shown,
  submit,
} from "./page/page";
import { pending } from "./page/server";

const expected = new Expected("filter_bar");
const no_events = { "/api/v1/events": { events: [], next: null, lost: no_losses } };
const no_bundles = { "/api/v1/bundles": { bundles: [], next: null } };

test("filters of the address are in the fields", async () => {
  await open(
    "/events?search=a&from=2026-11-21T10:57Z&to=2026-11-22T00:00:30Z&host=web-1&" +
      "build=b2b2b2b2b2b2b2b2&user=1&user=2&process=p&unit=u&start=cold",
    no_events,
  );
  expected.is("all filters", shown("form.filters"));
  await click("Clear 9 filters");
  assert.equal(address(), "/events");
  await open("/events?span=7d", no_events);
  expected.is("a span", shown("form.filters > .unfold", "form.filters > .field.active"));
  assert.equal((find("select[name=span]") as HTMLSelectElement).value, "7d");
  await click("Clear filter");
  assert.equal(address(), "/events");
  await open("/bundles?event=a%20b&dirty=1", no_bundles);
  expected.is("of one event", shown("main > h1", "form.filters > .unfold"));
});

test("a field changes its part of the address and keeps the rest", async () => {
  await open("/events?dirty=1&after=x", no_events);
  await enter("select[name=start]", "warm");
  assert.equal(address(), "/events?dirty=1&start=warm");
  await enter("select[name=span]", "30d");
  assert.equal(address(), "/events?dirty=1&start=warm&span=30d");
  await enter("input[name=from]", "2026-11-21T11:57");
  assert.equal(address(), "/events?dirty=1&start=warm&from=2026-11-21T10%3A57Z");
  await enter("input[name=to]", "2026-07-22T01:00");
  assert.equal(
    address(),
    "/events?dirty=1&start=warm&from=2026-11-21T10%3A57Z&to=2026-07-21T23%3A00Z",
  );
  await enter("input[name=from]", "");
  assert.equal(address(), "/events?dirty=1&start=warm&to=2026-07-21T23%3A00Z");
  await enter("select[name=span]", "all");
  assert.equal(address(), "/events?dirty=1&start=warm");
  await enter("select[name=start]", "");
  assert.equal(address(), "/events?dirty=1");
});

test("another name shows the first part of the list again", async () => {
  await open("/events?after=x&start=cold", no_events);
  await click("Host: any");
  await check(".picker-panel li:nth-child(2) input", true);
  assert.equal(address(), "/events?start=cold&host=web-2");
  await open("/events?after=x", no_events);
  await enter("select[name=start]", "warm");
  assert.equal(address(), "/events?start=warm");
});

test("the search writes the address after a pause", async () => {
  await open("/events", no_events);
  await enter("input[name=search]", "che");
  await pass(199);
  assert.equal(address(), "/events");
  await pass(1);
  assert.equal(address(), "/events?search=che");
  assert.match(shown("h1"), /\nreplaced .*search=che/, "letters are no entries of the history");
  await click("Clear filter");
  assert.equal((find("input[name=search]") as HTMLInputElement).value, "");
});

test("on phones the filters fold", async () => {
  await open("/events?host=h&start=cold", no_events);
  assert.equal(find("form.filters").className, "filters folded");
  await click("Filters: 2");
  assert.equal(find("form.filters").className, "filters");
  assert.match(shown(".unfold"), /aria-expanded="true"/);
});

const hosts = Array.from({ length: 250 }, (_, index) => `web-${index}`);
const choices = { hosts, users: [], builds: [], processes: [], units: [], from: null, to: null };
const names = () =>
  [...document.querySelectorAll(".picker-panel li")].map((item) => item.textContent?.trim());

test("a picker lists names, the chosen ones first, and ticks them", async () => {
  await open("/events?host=web-7&host=gone", {
    ...no_events,
    "/api/v1/choices": { ...choices, hosts: ["web-1", "web-7"] },
  });
  assert.match(shown(".picker.active button"), /title="gone\\nweb-7".*\n  2 selected/);
  await click("Host: 2 selected");
  assert.equal(document.activeElement, find("input[aria-label='Search in hosts']"));
  expected.is("open", shown(".picker-panel"));
  await check(".picker-panel li:nth-child(3) input", true);
  assert.equal(address(), "/events?host=gone&host=web-7&host=web-1");
  assert.deepEqual(names(), ["gone", "web-7", "web-1"]);
  await check(".picker-panel li:nth-child(1) input", false);
  assert.equal(address(), "/events?host=web-1&host=web-7");
  await click("Clear");
  assert.equal(address(), "/events");
  assert.match(shown(".picker-end"), /<button class="quiet" disabled/);
  await click("Done");
  assert.equal(document.querySelector(".picker-panel"), null);
  assert.equal(document.activeElement?.getAttribute("aria-label"), "Host: any");
  await click("Host: any");
  await press(".picker-panel input", "Escape");
  assert.equal(document.querySelector(".picker-panel"), null);
});

test("a picker shows 200 names, and finds others by parts and patterns", async () => {
  await open("/events", { ...no_events, "/api/v1/choices": choices });
  await click("Host: any");
  assert.equal(names().length, 200);
  expected.is("many", shown(".picker-panel > p"));
  const field = ".picker-panel input[type=search]";
  await enter(field, "EB-24");
  assert.equal(names().length, 11);
  await enter(field, "web-24*");
  assert.equal(names().length, 12);
  assert.equal(names()[0], "web-24* all that match");
  await enter(field, "*");
  assert.deepEqual(names(), []);
  await enter(field, "nothing");
  expected.is("nothing fits", shown(".picker-panel > p"));
  requested();
  await pass(200);
  assert.deepEqual(requested(), []);
  find("h1").dispatchEvent(new Event("pointerdown", { bubbles: true }));
  await pass(0);
  assert.equal(document.querySelector(".picker-panel"), null);
});

test("beyond the thousand names that the server lists, it is asked", async () => {
  const thousand = Array.from({ length: 1000 }, (_, index) => `web-${index}`);
  const asked = (request: { path: string }) =>
    request.path.includes("search=")
      ? { ...choices, hosts: ["x-far"] }
      : { ...choices, hosts: thousand };
  await open("/bundles?event=a%20b", { ...no_bundles, "/api/v1/choices": asked });
  assert.ok(requested().includes("GET /api/v1/choices?event=a+b"));
  await click("Host: any");
  await enter(".picker-panel input[type=search]", "x*far");
  await pass(199);
  assert.deepEqual(requested(), []);
  await pass(1);
  assert.deepEqual(requested(), ["GET /api/v1/choices?event=a+b&search=far"]);
  assert.deepEqual(names(), ["x*far all that match", "x-far"]);
});

test("a name that is ticked stays in place", async () => {
  await open("/events", no_events);
  await click("Host: any");
  await check(".picker-panel li:nth-child(2) input", true);
  assert.deepEqual(names(), ["web-1", "web-2"]);
  await enter(".picker-panel input[type=search]", "x*");
  await check(".picker-panel li:nth-child(1) input", true);
  await enter(".picker-panel input[type=search]", "");
  assert.deepEqual(names(), ["web-1", "web-2", "x*"]);
});

test("builds have their names", async () => {
  await open("/events?build=b2b2b2b2b2b2b2b2", no_events);
  await click("Build: v2");
  expected.is("builds", shown(".picker-panel ul", ".picker.active > button"));
  await enter(".picker-panel input[type=search]", "V2");
  assert.deepEqual(names(), ["v2 (b2b2b2b2b2b2)"]);
});

test("a picker closes with Escape only, and names are found in any case", async () => {
  await open("/events", {
    ...no_events,
    "/api/v1/choices": { ...choices, hosts: ["Web-1", "web-2"] },
  });
  await click("Host: any");
  const field = ".picker-panel input[type=search]";
  for (const key of ["a", "Enter", "Tab"]) await press(field, key);
  assert.ok(document.querySelector(".picker-panel"));
  await enter(field, "web-1");
  assert.deepEqual(names(), ["Web-1"]);
  await enter(field, "Web-1");
  assert.deepEqual(names(), ["Web-1"]); // no pattern, so only one name
  await enter(field, "w*");
  assert.deepEqual(names(), ["w* all that match", "web-2"]);
});

test("a picker says that it searches until the server answers", async () => {
  const thousand = Array.from({ length: 1000 }, (_, index) => `web-${index}`);
  let answer: unknown = pending;
  await open("/events", {
    ...no_events,
    "/api/v1/choices": (request: { path: string }) =>
      request.path.includes("search=") ? answer : { ...choices, hosts: thousand },
  });
  await click("Host: any");
  const field = ".picker-panel input[type=search]";
  await enter(field, "far");
  await pass(200);
  assert.match(shown(".picker-panel [role=status]"), /Searching…/);
  answer = { ...choices, hosts: [] };
  await enter(field, "farther");
  await pass(200);
  assert.match(shown(".picker-panel [role=status]"), /No hosts match\./);
});

test("each field of names changes its own filter", async () => {
  await open("/events", {
    ...no_events,
    "/api/v1/choices": {
      ...choices,
      hosts: ["h1"],
      users: ["u1"],
      builds: ["b1"],
      processes: ["p1"],
      units: ["s1"],
    },
  });
  const fields: [string, string, string][] = [
    ["Host", "host", "h1"],
    ["User", "user", "u1"],
    ["Build", "build", "b1"],
    ["Process", "process", "p1"],
    ["Unit", "unit", "s1"],
  ];
  for (const [label, name, value] of fields) {
    await click(`${label}: any`);
    assert.deepEqual(names(), [value], label);
    await check(".picker-panel li input", true);
    assert.equal(address(), `/events?${name}=${value}`);
    await click("Clear");
    await click("Done");
    assert.equal(address(), "/events");
  }
});

test("Enter in a field of filters does not leave the page", async () => {
  const choice = { ...no_events, ...no_bundles, "/api/v1/causes": { causes: [record()] } };
  for (const [path, forms] of [
    ["/events", 1],
    ["/bundles", 1],
    ["/causes", 1],
    ["/compare?event=x&a=host%3Dh&b=", 3],
  ] as const) {
    await open(path, choice);
    const found = [...document.querySelectorAll("main form")];
    assert.equal(found.length, forms, path);
    for (const [place, form] of found.entries()) {
      form.id = `form-${place}`;
      await submit(`#form-${place}`);
    }
    assert.equal(address(), path);
  }
});
