// Formats figures. All pages use it, so that the same figure looks the same everywhere.
import { zoneOffset } from "./zone";

const units: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

// Three significant digits: "312 ms", "1.24 s", "2 min 5 s".
export function formatDuration(ns: number): string {
  const size = Math.abs(ns);
  const sign = ns < 0 ? "−" : "";
  if (size >= 60e9) {
    const seconds = Math.round(size / 1e9);
    const minutes = Math.floor(seconds / 60);
    if (minutes >= 60) return `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return `${sign}${minutes} min ${seconds % 60} s`;
  }
  for (const [factor, unit] of units) {
    // 999.6 µs are "1 ms", not "1000 µs".
    if (size >= factor * 0.9995) return `${sign}${threeDigits(size / factor)} ${unit}`;
  }
  return `${sign}${Math.round(size)} ns`;
}

function threeDigits(value: number): string {
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(decimals).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1");
}

// "+12 ms", "−3 ms", "0".
export function formatDifference(ns: number): string {
  if (ns === 0) return "0";
  return ns > 0 ? `+${formatDuration(ns)}` : formatDuration(ns);
}

export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const steps = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let step = -1;
  do {
    value /= 1024;
    ++step;
  } while (value >= 1024 && step < steps.length - 1);
  return `${threeDigits(value)} ${steps[step]}`;
}

// "12.3 %". Never "0 %" or "100 %" for values that are only close to it.
export function formatShare(share: number): string {
  const percent = share * 100;
  if (share > 0 && percent < 0.1) return "<0.1 %";
  if (share < 1 && percent > 99.9) return ">99.9 %";
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function millisecondsOf(time_ns: string): number {
  return Number(BigInt(time_ns) / 1000000n);
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

// "2026-11-21 10:57:18" in the time zone that the reader chose; with milliseconds if `precise`.
export function formatTime(time_ns: string, precise = false): string {
  const ms = millisecondsOf(time_ns);
  const date = new Date(ms + zoneOffset(ms));
  if (Number.isNaN(date.getTime())) return "at an unknown time";
  const day = `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const parts = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
  const time = parts.map((part) => pad(part)).join(":");
  return precise ? `${day} ${time}.${pad(date.getUTCMilliseconds(), 3)}` : `${day} ${time}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// "24 Nov", of "2026-11-24".
export function dayAndMonth(date: string): string {
  return `${Number(date.slice(8, 10))} ${months[Number(date.slice(5, 7)) - 1]}`;
}

// "24 Nov 13:15", for sentences; with the year if it is not the current one.
export function formatMoment(time_ns: string, now_ms = Date.now()): string {
  const text = formatTime(time_ns);
  const day = dayAndMonth(text);
  const year =
    text.slice(0, 4) === String(new Date(now_ms).getUTCFullYear()) ? "" : ` ${text.slice(0, 4)}`;
  return `${day}${year} ${text.slice(11, 16)}`;
}

// "3 minutes ago", for times recent enough for this to help.
export function formatAge(time_ns: string, now_ms: number): string {
  const seconds = Math.round((now_ms - millisecondsOf(time_ns)) / 1000);
  if (seconds < 0) return formatTime(time_ns);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${plural(Math.floor(seconds / 60), "minute")} ago`;
  if (seconds < 86400) return `${plural(Math.floor(seconds / 3600), "hour")} ago`;
  return `${plural(Math.floor(seconds / 86400), "day")} ago`;
}

// The beginning of a build id or digest, enough for people to compare.
export function shortId(id: string): string {
  return id.length > 14 ? id.slice(0, 12) : id;
}

// The function, or its location if the name is unknown.
export function frameName(frame: { function: string; module: string; offset?: string }): string {
  if (frame.function !== "") return frame.function;
  const module = frame.module === "" ? "unknown code" : baseName(frame.module);
  return frame.offset && frame.offset !== "0"
    ? `${module}+0x${BigInt(frame.offset).toString(16)}`
    : module;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

// The relative change: "+31 %", "×4". The value before must not be 0.
export function formatFactor(factor: number): string {
  if (factor >= 2) return `×${threeDigits(factor)}`;
  const percent = Math.round((factor - 1) * 100);
  return percent > 0 ? `+${percent} %` : percent < 0 ? `−${-percent} %` : "±0 %";
}
