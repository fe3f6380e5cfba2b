import assert from "node:assert/strict";
import { test } from "node:test";
import { functionIn } from "../src/evidence";

test('a sentence\'s function is the one after the first "in"', () => {
  assert.equal(
    functionIn(
      "Waited 63.0 ms (78 %) on a futex (a lock or a signal) in ReadWholeTable, " +
        "until prefetch (101) woke it; meanwhile it computed in parse.",
    ),
    "ReadWholeTable",
  );
  assert.equal(functionIn("Computed for 18.0 ms (22 %) in <script>alert."), "<script>alert");
  assert.equal(
    functionIn(
      "Waited for memory of its control group /small in fill_buffer (app): it was at its limit.",
    ),
    "fill_buffer",
  );
});

test("a name ends before the sentence goes on", () => {
  assert.equal(functionIn("Waited in shop::run: it held a lock."), "shop::run");
});

test("numbers and words are no functions", () => {
  assert.equal(functionIn("Slept 3 ms in 5 sleeps in shop::pause."), "shop::pause");
  for (const sentence of [
    "Slept 3 ms in 5 sleeps.",
    "It was in a run of its own.",
    "The rest is unknown.",
  ])
    assert.equal(functionIn(sentence), null);
});

test("words after in that are no names", () => {
  const words =
    "a all an another any it its one that the this which A All An Another Any It Its One That " +
    "The This Which";
  for (const word of words.split(" "))
    assert.equal(functionIn(`It waited in ${word} time; then in shop::run.`), "shop::run", word);
});
