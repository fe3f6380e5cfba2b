// Pages of a server below a path of its host, with a trace viewer.
import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { runList } from "./answers/runs";
import { pass } from "./page/clock";
import { markupOf } from "./page/markup";
import { type Answers, Refusal, answerWith, takeRequests } from "./page/server";

dom.document.head.innerHTML =
  '<meta name="lagtrap-base" content="/tools/lagtrap">' +
  '<meta name="lagtrap-viewer" content="https://viewer.example">';
dom.document.body.innerHTML = '<div id="app"></div>';
dom.history.replaceState({}, "", "/tools/lagtrap/events");

const session = { account: "ada", role: "admin", teams: [], sees_everything: true };

test("addresses of pages and requests begin with the path", async () => {
  const answers: Answers = {
    "/tools/lagtrap/api/v1/session": session,
    "/tools/lagtrap/api/v1/events": { events: [], next: null, lost: { runs: 0, hosts: [] } },
    "/tools/lagtrap/api/v1/bundles": { bundles: [], next: null },
  };
  answerWith(answers);
  await import("../src/main");
  await pass(0);
  assert.deepEqual(
    takeRequests().map(({ path }) => path),
    [
      "/tools/lagtrap/api/v1/session",
      "/tools/lagtrap/api/v1/choices",
      "/tools/lagtrap/api/v1/builds",
      "/tools/lagtrap/api/v1/events?limit=100",
    ],
  );
  const links = [...document.querySelectorAll("a")].map((link) => link.getAttribute("href"));
  assert.deepEqual(links.slice(0, 4), [
    "#main",
    "/tools/lagtrap/",
    "/tools/lagtrap/",
    "/tools/lagtrap/events",
  ]);
  assert.match(
    document.querySelector("main")?.textContent ?? "",
    /url="https:\/\/lagtrap\.example\/tools\/lagtrap"/,
  );
  assert.equal(document.querySelector("nav a[aria-current]")?.textContent, "Events");
  document.querySelectorAll<HTMLElement>("nav a")[3].click();
  await pass(0);
  assert.equal(dom.location.pathname, "/tools/lagtrap/bundles");
  assert.equal(document.title, "Bundles · lagtrap");
  dom.history.replaceState({}, "", "/tools/lagtrap/events");
  dom.dispatchEvent(new dom.Event("popstate"));
  await pass(0);
  assert.equal(document.title, "Events · lagtrap");
});

test("a delay can be opened in the viewer", async () => {
  const api = `/tools/lagtrap/api/v1/bundles/${digest("a")}`;
  const answers: Answers = {
    "/tools/lagtrap/api/v1/session": session,
    [`${api}/delays`]: bundleDelays([delay()]),
    [`${api}/delays/3/profile`]: flame(),
    [`${api}/delays/3/timeline`]: timeline(),
    [`${api}/trace`]: new Refusal(404, "no trace", "record again"),
    "https://viewer.example": {},
    "/tools/lagtrap/api/v1/formats": { formats: [] },
    "/tools/lagtrap/api/v1/delays": { delays: [], next: null },
    "/tools/lagtrap/api/v1/events/checkout/runs": runList([]),
  };
  answerWith(answers);
  const { navigate } = await import("../src/router");
  navigate(`/bundle/${digest("a")}/3`);
  await pass(0);
  const button = document.querySelector<HTMLElement>(".actions button.primary") as HTMLElement;
  assert.equal(
    markupOf(button).replace(/\n */g, ""),
    '<button class="primary" title="Opens viewer.example in a new window and sends it the trace ' +
      'from this browser" type="button">Open in Perfetto',
  );
  assert.doesNotMatch(document.querySelector("main")?.textContent ?? "", /--trace-viewer/);
  const said = () => document.querySelector(".said")?.textContent;
  Object.assign(dom, { open: () => null });
  button.click();
  await pass(0);
  assert.match(said() ?? "", /^That did not work: the browser blocked the window; .*trace\.$/);
  Object.assign(dom, { open: () => ({ postMessage() {}, close() {}, closed: false }) });
  button.click();
  await pass(0);
  assert.equal(said(), "That did not work: no trace. record again");
  answers[`${api}/trace`] = new Refusal(400, "no trace");
  button.click();
  await pass(0);
  assert.equal(said(), "That did not work: no trace.");
});
