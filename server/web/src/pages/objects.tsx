// Activity of a process on the followed objects: failures first, then classes and lifetimes, and
// calls as trees. For a delay or a running watch.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatBytes, formatCount, formatDuration, plural } from "../format";
import { FunctionName, MaskedNote, Section, Scroll } from "../parts";
import type { CreationStack, FollowedObjects } from "../types";

type Call = FollowedObjects["longest"][number];

export function ObjectsView({ objects }: { objects: FollowedObjects }) {
  return (
    <Section
      title="Objects"
      aside={
        <>
          <span class="muted">{span(objects)}</span> <a href="/objects">Objects of all delays</a>
        </>
      }>
      <ObjectsFigures objects={objects} />
    </Section>
  );
}

// Links between the two pages of objects.
export function ObjectPages({ current }: { current: "delays" | "watches" | "watch" }) {
  return (
    <nav class="subpages" aria-label="Pages of objects">
      <a href="/objects" aria-current={current === "delays" ? "page" : undefined}>
        In delays
      </a>
      <a href="/watches" aria-current={current === "watches" ? "page" : undefined}>
        Watched live
      </a>
    </nav>
  );
}

// `latest`: the trees that ended last, newest first, and what to write before each.
export function ObjectsFigures({
  objects,
  latest,
}: {
  objects: FollowedObjects;
  latest?: { calls: Call[]; when: (call: Call) => ComponentChildren };
}) {
  const [filter, setFilter] = useState("");
  const [failedOnly, setFailedOnly] = useState(false);
  const [mark, setMark] = useState("");
  const wanted = matcher(filter);
  const marked_ns = Number(mark) > 0 ? Number(mark) * 1e6 : Infinity;
  const failures = objects.failures.filter((one) =>
    wanted(`${one.function} ${one.error} ${one.title}`),
  );
  const functions = objects.functions.filter(
    (one) => wanted(one.name) && (!failedOnly || one.failures > 0),
  );
  return (
    <div data-testid="objects">
      <p class="controls">
        <label>
          Filter{" "}
          <input
            type="search"
            value={filter}
            placeholder="cart -test"
            data-testid="objects-filter"
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>{" "}
        <label>
          <input
            type="checkbox"
            checked={failedOnly}
            onChange={(event) => setFailedOnly(event.currentTarget.checked)}
          />{" "}
          failures only
        </label>{" "}
        <label>
          Mark calls over{" "}
          <input
            type="number"
            min="0"
            step="any"
            class="short"
            value={mark}
            data-testid="objects-mark"
            onInput={(event) => setMark(event.currentTarget.value)}
          />{" "}
          ms
        </label>
      </p>
      <FailuresTable failures={failures} />
      <MaskedNote
        texts={[
          ...objects.failures.flatMap((one) => [one.error, one.title]),
          ...objects.longest.map((one) => one.title),
        ]}
      />
      {!failedOnly && <ClassesTable objects={objects} wanted={wanted} />}
      <h3>Calls</h3>
      <Scroll label="Figures of objects">
        <table class="list">
          <thead>
            <tr>
              <th>Function</th>
              <th>Role</th>
              <th class="number">Time</th>
              <th class="number">Calls</th>
              <th class="number">Failures</th>
            </tr>
          </thead>
          <tbody>
            {functions.map((one) => (
              <tr key={`${one.module} ${one.name} ${one.role}`}>
                <td class="code" title={one.module}>
                  <FunctionName name={one.name} />
                </td>
                <td>{roles[one.role] ?? one.role}</td>
                <td class="number">{formatDuration(one.elapsed_ns)}</td>
                <td class="number">{formatCount(one.calls)}</td>
                <td class="number">{formatCount(one.failures)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {latest && (
        <CallTree
          title="Latest calls, newest first"
          calls={shownCalls(latest.calls, wanted, failedOnly)}
          when={latest.when}
          marked_ns={marked_ns}
        />
      )}
      <CallTree calls={shownCalls(objects.longest, wanted, failedOnly)} marked_ns={marked_ns} />
      {!failedOnly && <OldestTable objects={objects} wanted={wanted} />}
      <p class="muted">{losses(objects)}</p>
    </div>
  );
}

// All words must occur; words after "-" must not.
export function matcher(filter: string): (text: string) => boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "-");
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) =>
      word.startsWith("-") ? !lower.includes(word.slice(1)) : lower.includes(word),
    );
  };
}

export function span(objects: FollowedObjects): string {
  const memory = objects.memory === "" ? "" : `; memory is not tracked: ${objects.memory}`;
  return `of ${objects.process}, followed for ${formatDuration(objects.length_ns)}${memory}`;
}

function FailuresTable({ failures }: { failures: FollowedObjects["failures"] }) {
  if (failures.length === 0) return <p>No call failed.</p>;
  return (
    <>
      <h3>Failures</h3>
      <Scroll label="Failures">
        <table class="list" data-testid="object-failures">
          <thead>
            <tr>
              <th class="number">Count</th>
              <th>Function</th>
              <th>Component</th>
              <th>Error</th>
              <th>First object</th>
            </tr>
          </thead>
          <tbody>
            {failures.map((one) => (
              <tr key={`${one.module} ${one.function} ${one.error}`}>
                <td class="number">{formatCount(one.count)}</td>
                <td class="object-failed">
                  <FunctionName name={one.function} />
                </td>
                <td class="code" title={one.module}>
                  {fileName(one.module)}
                </td>
                <td>{one.error}</td>
                <td class="code">{objectName(one.object, one.title)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function ClassesTable({
  objects,
  wanted,
}: {
  objects: FollowedObjects;
  wanted: (text: string) => boolean;
}) {
  return (
    <>
      <h3>Objects by class</h3>
      <Scroll label="Objects by class">
        <table class="list" data-testid="object-classes">
          <thead>
            <tr>
              <th>Class</th>
              <th class="number">Created</th>
              <th class="number">Released</th>
              <th class="number">Alive</th>
              <th class="number">Failed calls</th>
              <th>Problems</th>
            </tr>
          </thead>
          <tbody>
            {objects.classes
              .filter((one) => wanted(one.name))
              .map((one) => (
                <tr key={one.name}>
                  <td>
                    <FunctionName name={one.name} />
                  </td>
                  <td class="number">{formatCount(one.created)}</td>
                  <td class="number">{formatCount(one.released)}</td>
                  <td class="number">{formatCount(one.alive)}</td>
                  <td class="number">{formatCount(one.failures)}</td>
                  <td>{wrongs(one)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

export function wrongs(one: FollowedObjects["classes"][number]): string {
  const said: string[] = [];
  if (one.released_twice > 0) said.push(`${formatCount(one.released_twice)} released twice`);
  if (one.used_after > 0) said.push(`${plural(one.used_after, "call")} after release`);
  if (one.replaced > 0)
    said.push(`${formatCount(one.replaced)} replaced without a recorded release`);
  if (one.unknown > 0)
    said.push(`${plural(one.unknown, "call")} on objects whose creation was not recorded`);
  if (one.not_followed > 0) said.push(`${formatCount(one.not_followed)} not tracked`);
  return said.join("; ");
}

// Matching calls, with their callers.
export function shownCalls(
  calls: Call[],
  wanted: (text: string) => boolean,
  failedOnly: boolean,
): Call[] {
  const kept = new Set<number>();
  const callers: number[] = [];
  calls.forEach((call, at) => {
    callers.length = call.depth;
    callers[call.depth] = at;
    if (wanted(`${call.name} ${call.title} ${call.error}`) && (!failedOnly || call.error !== ""))
      callers.forEach((caller) => kept.add(caller));
  });
  return calls.filter((_, at) => kept.has(at));
}

const rows_at_first = 200;

export function CallTree({
  calls,
  title = "Longest calls, with what they called",
  when,
  marked_ns = Infinity,
}: {
  calls: Call[];
  title?: string;
  when?: (call: Call) => ComponentChildren;
  marked_ns?: number;
}) {
  const [all, setAll] = useState(false);
  if (calls.length === 0) return null;
  const shown = all ? calls : calls.slice(0, rows_at_first);
  return (
    <>
      <h3>{title}</h3>
      <Scroll label={title}>
        <table class="list" data-testid={when ? "object-latest" : "object-calls"}>
          <thead>
            <tr>
              {when && <th>At</th>}
              <th class="number">Time</th>
              <th class="number">Memory</th>
              <th>Call</th>
              <th>Object</th>
              <th>Error</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((call, at) => (
              <tr key={at}>
                {when && <td class="muted at">{call.depth === 0 ? when(call) : ""}</td>}
                <td class={`number ${call.elapsed_ns > marked_ns ? "object-long" : ""}`}>
                  {formatDuration(call.elapsed_ns)}
                </td>
                <td class="number">{change(call.bytes)}</td>
                <td
                  class={`code ${look(call)}`}
                  title={call.module}
                  style={{ paddingLeft: `${0.5 + 1.2 * call.depth}rem` }}>
                  {sign(call.role)}
                  <FunctionName name={call.name} still />
                </td>
                <td class="code muted">{objectName(call.object, call.title)}</td>
                <td class="object-failed">
                  {call.error ||
                    (call.state === "used after release" || call.state === "released twice"
                      ? call.state
                      : "")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {calls.length > rows_at_first && (
        <p>
          <button type="button" class="quiet" onClick={() => setAll(!all)}>
            {all ? "Show fewer calls" : `Show ${plural(calls.length - rows_at_first, "more call")}`}
          </button>
        </p>
      )}
    </>
  );
}

function OldestTable({
  objects,
  wanted,
}: {
  objects: FollowedObjects;
  wanted: (text: string) => boolean;
}) {
  const oldest = objects.oldest.filter((one) =>
    wanted(`${one.class} ${one.title} ${one.caller} ${one.stack?.frames.join(" ") ?? ""}`),
  );
  if (oldest.length === 0) return null;
  return (
    <>
      <h3>Longest-lived objects</h3>
      <Scroll label="Figures of objects">
        <table class="list">
          <thead>
            <tr>
              <th>Class</th>
              <th>Object</th>
              <th class="number">Age</th>
              <th class="number">Calls</th>
              <th class="number">Memory</th>
              <th>Created by</th>
            </tr>
          </thead>
          <tbody>
            {oldest.map((one) => (
              <tr key={`${one.class} ${one.object}`}>
                <td class="code">{one.class}</td>
                <td class="code">{objectName(one.object, one.title)}</td>
                <td class="number">{formatDuration(one.age_ns)}</td>
                <td class="number">{formatCount(one.uses)}</td>
                <td class="number">{change(one.bytes)}</td>
                <td class="code">
                  <Creation caller={one.caller} stack={one.stack} shared={one.shares_stack} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

// The function that created it; the whole stack on request.
function Creation({
  caller,
  stack,
  shared,
}: {
  caller: string;
  stack: CreationStack | null;
  shared: boolean;
}) {
  if (!stack) return <>{caller}</>;
  return (
    <details data-testid="object-stack">
      <summary>{caller || "?"}</summary>
      {stack.frames.map((frame, at) => (
        <div key={at}>{frame || "?"}</div>
      ))}
      {stack.cut && <div class="muted">its callers are unknown</div>}
      {shared && <div class="muted">from another object created by the same call</div>}
      {stack.alive > 1 && (
        <div class="muted">{formatCount(stack.alive)} objects created here are alive</div>
      )}
    </details>
  );
}

function look(call: Call): string {
  if (call.error !== "") return "object-failed";
  return call.role === "create"
    ? "object-created"
    : call.role === "release"
      ? "object-released"
      : "";
}

const roles: Record<string, string> = {
  create: "creates",
  use: "uses",
  release: "releases",
  message: "reports an error",
};

function sign(role: string): string {
  return role === "create" ? "+ " : role === "release" ? "− " : "";
}

function change(bytes: number): string {
  if (bytes === 0) return "";
  return (bytes < 0 ? "−" : "+") + formatBytes(Math.abs(bytes));
}

// A descriptor's number, or an address.
export function objectName(object: number, title: string): string {
  const number = object < 1 << 20 ? String(object) : `0x${object.toString(16)}`;
  return title === "" ? number : `${number} "${title}"`;
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function losses(objects: FollowedObjects): string {
  const said = [`Calls recorded individually: ${formatCount(objects.reported)}.`];
  if (objects.not_reported > 0)
    said.push(`${formatCount(objects.not_reported)} more were only counted.`);
  if (objects.detached > 0)
    said.push(
      "Functions detached because they were called too often: " +
        `${formatCount(objects.detached)}; their later calls are not counted.`,
    );
  return said.join(" ");
}
