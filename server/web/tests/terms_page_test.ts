import { createElement, render } from "preact";
import { test } from "node:test";
import { colourOfReason, colourOfState, reason_colours, run_colours } from "../src/colours";
import { set_colours, stage_colours, state_colours } from "../src/colours";
import { Help } from "../src/help";
import { legendOf } from "../src/flame/colours";
import { Expected } from "./page/page";

const expected = new Expected("terms_page");

test("the meanings of all terms", () => {
  const box = document.createElement("div");
  const terms = [
    "q",
    "p",
    "signature",
    "extra",
    "dirty",
    "outlier",
    "weight",
    "level",
    "certain",
    "evidence",
  ] as const;
  render(createElement(Help, { of: [...terms] }), box);
  const rows = [...box.querySelectorAll("dl > div")];
  const meanings = rows.map(
    (row) => `${row.querySelector("dt")?.textContent}: ${row.querySelector("dd")?.textContent}`,
  );
  expected.is("terms", [box.querySelector("summary")?.textContent, ...meanings].join("\n"));
});

test("the colours of stages, states, reasons and sets", () => {
  const reasons = [...reason_colours.map(([beginning]) => beginning), "something else"];
  const states = [...Object.keys(state_colours), "something else"];
  expected.is(
    "colours",
    [
      ...stage_colours,
      ...states.map((state) => `${state}: ${colourOfState(state, "disk")}`),
      ...reasons.map((reason) => `${reason} (more): ${colourOfReason(`${reason} (more)`)}`),
      JSON.stringify({ set_colours, run_colours }, null, 1),
      JSON.stringify({ light: legendOf(false), dark: legendOf(true) }, null, 1),
    ].join("\n"),
  );
});
