import assert from "node:assert/strict";
import { test } from "node:test";
import {
  colourOfReason,
  colourOfState,
  other_stages_colour,
  reason_colours,
  run_colours,
  set_colours,
  stage_colours,
  state_colours,
} from "../src/colours";
import { partColours } from "../src/charts/run_times";

test("one colour has one meaning: no two palettes share one", () => {
  const all = [
    ...stage_colours,
    other_stages_colour,
    ...Object.values(state_colours),
    ...reason_colours.map(([, colour]) => colour),
    ...Object.values(set_colours),
    ...Object.values(run_colours),
  ];
  assert.deepEqual(
    all.filter((colour, index) => all.indexOf(colour) !== index),
    [],
  );
  for (const colour of all) assert.match(colour, /^#[0-9a-f]{6}$/);
});

test("a reason of waiting has the same colour in every picture, whatever else is in it", () => {
  assert.equal(colourOfReason("disk (too much unwritten)"), colourOfReason("disk"));
  assert.notEqual(colourOfReason("file lock"), colourOfReason("lock (futex)"));
  assert.equal(colourOfReason("something else"), state_colours.blocked);
  assert.equal(colourOfState("blocked", "disk"), colourOfReason("disk"));
  assert.equal(colourOfState("on CPU", ""), state_colours["on CPU"]);
  const of = (names: string[], name: string) =>
    partColours(names).find((entry) => entry.name === name)?.colour;
  assert.equal(of(["disk", "lock (futex)"], "disk"), of(["network", "disk", "on CPU"], "disk"));
  assert.equal(of(["disk"], "disk"), colourOfReason("disk"));
});
