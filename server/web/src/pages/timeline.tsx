// Activity of the delayed thread over time.
import { useMemo, useRef, useState } from "preact/hooks";
import { stage_colours, colourOfReason, colourOfState, state_colours } from "../colours";
import { drawAxis, drawStretch, fill, font, frame, marksOf } from "../drawing/paint";
import { type Span, Scale, clampSpan, firstPlace, spanAround } from "../drawing/span";
import {
  type Keys,
  placeOn,
  pressKey,
  usePainting,
  usePointing,
  useSize,
} from "../drawing/surface";
import { formatCount, formatDuration, plural } from "../format";
import { useGet } from "../load";
import { Empty, Ready, Section, StackList, Swatch } from "../parts";
import { useTheme } from "../theme";
import type { Delay, Frame, Timeline, TimelineInterval } from "../types";

const stage_height = 18;
const state_height = 34;
const sample_height = 12;
const axis_height = 18;

// The answer has each name and frame once.
function framesOf(timeline: Timeline, stack: number): Frame[] {
  const name = (index: number) => timeline.names[index] ?? "";
  return (timeline.stacks[stack] ?? []).map((index) => {
    const frame = timeline.frames[index];
    return {
      ...frame,
      function: name(frame.function),
      module: name(frame.module),
      build_id: name(frame.build_id),
      file: name(frame.file),
    };
  });
}

export function TimelineView({
  digest,
  delay,
  title = `Timeline of thread ${delay.thread}`,
}: {
  digest: string;
  delay: Delay;
  title?: string;
}) {
  const loaded = useGet<Timeline>(`/api/v1/bundles/${digest}/delays/${delay.number}/timeline`);
  return (
    <Section
      title={title}
      id="timeline"
      aside={
        <a href={`/bundle/${digest}/${delay.number}/machine`}>
          All threads and CPUs of the machine
        </a>
      }>
      <Ready of={loaded} height={180}>
        {(timeline) =>
          timeline.intervals.length === 0 ? (
            <Empty title="No scheduling data for this thread.">
              <p>
                Scheduling was not recorded, or events were lost; see "Recording quality" below.
              </p>
            </Empty>
          ) : (
            <Picture timeline={timeline} delay={delay} />
          )
        }
      </Ready>
    </Section>
  );
}

function describe(interval: TimelineInterval): string {
  let text =
    `${interval.state}${interval.reason === "" ? "" : `: ${interval.reason}`}, ` +
    `${formatDuration(interval.to_ns - interval.from_ns)}, from ` +
    `${formatDuration(interval.from_ns)}`;
  if (interval.cpu !== null) text += `, CPU ${interval.cpu}`;
  if (interval.waker) text += `, woken by ${interval.waker.process} / ${interval.waker.thread}`;
  return text;
}

function Picture({ timeline, delay }: { timeline: Timeline; delay: Delay }) {
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const whole = Math.max(1, Number(BigInt(timeline.to_ns) - BigInt(timeline.from_ns)));
  const [view, setView] = useState<Span>({ from: 0, to: whole });
  const [selected, setSelected] = useState(-1);
  const [hovered, setHovered] = useState(-1);
  const reasons = useMemo(() => delay.blocked.map((entry) => entry.reason), [delay]);
  const has_stages = delay.stages.length > 0;
  const top = has_stages ? stage_height + 2 : 0;
  const height = top + state_height + sample_height + axis_height;

  const scale = new Scale(view, 0, width);
  const x = (ns: number) => scale.x(ns);
  const intervalAt = (ns: number) => {
    const place = firstPlace(
      timeline.intervals.length,
      (one) => timeline.intervals[one].to_ns > ns,
    );
    return place < timeline.intervals.length && timeline.intervals[place].from_ns <= ns
      ? place
      : -1;
  };
  const show = (span: Span) => setView(clampSpan(span, { from: 0, to: whole }, 1000));
  const timeAt = (event: MouseEvent) => scale.at(placeOn(canvas, event).x);
  const { stretch, listeners } = usePointing({
    timeAt,
    shown: view,
    onPoint: (event) => setHovered(event === null ? -1 : intervalAt(timeAt(event))),
    onClick: (event) => setSelected(intervalAt(timeAt(event))),
    onStretch: show,
  });
  usePainting(canvas, { width, height }, (context) => {
    context.font = font;
    context.textBaseline = "middle";
    delay.stages.forEach((stage, index) => {
      const left = Math.max(0, x(stage.at_ns));
      const right = Math.min(width, x(stage.at_ns + stage.duration_ns));
      if (right <= left) return;
      fill(
        context,
        stage_colours[index % stage_colours.length],
        0.35,
        left,
        0,
        Math.max(1, right - left - 1),
        stage_height,
      );
      context.fillStyle = theme.text;
      if (context.measureText(stage.name).width + 8 < right - left)
        context.fillText(stage.name, left + 4, stage_height / 2 + 1);
    });
    let drawn_to = -1;
    for (const interval of timeline.intervals) {
      const left = Math.max(0, x(interval.from_ns));
      const right = Math.min(width, x(interval.to_ns));
      if (right < 0 || left > width || right <= drawn_to) continue;
      context.fillStyle = colourOfState(interval.state, interval.reason);
      // Running is tall, waiting for a CPU half, blocked low, so that the state shows even without
      // colour.
      const inset = interval.state === "on CPU" ? 0 : interval.state === "runnable" ? 8 : 15;
      context.fillRect(
        Math.max(left, drawn_to),
        top + inset,
        Math.max(1, right - Math.max(left, drawn_to)),
        state_height - inset,
      );
      drawn_to = right - left < 1 ? left + 1 : right;
    }
    context.fillStyle = theme.muted;
    for (const sample of timeline.samples) {
      const at = x(sample.at_ns);
      if (at >= 0 && at <= width)
        context.fillRect(at, top + state_height + 3, 1, sample_height - 5);
    }
    context.textBaseline = "alphabetic";
    drawAxis(
      context,
      scale,
      view,
      { left: 0, width, ticks: height - axis_height, text: height - 4 },
      theme,
      formatDuration,
    );
    for (const [index, colour, thickness] of marksOf(hovered, selected, theme)) {
      const interval = timeline.intervals[index];
      if (interval)
        frame(
          context,
          colour,
          thickness,
          x(interval.from_ns),
          top + 0.5,
          Math.max(2, x(interval.to_ns) - x(interval.from_ns)),
          state_height,
        );
    }
    drawStretch(context, scale, stretch, theme, 0, height - axis_height);
  });

  const zoomBy = (factor: number) => {
    const interval = timeline.intervals[selected];
    show(
      spanAround(
        interval ? (interval.from_ns + interval.to_ns) / 2 : (view.from + view.to) / 2,
        (view.to - view.from) * factor,
      ),
    );
  };
  const select = (index: number) => {
    if (index < 0 || index >= timeline.intervals.length) return;
    setSelected(index);
    const interval = timeline.intervals[index];
    if (interval.from_ns < view.from || interval.to_ns > view.to)
      show(spanAround((interval.from_ns + interval.to_ns) / 2, view.to - view.from));
  };
  const keys: Keys = {
    ArrowLeft: () => select(selected < 0 ? 0 : selected - 1),
    ArrowRight: () => select(selected + 1),
    Home: () => select(0),
    End: () => select(timeline.intervals.length - 1),
    "+": () => zoomBy(0.5),
    "=": () => zoomBy(0.5),
    "-": () => zoomBy(2),
    Escape: () => show({ from: 0, to: whole }),
  };
  const told = timeline.intervals[hovered] ?? timeline.intervals[selected];
  const chosen = timeline.intervals[selected];
  return (
    <>
      <p class="readout" data-testid="timeline-readout">
        {told
          ? describe(told)
          : `${plural(timeline.intervals.length, "interval")}, ` +
            `${plural(timeline.samples.length, "sample")}. Hover for details. ` +
            "Click for the call stack. Drag to zoom."}
      </p>
      <div
        class="timeline"
        ref={box}
        tabIndex={0}
        role="application"
        aria-label="Timeline of the thread"
        aria-describedby="timeline-keys"
        onKeyDown={(event) => pressKey(event, keys, () => setHovered(-1))}>
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${height}px` }}
          {...listeners}
          onDblClick={() => show({ from: 0, to: whole })}
        />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {chosen ? describe(chosen) : ""}
      </p>
      <div class="below-bars">
        <span class="key">
          {["on CPU", "runnable"].map((state) => (
            <span key={state}>
              <Swatch colour={state_colours[state]} /> {state}{" "}
            </span>
          ))}
          {reasons.map((reason) => (
            <span key={reason}>
              <Swatch colour={colourOfReason(reason)} /> blocked: {reason || "unknown"}{" "}
            </span>
          ))}
          <span>
            <Swatch colour={state_colours.unknown} /> unknown
          </span>
        </span>
        {(view.from > 0 || view.to < whole) && (
          <button type="button" class="quiet" onClick={() => show({ from: 0, to: whole })}>
            Whole delay
          </button>
        )}
        {timeline.dropped > 0 && (
          <span class="muted">
            {formatCount(timeline.dropped)} intervals and samples beyond the limit are not shown.
          </span>
        )}
        <details class="keys">
          <summary>Keys</summary>
          <p id="timeline-keys">
            Left/right: previous or next interval. +/−: zoom in or out. Escape: whole delay.
          </p>
        </details>
      </div>
      {chosen && (
        <div class="sub" role="region" aria-label="Selected interval" data-testid="interval">
          <h3>
            {chosen.state}
            {chosen.reason === "" ? "" : `: ${chosen.reason}`},{" "}
            {formatDuration(chosen.to_ns - chosen.from_ns)}
          </h3>
          {chosen.waker && (
            <p>
              Woken by <strong>{chosen.waker.process}</strong>, thread {chosen.waker.thread}.
            </p>
          )}
          <StackList frames={chosen.stack === null ? [] : framesOf(timeline, chosen.stack)} />
        </div>
      )}
    </>
  );
}
