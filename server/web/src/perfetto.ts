// "Open in Perfetto": passes a trace to the Perfetto UI in its own window, by the UI's message
// protocol (perfetto.dev/docs/visualization/deep-linking). The trace goes from window to window and
// never to a server.
import { getBytes } from "./api";
import type { Delay } from "./types";

const meta = document.querySelector<HTMLMetaElement>('meta[name="lagtrap-viewer"]');
// Address of the UI, from the server; empty if there is none.
export const viewer = meta?.content ?? "";
export const viewer_name = viewer === "" ? "" : new URL(viewer).host;
const ping_every_ms = 80;
const max_wait_ms = 60000;

function unreachable(): Error {
  return new Error(
    `${viewer_name} cannot be reached from this browser. Download the trace and open it in a ` +
      "Perfetto UI elsewhere, or start the server with a reachable --trace-viewer",
  );
}

// Throws as soon as the browser knows that the UI cannot be reached; it cannot read the answer
// itself.
async function reach(): Promise<void> {
  await fetch(viewer, {
    mode: "no-cors",
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  }).catch(() => {
    throw unreachable();
  });
}

// A window that is still loading, which takes seconds on a busy machine, may ignore the first
// close(), so this retries.
function shut(other: Window): void {
  let left = Math.ceil(max_wait_ms / ping_every_ms);
  const again = setInterval(() => {
    if (other.closed || --left === 0) clearInterval(again);
    else other.close();
  }, ping_every_ms);
  other.close();
}

// `window.open` must come before any await, or the browser blocks it as a pop-up.
export async function openInPerfetto(
  digest: string,
  delay: Delay,
  say: (text: string) => void,
): Promise<void> {
  const { origin } = new URL(viewer);
  const other = window.open(viewer);
  if (!other)
    throw new Error(
      "the browser blocked the window; allow pop-ups for this page, or download the trace",
    );
  say(`Opening ${viewer_name}…`);
  try {
    await reach();
  } catch (error) {
    shut(other);
    throw error;
  }
  say("Loading the trace…");
  const ready = waitForPong(other, origin);
  const [buffer] = await Promise.all([getBytes(`/api/v1/bundles/${digest}/trace`), ready]);
  const title = `${delay.event}: ${delay.process}`;
  other.postMessage(
    {
      perfetto: {
        buffer,
        title,
        fileName: `${digest.slice(0, 12)}.pftrace`,
        url: window.location.href,
        keepApiOpen: true,
      },
    },
    origin,
    [buffer],
  );
  if (delay.trace_begin_ns) {
    const start = Number(BigInt(delay.trace_begin_ns)) / 1e9;
    other.postMessage(
      {
        perfetto: {
          timeStart: start,
          timeEnd: start + delay.duration_ns / 1e9,
          viewPercentage: 0.8,
        },
      },
      origin,
    );
  }
  say("Opened in the Perfetto UI.");
}

function waitForPong(other: Window, origin: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const timer = setInterval(() => {
      if (other.closed) finish(new Error("the window of the Perfetto UI was closed"));
      else if (performance.now() - began > max_wait_ms)
        finish(
          new Error(
            `${viewer_name} does not respond like a Perfetto UI; download the trace instead`,
          ),
        );
      else other.postMessage("PING", origin);
    }, ping_every_ms);
    const listener = (event: MessageEvent) => {
      if (event.source === other && event.origin === origin && event.data === "PONG") finish();
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
