import assert from "node:assert/strict";
import { test } from "node:test";
import { timeWords } from "../src/machine/draw";
import { readMachine, state_words, threadName, processName } from "../src/machine/model";
import { machine } from "./answers/machines";

test("what woke a thread is said by kind, with the device if it is known", () => {
  const wakes = Array.from({ length: 9 }, (_, kind) => [kind, 10, 0, kind, kind === 4 ? 15 : 0]);
  assert.deepEqual(
    readMachine(machine({ wakes: wakes.flat() })).wakes.map((wake) => wake.words),
    [
      "",
      "",
      "by its own timeout",
      "by a timer",
      "by a packet (eth0)",
      "by a disk",
      "by a device",
      "by an interrupt",
      "",
    ],
  );
  const [first] = readMachine(machine({ wakes: [5, 10, 11, 1, 15, 9, 9] })).wakes;
  assert.deepEqual(first, { at: -20e6 + 5, tid: 10, waker: 11, words: "" });
});

test("threads and processes without names have their numbers", () => {
  const read = readMachine(machine());
  assert.deepEqual(
    [0, 10, 20, 99].map((tid) => threadName(read, tid)),
    ["idle", "shop / worker", "make / cc", "thread 99"],
  );
  assert.equal(processName(read, 7), "process 7");
  const same = machine();
  same.threads[0].name = 3;
  same.threads[1].name = 0;
  const known = readMachine(same);
  assert.deepEqual([threadName(known, 10), threadName(known, 11)], ["shop", "shop"]);
  assert.deepEqual(state_words, ["on CPU", "runnable", "throttled", "blocked", "several"]);
});

test("times before the delay are negative", () => {
  assert.deepEqual([-5e6, 0, 5e6].map(timeWords), ["−5 ms", "0 ns", "5 ms"]);
});
