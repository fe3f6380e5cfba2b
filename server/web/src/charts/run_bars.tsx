// Runs of one event side by side as stacked bars. The bars are drawn once. The cursor and the
// chosen sets are drawn on a second canvas above, so that moving over a thousand runs stays smooth.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Theme, run_colours, set_colours } from "../colours";
import { formatDuration, formatTime } from "../format";
import { useTheme } from "../theme";
import type { Run } from "../types";
import { freshContext } from "../drawing/surface";
import type { BarArea } from "./bar_area";
import { type Bars as Picture, ChartCanvas } from "./chart";
import {
  type Bars,
  type StageColour,
  axisEnd,
  runsBetween,
  stageAt,
  stageHeights,
} from "./run_order";

const strip_height = 12; // below the bars: one mark per run, which opens it

export interface Cursor {
  slot: number;
  stage: number; // -1: the whole run
}

interface Properties {
  bars: Bars;
  colours: StageColour[];
  sets: { a: Set<string>; b: Set<string> };
  stage: string | null;
  part: "stage" | "part"; // what the bars consist of
  onChoose: (runs: Run[]) => void;
  onSet: (set: "a" | "b", runs: Run[]) => void;
  onStage: (name: string, run: Run) => void;
  onOpen: (run: Run) => void;
  onClear: () => void;
}

// Describes a run for the read-out and screen readers.
export function describeRun(run: Run, colours: StageColour[], stage: number, part: string): string {
  const parts = [
    `${formatTime(run.begin_ns)} on ${run.host}`,
    `${run.start === "unknown" ? "" : `${run.start}, `}${formatDuration(run.duration_ns)}` +
      `${run.delay ? ", a delay" : ""}`,
  ];
  if (run.outlier) parts.push(`outlier: ${run.outlier.reason}`);
  if (run.dirty) parts.push(`dirty: ${run.dirty.reason || run.dirty.rule}`);
  if (run.without_stages && part === "stage") parts.push("stages not recorded");
  const stages = run.stages.map((one) => `${one.name} ${formatDuration(one.duration_ns)}`);
  if (stage >= 0 && colours[stage]?.name !== null) {
    const name = colours[stage].name;
    const own = run.stages
      .filter((one) => one.name === name)
      .reduce((sum, one) => sum + one.duration_ns, 0);
    parts.push(`${part} ${name} ${formatDuration(own)}`);
  } else if (stages.length > 0) {
    parts.push(stages.join(", "));
  }
  return parts.join(" · ");
}

function pictureOf(bars: Bars, colours: StageColour[], heights: number[][]): Picture {
  const fills = colours.length > 0 ? colours : [{ name: null, colour: run_colours.in_time }];
  return {
    sets: fills.map((stage, index) => ({
      values: bars.slots.map((run, slot) =>
        run === null ? null : colours.length > 0 ? heights[slot][index] : run.duration_ns / 1e6,
      ),
      colour: (slot) => (bars.slots[slot]?.dirty ? `${stage.colour}66` : stage.colour),
    })),
    stacked: true,
    filled: bars.slots.length > 150 ? 1 : 0.86,
    whole: false,
    labels: null,
    max: axisEnd(bars),
    value: (ms) => (ms === 0 ? "0" : formatDuration(ms * 1e6)),
    padding: { top: 16, bottom: strip_height },
  };
}

export function RunBars(properties: Properties) {
  const { bars, colours, sets, stage, part, onChoose, onSet, onStage, onOpen, onClear } =
    properties;
  const theme = useTheme();
  const heights = useMemo(
    () => bars.slots.map((run) => (run ? stageHeights(run, colours) : [])),
    [bars, colours],
  );
  const chart = useRef<BarArea | null>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [cursor, setCursor] = useState<Cursor>({ slot: -1, stage: -1 });
  const [range, setRange] = useState<{ from: number; to: number } | null>(null);
  const drag = useRef<{ slot: number; x: number; moved: boolean } | null>(null);
  // Incremented when the chart is created or resized, to redraw the overlay.
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    setCursor({ slot: -1, stage: -1 });
    setRange(null);
  }, [bars]);
  useEffect(() => {
    const element = overlay.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setTurn((old) => old + 1));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (overlay.current && chart.current)
      drawOverlay(overlay.current, chart.current, {
        bars,
        colours,
        heights,
        sets,
        stage,
        cursor,
        range,
        theme,
      });
  });

  const place = (event: MouseEvent): Cursor & { open: boolean } => {
    const element = overlay.current as HTMLCanvasElement;
    const box = element.getBoundingClientRect();
    const area = chart.current as BarArea;
    const slot = area.slotAt(event.clientX - box.left);
    const y = event.clientY - box.top;
    const ms = area.valueAt(y);
    const in_strip = y > area.box.bottom;
    const found = in_strip || !bars.slots[slot] ? -1 : stageAt(heights[slot], ms);
    return { slot, stage: found, open: in_strip || found < 0 };
  };
  const moveBy = (steps: number, extend: boolean) => {
    let slot = cursor.slot < 0 ? (steps > 0 ? -1 : bars.slots.length) : cursor.slot;
    const direction = Math.sign(steps);
    for (let left = Math.abs(steps); left > 0;) {
      const next = slot + direction;
      if (next < 0 || next >= bars.slots.length) break;
      slot = next;
      if (bars.slots[slot]) --left;
    }
    while (slot > 0 && slot < bars.slots.length - 1 && !bars.slots[slot]) slot += direction;
    if (!bars.slots[slot]) return;
    setRange(
      extend ? { from: range?.from ?? (cursor.slot < 0 ? slot : cursor.slot), to: slot } : null,
    );
    setCursor({ slot, stage: -1 });
  };
  const changeStage = (direction: number) => {
    const run = bars.slots[cursor.slot];
    if (!run) return;
    for (
      let stage_index = cursor.stage + direction;
      stage_index >= -1 && stage_index < colours.length;
      stage_index += direction
    ) {
      if (stage_index === -1 || heights[cursor.slot][stage_index] > 0) {
        setCursor({ slot: cursor.slot, stage: stage_index });
        return;
      }
    }
  };
  const chosen = (): Run[] =>
    range
      ? runsBetween(bars, range.from, range.to)
      : bars.slots[cursor.slot]
        ? [bars.slots[cursor.slot] as Run]
        : [];
  const act = () => {
    const run = bars.slots[cursor.slot];
    if (!run) return;
    const name = cursor.stage >= 0 ? colours[cursor.stage].name : null;
    if (name !== null) onStage(name, run);
    else onOpen(run);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(10, Math.round(bars.slots.length / 20));
    const keys: Record<string, () => void> = {
      ArrowLeft: () => moveBy(-1, event.shiftKey),
      ArrowRight: () => moveBy(1, event.shiftKey),
      PageUp: () => moveBy(-page, event.shiftKey),
      PageDown: () => moveBy(page, event.shiftKey),
      Home: () => moveBy(-bars.slots.length, event.shiftKey),
      End: () => moveBy(bars.slots.length, event.shiftKey),
      ArrowUp: () => changeStage(1),
      ArrowDown: () => changeStage(-1),
      Enter: act,
      a: () => onSet("a", chosen()),
      b: () => onSet("b", chosen()),
      o: () => bars.slots[cursor.slot] && onOpen(bars.slots[cursor.slot] as Run),
      Escape: () => {
        setRange(null);
        onClear();
      },
    };
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  const run = cursor.slot >= 0 ? bars.slots[cursor.slot] : null;
  const words = run ? describeRun(run, colours, cursor.stage, part) : "";
  return (
    <div
      class="run-bars"
      tabIndex={0}
      role="application"
      aria-label="Runs as stacked bars"
      aria-describedby="run-keys"
      onKeyDown={onKey}
      data-testid="run-bars"
      data-runs={bars.slots.filter((slot) => slot !== null).length}>
      <p class="readout" data-testid="run-readout">
        {words ||
          `Hover for details. Click ${
            part === "stage"
              ? "a stage for its call stacks, or the mark below a bar to open the run"
              : "a run to open it"
          }. Drag across runs to select a set.`}
      </p>
      <div class="run-canvas">
        <ChartCanvas
          height={300}
          inputs={[bars, colours, heights]}
          label={
            `${bars.slots.filter((slot) => slot).length} runs as stacked bars; ` +
            "the list of runs below has the same figures"
          }
          make={() => pictureOf(bars, colours, heights)}
          onDrawn={(made) => {
            chart.current = made;
            setTurn((old) => old + 1);
          }}
        />
        <canvas
          ref={overlay}
          class="overlay"
          data-turn={turn}
          aria-hidden="true"
          onMouseDown={(event) => {
            if (event.button !== 0 || !chart.current) return;
            drag.current = { slot: place(event).slot, x: event.clientX, moved: false };
          }}
          onMouseMove={(event) => {
            if (!chart.current) return;
            const { open: _open, ...now } = place(event);
            const dragging = drag.current;
            if (dragging && (dragging.moved || Math.abs(event.clientX - dragging.x) > 4)) {
              dragging.moved = true;
              setRange({ from: dragging.slot, to: now.slot });
            }
            if (now.slot !== cursor.slot || now.stage !== cursor.stage) setCursor(now);
          }}
          onMouseUp={(event) => {
            const dragging = drag.current;
            drag.current = null;
            if (!dragging || !chart.current) return;
            const now = place(event);
            if (dragging.moved) {
              onChoose(runsBetween(bars, dragging.slot, now.slot));
              setRange(null);
              return;
            }
            const hit = bars.slots[now.slot];
            const name = now.stage >= 0 ? colours[now.stage]?.name : null;
            if (!hit) return;
            if (now.open || colours.length === 0) onOpen(hit);
            else if (name !== null) onStage(name, hit);
          }}
          onMouseLeave={() => {
            if (drag.current) drag.current = null;
            setRange(null);
          }}
        />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {words}
        {range ? `; ${runsBetween(bars, range.from, range.to).length} runs selected` : ""}
      </p>
    </div>
  );
}

interface Overlay {
  bars: Bars;
  colours: StageColour[];
  heights: number[][];
  sets: { a: Set<string>; b: Set<string> };
  stage: string | null;
  cursor: Cursor;
  range: { from: number; to: number } | null;
  theme: Theme;
}

function drawOverlay(element: HTMLCanvasElement, chart: BarArea, state: Overlay): void {
  const context = freshContext(element, {
    width: element.clientWidth,
    height: element.clientHeight,
  });
  if (!context) return;
  const { box: area, step } = chart;
  const left = (slot: number) => chart.x(slot) - step / 2;
  const { theme } = state;

  context.font = "11px system-ui, sans-serif";
  let label_end = 0;
  for (const group of state.bars.groups) {
    context.fillStyle = theme.muted;
    const text = `${group.to - group.from} ${group.name}`;
    const x = Math.max(left(group.from) + 1, label_end + 12);
    context.fillText(text, x, area.top - 7);
    label_end = x + context.measureText(text).width;
  }
  state.bars.slots.forEach((run, slot) => {
    if (!run) return;
    const x = left(slot);
    const width = Math.max(0.75, step - (step > 4 ? 1 : 0));
    const in_a = state.sets.a.has(run.id);
    if (in_a || state.sets.b.has(run.id)) {
      context.fillStyle = in_a ? set_colours.a : set_colours.b;
      context.globalAlpha = 0.16;
      context.fillRect(x, area.top, step, area.bottom - area.top);
      context.globalAlpha = 1;
      context.fillRect(x, area.top - 2, step, 3);
    }
    if (run.duration_ns / 1e6 > chart.max) {
      context.fillStyle = theme.text; // the bar continues beyond the axis
      context.beginPath();
      context.moveTo(x + step / 2, area.top - 3);
      context.lineTo(x + step / 2 - 4, area.top + 4);
      context.lineTo(x + step / 2 + 4, area.top + 4);
      context.fill();
    }
    // One mark per run: coloured for a delay, taller if there is a bundle, pale for a dirty run.
    context.fillStyle = run.dirty ? theme.line : run.delay ? run_colours.late : theme.muted;
    context.globalAlpha = run.delay || run.dirty ? 1 : 0.45;
    context.fillRect(x, area.bottom + 3, width, run.bundle ? 8 : 4);
    context.globalAlpha = 1;
  });
  drawThreshold(context, chart, state);
  if (state.range) {
    const from = Math.min(state.range.from, state.range.to);
    const to = Math.max(state.range.from, state.range.to);
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.18;
    context.fillRect(
      left(from),
      area.top,
      left(to) + step - left(from),
      area.bottom - area.top + strip_height,
    );
    context.globalAlpha = 1;
  }
  drawCursor(context, chart, state, left, step);
}

function drawThreshold(context: CanvasRenderingContext2D, chart: BarArea, state: Overlay): void {
  const { box: area } = chart;
  const run = state.bars.slots.find((slot) => slot !== null);
  if (!run || run.threshold_ns === 0) return;
  const y = chart.y(run.threshold_ns / 1e6);
  if (y < area.top || y > area.bottom) return;
  context.strokeStyle = run_colours.late;
  context.lineWidth = 1;
  context.setLineDash([5, 3]);
  context.beginPath();
  context.moveTo(area.left, y);
  context.lineTo(area.right, y);
  context.stroke();
  context.setLineDash([]);
  const text = `threshold ${formatDuration(run.threshold_ns)}`;
  const width = context.measureText(text).width;
  context.globalAlpha = 0.85;
  context.fillStyle = state.theme.surface;
  context.fillRect(area.right - width - 6, y - 15, width + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = state.theme.text;
  context.fillText(text, area.right - width - 3, y - 4);
}

function drawCursor(
  context: CanvasRenderingContext2D,
  chart: BarArea,
  state: Overlay,
  left: (slot: number) => number,
  step: number,
): void {
  const { slot, stage } = state.cursor;
  if (slot < 0 || !state.bars.slots[slot]) return;
  const { box: area } = chart;
  const heights = state.heights[slot];
  context.strokeStyle = state.theme.text;
  context.lineWidth = 1;
  context.strokeRect(
    left(slot) - 0.5,
    area.top + 0.5,
    Math.max(2, step),
    area.bottom - area.top + strip_height - 2,
  );
  if (stage < 0 || heights.length === 0) return;
  const below = heights.slice(0, stage).reduce((sum, height) => sum + height, 0);
  const top = chart.y(below + heights[stage]);
  const bottom = chart.y(below);
  context.lineWidth = 2;
  context.strokeStyle = state.theme.accent;
  context.strokeRect(left(slot) - 1, top, Math.max(3, step + 1), Math.max(2, bottom - top));
}
