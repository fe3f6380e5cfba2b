// The rows of the machine with zoom, search and keyboard navigation.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Scale, spanAround, zoomSpan } from "../drawing/span";
import {
  type Keys,
  bringIntoSight,
  placeOn,
  pressKey,
  usePainting,
  usePointing,
  useSearchKey,
  useSize,
} from "../drawing/surface";
import { formatDuration, plural } from "../format";
import { StackList } from "../parts";
import { useTheme } from "../theme";
import { MachineDrawing, axis_height, row_height, timeWords } from "./draw";
import {
  type Machine,
  type Match,
  type Row,
  type View,
  arrowsOf,
  cellAt,
  clampView,
  firstEndingAfter,
  framesOf,
  rowsOf,
  search,
  several,
  stackNear,
  state_words,
  threadName,
  wakeOf,
} from "./model";

export interface Mark {
  key: string; // of a row
  at: number;
}

interface Properties {
  machine: Machine;
  delay_ns: number;
  view: View;
  loading: boolean;
  text: string; // the text to search for
  onText: (text: string) => void;
  onView: (view: View) => void;
  onWidth: (pixels: number) => void;
}

// Describes a cell in one line.
function describe(machine: Machine, row: Row, at: number): string {
  if (row.kind === "runs") {
    const [own] = machine.runs;
    const stage = own?.stages.find((one) => one.from <= at && at < one.to);
    return own
      ? `${own.event}, ${formatDuration(own.to - own.from)}` +
          `${stage ? `; stage ${stage.name}, ${formatDuration(stage.to - stage.from)}` : ""}; ` +
          `${plural(machine.runs.length - 1, "other run")} in this part`
      : "";
  }
  if (row.kind === "process")
    return (
      `${threadName(machine, row.threads[0].tid).split(" / ")[0]}, pid ${row.pid}, ` +
      `${plural(row.threads.length, "thread")}; Enter or a click ` +
      `${row.open ? "closes" : "opens"} it`
    );
  const cells = row.kind === "cpu" ? row.cpu : row.thread.cells;
  const place = cellAt(cells, at);
  const subject =
    row.kind === "cpu"
      ? `CPU ${row.cpu.cpu}`
      : `${threadName(machine, row.thread.tid)} (${row.thread.tid})`;
  if (place < 0) return `${subject}: unknown at ${timeWords(at)}`;
  const when =
    `${formatDuration(cells.to[place] - cells.from[place])}, from ` +
    `${timeWords(cells.from[place])}`;
  if (row.kind === "cpu") {
    const busy = row.cpu.busy[place];
    const who = threadName(machine, row.cpu.tid[place]);
    return busy === 0
      ? `${subject}: ${who}, ${when}`
      : `${subject}: busy ${((busy - 1) / 10).toFixed(1)} %, mostly ${who}, ${when}`;
  }
  const state = row.thread.cells.state[place];
  const { first, second } = row.thread.cells;
  if (state === several)
    return (
      `${subject}: several short intervals, ${(first[place] / 10).toFixed(1)} % on CPU, ` +
      `${(second[place] / 10).toFixed(1)} % runnable, ${when}`
    );
  let text =
    `${subject}: ${state_words[state]}` +
    `${state === 3 ? `: ${machine.names[first[place]] || "unknown reason"}` : ""}, ${when}`;
  if (state === 0) text += `, CPU ${first[place]}`;
  const wake = wakeOf(machine, row.thread, place);
  if (wake && wake.waker !== 0) text += `, woken by ${threadName(machine, wake.waker)}`;
  else if (wake && wake.words !== "") text += `, woken ${wake.words}`;
  return text;
}

export function MachineView({
  machine,
  delay_ns,
  view,
  loading,
  text,
  onText,
  onView,
  onWidth,
}: Properties) {
  const theme = useTheme();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLInputElement>(null);
  const size = useSize(scroller, onWidth);
  const [chosen, setChosen] = useState<Mark | null>(null);
  const [hovered, setHovered] = useState<Mark | null>(null);
  const [opened, setOpened] = useState<Map<number, boolean>>(new Map());
  const [at_match, setAtMatch] = useState(-1);
  const order = useRef(new Map<number, number>());
  const own_pid = machine.threads.find((thread) => thread.of_delay)?.pid ?? 0;
  // At first the delay's own process and small ones are expanded.
  const rows = useMemo(
    () =>
      rowsOf(
        machine,
        order.current,
        (pid, count) => opened.get(pid) ?? (pid === own_pid || count <= 4),
      ),
    [machine, opened, own_pid],
  );
  const matches = useMemo(() => search(machine, text), [machine, text]);
  const found = useMemo(() => {
    const keys = new Set(matches.map((match) => `thread ${match.tid}`));
    for (const match of matches) keys.add(`process ${machine.by_tid.get(match.tid)?.pid}`);
    return keys;
  }, [matches, machine]);
  const gutter = Math.min(200, Math.max(84, size.width * 0.2));
  const tall = axis_height + rows.length * row_height;
  const height = Math.min(tall, Math.max(240, window.innerHeight - 260));
  const selected = rows.find((row) => row.key === chosen?.key) ?? null;
  const place =
    chosen && selected && (selected.kind === "thread" || selected.kind === "cpu")
      ? cellAt(selected.kind === "cpu" ? selected.cpu : selected.thread.cells, chosen.at)
      : -1;
  const wake =
    selected?.kind === "thread" && place >= 0 ? wakeOf(machine, selected.thread, place) : null;
  const arrows = useMemo(() => arrowsOf(machine, rows, view, wake), [machine, rows, view, wake]);

  useEffect(() => setAtMatch(-1), [text]);

  const show = (next: View) => onView(clampView(next, machine.recorded));
  const span = view.to - view.from;
  const zoomBy = (factor: number, centre?: number) => {
    const middle =
      centre ??
      (chosen && chosen.at >= view.from && chosen.at <= view.to
        ? chosen.at
        : (view.from + view.to) / 2);
    show(zoomSpan(view, factor, middle));
  };
  const pan = (share: number) =>
    show({ from: view.from + share * span, to: view.to + share * span });
  const whole = () => show({ from: -0.05 * delay_ns, to: 1.05 * delay_ns });

  // Wheel: zooms with Ctrl (which a touchpad's pinch also sends), pans with Shift; otherwise
  // scrolls the rows.
  const wheel = useRef((_: WheelEvent) => {});
  wheel.current = (event) => {
    const box = scroller.current?.getBoundingClientRect();
    if (!box) return;
    const sideways = event.shiftKey
      ? event.deltaY || event.deltaX
      : Math.abs(event.deltaX) > Math.abs(event.deltaY)
        ? event.deltaX
        : 0;
    if (event.ctrlKey || event.metaKey)
      zoomBy(
        Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))),
        timeAt(event.clientX - box.left),
      );
    else if (sideways !== 0) pan(sideways / Math.max(1, size.width - gutter));
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const element = scroller.current;
    const listener = (event: WheelEvent) => wheel.current(event);
    element?.addEventListener("wheel", listener, { passive: false });
    return () => element?.removeEventListener("wheel", listener);
  }, []);
  useSearchKey(box);

  const timeAt = (x: number) => new Scale(view, gutter, size.width - gutter).at(x);
  const markAt = (event: MouseEvent): Mark | null => {
    const { x, y } = placeOn(canvas, event);
    const row =
      rows[Math.floor((y - axis_height + (scroller.current?.scrollTop ?? 0)) / row_height)];
    return y < axis_height || !row ? null : { key: row.key, at: timeAt(x) };
  };
  const reveal = (key: string) => {
    const index = rows.findIndex((row) => row.key === key);
    if (scroller.current && index >= 0)
      bringIntoSight(scroller.current, index * row_height, row_height, axis_height);
  };
  const choose = (mark: Mark) => {
    setChosen(mark);
    setHovered(null);
    if (mark.at < view.from || mark.at > view.to) show(spanAround(mark.at, span));
  };
  useEffect(() => {
    if (chosen) reveal(chosen.key);
  }, [chosen, rows]);
  const toggle = (pid: number, open: boolean) => setOpened((old) => new Map(old).set(pid, open));
  const chooseThread = (tid: number, at: number) => {
    const thread = machine.by_tid.get(tid);
    if (!thread) return;
    if (!rows.some((row) => row.key === `thread ${tid}`)) toggle(thread.pid, true);
    choose({ key: `thread ${tid}`, at });
  };
  const stepRow = (direction: number) => {
    const index = rows.findIndex((row) => row.key === chosen?.key);
    const next = rows[index < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, index + direction))];
    if (next)
      choose({
        key: next.key,
        at: chosen ? chosen.at : Math.max(view.from, Math.min(view.to, delay_ns / 2)),
      });
  };
  const stepCell = (direction: number) => {
    if (!selected || !chosen || (selected.kind !== "thread" && selected.kind !== "cpu"))
      return stepRow(0);
    const cells = selected.kind === "cpu" ? selected.cpu : selected.thread.cells;
    let next =
      place >= 0
        ? place + direction
        : firstEndingAfter(cells.to, chosen.at) + (direction < 0 ? -1 : 0);
    next = Math.max(0, Math.min(cells.from.length - 1, next));
    if (cells.from.length > 0)
      choose({ key: selected.key, at: (cells.from[next] + cells.to[next]) / 2 });
  };
  const enter = () => {
    if (selected?.kind === "process") toggle(selected.pid, !selected.open);
    if (place < 0 || !selected || (selected.kind !== "thread" && selected.kind !== "cpu")) return;
    const cells = selected.kind === "cpu" ? selected.cpu : selected.thread.cells;
    const length = cells.to[place] - cells.from[place];
    show({ from: cells.from[place] - length / 4, to: cells.to[place] + length / 4 });
  };
  const toWaker = () => {
    if (wake && wake.waker !== 0) chooseThread(wake.waker, wake.at);
  };
  const step = (direction: number) => {
    if (matches.length === 0) return;
    const next =
      at_match < 0 && direction > 0 ? 0 : (at_match + direction + matches.length) % matches.length;
    setAtMatch(next);
    const match: Match = matches[next];
    chooseThread(match.tid, match.at ?? Math.max(view.from, Math.min(view.to, delay_ns / 2)));
  };
  const pointing = usePointing({
    timeAt: (event) => timeAt(placeOn(canvas, event).x),
    shown: view,
    onPoint: (event) => setHovered(event && markAt(event)),
    onClick: (event) => {
      const mark = markAt(event);
      const row = mark && rows.find((one) => one.key === mark.key);
      if (row?.kind === "process") toggle(row.pid, !row.open);
      if (mark) choose(mark);
    },
    onStretch: show,
    onPan: (from, pixels) => {
      const by = (pixels / Math.max(1, size.width - gutter)) * (from.to - from.from);
      show({ from: from.from + by, to: from.to + by });
    },
  });
  const paintSoon = usePainting(canvas, { width: size.width, height }, (context) => {
    new MachineDrawing(context, machine, theme, {
      width: size.width,
      gutter,
      height,
      scroll: scroller.current?.scrollTop ?? 0,
      view,
      delay_ns,
      rows,
      arrows,
      chosen,
      hovered,
      drag: pointing.stretch,
      found,
    }).draw();
  });
  const keys: Keys = {
    ArrowUp: () => stepRow(-1),
    ArrowDown: () => stepRow(1),
    ArrowLeft: () => stepCell(-1),
    ArrowRight: () => stepCell(1),
    Enter: enter,
    Escape: whole,
    w: toWaker,
    a: () => pan(-0.25),
    d: () => pan(0.25),
    "+": () => zoomBy(0.5),
    "=": () => zoomBy(0.5),
    "-": () => zoomBy(2),
  };
  const told = hovered ?? chosen;
  const told_row = told && rows.find((row) => row.key === told.key);
  const said = told && told_row ? describe(machine, told_row, told.at) : "";
  const stack =
    selected?.kind === "thread" && place >= 0 && chosen
      ? selected.thread.cells.state[place] === 3
        ? selected.thread.cells.second[place]
        : stackNear(selected.thread, place, chosen.at)
      : 0;
  return (
    <>
      <div class="flame-controls">
        <label class="field grow">
          <span>Search</span>
          <input
            ref={box}
            type="search"
            name="machine-search"
            value={text}
            placeholder="process, thread, unit or function"
            onInput={(event) => onText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              step(event.shiftKey ? -1 : 1);
            }}
          />
        </label>
        <span class="found" data-testid="machine-found" role="status">
          {text.trim() === ""
            ? ""
            : `${plural(matches.length, "match", "matches")}` +
              `${at_match >= 0 && matches.length > 0 ? `, at ${at_match + 1}` : ""}`}
        </span>
        <button
          type="button"
          disabled={matches.length === 0}
          onClick={() => step(-1)}
          aria-label="Previous match">
          ↑
        </button>
        <button
          type="button"
          disabled={matches.length === 0}
          onClick={() => step(1)}
          aria-label="Next match">
          ↓
        </button>
        <button type="button" onClick={() => zoomBy(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoomBy(2)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => pan(-0.25)} aria-label="Earlier">
          ←
        </button>
        <button type="button" onClick={() => pan(0.25)} aria-label="Later">
          →
        </button>
        <button type="button" onClick={whole}>
          Whole delay
        </button>
        <button type="button" onClick={() => show(machine.recorded)}>
          Whole recording
        </button>
      </div>
      <p class="readout" data-testid="machine-readout">
        {said || "Hover for details. Click for the call stack and the waker. Drag to zoom."}
      </p>
      <div
        class="machine"
        ref={scroller}
        tabIndex={0}
        role="application"
        aria-label={`Timeline of the machine, ${plural(rows.length, "row")}`}
        aria-describedby="machine-keys"
        style={{ height: `${height}px` }}
        aria-busy={loading}
        onScroll={paintSoon}
        onKeyDown={(event) => pressKey(event, keys)}>
        <canvas
          ref={canvas}
          class="flame-canvas"
          data-rows={rows.length}
          data-arrows={arrows.length}
          data-finest={machine.finest}
          style={{ width: `${size.width}px`, height: `${height}px` }}
          {...pointing.listeners}
          onDblClick={enter}
        />
        <div style={{ height: `${Math.max(0, tall - height)}px` }} />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {chosen && selected ? describe(machine, selected, chosen.at) : ""}
      </p>
      {chosen && selected && (selected.kind === "thread" || selected.kind === "cpu") && (
        <div class="sub" role="region" aria-label="Selected interval" data-testid="machine-chosen">
          <h3>{describe(machine, selected, chosen.at)}</h3>
          <p>
            {wake && wake.waker !== 0 && machine.by_tid.has(wake.waker) && (
              <button type="button" onClick={toWaker}>
                Go to the waker, {threadName(machine, wake.waker)}
              </button>
            )}{" "}
            {selected.kind === "cpu" &&
              place >= 0 &&
              machine.by_tid.has(selected.cpu.tid[place]) && (
                <button
                  type="button"
                  onClick={() => chooseThread(selected.cpu.tid[place], chosen.at)}>
                  Go to the thread
                </button>
              )}{" "}
            <button type="button" onClick={enter}>
              Zoom to interval
            </button>
          </p>
          {selected.kind === "thread" && <StackList frames={framesOf(machine, stack)} />}
        </div>
      )}
    </>
  );
}
