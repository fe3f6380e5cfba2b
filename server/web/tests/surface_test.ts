import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshContext, placeOn } from "../src/drawing/surface";
import { drawingOf } from "./page/canvas";

test("a canvas has as many pixels as the screen", () => {
  const canvas = document.createElement("canvas");
  const drawn = (ratio: number | undefined) => {
    Object.assign(dom, { devicePixelRatio: ratio });
    drawingOf(canvas).lines = ["something old"];
    const context = freshContext(canvas, { width: 101.25, height: 50.5 });
    assert.equal(context as unknown, drawingOf(canvas));
    const { lines, transform, cleared } = drawingOf(canvas);
    assert.deepEqual(lines, []);
    assert.deepEqual(cleared, [0, 0, 101.25, 50.5]);
    return [canvas.width, canvas.height, ...transform];
  };
  const before = dom.devicePixelRatio;
  try {
    assert.deepEqual(drawn(2), [203, 101, 2, 0, 0, 2, 0, 0]);
    assert.deepEqual(drawn(1), [101, 51, 1, 0, 0, 1, 0, 0]);
    assert.deepEqual(drawn(undefined), [101, 51, 1, 0, 0, 1, 0, 0]);
  } finally {
    Object.assign(dom, { devicePixelRatio: before });
  }
});

test("places of the pointer are those on the canvas", () => {
  const canvas = document.createElement("canvas");
  canvas.getBoundingClientRect = () => ({ left: 30, top: 40 }) as DOMRect;
  const event = { clientX: 100, clientY: 200 } as MouseEvent;
  assert.deepEqual(placeOn({ current: canvas }, event), { x: 70, y: 160 });
});
