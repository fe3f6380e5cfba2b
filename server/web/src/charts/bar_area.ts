// The positions of bars on a canvas: slots from left to right, values from the bottom up. Draws
// nothing.
import { roundSteps } from "../drawing/span";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const ticks_at_most = 6;

// Round values from 0 to at least `highest`, or to at most `highest` if it is the axis's end.
export function valueTicks(highest: number, whole: boolean, is_end: boolean): number[] {
  const apart = Math.max(highest / ticks_at_most, whole ? 1 : 1e-9);
  const ticks = roundSteps({ from: 0, to: highest }, apart);
  const step = ticks.length > 1 ? ticks[1] : apart;
  if (!is_end && ticks[ticks.length - 1] < highest - step * 1e-9)
    ticks.push(ticks[ticks.length - 1] + step);
  return ticks;
}

export class BarArea {
  readonly step: number;

  constructor(
    readonly box: Box,
    readonly slots: number,
    readonly max: number,
  ) {
    this.step = (box.right - box.left) / Math.max(1, slots);
  }

  // The middle of a slot; a fraction is a position between two.
  x(slot: number): number {
    return this.box.left + (slot + 0.5) * this.step;
  }
  slotAt(x: number): number {
    return Math.max(0, Math.min(this.slots - 1, Math.floor((x - this.box.left) / this.step)));
  }
  y(value: number): number {
    return this.box.bottom - (value / this.max) * (this.box.bottom - this.box.top);
  }
  valueAt(y: number): number {
    return ((this.box.bottom - y) / (this.box.bottom - this.box.top)) * this.max;
  }
}

// Every how many slots a label fits.
export function labelStep(area: BarArea, widest: number): number {
  return Math.max(1, Math.ceil((widest + 16) / area.step));
}
