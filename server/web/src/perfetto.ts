// "Open in Perfetto": hands a trace to the Perfetto UI in a window of its own, by the UI's protocol of messages
// (perfetto.dev/docs/visualization/deep-linking). The trace goes from window to window and to no server.
import { getBytes } from "./api";
import type { Delay } from "./types";

export const perfetto_origin = "https://ui.perfetto.dev";
const ping_every_ms = 80;
const longest_wait_ms = 60000;

// `window.open` has to come before anything that waits, or the browser takes it for an advertisement.
export async function openInPerfetto(digest: string, delay: Delay, say: (text: string) => void): Promise<void> {
  const other = window.open(perfetto_origin);
  if (!other) throw new Error("the browser did not open a window; allow pop-ups for this page, or download the bundle and open its trace by hand");
  say("Fetching the trace…");
  const ready = waitForPong(other);
  const buffer = await getBytes(`/api/v1/bundles/${digest}/trace`);
  say("Waiting for the Perfetto UI…");
  await ready;
  const title = `${delay.event}: ${delay.process}`;
  other.postMessage(
    { perfetto: { buffer, title, fileName: `${digest.slice(0, 12)}.pftrace`, url: window.location.href, keepApiOpen: true } },
    perfetto_origin,
    [buffer],
  );
  if (delay.trace_begin_ns) {
    const start = Number(BigInt(delay.trace_begin_ns)) / 1e9;
    other.postMessage({ perfetto: { timeStart: start, timeEnd: start + delay.duration_ns / 1e9, viewPercentage: 0.8 } }, perfetto_origin);
  }
  say("Handed over to the Perfetto UI.");
}

function waitForPong(other: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const timer = setInterval(() => {
      if (other.closed) finish(new Error("the window of the Perfetto UI was closed"));
      else if (performance.now() - began > longest_wait_ms) finish(new Error("the Perfetto UI does not answer; this browser has to reach ui.perfetto.dev, or download the bundle instead"));
      else other.postMessage("PING", perfetto_origin);
    }, ping_every_ms);
    const listener = (event: MessageEvent) => {
      if (event.source === other && event.origin === perfetto_origin && event.data === "PONG") finish();
    };
    const finish = (error?: Error) => {
      clearInterval(timer);
      window.removeEventListener("message", listener);
      if (error) reject(error);
      else resolve();
    };
    window.addEventListener("message", listener);
  });
}
