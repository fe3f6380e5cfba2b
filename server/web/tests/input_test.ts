import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bringIntoSight, pressKey } from "../src/drawing/surface";
import { drawAxis, drawStretch, marksOf } from "../src/drawing/paint";
import { Scale } from "../src/drawing/span";
import { isTyping } from "../src/typing";
import { Drawing } from "./page/canvas";

test("a box scrolls as little as needed", () => {
  const scrolled = (from: number, top: number, above = 0) => {
    const box = document.createElement("div");
    box.scrollTop = from;
    bringIntoSight(box, top, 20, above); // of 300 pixels
    return box.scrollTop;
  };
  assert.equal(scrolled(100, 100), 100);
  assert.equal(scrolled(100, 99), 99);
  assert.equal(scrolled(100, 380), 100);
  assert.equal(scrolled(100, 381), 101);
  assert.equal(scrolled(100, 371, 10), 101);
});

test("keys with modifiers are the browser's", () => {
  const pressed: string[] = [];
  const press = (key: string, more: object = {}) => {
    const event = new dom.KeyboardEvent("keydown", { key, cancelable: true, ...more });
    pressKey(event as never, { a: () => pressed.push("a") }, () => pressed.push("before"));
    return event.defaultPrevented;
  };
  assert.deepEqual([press("a"), press("a", { shiftKey: true }), press("b")], [true, true, false]);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }])
    assert.equal(press("a", more), false);
  assert.deepEqual(pressed, ["before", "a", "before", "a"]);
});

test("fields and editable elements are typed in", () => {
  const typed = (tag: string) => isTyping(document.createElement(tag));
  assert.deepEqual(["input", "select", "textarea", "button", "div"].map(typed), [
    true,
    true,
    true,
    false,
    false,
  ]);
  assert.equal(isTyping(null), false);
  const editable = document.createElement("div");
  Object.defineProperty(editable, "isContentEditable", { value: true });
  assert.equal(isTyping(editable), true);
});

const theme = { text: "text", accent: "accent", line: "line", muted: "muted" };

test("labels of an axis stay within it", () => {
  const drawing = new Drawing();
  const span = { from: -1, to: 399 };
  const axis = { left: 50, width: 400, ticks: 90, text: 99 };
  drawAxis(drawing as never, new Scale(span, 50, 400), span, axis, theme, (at) => `${at} units`);
  assert.deepEqual(drawing.lines, [
    "line box 51 90 1 4",
    'muted "0" at 50 99',
    "line box 251 90 1 4",
    'muted "200 units" at 224 99',
  ]);
});

test("what is dragged is shaded, what is hovered and chosen is framed", () => {
  const drawing = new Drawing();
  const scale = new Scale({ from: 0, to: 100 }, 0, 200);
  drawStretch(drawing as never, scale, null, theme, 5, 30);
  drawStretch(drawing as never, scale, { from: 10, to: 40 }, theme, 5, 30);
  assert.deepEqual(drawing.lines, ["accent opacity 20 % box 20 5 60 30"]);
  assert.deepEqual(marksOf(1, 2, theme), [
    [1, "text", 1],
    [2, "accent", 2],
  ]);
});
