// Bars on a canvas, stacked or side by side, with axes and a tip at the pointer. The bars are drawn
// once for each input, however often the pointer moves.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Theme } from "../colours";
import { font } from "../drawing/paint";
import { freshContext, useSize } from "../drawing/surface";
import { useTheme } from "../theme";
import { BarArea, labelStep, valueTicks } from "./bar_area";

export interface BarSet {
  colour: string | ((slot: number) => string);
  values: (number | null)[]; // by slot; null is a gap
}

export interface Bars {
  sets: BarSet[];
  stacked: boolean;
  filled: number; // the share of a slot that its bars take
  labels: string[] | null; // below the slots, where there is room
  value: (value: number) => string; // at the value axis
  whole: boolean; // values are counts
  title?: string; // of the value axis
  max?: number; // the axis's end; higher bars are cut
  padding: { top: number; bottom: number };
  after?: (context: CanvasRenderingContext2D, area: BarArea) => void;
  tip?: (slot: number) => string[]; // lines; the first is a heading
}

const label_height = 18;

function highestOf({ sets, stacked }: Bars): number {
  const count = Math.max(0, ...sets.map((set) => set.values.length));
  let highest = 0;
  for (let slot = 0; slot < count; ++slot) {
    const values = sets.map((set) => set.values[slot] ?? 0);
    highest = Math.max(
      highest,
      stacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values),
    );
  }
  return highest;
}

export function drawBars(
  context: CanvasRenderingContext2D,
  bars: Bars,
  width: number,
  height: number,
  theme: Theme,
): BarArea {
  context.font = font;
  context.textBaseline = "middle";
  const ticks = valueTicks(bars.max ?? (highestOf(bars) || 1), bars.whole, bars.max !== undefined);
  const gutter =
    Math.ceil(Math.max(...ticks.map((tick) => context.measureText(bars.value(tick)).width))) +
    8 +
    (bars.title ? 16 : 0);
  const bottom = height - bars.padding.bottom - (bars.labels ? label_height : 0);
  const slots = Math.max(0, ...bars.sets.map((set) => set.values.length));
  const area = new BarArea(
    { left: gutter, right: width, top: bars.padding.top + 6, bottom },
    slots,
    bars.max ?? ticks[ticks.length - 1],
  );
  drawValues(context, bars, area, ticks, theme);
  if (bars.labels) drawLabels(context, bars.labels, area, theme);
  context.save();
  context.beginPath();
  context.rect(gutter, area.box.top, width - gutter, bottom - area.box.top);
  context.clip();
  drawSets(context, bars, area);
  context.restore();
  bars.after?.(context, area);
  return area;
}

function drawValues(
  context: CanvasRenderingContext2D,
  bars: Bars,
  area: BarArea,
  ticks: number[],
  theme: Theme,
): void {
  const { box } = area;
  context.textAlign = "right";
  for (const tick of ticks) {
    const y = Math.round(area.y(tick));
    context.fillStyle = theme.line;
    context.fillRect(box.left - 4, y, box.right - box.left + 4, 1);
    context.fillStyle = theme.muted;
    context.fillText(bars.value(tick), box.left - 7, y);
  }
  context.textAlign = "center";
  if (!bars.title) return;
  context.save();
  context.translate(7, (box.top + box.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(bars.title, 0, 0);
  context.restore();
}

function drawLabels(
  context: CanvasRenderingContext2D,
  labels: string[],
  area: BarArea,
  theme: Theme,
): void {
  const every = labelStep(
    area,
    Math.max(0, ...labels.map((label) => context.measureText(label).width)),
  );
  context.fillStyle = theme.muted;
  let free = 0; // the last label is moved to the left, perhaps into the one before it
  for (let slot = 0; slot < labels.length; slot += every) {
    const half = context.measureText(labels[slot]).width / 2;
    const x = Math.max(half, Math.min(area.box.right - half, area.x(slot)));
    if (x - half < free) continue;
    context.fillText(labels[slot], x, area.box.bottom + 11);
    free = x + half + 6;
  }
}

function drawSets(
  context: CanvasRenderingContext2D,
  { sets, stacked, filled }: Bars,
  area: BarArea,
): void {
  const base = new Float64Array(area.slots);
  const width = (area.step * filled) / (stacked ? 1 : sets.length);
  sets.forEach((set, index) => {
    set.values.forEach((value, slot) => {
      if (value === null || value === 0) return;
      const top = area.y((stacked ? base[slot] : 0) + value);
      const left = area.x(slot) - (area.step * filled) / 2 + (stacked ? 0 : index * width);
      context.fillStyle = typeof set.colour === "string" ? set.colour : set.colour(slot);
      context.fillRect(
        left,
        top,
        Math.max(width, 0.5),
        Math.max(0.5, area.y(stacked ? base[slot] : 0) - top),
      );
      if (stacked) base[slot] += value;
    });
  });
}

// `label` describes the picture in words. A canvas is not accessible, so the page also has the
// figures as text.
export function ChartCanvas({
  make,
  inputs,
  height,
  label,
  onDrawn,
}: {
  make: (theme: Theme) => Bars;
  inputs: unknown[];
  height: number;
  label: string;
  onDrawn?: (area: BarArea) => void;
}) {
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<{ area: BarArea; bars: Bars } | null>(null);
  const { width } = useSize(box);
  const [at, setAt] = useState(-1); // the slot at the pointer
  useEffect(() => {
    const context =
      width > 0 && canvas.current ? freshContext(canvas.current, { width, height }) : null;
    if (!context) return;
    const bars = make(theme);
    drawn.current = { bars, area: drawBars(context, bars, width, height, theme) };
    onDrawn?.(drawn.current.area);
  }, [theme, width, ...inputs]);
  const tip = at >= 0 && drawn.current?.bars.tip ? drawn.current.bars.tip(at) : null;
  const right = drawn.current !== null && drawn.current.area.x(at) > width / 2;
  return (
    <div class="chart" ref={box} style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        style={{ width: `${width}px`, height: `${height}px` }}
        onMouseMove={(event) =>
          drawn.current?.bars.tip &&
          setAt(
            event.offsetX < drawn.current.area.box.left
              ? -1
              : drawn.current.area.slotAt(event.offsetX),
          )
        }
        onMouseLeave={() => setAt(-1)}
      />
      {tip && drawn.current && (
        <div
          class="tip"
          aria-hidden="true"
          style={
            right
              ? { right: `${width - drawn.current.area.x(at) + 8}px` }
              : { left: `${drawn.current.area.x(at) + 8}px` }
          }>
          {tip.map((line, index) => (
            <div key={index}>{index === 0 ? <strong>{line}</strong> : line}</div>
          ))}
        </div>
      )}
    </div>
  );
}
