import "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, get, getBytes, send, whenSignedOut } from "../src/api";
import { Refusal, answerWith, done, takeRequests, unreachable } from "./page/server";

async function refused(answer: unknown): Promise<ApiError> {
  answerWith({ "/x": answer });
  try {
    await get("/x");
  } catch (error) {
    return error as ApiError;
  }
  throw new Error("it was not refused");
}

test("an error has the server's words, or those for its status", async () => {
  const hints: [number, string][] = [
    [400, ""],
    [403, "Ask an admin of this server for a role with this permission."],
    [404, "The server's retention may have removed it. Go back to the list of events."],
    [418, ""],
    [429, "Wait a moment, then try again."],
    [499, ""],
    [500, "Try again. If this persists, check the server's log."],
    [502, "Try again. If this persists, check the server's log."],
    [503, "The server's store does not answer. Try again in a moment."],
  ];
  for (const [status, hint] of hints) {
    const error = await refused(new Refusal(status));
    assert.deepEqual(
      [error.status, error.message, error.hint],
      [status, `the server answered ${status}`, hint],
    );
  }
  const told = await refused(new Refusal(404, "no such run", "look elsewhere"));
  assert.deepEqual([told.message, told.hint], ["no such run", "look elsewhere"]);
  const without_hint = await refused(new Refusal(429, "too many", ""));
  assert.deepEqual([without_hint.message, without_hint.hint], ["too many", hints[4][1]]);
});

test("an error that is a text, as other servers send it", async () => {
  const before = globalThis.fetch;
  globalThis.fetch = (async () => ({
    ok: false,
    status: 500,
    json: async () => ({ error: "broken" }),
  })) as never;
  await assert.rejects(get("/x"), (error: ApiError) => error.message === "broken");
  globalThis.fetch = before;
});

test("no server, and an aborted request", async () => {
  const error = await refused(unreachable);
  assert.deepEqual([error.status, error.message], [0, "the server does not answer"]);
  const before = globalThis.fetch;
  globalThis.fetch = (async () => {
    throw Object.assign(new Error("aborted"), { name: "AbortError" });
  }) as never;
  await assert.rejects(get("/x"), (one: Error) => one.name === "AbortError");
  globalThis.fetch = before;
});

test("only 401 says that the session has ended", async () => {
  let ended = 0;
  whenSignedOut(() => ++ended);
  await refused(new Refusal(403));
  assert.equal(ended, 0);
  await refused(new Refusal(401));
  assert.equal(ended, 1);
});

test("requests have their method and body", async () => {
  answerWith({ "POST /x": { a: 1 }, "DELETE /x": done, "/x": {} });
  takeRequests();
  assert.deepEqual(await send("POST", "/x", { b: 2 }), { a: 1 });
  assert.equal(await send("DELETE", "/x"), undefined);
  assert.equal((await getBytes("/x")).byteLength, 8);
  assert.deepEqual(takeRequests(), [
    { method: "POST", path: "/x", body: { b: 2 } },
    { method: "DELETE", path: "/x", body: undefined },
    { method: "GET", path: "/x", body: undefined },
  ]);
});

test("requests have the headers that the server needs, and can be aborted", async () => {
  const before = globalThis.fetch;
  const made: unknown[] = [];
  globalThis.fetch = (async (path: string, options: RequestInit) => {
    made.push([path, options]);
    return { ok: true, status: 200, json: async () => ({}), arrayBuffer: async () => null };
  }) as never;
  const { signal } = new AbortController();
  const credentials = "same-origin";
  const Accept = "application/json";
  try {
    await get("/a", signal);
    await send("PUT", "/b", { c: 1 }, signal);
    await send("DELETE", "/d");
    await getBytes("/e");
  } finally {
    globalThis.fetch = before;
  }
  assert.deepEqual(made, [
    ["/a", { credentials, signal, headers: { Accept } }],
    [
      "/b",
      {
        credentials,
        signal,
        method: "PUT",
        body: '{"c":1}',
        headers: { Accept, "Content-Type": "application/json" },
      },
    ],
    ["/d", { credentials, signal: undefined, method: "DELETE", headers: { Accept } }],
    ["/e", { credentials }],
  ]);
});
