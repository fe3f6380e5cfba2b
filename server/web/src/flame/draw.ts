// Draws the visible part of a flame graph. The canvas is never larger than the visible part:
// browsers fail on canvases of some ten thousand pixels, and deep stacks are taller than that.
import { frame, marksOf } from "../drawing/paint";
import { type Span, Scale } from "../drawing/span";
import { fitName, foldName } from "../names";
import type { NodeColours } from "./colours";
import { type Layout, firstAfter } from "./layout";
import type { FlameTree, Matches } from "./tree";

export const row_height = 18;
const font = "11px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

// The visible part, as shares of the whole.
export interface View extends Span {
  zoomed: number; // the node that fills the width
  selected: number;
  hovered: number;
  scroll: number; // pixels
}

export interface Ink {
  text: string;
  line: string;
  surface: string;
  accent: string;
  match: string;
  dark: boolean;
}

let letter_width = 0;

function widthOfLetter(context: CanvasRenderingContext2D): number {
  if (letter_width === 0) letter_width = context.measureText("mmmmmmmmmm").width / 10;
  return letter_width;
}

export function labelOf(tree: FlameTree, node: number): string {
  if (node === 0) return tree.names[tree.name[0]].function || "all";
  const name = tree.names[tree.name[node]];
  if (name.function !== "") return name.function;
  return name.module === ""
    ? "unknown code"
    : `[${name.module.slice(name.module.lastIndexOf("/") + 1)}]`;
}

export function drawFlame(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  tree: FlameTree,
  layout: Layout,
  view: View,
  colours: NodeColours,
  matches: Matches | null,
  ink: Ink,
): void {
  context.font = font;
  context.textBaseline = "middle";
  const scale = new Scale(view, 0, width);
  const first_row = Math.floor(view.scroll / row_height);
  const last_row = Math.min(
    layout.rows.length - 1,
    Math.floor((view.scroll + height) / row_height),
  );
  const labels: [number, number, number, number][] = [];
  for (let depth = first_row; depth <= last_row; ++depth) {
    const row = layout.rows[depth];
    const top = depth * row_height - view.scroll;
    let drawn_to = -1; // merges nodes within a pixel into one rectangle
    for (let index = firstAfter(layout, row, view.from); index < row.length; ++index) {
      const node = row[index];
      if (layout.left[node] >= view.to) break;
      const left = Math.max(0, scale.x(layout.left[node]));
      const right = Math.min(width, scale.x(layout.right[node]));
      if (right <= drawn_to) continue;
      const start = Math.max(left, drawn_to);
      const box = Math.max(right - start - (right - left > 3 ? 1 : 0), 0.75);
      const found = matches === null ? 1 : matches.found[node];
      context.globalAlpha =
        matches !== null && !found ? 0.4 : depth < layout.depth[view.zoomed] ? 0.55 : 1;
      context.fillStyle = matches !== null && found ? ink.match : colours.palette[colours.of[node]];
      context.fillRect(start, top, box, row_height - 1);
      drawn_to = right - left < 1 ? start + 1 : right;
      if (right - left > 34) labels.push([node, left, right, top]);
    }
  }
  drawLabels(context, tree, labels, matches, ink);
  // The root is selected at first, and a frame around everything would be useless.
  for (const [node, colour, thickness] of marksOf(
    view.hovered,
    view.selected > 0 ? view.selected : -1,
    ink,
  ))
    outline(context, layout, view, node, scale, width, colour, thickness);
}

function drawLabels(
  context: CanvasRenderingContext2D,
  tree: FlameTree,
  labels: [number, number, number, number][],
  matches: Matches | null,
  ink: Ink,
): void {
  const letter = widthOfLetter(context);
  for (const [node, left, right, top] of labels) {
    const room = Math.floor((right - left - 8) / letter);
    const text = fitName(foldName(labelOf(tree, node)), room);
    const found = matches !== null && matches.found[node];
    context.globalAlpha = matches !== null && !found ? 0.75 : 1;
    context.fillStyle = found ? "#1c1f23" : ink.text;
    context.fillText(text, left + 4, top + row_height / 2);
  }
  context.globalAlpha = 1;
}

function outline(
  context: CanvasRenderingContext2D,
  layout: Layout,
  view: View,
  node: number,
  scale: Scale,
  width: number,
  colour: string,
  thickness: number,
): void {
  if (node < 0 || layout.right[node] <= layout.left[node]) return;
  const left = Math.max(0, scale.x(layout.left[node]));
  const right = Math.min(width, scale.x(layout.right[node]));
  if (right <= 0 || left >= width) return;
  const inset = thickness / 2;
  frame(
    context,
    colour,
    thickness,
    left + inset,
    layout.depth[node] * row_height - view.scroll + inset,
    Math.max(1, right - left - 1 - thickness),
    row_height - 1 - thickness,
  );
}
