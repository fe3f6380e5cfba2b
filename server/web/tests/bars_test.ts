import assert from "node:assert/strict";
import { test } from "node:test";
import { BarArea, labelStep, valueTicks } from "../src/charts/bar_area";
import { axisEnd } from "../src/charts/run_order";

test("the value axis ends at a round value above all bars", () => {
  assert.deepEqual(valueTicks(23, true, false), [0, 5, 10, 15, 20, 25]);
  assert.deepEqual(valueTicks(1, true, false), [0, 1]);
  assert.deepEqual(valueTicks(3, true, false), [0, 1, 2, 3]);
  assert.deepEqual(valueTicks(0.4, false, false), [0, 0.1, 0.2, 0.30000000000000004, 0.4]);
  assert.deepEqual(valueTicks(110, false, true), [0, 20, 40, 60, 80, 100]);
});

test("slots and values have their positions, and positions their slots and values", () => {
  const area = new BarArea({ left: 40, right: 240, top: 10, bottom: 110 }, 10, 50);
  assert.equal(area.step, 20);
  assert.equal(area.x(0), 50);
  assert.equal(area.slotAt(area.x(7)), 7);
  assert.equal(area.slotAt(0), 0);
  assert.equal(area.slotAt(999), 9);
  assert.equal(area.y(50), 10);
  assert.equal(area.valueAt(area.y(12)), 12);
});

test("labels are left out where they would touch", () => {
  const area = new BarArea({ left: 0, right: 1000, top: 0, bottom: 1 }, 100, 1);
  assert.equal(labelStep(area, 34), 5);
  assert.equal(labelStep(new BarArea({ left: 0, right: 1000, top: 0, bottom: 1 }, 4, 1), 34), 1);
});

test("the axis ends above ordinary runs: outliers and dirty runs far above are cut", () => {
  const of = (ms: number, more: object = {}) => ({
    duration_ns: ms * 1e6,
    dirty: null,
    outlier: null,
    ...more,
  });
  const end = (...runs: object[]) => axisEnd({ slots: [null, ...runs] } as never);
  assert.equal(end(of(10), of(100)), undefined);
  assert.equal(end(of(10), of(100, { outlier: {} })), 12);
  assert.equal(end(of(10), of(100, { dirty: {} })), 12);
  assert.equal(end(of(100, { outlier: {} })), undefined);
});
