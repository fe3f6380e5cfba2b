// A clock that only tests move, with the timers and frames that wait for it.

interface Timer {
  id: number;
  at_ms: number;
  every_ms: number | null;
  call: () => void;
}

// Tuesday, 24 November 2026, 12:34:56 UTC.
export const start_ms = Date.UTC(2026, 10, 24, 12, 34, 56);
let now_ms = start_ms;
let last_id = 0;
let timers: Timer[] = [];
let frames: { id: number; call: (at_ms: number) => void }[] = [];

function add(call: () => void, wait_ms: number, every_ms: number | null): number {
  timers.push({ id: ++last_id, at_ms: now_ms + wait_ms, every_ms, call });
  return last_id;
}

function remove(id: unknown): void {
  timers = timers.filter((timer) => timer.id !== id);
}

// Replaces the clock, timers and frames of a global object.
export function takeClock(target: object): void {
  Object.assign(target, {
    setTimeout: (call: () => void, wait_ms = 0) => add(call, wait_ms, null),
    setInterval: (call: () => void, every_ms = 1) => add(call, every_ms, every_ms),
    clearTimeout: remove,
    clearInterval: remove,
    requestAnimationFrame: (call: (at_ms: number) => void) => {
      frames.push({ id: ++last_id, call });
      return last_id;
    },
    cancelAnimationFrame: (id: number) => {
      frames = frames.filter((frame) => frame.id !== id);
    },
  });
}

export function takeDate(): void {
  Date.now = () => now_ms;
}

function runDue(): boolean {
  const due = timers.find((timer) => timer.at_ms <= now_ms);
  if (!due) return false;
  if (due.every_ms === null) remove(due.id);
  else due.at_ms += due.every_ms;
  due.call();
  return true;
}

const turn = setImmediate;

// Waits until answers, renderings, frames and timers that are due have run. All of them are made up
// by tests, so a fixed number of turns is enough.
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 12; ++turns) {
    await new Promise<void>((resolve) => turn(resolve));
    const drawn = frames;
    frames = [];
    for (const frame of drawn) frame.call(now_ms);
    while (runDue());
  }
}

// Lets time pass, and everything happen that waits for it.
export async function pass(wait_ms: number): Promise<void> {
  const end_ms = now_ms + wait_ms;
  for (;;) {
    const next_ms = Math.min(...timers.map((timer) => timer.at_ms), end_ms);
    now_ms = Math.max(now_ms, next_ms);
    await settle();
    if (now_ms >= end_ms) return;
  }
}

export function resetClock(): void {
  now_ms = start_ms;
}

// Nanoseconds since 1970, `ago_s` seconds before the tests' time.
export function ago(ago_s: number): string {
  return `${BigInt(start_ms - Math.round(ago_s * 1000)) * 1000000n}`;
}
export const hour_s = 3600;
export const day_s = 86400;
