// All CPUs and threads of the machine around a delay.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../api";
import { reason_colours, run_colours, state_colours } from "../colours";
import { formatCount, formatDuration, plural, shortId } from "../format";
import { useGet } from "../load";
import { timeWords } from "../machine/draw";
import {
  type Machine,
  type View,
  clampView,
  processName,
  readMachine,
  wanted,
} from "../machine/model";
import { MachineView } from "../machine/machine_view";
import { Failure, Ready, Scroll, Section, Shortened, Swatch, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type { BundleDelays, Delay, MachineAnswer } from "../types";

const kept_answers = 8;
const table_rows = 100;

export function MachinePage({
  digest,
  number,
  place,
}: {
  digest: string;
  number: number;
  place: Place;
}) {
  const loaded = useGet<BundleDelays>(`/api/v1/bundles/${digest}/delays?number=${number}`);
  return (
    <main id="main" class="wide">
      <Ready of={loaded} height={400}>
        {({ delays: [delay], bundle }) =>
          delay ? (
            <OfDelay digest={digest} delay={delay} host={bundle?.host ?? ""} place={place} />
          ) : (
            <p>This bundle has no delay with this number.</p>
          )
        }
      </Ready>
    </main>
  );
}

function viewOf(query: URLSearchParams, delay_ns: number): View {
  const read = (name: string) =>
    /^-?\d{1,16}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null;
  const from = read("from");
  const to = read("to");
  return from !== null && to !== null && to > from
    ? { from, to }
    : { from: -0.05 * delay_ns, to: 1.05 * delay_ns };
}

function OfDelay({
  digest,
  delay,
  host,
  place,
}: {
  digest: string;
  delay: Delay;
  host: string;
  place: Place;
}) {
  const [view, setView] = useState(() => viewOf(place.query, Math.max(1000, delay.duration_ns)));
  const [text, setText] = useState(place.query.get("search") ?? "");
  const [width, setWidth] = useState(0);
  const [machine, setMachine] = useState<Machine | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [loading, setLoading] = useState(false);
  const [turn, setTurn] = useState(0);
  const kept = useRef<Machine[]>([]);
  const address = `/api/v1/bundles/${digest}/delays/${delay.number}/machine`;

  useEffect(() => {
    const timer = setTimeout(
      () =>
        setQuery(
          { from: String(Math.round(view.from)), to: String(Math.round(view.to)), search: text },
          "replace",
        ),
      400,
    );
    return () => clearTimeout(timer);
  }, [view, text]);
  // Draws the current data at once, however coarse, and loads finer data when the view stops
  // moving.
  useEffect(() => {
    const pixels = width > 0 ? width : 1000;
    const recorded = machine?.recorded ?? { from: -30 * 86400e9, to: 30 * 86400e9 };
    const fine = kept.current.find((one) => wanted(one, view, pixels, one.recorded) === null);
    if (fine) {
      if (fine !== machine) setMachine(fine);
      return undefined;
    }
    const asked = wanted(machine, view, pixels, recorded);
    if (!asked) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        setLoading(true);
        get<MachineAnswer>(
          `${address}?from_ns=${Math.round(asked.from)}&to_ns=${Math.round(asked.to)}&columns=` +
            `${asked.columns}`,
          abort.signal,
        ).then(
          (answer) => {
            const read = readMachine(answer);
            kept.current = [read, ...kept.current].slice(0, kept_answers);
            if (machine === null) setView((old) => clampView(old, read.recorded));
            setMachine(read);
            setLoading(false);
            setError(null);
          },
          (problem) => {
            if (abort.signal.aborted) return;
            setLoading(false);
            setError(
              problem instanceof ApiError
                ? problem
                : new ApiError(
                    0,
                    `the server's answer is invalid: ${(problem as Error).message}`,
                    "Reload the page.",
                  ),
            );
          },
        );
      },
      machine === null ? 0 : 200,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
      setLoading(false);
    };
  }, [view, width, machine, turn]);

  return (
    <>
      <p class="crumbs">
        <a href={`/bundle/${digest}/${delay.number}`}>
          {delay.event} took {formatDuration(delay.duration_ns)}
          {host !== "" && ` on ${host}`}
        </a>{" "}
        › bundle <span class="code">{shortId(digest)}</span>
      </p>
      <Title text="The machine around the delay" />
      <p>
        The delay in {delay.process} is shaded. Times are relative to its start.{" "}
        <span role="status" data-testid="machine-part">
          {machine
            ? `Shown: ${timeWords(view.from)} to ` +
              `${timeWords(view.to)}${loading ? ", loading details" : ""}.`
            : ""}
        </span>
      </p>
      {error && <Failure error={error} again={() => setTurn(turn + 1)} />}
      {machine === null && !error && (
        <div class="loading" role="status" style={{ minHeight: "400px" }}>
          Reading the recording; a long one takes a few seconds…
        </div>
      )}
      {machine && (
        <Section title="CPUs and threads">
          <MachineView
            machine={machine}
            delay_ns={Math.max(1000, delay.duration_ns)}
            view={view}
            loading={loading}
            text={text}
            onText={setText}
            onView={setView}
            onWidth={setWidth}
          />
          <Legend machine={machine} />
          <LeftOut machine={machine} />
          <Table machine={machine} />
        </Section>
      )}
    </>
  );
}

// The colours of the reasons in the picture, the same on all pages.
function Legend({ machine }: { machine: Machine }) {
  const reasons = useMemo(() => {
    const seen = new Set<number>();
    for (const thread of machine.threads)
      for (let i = 0; i < thread.cells.state.length; ++i)
        if (thread.cells.state[i] === 3) seen.add(thread.cells.first[i]);
    const names = [...seen].map((index) => machine.names[index] ?? "");
    return reason_colours.filter(([beginning]) =>
      names.some(
        (name) =>
          name.startsWith(beginning) &&
          reason_colours.find(([first]) => name.startsWith(first))?.[0] === beginning,
      ),
    );
  }, [machine]);
  return (
    <div class="below-bars">
      <span class="key">
        <span>
          <Swatch colour={state_colours["on CPU"]} /> on CPU{" "}
        </span>
        <span>
          <Swatch colour={state_colours.runnable} /> runnable{" "}
        </span>
        <span>
          <Swatch colour={state_colours.throttled} /> throttled{" "}
        </span>
        {reasons.map(([beginning, colour]) => (
          <span key={beginning}>
            <Swatch colour={colour} /> blocked: {beginning}{" "}
          </span>
        ))}
        <span>
          <Swatch colour={state_colours.blocked} /> blocked: other{" "}
        </span>
        <span>
          <Swatch colour={run_colours.late} /> delayed run{" "}
        </span>
        <span>
          <Swatch colour={run_colours.in_time} /> run on time
        </span>
      </span>
      <details class="keys">
        <summary>Keys</summary>
        <p id="machine-keys">
          Up/down: move between rows. Left/right: move between intervals. Enter: open or close a
          process, zoom to an interval. w: go to the waker. +/−: zoom in or out. a/d: earlier or
          later. Escape: whole delay. /: search; Enter there: next match. Ctrl+wheel: zoom;
          Shift+wheel: pan.
        </p>
        <p>
          Intervals too short to draw are merged: the height of green is the share on CPU, that of
          orange the share waiting for a CPU. White means unknown, or that the thread did not exist.
          On CPU rows, the delay's own threads have strong colours. Arrows lead from wakers to woken
          threads if there are few of them.
        </p>
      </details>
    </div>
  );
}

function LeftOut({ machine }: { machine: Machine }) {
  const { left_out, asleep } = machine;
  const parts = [
    asleep > 0 &&
      `${plural(asleep, "thread")} slept throughout this part and ` +
        `${asleep === 1 ? "has" : "have"} no row`,
    left_out.threads > 0 && `${plural(left_out.threads, "thread")} with less time than these`,
    left_out.cpus > 0 && plural(left_out.cpus, "CPU"),
    left_out.wakes > 0 && plural(left_out.wakes, "wakeup"),
    left_out.runs > 0 && plural(left_out.runs, "shorter run"),
    left_out.stacks > 0 && plural(left_out.stacks, "stack"),
  ].filter((part) => part !== false);
  return (
    <p class="muted">
      {parts.length > 0 && <>Not shown: {parts.join("; ")}. </>}
      {machine.finest > 1 && (
        <>
          Intervals shorter than {formatDuration(machine.finest)} may be merged; zoom in to see
          them.
        </>
      )}
    </p>
  );
}

// The same data without a picture.
function Table({ machine }: { machine: Machine }) {
  const longest = (thread: Machine["threads"][number]) => {
    let best = -1;
    const { cells } = thread;
    for (let i = 0; i < cells.state.length; ++i)
      if (
        cells.state[i] === 3 &&
        (best < 0 || cells.to[i] - cells.from[i] > cells.to[best] - cells.from[best])
      )
        best = i;
    return best < 0
      ? ""
      : `${formatDuration(cells.to[best] - cells.from[best])} ` +
          `${machine.names[cells.first[best]] ?? ""}`;
  };
  return (
    <details>
      <summary>Show threads as a table</summary>
      <p class="muted">
        From {timeWords(machine.from)} to {timeWords(machine.to)}
        {machine.threads.length > table_rows &&
          `; the first ${formatCount(table_rows)} of ${formatCount(machine.threads.length)}`}
        .
      </p>
      <Scroll label="Threads of the machine">
        <table class="list compact" data-testid="machine-table">
          <thead>
            <tr>
              <th scope="col" class="number">
                On CPU
              </th>
              <th scope="col" class="number">
                Runnable
              </th>
              <th scope="col" class="number">
                Blocked
              </th>
              <th scope="col">Longest wait</th>
              <th scope="col">Thread</th>
              <th scope="col">Process</th>
            </tr>
          </thead>
          <tbody>
            {machine.threads.slice(0, table_rows).map((thread) => (
              <tr key={thread.tid}>
                <td class="number">{formatDuration(thread.on_cpu_ns)}</td>
                <td class="number">{formatDuration(thread.runnable_ns)}</td>
                <td class="number">{formatDuration(thread.blocked_ns)}</td>
                <td>{longest(thread)}</td>
                <th scope="row">
                  {thread.name} ({thread.tid})
                </th>
                <td>
                  {processName(machine, thread.pid)} ({thread.pid}){" "}
                  <span class="muted">
                    <Shortened text={machine.processes.get(thread.pid)?.unit ?? ""} most={32} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
