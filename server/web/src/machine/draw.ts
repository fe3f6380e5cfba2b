// Draws the visible rows of the machine.
import { colourOfState, run_colours, stage_colours, state_colours } from "../colours";
import { formatDuration } from "../format";
import type { Theme } from "../colours";
import {
  cutText,
  drawAxis,
  drawStretch,
  fill,
  font,
  frame,
  inkOn,
  marksOf,
} from "../drawing/paint";
import { Scale } from "../drawing/span";
import {
  type Arrow,
  type Machine,
  type Row,
  type ThreadRow,
  type View,
  cellAt,
  firstEndingAfter,
  processName,
  several,
  state_words,
  threadName,
} from "./model";

export const row_height = 20;
export const axis_height = 20;
const bar = row_height - 3;

export interface Picture {
  width: number; // total, in pixels
  gutter: number; // for the names
  height: number;
  scroll: number;
  view: View;
  delay_ns: number;
  rows: Row[];
  arrows: Arrow[];
  chosen: { key: string; at: number } | null;
  hovered: { key: string; at: number } | null;
  drag: View | null;
  found: Set<string>; // keys of rows
}

export function timeWords(ns: number): string {
  return ns < 0 ? `−${formatDuration(-ns)}` : formatDuration(ns);
}

export class MachineDrawing {
  private readonly scale: Scale;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly machine: Machine,
    private readonly theme: Theme,
    private readonly picture: Picture,
  ) {
    this.scale = new Scale(picture.view, picture.gutter, picture.width - picture.gutter);
  }

  draw(): void {
    const { context, picture, theme } = this;
    context.font = font;
    context.textBaseline = "middle";
    const first = Math.max(0, Math.floor(picture.scroll / row_height));
    const last = Math.min(
      picture.rows.length - 1,
      Math.floor((picture.scroll + picture.height) / row_height),
    );
    context.save();
    context.beginPath();
    context.rect(
      picture.gutter,
      axis_height,
      picture.width - picture.gutter,
      picture.height - axis_height,
    );
    context.clip();
    fill(
      context,
      theme.accent,
      0.08,
      this.x(0),
      axis_height,
      Math.max(1, this.x(picture.delay_ns) - this.x(0)),
      picture.height,
    );
    for (let index = first; index <= last; ++index) this.row(picture.rows[index], this.top(index));
    this.arrows(first, last);
    drawStretch(context, this.scale, picture.drag, theme, axis_height, picture.height);
    context.restore();
    for (let index = first; index <= last; ++index) this.name(picture.rows[index], this.top(index));
    this.axis();
  }

  private x(ns: number): number {
    return this.scale.x(ns);
  }
  private top(index: number): number {
    return axis_height + index * row_height - this.picture.scroll;
  }

  // Visits visible cells, merging those within a pixel: left, right and index of each.
  private inSight(
    row: { from: Float64Array; to: Float64Array },
    take: (left: number, right: number, place: number) => void,
  ): void {
    const { view, width } = this.picture;
    let drawn_to = -1;
    for (
      let place = firstEndingAfter(row.to, view.from);
      place < row.to.length && row.from[place] < view.to;
      ++place
    ) {
      const left = Math.max(this.picture.gutter, this.x(row.from[place]));
      const right = Math.min(width, this.x(row.to[place]));
      if (right <= drawn_to) continue;
      const start = Math.max(left, drawn_to);
      const end = Math.max(start + 0.75, right);
      take(start, end, place);
      drawn_to = right - left < 1 ? left + 1 : right;
    }
  }

  private box(
    colour: string,
    left: number,
    right: number,
    top: number,
    height: number,
    opacity = 1,
  ): void {
    fill(
      this.context,
      colour,
      opacity,
      left,
      top,
      right - left > 3 ? right - left - 0.5 : right - left,
      height,
    );
  }
  private label(
    text: string,
    colour: string,
    left: number,
    right: number,
    top: number,
    height: number,
  ): void {
    if (right - left < 30) return;
    this.context.fillStyle = colour;
    this.context.fillText(
      cutText(text, Math.floor((right - left - 6) / 6)),
      left + 3,
      top + height / 2 + 0.5,
    );
  }

  private row(row: Row, top: number): void {
    if (row.kind === "runs") this.runs(top);
    if (row.kind === "cpu") this.cpu(row.cpu, top);
    if (row.kind === "thread") this.thread(row.thread, top);
    if (row.kind === "process") for (const thread of row.threads) this.thread(thread, top, true);
    for (const [mark, colour, thickness] of marksOf(
      this.picture.hovered,
      this.picture.chosen,
      this.theme,
    )) {
      if (!mark || mark.key !== row.key || (row.kind !== "thread" && row.kind !== "cpu")) continue;
      const cells = row.kind === "cpu" ? row.cpu : row.thread.cells;
      const place = cellAt(cells, mark.at);
      if (place < 0) continue;
      const left = this.x(cells.from[place]);
      frame(
        this.context,
        colour,
        thickness,
        left,
        top + 1,
        Math.max(2, this.x(cells.to[place]) - left),
        bar,
      );
    }
  }

  // The delay's own run with its stages; below it, thinner, the others.
  private runs(top: number): void {
    const [own, ...others] = this.machine.runs;
    for (const run of others)
      this.box(
        run.delayed ? run_colours.late : run_colours.in_time,
        this.x(run.from),
        Math.max(this.x(run.from) + 1, this.x(run.to)),
        top + bar - 3,
        3,
        0.6,
      );
    if (!own) return;
    const height = bar - 4;
    const left = Math.max(this.picture.gutter, this.x(own.from));
    const right = Math.min(this.picture.width, this.x(own.to));
    this.box(run_colours.late, left, right, top + 1, height);
    this.label(own.event, inkOn(run_colours.late), left, right, top + 1, height);
    own.stages.forEach((stage, index) => {
      const colour = stage_colours[index % stage_colours.length];
      const begin = Math.max(this.picture.gutter, this.x(stage.from));
      const end = Math.min(this.picture.width, this.x(stage.to));
      this.box(colour, begin, end, top + 1, height);
      this.label(stage.name, inkOn(colour), begin, end, top + 1, height);
    });
  }

  private cpu(
    row: { from: Float64Array; to: Float64Array; tid: Uint32Array; busy: Uint32Array },
    top: number,
  ): void {
    const colour = state_colours["on CPU"];
    const chosen = this.picture.chosen?.key ?? "";
    this.inSight(row, (left, right, place) => {
      const tid = row.tid[place];
      if (tid === 0) return;
      const own = this.machine.by_tid.get(tid)?.of_delay === true;
      const share = row.busy[place] === 0 ? 1 : (row.busy[place] - 1) / 1000;
      const height = Math.max(1, bar * share);
      this.box(
        colour,
        left,
        right,
        top + 1 + bar - height,
        height,
        own || chosen === `thread ${tid}` ? 1 : 0.5,
      );
      if (row.busy[place] === 0)
        this.label(
          threadName(this.machine, tid),
          own || this.theme.dark ? "#ffffff" : "#101316",
          left,
          right,
          top + 1,
          bar,
        );
    });
  }

  // Running is tall, waiting for a CPU shorter, blocked low, so that the state shows even without
  // colour.
  private thread(thread: ThreadRow, top: number, running_alone = false): void {
    const { cells } = thread;
    const bottom = top + 1 + bar;
    this.inSight(cells, (left, right, place) => {
      const state = cells.state[place];
      if (state === several) {
        const on = bar * (cells.first[place] / 1000);
        const waiting = bar * (cells.second[place] / 1000);
        if (on > 0)
          this.box(state_colours["on CPU"], left, right, bottom - Math.max(1, on), Math.max(1, on));
        if (running_alone) return;
        if (waiting > 0)
          this.box(
            state_colours.runnable,
            left,
            right,
            bottom - on - Math.max(1, waiting),
            Math.max(1, waiting),
          );
        if (bar - on - waiting > 1)
          this.box(state_colours.blocked, left, right, top + 1, bar - on - waiting, 0.18);
        return;
      }
      if (running_alone && state !== 0) return;
      const reason = state === 3 ? (this.machine.names[cells.first[place]] ?? "") : "";
      const colour = colourOfState(state_words[state], reason);
      const height = state === 0 ? bar : state === 3 ? bar - 7 : bar - 4;
      this.box(colour, left, right, bottom - height, height);
      if (state === 3) this.label(reason, inkOn(colour), left, right, bottom - height, height);
    });
  }

  private name(row: Row, top: number): void {
    const { context, picture, theme, machine } = this;
    if (top < axis_height - row_height) return;
    context.save();
    context.beginPath();
    context.rect(0, axis_height, picture.gutter - 4, picture.height);
    context.clip();
    const chosen = picture.chosen?.key === row.key;
    if (picture.found.has(row.key)) {
      context.fillStyle = theme.dark ? "#5c5200" : "#f6e58d";
      context.fillRect(0, top + 1, picture.gutter - 4, bar);
    }
    context.fillStyle = chosen
      ? theme.accent
      : row.kind === "thread" && !row.thread.of_delay
        ? theme.muted
        : theme.text;
    if (picture.found.has(row.key)) context.fillStyle = theme.text;
    context.font = row.kind === "thread" && !row.thread.of_delay ? font : `600 ${font}`;
    let text = "";
    if (row.kind === "runs") text = "Runs";
    else if (row.kind === "cpu") text = `CPU ${row.cpu.cpu}`;
    else if (row.kind === "process")
      text = `${row.open ? "▾" : "▸"} ${processName(machine, row.pid)} (${row.threads.length})`;
    else if (row.alone) text = `${threadName(machine, row.thread.tid)}`;
    else text = `   ${row.thread.name || "thread"} ${row.thread.tid}`;
    context.fillText(text, 2, top + row_height / 2);
    context.restore();
    fill(
      context,
      theme.line,
      0.6,
      0,
      top + row_height - 1,
      picture.width,
      row.kind === "process" || row.kind === "runs" ? 1 : 0.5,
    );
  }

  private arrows(first: number, last: number): void {
    const { context, theme } = this;
    for (const arrow of this.picture.arrows) {
      if (
        Math.max(arrow.from_row, arrow.to_row) < first ||
        Math.min(arrow.from_row, arrow.to_row) > last
      )
        continue;
      const x = this.x(arrow.at);
      const from = this.top(arrow.from_row) + row_height / 2;
      const to = this.top(arrow.to_row) + (arrow.to_row > arrow.from_row ? 3 : row_height - 3);
      const head = arrow.to_row > arrow.from_row ? -4 : 4;
      context.strokeStyle = context.fillStyle = arrow.chosen ? theme.accent : theme.text;
      context.globalAlpha = arrow.chosen ? 1 : 0.45;
      context.lineWidth = arrow.chosen ? 2 : 1;
      context.beginPath();
      context.moveTo(x, from);
      context.lineTo(x, to + head);
      context.stroke();
      context.beginPath();
      context.moveTo(x, to);
      context.lineTo(x - 3.5, to + 1.6 * head);
      context.lineTo(x + 3.5, to + 1.6 * head);
      context.fill();
      context.globalAlpha = 1;
    }
  }

  // Always visible.
  private axis(): void {
    const { context, picture, theme } = this;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, picture.width, axis_height);
    context.font = font;
    drawAxis(
      context,
      this.scale,
      picture.view,
      {
        left: picture.gutter,
        width: picture.width - picture.gutter,
        ticks: axis_height - 4,
        text: axis_height / 2 - 2,
      },
      theme,
      timeWords,
    );
    context.fillStyle = theme.line;
    context.fillRect(0, axis_height - 1, picture.width, 1);
  }
}
