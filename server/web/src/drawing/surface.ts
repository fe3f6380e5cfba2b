// A canvas as sharp as the screen and as wide as its box, with pointer and keyboard input.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Span } from "./span";

// The type that useRef() returns.
type Held<Element> = RefObject<Element | null>;

export interface Size {
  width: number; // CSS pixels
  height: number;
}

// The inner size of a box, updated when it changes.
export function useSize(box: Held<HTMLElement>, onWidth?: (pixels: number) => void): Size {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
      onWidth?.(element.clientWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

// The canvas's context, cleared and scaled to CSS pixels; null without one.
export function freshContext(
  element: HTMLCanvasElement,
  size: Size,
): CanvasRenderingContext2D | null {
  const context = element.getContext("2d");
  if (!context) return null;
  const ratio = window.devicePixelRatio || 1;
  const pixels = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (element.width !== pixels[0] || element.height !== pixels[1])
    [element.width, element.height] = pixels;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  return context;
}

// Draws in the next frame after each rendering, and whenever the returned function is called.
export function usePainting(
  canvas: Held<HTMLCanvasElement>,
  size: Size,
  draw: (context: CanvasRenderingContext2D) => void,
): () => void {
  const paint = () => {
    const context = canvas.current && size.width > 0 ? freshContext(canvas.current, size) : null;
    if (context) draw(context);
  };
  const painter = useRef(paint);
  painter.current = paint;
  const frame = useRef(0);
  const paintSoon = () => {
    if (frame.current === 0)
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        painter.current();
      });
  };
  useEffect(paintSoon);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return paintSoon;
}

// The position of an event on the canvas.
export function placeOn(
  canvas: Held<HTMLCanvasElement>,
  event: MouseEvent,
): { x: number; y: number } {
  const box = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

// Scrolls as little as needed. `above`: pixels at the top that do not scroll.
export function bringIntoSight(
  scroller: HTMLElement,
  top: number,
  height: number,
  above = 0,
): void {
  const bottom = top + above + height;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight;
}

export type Keys = Record<string, () => void>;

// Runs the action of a key. Leaves keys with Ctrl, Alt or Meta to the browser.
export function pressKey(event: KeyboardEvent, keys: Keys, before?: () => void): void {
  const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
  if (!action) return;
  event.preventDefault();
  before?.();
  action();
}

// "/" focuses the search box, as in many programs.
export function useSearchKey(box: Held<HTMLInputElement>): void {
  // As soon as the box can be seen, its key works; otherwise the header's box would take it.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (
        event.key !== "/" ||
        event.ctrlKey ||
        event.metaKey ||
        /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as HTMLElement).tagName)
      )
        return;
      event.preventDefault();
      box.current?.focus();
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

const pixels_of_a_stretch = 4; // a shorter movement is a click

interface Pointing {
  timeAt: (event: PointerEvent) => number;
  shown: Span;
  onPoint: (event: PointerEvent | null) => void; // null: the pointer left
  onClick: (event: PointerEvent) => void;
  onStretch: (stretch: Span) => void;
  onPan?: (shown_at_first: Span, pixels: number) => void; // with a finger
}

// Handles hovering, clicks, and ranges dragged with the button held down. Returns the range being
// dragged and the canvas's listeners.
export function usePointing({ timeAt, shown, onPoint, onClick, onStretch, onPan }: Pointing) {
  const [stretch, setStretch] = useState<Span | null>(null);
  const began = useRef<{ at: number; x: number; shown: Span; pans: boolean } | null>(null);
  const stop = () => {
    began.current = null;
    setStretch(null);
  };
  const listeners = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0)
        began.current = {
          at: timeAt(event),
          x: event.clientX,
          shown,
          pans: onPan !== undefined && event.pointerType === "touch",
        };
    },
    onPointerMove: (event: PointerEvent) => {
      const start = began.current;
      if (start?.pans) onPan?.(start.shown, start.x - event.clientX);
      else if (start && Math.abs(event.clientX - start.x) > pixels_of_a_stretch) {
        const at = timeAt(event);
        setStretch({ from: Math.min(start.at, at), to: Math.max(start.at, at) });
      }
      onPoint(event);
    },
    onPointerUp: (event: PointerEvent) => {
      if (stretch) onStretch(stretch);
      else if (began.current && Math.abs(event.clientX - began.current.x) <= pixels_of_a_stretch)
        onClick(event);
      stop();
    },
    onPointerLeave: () => {
      stop();
      onPoint(null);
    },
    onPointerCancel: stop,
  };
  return { stretch, listeners };
}
