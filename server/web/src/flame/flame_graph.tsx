// A flame graph with zoom, search and keyboard navigation.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Scale } from "../drawing/span";
import {
  type Keys,
  bringIntoSight,
  placeOn,
  pressKey,
  usePainting,
  useSize,
} from "../drawing/surface";
import { formatDifference, formatDuration, formatShare } from "../format";
import { useTheme } from "../theme";
import { differenceColours, moduleColours } from "./colours";
import { type View, drawFlame, labelOf, row_height } from "./draw";
import { type Width, isWithin, layOut, nodeAt } from "./layout";
import { type FlameTree, type Matches, topStacks } from "./tree";

interface Properties {
  tree: FlameTree;
  width: Width;
  difference: boolean;
  matches: Matches | null;
  zoomed: number;
  onZoom: (node: number) => void;
  // Selected and scrolled into view when it changes; null: what has the most time of its own is in
  // view at first.
  reveal: { node: number } | null;
  label: string;
  tallest?: number;
  against?: string; // what the colours compare with
}

export function describeNode(tree: FlameTree, node: number, against: string | null): string {
  const name = tree.names[tree.name[node]];
  const whole = tree.total > 0 ? tree.value[node] / tree.total : 0;
  let text =
    `${labelOf(tree, node)}${name.module && name.function ? `  (${name.module})` : ""}: ` +
    `${formatDuration(tree.value[node])}, ${formatShare(whole)}`;
  if (tree.self[node] > 0 && tree.self[node] < tree.value[node])
    text += `, self ${formatDuration(tree.self[node])}`;
  if (against !== null)
    text +=
      `; ${against} ${formatDuration(tree.baseline[node])}, ` +
      `${formatDifference(tree.value[node] - tree.baseline[node])}`;
  return text;
}

export function FlameGraph({
  tree,
  width,
  difference,
  matches,
  zoomed,
  onZoom,
  reveal,
  label,
  tallest = 520,
  against = "normal runs",
}: Properties) {
  const theme = useTheme();
  const layout = useMemo(() => layOut(tree, width), [tree, width]);
  const colours = useMemo(
    () => (difference ? differenceColours(tree, theme.dark) : moduleColours(tree, theme.dark)),
    [tree, difference, theme],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(scroller);
  const [selected, setSelected] = useState(0);
  const [hovered, setHovered] = useState(-1);
  const shown = zoomed < tree.parent.length ? zoomed : 0;
  const tall = layout.rows.length * row_height + 2;
  const height = Math.min(tall, tallest);
  const view: View = {
    from: layout.left[shown],
    to: Math.max(layout.right[shown], layout.left[shown] + 1e-12),
    zoomed: shown,
    selected,
    hovered,
    scroll: scroller.current?.scrollTop ?? 0,
  };

  const paintSoon = usePainting(canvas, size, (context) => {
    view.scroll = scroller.current?.scrollTop ?? 0;
    drawFlame(context, size.width, size.height, tree, layout, view, colours, matches, {
      text: theme.text,
      line: theme.line,
      surface: theme.surface,
      accent: theme.accent,
      match: theme.dark ? "#f0e442" : "#f6d743",
      dark: theme.dark,
    });
  });
  useEffect(() => {
    setSelected(0);
    setHovered(-1);
  }, [tree]);

  // Brings a row to the middle of the box.
  const centre = (node: number) => {
    if (scroller.current)
      scroller.current.scrollTop =
        layout.depth[node] * row_height - (scroller.current.clientHeight - row_height) / 2;
  };
  const select = (node: number) => {
    if (node < 0) return;
    setSelected(node);
    if (scroller.current)
      bringIntoSight(scroller.current, layout.depth[node] * row_height, row_height);
    // Zooms out if the node is outside the zoomed part.
    if (!isWithin(tree, node, shown) && !isWithin(tree, shown, node)) onZoom(0);
  };
  useEffect(() => {
    if (!reveal) return;
    select(reveal.node);
    centre(reveal.node);
  }, [reveal]);
  useEffect(() => {
    if (!reveal) centre(topStacks(tree, 1)[0]?.node ?? 0);
  }, [tree]);

  const at = (event: MouseEvent): number => {
    const { x, y } = placeOn(canvas, event);
    return nodeAt(
      layout,
      new Scale(view, 0, size.width).at(x),
      Math.floor((y + (scroller.current?.scrollTop ?? 0)) / row_height),
    );
  };
  const widthOf = (node: number) => layout.right[node] - layout.left[node];
  const keys: Keys = {
    ArrowUp: () => select(tree.parent[selected]),
    ArrowDown: () => {
      const child = layout.first_child[selected];
      if (child >= 0 && widthOf(child) > 0) select(child);
    },
    ArrowLeft: () => select(layout.previous[selected]),
    ArrowRight: () => {
      const next = layout.next[selected];
      if (next >= 0 && widthOf(next) > 0) select(next);
    },
    Home: () => select(0),
    Enter: () => onZoom(selected === shown ? 0 : selected),
    Escape: () => onZoom(0),
    Backspace: () => onZoom(Math.max(0, tree.parent[shown])),
  };
  const told = hovered >= 0 ? hovered : selected;
  return (
    <div class="flame">
      <p class="readout" data-testid="flame-readout">
        {describeNode(tree, told, tree.baseline_total === null ? null : against)}
      </p>
      <div
        class="flame-scroller"
        ref={scroller}
        tabIndex={0}
        role="application"
        aria-label={label}
        style={{ height: `${height}px` }}
        aria-describedby="flame-keys"
        onScroll={paintSoon}
        onKeyDown={(event) => pressKey(event, keys, () => setHovered(-1))}>
        <canvas
          ref={canvas}
          class="flame-canvas"
          data-nodes={tree.parent.length}
          data-rows={layout.rows.length}
          style={{ width: `${size.width}px`, height: `${size.height}px` }}
          onMouseMove={(event) => setHovered(at(event))}
          onMouseLeave={() => setHovered(-1)}
          onClick={(event) => {
            const node = at(event);
            if (node < 0) return;
            setSelected(node);
            onZoom(node === shown ? 0 : node);
          }}
        />
        <div class="flame-height" style={{ height: `${Math.max(0, tall - size.height)}px` }} />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {describeNode(tree, selected, tree.baseline_total === null ? null : against)}
      </p>
    </div>
  );
}
