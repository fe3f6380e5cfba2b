// What the thread of the delay did from moment to moment.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { stage_colours, colourOfReason, colourOfState, state_colours } from "../colours";
import { formatCount, formatDuration, plural } from "../format";
import { useGet } from "../load";
import { Empty, Ready, Section, StackList, Swatch } from "../parts";
import { useTheme } from "../theme";
import type { Delay, Frame, Timeline, TimelineInterval } from "../types";

const stage_height = 18;
const state_height = 34;
const sample_height = 12;
const axis_height = 18;

// Names and frames stand in the answer once.
function framesOf(timeline: Timeline, stack: number): Frame[] {
  const name = (index: number) => timeline.names[index] ?? "";
  return (timeline.stacks[stack] ?? []).map((index) => {
    const frame = timeline.frames[index];
    return { ...frame, function: name(frame.function), module: name(frame.module), build_id: name(frame.build_id), file: name(frame.file) };
  });
}

export function TimelineView({ digest, delay }: { digest: string; delay: Delay }) {
  const loaded = useGet<Timeline>(`/api/v1/bundles/${digest}/delays/${delay.number}/timeline`);
  return (
    <Section title={`Timeline of the thread ${delay.thread}`} id="timeline" aside={<a href={`/bundle/${digest}/${delay.number}/machine`}>All threads and CPUs of the machine</a>}>
      <Ready of={loaded} height={180}>
        {(timeline) => timeline.intervals.length === 0 ? (
          <Empty title="The recording does not say what the thread did.">
            <p>Scheduling was not recorded, or its events were lost; the quality of the recording below says which.</p>
          </Empty>
        ) : <Picture timeline={timeline} delay={delay} />}
      </Ready>
    </Section>
  );
}

function describe(interval: TimelineInterval): string {
  let text = `${interval.state}${interval.reason === "" ? "" : `: ${interval.reason}`}, ${formatDuration(interval.to_ns - interval.from_ns)}, from ${formatDuration(interval.from_ns)}`;
  if (interval.cpu !== null) text += `, CPU ${interval.cpu}`;
  if (interval.waker) text += `, woken by ${interval.waker.process} / ${interval.waker.thread}`;
  return text;
}

function Picture({ timeline, delay }: { timeline: Timeline; delay: Delay }) {
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const whole = Math.max(1, Number(BigInt(timeline.to_ns) - BigInt(timeline.from_ns)));
  const [view, setView] = useState({ from: 0, to: whole });
  const [selected, setSelected] = useState(-1);
  const [hovered, setHovered] = useState(-1);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const began = useRef<{ at: number; x: number } | null>(null);
  const reasons = useMemo(() => delay.blocked.map((entry) => entry.reason), [delay]);
  const has_stages = delay.stages.length > 0;
  const top = has_stages ? stage_height + 2 : 0;
  const height = top + state_height + sample_height + axis_height;

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const x = (ns: number) => ((ns - view.from) / (view.to - view.from)) * width;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    delay.stages.forEach((stage, index) => {
      const left = Math.max(0, x(stage.at_ns));
      const right = Math.min(width, x(stage.at_ns + stage.duration_ns));
      if (right <= left) return;
      context.globalAlpha = 0.35;
      context.fillStyle = stage_colours[index % stage_colours.length];
      context.fillRect(left, 0, Math.max(1, right - left - 1), stage_height);
      context.globalAlpha = 1;
      context.fillStyle = theme.text;
      if (context.measureText(stage.name).width + 8 < right - left) context.fillText(stage.name, left + 4, stage_height / 2 + 1);
    });
    let drawn_to = -1;
    for (const interval of timeline.intervals) {
      const left = Math.max(0, x(interval.from_ns));
      const right = Math.min(width, x(interval.to_ns));
      if (right < 0 || left > width || right <= drawn_to) continue;
      context.fillStyle = colourOfState(interval.state, interval.reason);
      // Running is tall, waiting for a CPU half, blocked low: the state shows without its colour too.
      const inset = interval.state === "on CPU" ? 0 : interval.state === "runnable" ? 8 : 15;
      context.fillRect(Math.max(left, drawn_to), top + inset, Math.max(1, right - Math.max(left, drawn_to)), state_height - inset);
      drawn_to = right - left < 1 ? left + 1 : right;
    }
    context.fillStyle = theme.muted;
    for (const sample of timeline.samples) {
      const at = x(sample.at_ns);
      if (at >= 0 && at <= width) context.fillRect(at, top + state_height + 3, 1, sample_height - 5);
    }
    context.textBaseline = "alphabetic";
    drawAxis(context, width, height, view, theme.muted, theme.line);
    for (const [index, colour, thickness] of [[hovered, theme.text, 1], [selected, theme.accent, 2]] as const) {
      const interval = timeline.intervals[index];
      if (!interval) continue;
      context.strokeStyle = colour;
      context.lineWidth = thickness;
      context.strokeRect(x(interval.from_ns), top + 0.5, Math.max(2, x(interval.to_ns) - x(interval.from_ns)), state_height);
    }
    if (drag) {
      context.globalAlpha = 0.2;
      context.fillStyle = theme.accent;
      context.fillRect(x(Math.min(drag.from, drag.to)), 0, Math.abs(x(drag.to) - x(drag.from)), height - axis_height);
      context.globalAlpha = 1;
    }
  });

  const timeAt = (event: MouseEvent) => {
    const box = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    return view.from + ((event.clientX - box.left) / Math.max(1, box.width)) * (view.to - view.from);
  };
  const intervalAt = (ns: number) => {
    let low = 0;
    let high = timeline.intervals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeline.intervals[middle].to_ns > ns) high = middle;
      else low = middle + 1;
    }
    return low < timeline.intervals.length && timeline.intervals[low].from_ns <= ns ? low : -1;
  };
  const show = (from: number, to: number) => {
    const span = Math.min(whole, Math.max(1000, to - from));
    const start = Math.max(0, Math.min(whole - span, from));
    setView({ from: start, to: start + span });
  };
  const zoomBy = (factor: number) => {
    const interval = timeline.intervals[selected];
    const centre = interval ? (interval.from_ns + interval.to_ns) / 2 : (view.from + view.to) / 2;
    const span = (view.to - view.from) * factor;
    show(centre - span / 2, centre + span / 2);
  };
  const select = (index: number) => {
    if (index < 0 || index >= timeline.intervals.length) return;
    setSelected(index);
    const interval = timeline.intervals[index];
    const span = view.to - view.from;
    if (interval.from_ns < view.from || interval.to_ns > view.to) show((interval.from_ns + interval.to_ns) / 2 - span / 2, (interval.from_ns + interval.to_ns) / 2 + span / 2);
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => select(selected < 0 ? 0 : selected - 1),
    ArrowRight: () => select(selected + 1),
    Home: () => select(0),
    End: () => select(timeline.intervals.length - 1),
    "+": () => zoomBy(0.5),
    "=": () => zoomBy(0.5),
    "-": () => zoomBy(2),
    Escape: () => show(0, whole),
  };
  const told = timeline.intervals[hovered] ?? timeline.intervals[selected];
  const chosen = timeline.intervals[selected];
  return (
    <>
      <p class="readout" data-testid="timeline-readout">{told ? describe(told) : `${plural(timeline.intervals.length, "interval")}, ${plural(timeline.samples.length, "sample")}. Point at one; click for its stack; drag to look closer.`}</p>
      <div
        class="timeline" tabIndex={0} role="application" aria-label="Timeline of the thread" aria-describedby="timeline-keys"
        onKeyDown={(event) => {
          const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
          if (!action) return;
          event.preventDefault();
          setHovered(-1);
          action();
        }}
      >
        <canvas
          ref={canvas} style={{ width: `${width}px`, height: `${height}px` }}
          onMouseDown={(event) => { if (event.button === 0) began.current = { at: timeAt(event), x: event.clientX }; }}
          onMouseMove={(event) => {
            const at = timeAt(event);
            if (began.current && Math.abs(event.clientX - began.current.x) > 4) setDrag({ from: began.current.at, to: at });
            setHovered(intervalAt(at));
          }}
          onMouseUp={(event) => {
            if (drag) show(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
            else if (began.current) setSelected(intervalAt(timeAt(event)));
            began.current = null;
            setDrag(null);
          }}
          onMouseLeave={() => { began.current = null; setDrag(null); setHovered(-1); }}
          onDblClick={() => show(0, whole)}
        />
      </div>
      <p class="visually-hidden" aria-live="polite">{chosen ? describe(chosen) : ""}</p>
      <div class="below-bars">
        <span class="key">
          {["on CPU", "runnable"].map((state) => <span key={state}><Swatch colour={state_colours[state]} /> {state} </span>)}
          {reasons.map((reason) => <span key={reason}><Swatch colour={colourOfReason(reason)} /> blocked: {reason || "unknown"} </span>)}
          <span><Swatch colour={state_colours.unknown} /> unknown</span>
        </span>
        {(view.from > 0 || view.to < whole) && <button type="button" class="quiet" onClick={() => show(0, whole)}>Whole delay</button>}
        {timeline.dropped > 0 && <span class="muted">{formatCount(timeline.dropped)} intervals and samples beyond the limit are not shown.</span>}
        <details class="keys"><summary>Keys</summary><p id="timeline-keys">Left and right: from interval to interval. + and −: closer and further. Escape: the whole delay.</p></details>
      </div>
      {chosen && (
        <div class="sub" role="region" aria-label="Chosen interval" data-testid="interval">
          <h3>{chosen.state}{chosen.reason === "" ? "" : `: ${chosen.reason}`}, {formatDuration(chosen.to_ns - chosen.from_ns)}</h3>
          {chosen.waker && <p>Woken by <strong>{chosen.waker.process}</strong>, thread {chosen.waker.thread}.</p>}
          <StackList frames={chosen.stack === null ? [] : framesOf(timeline, chosen.stack)} />
        </div>
      )}
    </>
  );
}

// Round steps, about one label per 110 pixels.
function drawAxis(context: CanvasRenderingContext2D, width: number, height: number, view: { from: number; to: number }, muted: string, line: string): void {
  const raw = ((view.to - view.from) / Math.max(1, width)) * 110;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw) ?? raw;
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = ((at - view.from) / (view.to - view.from)) * width;
    context.fillStyle = line;
    context.fillRect(x, height - axis_height, 1, 4);
    context.fillStyle = muted;
    const text = at === 0 ? "0" : formatDuration(at);
    context.fillText(text, Math.max(0, Math.min(width - context.measureText(text).width, x - context.measureText(text).width / 2)), height - 4);
  }
}
