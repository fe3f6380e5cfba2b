// Objects of running programs (lagtrap objects --send): all watches, and one of them while it runs.
import { useState } from "preact/hooks";
import { formatCount, formatDuration, formatTime, millisecondsOf, plural } from "../format";
import { type Followed, useFollowed } from "../load";
import { Empty, Failure, Section, Time, Title, Wide } from "../parts";
import type { ObjectWatch, ObjectWatchSummary, ObjectWatches } from "../types";
import { ObjectPages, ObjectsFigures, span } from "./objects";

const again_ms = 2000;
// A running watch sends a part each second.
const silent_ms = 30e3;

// How long a watch that has not ended has been silent; 0: it is running.
function silentFor(watch: ObjectWatch): number {
  const silence_ms = Date.now() - millisecondsOf(watch.last_ns);
  return watch.ended || silence_ms < silent_ms ? 0 : silence_ms;
}

function State({ watch }: { watch: ObjectWatch }) {
  if (watch.ended) return <span class="state">ended</span>;
  const silence_ms = silentFor(watch);
  if (silence_ms > 0)
    return <span class="state worse">no data for {formatDuration(silence_ms * 1e6)}</span>;
  return <span class="state">running</span>;
}

const figure = (value: number | null) => (value === null ? "?" : formatCount(value));

function classesOf(watch: ObjectWatch, most: number): string {
  if (watch.class_count === 0) return "";
  const more = watch.class_count - Math.min(watch.classes.length, most);
  return (
    watch.classes.slice(0, most).join(", ") + (more > 0 ? ` and ${formatCount(more)} more` : "")
  );
}

// The gaps of a watch, as far as its row shows them; empty if there are none.
function lossesOf(watch: ObjectWatch): string[] {
  const said: string[] = [];
  if (watch.missing_parts)
    said.push(`${formatCount(watch.missing_parts)} of ${plural(watch.parts, "part")} missing`);
  if (watch.lost_lines)
    said.push(`${plural(watch.lost_lines, "line")} not sent because the spool was full`);
  if (watch.not_reported > 0) said.push(`${plural(watch.not_reported, "call")} only counted`);
  if (watch.missing_parts === null)
    said.push("unknown: the watch started before the server counted missing parts");
  return said;
}

// If the server does not answer, the old data stays visible.
function Trouble<T>({ of }: { of: Followed<T> }) {
  if (!of.error) return null;
  if (of.data === null || (of.error.status >= 400 && of.error.status < 500))
    return <Failure error={of.error} />;
  return (
    <p class="problem" role="status">
      The data shown is old: {of.error.message}. Retrying every {again_ms / 1000} s.
    </p>
  );
}

export function Watches() {
  const list = useFollowed<ObjectWatches>("/api/v1/objects", again_ms, false, () => true);
  return (
    <main id="main">
      <Title text="Objects of running programs" />
      <ObjectPages current="watches" />
      <Trouble of={list} />
      {list.data === null && !list.error && (
        <div class="loading" role="status">
          Loading…
        </div>
      )}
      {list.data && list.data.watches.length === 0 && (
        <Empty title="No objects received yet.">
          <p>
            To watch objects of a running program and send their activity here, run{" "}
            <code>lagtrap objects --process NAME --class 'Cart|Order' --send</code> on its machine.
          </p>
        </Empty>
      )}
      {list.data && list.data.watches.length > 0 && <WatchList watches={list.data.watches} />}
    </main>
  );
}

function WatchList({ watches }: { watches: ObjectWatch[] }) {
  return (
    <>
      <Wide label="Watches">
        <table class="list" data-testid="watches">
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col">Process</th>
              <th scope="col">Host</th>
              <th scope="col">Objects</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Failed
              </th>
              <th scope="col">Missing</th>
            </tr>
          </thead>
          <tbody>
            {watches.map((watch) => (
              <tr key={watch.watch}>
                <th scope="row">
                  <a href={`/watch/${watch.watch}`}>
                    <Time ns={watch.began_ns ?? watch.first_ns} />
                  </a>
                </th>
                <td>
                  {watch.process} <span class="muted">{watch.pid}</span>
                </td>
                <td>{watch.host}</td>
                <td class="code">{classesOf(watch, 3)}</td>
                <td>
                  <State watch={watch} />
                </td>
                <td class="number">{figure(watch.calls)}</td>
                <td class={`number ${watch.failures ? "object-failed" : ""}`}>
                  {figure(watch.failures)}
                </td>
                <td>{lossesOf(watch).join("; ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="muted">
        The server deletes a watch seven days after its last part, or earlier if space runs out.
        {watches.length === 200 && " Only the newest 200 are shown."}
      </p>
    </>
  );
}

export function WatchPage({ id }: { id: string }) {
  const [paused, setPaused] = useState(false);
  const loaded = useFollowed<ObjectWatchSummary>(
    `/api/v1/objects/${id}/summary`,
    again_ms,
    paused,
    (data) => !data.watch.ended || Boolean(data.watch.missing_parts),
  );
  const data = loaded.data;
  return (
    <main id="main">
      <Title
        text={
          data
            ? `Objects of ${data.watch.process} (${data.watch.pid}) on ${data.watch.host}`
            : "Objects of a running program"
        }
      />
      <ObjectPages current="watch" />
      <Trouble of={loaded} />
      {!data && !loaded.error && (
        <div class="loading" role="status">
          Loading…
        </div>
      )}
      {data && (
        <>
          <Head data={data} paused={paused} onPause={() => setPaused(!paused)} />
          <Watched data={data} />
        </>
      )}
    </main>
  );
}

function Head({
  data,
  paused,
  onPause,
}: {
  data: ObjectWatchSummary;
  paused: boolean;
  onPause: () => void;
}) {
  const { watch } = data;
  const gaps = gapsOf(data);
  return (
    <div data-testid="watch-head">
      <p>
        <State watch={watch} />{" "}
        {!watch.ended && (
          <button type="button" aria-pressed={paused} onClick={onPause}>
            {paused ? "Resume" : "Pause"}
          </button>
        )}{" "}
        {paused && (
          <span role="status">Paused at part {formatCount(watch.parts)}. The watch continues.</span>
        )}
        {data.reason !== "" && <span class="muted">{data.reason}</span>}
      </p>
      <p class="muted">
        {classesOf(watch, 8)}; started <Time ns={watch.began_ns ?? watch.first_ns} />;{" "}
        {figure(watch.calls)} calls recorded; {figure(watch.failures)} failed
      </p>
      {silentFor(watch) > 0 && (
        <p class="problem">
          No data for {formatDuration(silentFor(watch) * 1e6)}. Check that{" "}
          <code>lagtrap-uploader</code> and the watched program are running on {watch.host}.
        </p>
      )}
      {gaps.length > 0 && (
        <ul class="problem" data-testid="watch-gaps">
          {gaps.map((gap) => (
            <li key={gap}>{gap}</li>
          ))}
        </ul>
      )}
      {data.notes.length > 0 && (
        <details>
          <summary>Limitations</summary>
          <ul>
            {data.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function gapsOf(data: ObjectWatchSummary): string[] {
  const gaps: string[] = [];
  const { watch } = data;
  if (watch.missing_parts)
    gaps.push(
      `${formatCount(watch.missing_parts)} of ${plural(watch.parts, "part")} missing: ` +
        "calls of that time are not shown. The counts by class are complete.",
    );
  if (watch.lost_lines)
    gaps.push(
      `${plural(watch.lost_lines, "line")} not sent because the machine's spool was full: ` +
        "calls in them are not shown.",
    );
  if (data.dropped_parts > 0)
    gaps.push(
      `${plural(data.dropped_parts, "older part")} ` +
        `${data.dropped_parts === 1 ? "was" : "were"} deleted to save space: ` +
        "failures and calls are those of the first part and the newest ones. " +
        "The counts by class are complete.",
    );
  if (data.unread_lines > 0) gaps.push(`${plural(data.unread_lines, "line")} could not be read.`);
  return gaps;
}

function Watched({ data }: { data: ObjectWatchSummary }) {
  const { objects, watch } = data;
  if (!objects) {
    return (
      <Empty title="The first part, which names classes and functions, is missing.">
        <p>
          The other parts cannot be read without it. It may still arrive if{" "}
          <code>lagtrap-uploader</code> on {watch.host} has it.
        </p>
      </Empty>
    );
  }
  const began = BigInt(watch.began_ns ?? watch.first_ns);
  const latest = {
    calls: newestFirst(data.latest),
    when: (call: ObjectWatchSummary["latest"][number]) =>
      formatTime(String(began + BigInt(call.begin_ns)), true).split(" ")[1],
  };
  return (
    <Section title="Objects" aside={<span class="muted">{span(objects)}</span>}>
      <ObjectsFigures objects={objects} latest={latest} />
      {!watch.ended && (
        <p class="muted">
          The longest-lived objects and their creators are shown when the watch ends.
        </p>
      )}
    </Section>
  );
}

// Reverses the order of trees, but not of the calls within each.
export function newestFirst<Call extends { depth: number }>(calls: Call[]): Call[] {
  const trees: Call[][] = [];
  for (const call of calls) {
    if (call.depth === 0 || trees.length === 0) trees.push([]);
    trees[trees.length - 1].push(call);
  }
  return trees.reverse().flat();
}
