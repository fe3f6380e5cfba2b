import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bringIntoSight, freshContext, placeOn, pressKey } from "../src/drawing/surface";
import { drawingOf } from "./page/canvas";

test("a box scrolls only as far as needed, with room for what covers its top", () => {
  const scroller = { scrollTop: 100, clientHeight: 200 } as HTMLElement;
  const after = (top: number, height: number, above?: number) => {
    scroller.scrollTop = 100;
    bringIntoSight(scroller, top, height, above);
    return scroller.scrollTop;
  };
  assert.equal(after(99, 20), 99);
  assert.equal(after(100, 20), 100);
  assert.equal(after(280, 20), 100);
  assert.equal(after(281, 20), 101);
  assert.equal(after(270, 20, 10), 100);
  assert.equal(after(280, 20, 10), 110);
});

test("keys run their actions, but not with Ctrl, Alt or Meta", () => {
  const ran: string[] = [];
  const press = (key: string, more: object = {}) => {
    ran.length = 0;
    const event = new dom.KeyboardEvent("keydown", { key, cancelable: true, ...more });
    pressKey(event as never, { a: () => ran.push("a") }, () => ran.push("before"));
    return [...ran, event.defaultPrevented];
  };
  assert.deepEqual(press("a"), ["before", "a", true]);
  assert.deepEqual(press("a", { shiftKey: true }), ["before", "a", true]);
  assert.deepEqual(press("b"), [false]);
  for (const key of ["ctrlKey", "metaKey", "altKey"])
    assert.deepEqual(press("a", { [key]: true }), [false], key);
});

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
