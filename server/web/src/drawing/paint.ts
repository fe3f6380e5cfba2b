// Drawing functions shared by the flame graph and the timelines.
import type { Theme } from "../colours";
import { type Span, Scale, roundSteps } from "./span";

export const font = "11px system-ui, sans-serif";
const pixels_of_step = 110; // on an axis: about one label

// Cuts a text to the available room.
export function cutText(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, letters - 1))}…`;
}

// Black or white, whichever has more contrast with the colour.
export function inkOn(colour: string): string {
  const part = (at: number) => parseInt(colour.slice(at, at + 2), 16);
  return 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5) > 140 ? "#101316" : "#ffffff";
}

// The outlines of the hovered and the selected thing. The hovered one comes first, so that the
// other is drawn above it.
export function marksOf<Thing>(
  hovered: Thing,
  chosen: Thing,
  theme: Pick<Theme, "text" | "accent">,
): [Thing, string, number][] {
  return [
    [hovered, theme.text, 1],
    [chosen, theme.accent, 2],
  ];
}

export function frame(
  context: CanvasRenderingContext2D,
  colour: string,
  thickness: number,
  left: number,
  top: number,
  width: number,
  height: number,
): void {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(left, top, width, height);
}

export function fill(
  context: CanvasRenderingContext2D,
  colour: string,
  opacity: number,
  left: number,
  top: number,
  width: number,
  height: number,
): void {
  context.globalAlpha = opacity;
  context.fillStyle = colour;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
}

// Draws the range that the pointer is selecting.
export function drawStretch(
  context: CanvasRenderingContext2D,
  scale: Scale,
  stretch: Span | null,
  theme: Pick<Theme, "accent">,
  top: number,
  height: number,
): void {
  if (stretch)
    fill(
      context,
      theme.accent,
      0.2,
      scale.x(stretch.from),
      top,
      scale.x(stretch.to) - scale.x(stretch.from),
      height,
    );
}

export interface Axis {
  left: number;
  width: number; // to the picture's right edge
  ticks: number; // their top
  text: number; // its baseline, for the context's settings
}

export function drawAxis(
  context: CanvasRenderingContext2D,
  scale: Scale,
  span: Span,
  axis: Axis,
  theme: Pick<Theme, "line" | "muted">,
  words: (at: number) => string,
): void {
  for (const at of roundSteps(span, pixels_of_step / scale.per_unit)) {
    const x = scale.x(at);
    context.fillStyle = theme.line;
    context.fillRect(x, axis.ticks, 1, 4);
    context.fillStyle = theme.muted;
    const text = at === 0 ? "0" : words(at);
    const wide = context.measureText(text).width;
    context.fillText(
      text,
      Math.max(axis.left, Math.min(axis.left + axis.width - wide, x - wide / 2)),
      axis.text,
    );
  }
}
