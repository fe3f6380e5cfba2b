import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { pass, settle } from "./page/clock";
import { type Answers, Refusal, answerWith, takeRequests, unreachable } from "./page/server";

const viewer_address = "https://viewer.example/ui/";
dom.document.head.innerHTML = `<meta name="lagtrap-viewer" content="${viewer_address}">`;
const trace = `/api/v1/bundles/${digest("a")}/trace`;

// The window of the viewer, as far as the page sees it.
class Viewer {
  closed = false;
  sent: [unknown, string, number][] = [];
  postMessage(message: unknown, origin: string, passed: unknown[] = []): void {
    this.sent.push([message, origin, passed.length]);
  }
  close(): void {
    this.closed = true;
  }
}

function answer(from: object, origin: string, data: string): void {
  const event = new dom.Event("message");
  Object.assign(event, { source: from, origin, data });
  dom.dispatchEvent(event);
}

async function opened(
  answers: Answers,
  viewer: Viewer | null = new Viewer(),
  of = delay({ trace_begin_ns: "5000000000" }),
) {
  const { openInPerfetto } = await import("../src/perfetto");
  let at = "";
  Object.assign(dom, {
    open: (address: string) => {
      at = address;
      return viewer;
    },
  });
  answerWith({ [viewer_address]: {}, [trace]: {}, ...answers });
  takeRequests();
  const said: string[] = [];
  const outcome: { error: Error | null; done: boolean } = { error: null, done: false };
  void openInPerfetto(digest("a"), of, (text) => said.push(text)).then(
    () => (outcome.done = true),
    (error: Error) => {
      outcome.error = error;
    },
  );
  await settle();
  return { said, outcome, at, requests: takeRequests().map(({ path }) => path) };
}

test("the trace goes to the viewer's window once it answers", async () => {
  const viewer = new Viewer();
  const { said, outcome, at, requests } = await opened({}, viewer);
  assert.equal(at, viewer_address);
  assert.deepEqual(requests, [viewer_address, trace]);
  await pass(80);
  assert.deepEqual(viewer.sent, [["PING", "https://viewer.example", 0]]);
  answer({}, "https://viewer.example", "PONG");
  answer(viewer, "https://other.example", "PONG");
  answer(viewer, "https://viewer.example", "other");
  await settle();
  assert.equal(outcome.done, false);
  answer(viewer, "https://viewer.example", "PONG");
  await settle();
  assert.equal(outcome.done, true);
  assert.deepEqual(said, [
    "Opening viewer.example…",
    "Loading the trace…",
    "Opened in the Perfetto UI.",
  ]);
  const [, [file, origin, passed], [view]] = viewer.sent as [unknown, string, number][];
  assert.deepEqual(file, {
    perfetto: {
      buffer: new ArrayBuffer(8),
      title: "checkout: shop",
      fileName: "aaaaaaaaaaaa.pftrace",
      url: "https://lagtrap.example/",
      keepApiOpen: true,
    },
  });
  assert.deepEqual([origin, passed], ["https://viewer.example", 1]);
  assert.deepEqual(view, { perfetto: { timeStart: 5, timeEnd: 5.124, viewPercentage: 0.8 } });
  await pass(1000);
  assert.equal(viewer.sent.length, 3);
});

test("without the trace's begin, the viewer shows all of it", async () => {
  const viewer = new Viewer();
  const { outcome } = await opened({}, viewer, delay({ trace_begin_ns: undefined }));
  answer(viewer, "https://viewer.example", "PONG");
  await settle();
  assert.equal(outcome.done, true);
  assert.equal(viewer.sent.length, 1);
});

test("a window that does not close at once is closed again, for a minute at most", async () => {
  class Busy extends Viewer {
    tries = 0;
    closes_at = 3;
    close(): void {
      this.closed = ++this.tries === this.closes_at;
    }
  }
  const viewer = new Busy();
  await opened({ [viewer_address]: unreachable }, viewer);
  assert.equal(viewer.tries, 1);
  await pass(80);
  await pass(80);
  assert.equal(viewer.closed, true);
  await pass(800);
  assert.equal(viewer.tries, 3);
  const never = new Busy();
  never.closes_at = 0;
  await opened({ [viewer_address]: unreachable }, never);
  await pass(60000);
  const { tries } = never;
  await pass(8000);
  assert.equal(never.tries, tries);
});

test("a blocked window, and a viewer that cannot be reached", async () => {
  const blocked = await opened({}, null);
  assert.match(blocked.outcome.error?.message ?? "", /^the browser blocked the window/);
  const viewer = new Viewer();
  const { said, outcome } = await opened({ [viewer_address]: unreachable }, viewer);
  assert.match(
    outcome.error?.message ?? "",
    /^viewer\.example cannot be reached from this browser/,
  );
  assert.deepEqual(said, ["Opening viewer.example…"]);
  assert.equal(viewer.closed, true);
});

test("a window that is closed, or never answers", async () => {
  const viewer = new Viewer();
  const closed = await opened({}, viewer);
  viewer.close();
  await pass(80);
  assert.equal(closed.outcome.error?.message, "the window of the Perfetto UI was closed");
  let now_ms = 0;
  performance.now = () => now_ms;
  const silent = await opened({});
  const problem = () => silent.outcome.error?.message;
  now_ms = 60000;
  await pass(80);
  assert.equal(problem(), undefined);
  now_ms = 60001;
  await pass(80);
  assert.match(problem() ?? "", /^viewer\.example does not respond like a Perfetto UI/);
});

test("a trace that the server refuses", async () => {
  const { outcome } = await opened({ [trace]: new Refusal(404, "no trace") });
  await settle();
  assert.equal(outcome.error?.message, "no trace");
});

test("the viewer learns nothing about who asks", async () => {
  const before = globalThis.fetch;
  const made: unknown[] = [];
  globalThis.fetch = (async (path: string, options: RequestInit) => {
    if (path === viewer_address) made.push(options);
    return before(path, options);
  }) as never;
  try {
    await opened({});
  } finally {
    globalThis.fetch = before;
  }
  assert.deepEqual(made, [
    { mode: "no-cors", cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" },
  ]);
});
