// Ranges of an axis and the positions of things on them, shared by the flame graph and the
// timelines. Draws nothing.

export interface Span {
  from: number;
  to: number;
}

export const lengthOf = (span: Span): number => span.to - span.from;

// Maps a span to pixels starting at `left`.
export class Scale {
  readonly per_unit: number;

  constructor(
    private readonly span: Span,
    private readonly left: number,
    private readonly width: number,
  ) {
    this.per_unit = width / lengthOf(span);
  }

  x(at: number): number {
    return this.left + (at - this.span.from) * this.per_unit;
  }
  at(x: number): number {
    return this.span.from + ((x - this.left) / Math.max(1, this.width)) * lengthOf(this.span);
  }
}

// `wanted` limited to `bounds`, but never shorter than `least`.
export function clampSpan(wanted: Span, bounds: Span, least: number): Span {
  const length = Math.min(lengthOf(bounds), Math.max(least, lengthOf(wanted)));
  const from = Math.max(bounds.from, Math.min(bounds.to - length, wanted.from));
  return { from, to: from + length };
}

// A span `factor` times as long, in which `fixed` keeps its position.
export function zoomSpan(span: Span, factor: number, fixed: number): Span {
  const length = lengthOf(span);
  const before = (fixed - span.from) / length;
  return { from: fixed - before * length * factor, to: fixed + (1 - before) * length * factor };
}

export function spanAround(middle: number, length: number): Span {
  return { from: middle - length / 2, to: middle + length / 2 };
}

// Round values for an axis, at least `apart` apart.
export function roundSteps(span: Span, apart: number): number[] {
  const power = 10 ** Math.floor(Math.log10(apart));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= apart) ?? apart;
  const steps: number[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step)
    steps.push(Math.abs(at) < step / 2 ? 0 : at);
  return steps;
}

// Binary search: the first of `count` indices for which `is_behind` is true (it must be true for
// all after it); `count` if there is none.
export function firstPlace(count: number, is_behind: (place: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is_behind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
