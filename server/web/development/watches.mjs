// Watches of objects as the server would have them: one that goes on, with calls that come as one looks, and one that ended.
import { followed, ns, hostile_name } from "./data.mjs";

const began_ms = Date.now() - 60000;
const running = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
const ended = "1b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a12";
const headless = "2b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a13";
export const watch_world = { id: running, process: "shop", class: "shop::Cart", ended };

const row = (watch, more) => ({
  watch, host: "web-03", process: "shop", pid: 4002, began_ns: ns(began_ms), first_ns: ns(began_ms + 1000), last_ns: ns(Date.now()), parts: 60, ended: false,
  classes: ["shop::Cart", "sqlite3_stmt"], class_count: 2, calls: 812, failures: 28, not_told: 0, lost_lines: 0, missing_parts: 0, ...more,
});
const rows = () => [
  row(running, { calls: 812 + Math.floor((Date.now() - began_ms) / 500), missing_parts: 2 }),
  row(ended, { host: hostile_name, ended: true, last_ns: ns(began_ms), calls: null, failures: null, lost_lines: null, missing_parts: null, class_count: 31 }),
  row(headless, { process: "office", began_ns: null, last_ns: ns(began_ms - 600000), classes: [], class_count: 0, missing_parts: 1, lost_lines: 40 }),
];

export const listWatches = () => ({ watches: rows() });

export function watchSummary(id) {
  const watch = rows().find((one) => one.watch === id);
  if (!watch) return null;
  const told = watch.calls ?? 812;
  const latest = followed.longest.map((call, at) => ({ ...call, begin_ns: (Date.now() - began_ms) * 1e6 - 1e8 + at * 1e6 }));
  return {
    watch, reason: watch.ended ? "the time is over" : "", dropped_parts: watch.ended ? 4 : 0, unread_lines: 0, notes: ["no symbols of 2 files: their classes are found by virtual tables alone"],
    objects: id === headless ? null : { ...followed, told, length_ns: (Date.now() - began_ms) * 1e6 }, latest: id === headless ? [] : latest,
  };
}
