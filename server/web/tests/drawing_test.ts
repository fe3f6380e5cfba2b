import assert from "node:assert/strict";
import { test } from "node:test";
import { cutText, inkOn } from "../src/drawing/paint";
import {
  Scale,
  clampSpan,
  firstPlace,
  roundSteps,
  spanAround,
  zoomSpan,
} from "../src/drawing/span";

test("a scale goes from a span to pixels and back", () => {
  const scale = new Scale({ from: 100, to: 300 }, 50, 400);
  assert.deepEqual(
    [100, 200, 300].map((at) => scale.x(at)),
    [50, 250, 450],
  );
  assert.deepEqual(
    [50, 250, 450].map((x) => scale.at(x)),
    [100, 200, 300],
  );
  assert.equal(new Scale({ from: 100, to: 300 }, 0, 0).at(0), 100, "before anything was measured");
});

test("what is looked at stays within what there is, and no shorter than asked", () => {
  const bounds = { from: -10, to: 90 };
  assert.deepEqual(clampSpan({ from: 20, to: 30 }, bounds, 5), { from: 20, to: 30 });
  assert.deepEqual(clampSpan({ from: 20, to: 21 }, bounds, 5), { from: 20, to: 25 });
  assert.deepEqual(clampSpan({ from: -30, to: -10 }, bounds, 5), { from: -10, to: 10 });
  assert.deepEqual(clampSpan({ from: 80, to: 100 }, bounds, 5), { from: 70, to: 90 });
  assert.deepEqual(clampSpan({ from: -500, to: 500 }, bounds, 5), bounds);
});

test("zooming leaves one place where it was", () => {
  const closer = zoomSpan({ from: 0, to: 100 }, 0.5, 25);
  assert.deepEqual(closer, { from: 12.5, to: 62.5 });
  assert.equal(new Scale(closer, 0, 400).x(25), new Scale({ from: 0, to: 100 }, 0, 400).x(25));
  assert.deepEqual(spanAround(10, 4), { from: 8, to: 12 });
});

test("an axis has round steps, and 0 for what is nearly 0", () => {
  assert.deepEqual(roundSteps({ from: 0, to: 100 }, 23), [0, 50, 100]);
  assert.deepEqual(roundSteps({ from: -35, to: 35 }, 11), [-20, 0, 20]);
  assert.equal(roundSteps({ from: -0.3, to: 0.3 }, 0.1).filter((at) => at === 0).length, 1);
});

test("places in order are found by halving", () => {
  const ends = [3, 7, 7, 12];
  assert.deepEqual(
    [0, 3, 6, 7, 12].map((at) => firstPlace(ends.length, (place) => ends[place] > at)),
    [0, 1, 1, 3, 4],
  );
  assert.equal(
    firstPlace(0, () => true),
    0,
  );
});

test("texts are cut to their room, and written in what is told apart from the colour below", () => {
  assert.deepEqual(
    [cutText("worker", 6), cutText("worker", 4), cutText("worker", 0)],
    ["worker", "wor…", "w…"],
  );
  assert.deepEqual([inkOn("#f0e442"), inkOn("#332288")], ["#101316", "#ffffff"]);
});
