// One delay of a bundle: where its time went.
import { useState } from "preact/hooks";
import { ApiError } from "../api";
import { colourOfReason, state_colours } from "../colours";
import { functionIn } from "../evidence";
import { eventAddress } from "../filters";
import { formatBytes, formatCount, formatDuration, formatShare, shortId } from "../format";
import { useGet, useMore } from "../load";
import { HandOver } from "../hand_over";
import { Empty, Failure, Figure, Ready, Section, Swatch, Time, Title, Scroll } from "../parts";
import { type NormalRuns, useNormalRuns } from "../normal_runs";
import { openInPerfetto, viewer, viewer_name } from "../perfetto";
import { type Place, setQuery } from "../router";
import type { BundleDelays, Delay, DelayList, Formats, Quality } from "../types";
import { zoneName } from "../zone";
import { Profile, stateOf } from "./profile";
import { StageLine } from "./run";
import { SurroundingsView, userOf } from "./surroundings";
import { RunCallsView } from "./run_calls";
import { ObjectsView } from "./objects";
import { TracedFunctionsView } from "./traced_functions";
import { TimelineView } from "./timeline";
import { WaitChainView } from "./wait_chain";

export function DelayPage({
  digest,
  number,
  place,
}: {
  digest: string;
  number: number | null;
  place: Place;
}) {
  const loaded = useGet<BundleDelays>(
    `/api/v1/bundles/${digest}/delays?` +
      `${number === null ? "order=slowest&limit=1" : `number=${number}`}`,
  );
  if (loaded.error?.status === 422)
    return <BadBundle digest={digest} reason={loaded.error.message} />;
  return (
    <main id="main">
      <Ready of={loaded} height={400}>
        {(data) => {
          const delay = data.delays[0];
          if (!delay) return <NoDelay digest={digest} any={(data.bundle?.delays ?? 0) > 0} />;
          return <OneDelay digest={digest} data={data} delay={delay} place={place} />;
        }}
      </Ready>
    </main>
  );
}

// The delays of the event just before and after this one, on any host.
function Neighbours({ delay }: { delay: Delay }) {
  const list = (more: string) =>
    `/api/v1/delays?event=${encodeURIComponent(delay.event)}&limit=1&${more}`;
  const before = useGet<DelayList>(list(`order=newest&to=${delay.begin_ns}`));
  const after = useGet<DelayList>(list(`order=oldest&from=${BigInt(delay.begin_ns) + 1n}`));
  const link = (found: DelayList | null, text: string) => {
    const other = found?.delays[0];
    if (!other) return <span class="muted">{text}</span>;
    return (
      <a
        href={`/bundle/${other.bundle}/${other.number}`}
        title={`${formatDuration(other.duration_ns)} on ${other.host}`}>
        {text}
      </a>
    );
  };
  return (
    <nav class="neighbours" aria-label="Delays of this event by time">
      {link(before.data, "← Previous delay")} {link(after.data, "Next delay →")}
    </nav>
  );
}

function Downloads({ digest }: { digest: string }) {
  return (
    <>
      <a class="button" href={`/api/v1/bundles/${digest}`} download="">
        Download bundle
      </a>{" "}
      <a
        class="button"
        href={`/api/v1/bundles/${digest}/trace`}
        download=""
        title="For any Perfetto trace viewer">
        Trace (.pftrace)
      </a>{" "}
      <a class="button" href={`/api/v1/bundles/${digest}/system`} target="_blank" rel="noopener">
        System file
      </a>
    </>
  );
}

function BadBundle({ digest, reason }: { digest: string; reason: string }) {
  return (
    <main id="main">
      <Title text={`Bundle ${shortId(digest)}`} />
      <Empty title="This bundle cannot be read.">
        <p class="problem">{reason}</p>
        <p>
          The server keeps it unchanged. Download it and try <code>lagtrap report FILE</code>, or
          record again with a newer lagtrapd.
        </p>
        <p>
          <a class="button" href={`/api/v1/bundles/${digest}`} download="">
            Download bundle
          </a>
        </p>
      </Empty>
    </main>
  );
}

function NoDelay({ digest, any }: { digest: string; any: boolean }) {
  return (
    <>
      <Title text={`Bundle ${shortId(digest)}`} />
      <Empty
        title={
          any
            ? "This bundle has no delay with this number."
            : "No run in this recording exceeded its threshold."
        }>
        {any ? (
          <p>
            <a href={`/bundle/${digest}`}>Open the longest delay of the bundle</a>.
          </p>
        ) : (
          <p>The recording may have been started by hand. You can still open the trace:</p>
        )}
        <p>
          <Downloads digest={digest} />
        </p>
      </Empty>
    </>
  );
}

function OneDelay({
  digest,
  data,
  delay,
  place,
}: {
  digest: string;
  data: BundleDelays;
  delay: Delay;
  place: Place;
}) {
  const [said, setSaid] = useState("");
  const normal = useNormalRuns(delay.event);
  const perfetto = async () => {
    try {
      await openInPerfetto(digest, delay, setSaid);
    } catch (error) {
      setSaid(
        `That did not work: ${(error as Error).message}.` +
          `${error instanceof ApiError && error.hint ? ` ${error.hint}` : ""}`,
      );
    }
  };
  const opening = `Opens ${viewer_name} in a new window and sends it the trace from this browser`;
  return (
    <>
      <p class="crumbs">
        <a href={eventAddress(delay.event)}>{delay.event}</a> › bundle{" "}
        <span class="code">{shortId(digest)}</span>
      </p>
      <Neighbours delay={delay} />
      <div class="title-row">
        <Title
          text={
            `${delay.event} took ` +
            `${formatDuration(delay.duration_ns)}${data.bundle ? ` on ${data.bundle.host}` : ""}`
          }
        />
        <div class="actions">
          <Downloads digest={digest} /> <HandOver />{" "}
          {viewer !== "" && (
            <button type="button" class="primary" title={opening} onClick={() => void perfetto()}>
              Open in Perfetto
            </button>
          )}
        </div>
      </div>
      <p class="said" role="status">
        {said}
      </p>
      <dl class="figures">
        <Figure
          label="Duration"
          value={formatDuration(delay.duration_ns)}
          tone="bad"
          note={
            `threshold ${formatDuration(delay.threshold_ns)}` +
            `${normal ? `, normally ${formatDuration(normal.duration_ns)}` : ""}`
          }
        />
        <Figure label="Process" value={delay.process} note={`pid ${delay.pid}`} />
        {delay.unit !== "" && <Figure label="Unit" value={delay.unit} />}
        <Figure label="Thread" value={delay.thread} note={`tid ${delay.tid}`} />
        {data.bundle && (
          <Figure label="Host" value={data.bundle.host} note={formatBytes(data.bundle.bytes)} />
        )}
        {userOf(delay) !== "" && <Figure label="User" value={userOf(delay)} />}
      </dl>
      <p>
        Started <Time ns={delay.begin_ns} precise /> {zoneName()}.{" "}
        {delay.run && <a href={`/run/${delay.run}`}>Open the run</a>}
        {delay.request && `Request ${delay.request}.`}
        {delay.trace_id !== null && (
          <>
            {" "}
            Trace <span class="code">{delay.trace_id}</span>
          </>
        )}
      </p>
      {delay.cause && delay.cause.sentences.length > 0 && (
        <Cause sentences={delay.cause.sentences} />
      )}
      {delay.cause?.chain && delay.cause.chain.length > 1 && (
        <WaitChainView chain={delay.cause.chain} />
      )}
      <div class="columns">
        <Section title="Where the time went">
          <TimeSplit delay={delay} normal={normal} />
        </Section>
        {(delay.stages.length > 0 || delay.without_stages) && (
          <Section title="Stages">
            <StageLine
              stages={delay.stages}
              unwatched={delay.without_stages}
              whole_ns={delay.duration_ns}
              runs={[delay as never]}
              normal={normal}
            />
          </Section>
        )}
      </div>
      <Profile digest={digest} delay={delay} place={place} />
      <TimelineView digest={digest} delay={delay} />
      {delay.calls && <RunCallsView calls={delay.calls} />}
      {delay.traced_functions && <TracedFunctionsView traced={delay.traced_functions} />}
      {delay.objects && <ObjectsView objects={delay.objects} />}
      <OtherTools digest={digest} delay={delay} place={place} />
      {(data.bundle?.delays ?? 0) > 1 && (
        <Others digest={digest} count={data.bundle?.delays ?? 0} current={delay.number} />
      )}
      <Section title="Recording quality">
        <QualityList quality={data.quality} />
      </Section>
      {delay.surroundings && <SurroundingsView delay={delay} around={delay.surroundings} />}
    </>
  );
}

// The longest part of the delay first.
function Cause({ sentences }: { sentences: string[] }) {
  return (
    <Section title="Cause" id="cause">
      {sentences.map((sentence) => (
        <p key={sentence}>
          {sentence} <Evidence sentence={sentence} />
        </p>
      ))}
    </Section>
  );
}

// Shows the sentence's function in the flame graph, and its waits in the timeline.
function Evidence({ sentence }: { sentence: string }) {
  const name = functionIn(sentence);
  const show = (id: string) => document.getElementById(id)?.scrollIntoView();
  return (
    <>
      {name !== null && (
        <button
          type="button"
          class="quiet"
          title={`Finds ${name} in the flame graph`}
          onClick={() => {
            setQuery({ search: name });
            show("flame");
          }}>
          Flame graph
        </button>
      )}
      {/\bwoke\b|\bwaited\b/i.test(sentence) && (
        <button type="button" class="quiet" onClick={() => show("timeline")}>
          Timeline
        </button>
      )}
    </>
  );
}

// For the time that the flame graph shows.
function OtherTools({ digest, delay, place }: { digest: string; delay: Delay; place: Place }) {
  const loaded = useGet<Formats>("/api/v1/formats");
  const state = stateOf(place);
  const words = { all: "all time", "on-cpu": "on-CPU time", "off-cpu": "off-CPU time" }[state];
  return (
    <Section
      title="Export for other tools"
      aside={<span class="muted">{words}, as in the flame graph</span>}>
      <Ready of={loaded} height={120}>
        {({ formats }) => (
          <ul class="forms">
            {formats.map((form) => (
              <li key={form.name}>
                <a
                  href={
                    `/api/v1/bundles/${digest}/delays/${delay.number}/export?format=${form.name}` +
                    `&state=${state}`
                  }
                  download="">
                  {form.title}
                </a>{" "}
                <span class="muted">{form.use}</span>
              </li>
            ))}
          </ul>
        )}
      </Ready>
      {viewer === "" && (
        <p class="muted">
          To open traces in a Perfetto UI from here, start the server with{" "}
          <code>--trace-viewer</code> and the UI's address.
        </p>
      )}
    </Section>
  );
}

// The parts add up to the delay; unknown time is one of them.
function TimeSplit({ delay, normal }: { delay: Delay; normal: NormalRuns | null }) {
  const named = delay.blocked.reduce((sum, entry) => sum + entry.ns, 0);
  // `as` is the name of the part in normal runs.
  const parts: { text: string; as?: string; ns: number; colour: string }[] = [
    { text: "on CPU", as: "on CPU", ns: delay.on_cpu_ns, colour: state_colours["on CPU"] },
    {
      text: "runnable, waiting for a CPU",
      as: "waiting for a CPU",
      ns: delay.runnable_ns,
      colour: state_colours.runnable,
    },
    ...delay.blocked.map((entry) => ({
      text: `blocked: ${entry.reason || "reason unknown"}`,
      as: entry.reason,
      ns: entry.ns,
      colour: colourOfReason(entry.reason),
    })),
    {
      text: "blocked: other",
      ns: Math.max(0, delay.blocked_ns - named),
      colour: state_colours.blocked,
    },
    {
      text: "handed over between threads (which one had it is unknown)",
      ns: delay.handed_over_ns,
      colour: state_colours["handed over"],
    },
    { text: "unknown", ns: delay.unknown_ns, colour: state_colours.unknown },
  ].filter((part) => part.ns > 0);
  return (
    <>
      <div class="stage-line" aria-hidden="true">
        {parts.map((part) => (
          <span
            key={part.text}
            title={`${part.text}: ${formatDuration(part.ns)}`}
            style={{ flexGrow: part.ns, backgroundColor: part.colour }}
          />
        ))}
      </div>
      <ul class="split">
        {parts.map((part) => (
          <li key={part.text}>
            <Swatch colour={part.colour} /> {`${part.text} `}
            <strong>{formatDuration(part.ns)}</strong>{" "}
            <span class="muted">
              {formatShare(Math.min(1, part.ns / Math.max(1, delay.duration_ns)))}
              {normal &&
                part.as !== undefined &&
                normal.parts.size > 0 &&
                `, normally ${formatDuration(normal.parts.get(part.as) ?? 0)}`}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

// The longest first; a bundle may have thousands.
function Others({ digest, count, current }: { digest: string; count: number; current: number }) {
  const path = `/api/v1/bundles/${digest}/delays?order=slowest&limit=200`;
  const list = useMore<BundleDelays>(path);
  const delays = list.parts.flatMap((part) => part.delays);
  return (
    <Section title={`All delays of this bundle (${formatCount(count)})`}>
      <Scroll label="Delays of this bundle">
        <table class="list compact cards">
          <thead>
            <tr>
              <th scope="col">Delay</th>
              <th scope="col">Event</th>
              <th scope="col">Began</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col">Thread</th>
            </tr>
          </thead>
          <tbody>
            {delays.map((delay) => (
              <tr key={delay.number} aria-current={delay.number === current ? "true" : undefined}>
                <th scope="row">
                  <a href={`/bundle/${digest}/${delay.number}`}>{delay.number}</a>
                </th>
                <td>{delay.event}</td>
                <td>
                  <Time ns={delay.begin_ns} precise />
                </td>
                <td class="number">{formatDuration(delay.duration_ns)}</td>
                <td>
                  {delay.process} / {delay.thread} ({delay.tid})
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {list.problem && <Failure error={list.problem} again={list.more} />}
      {list.next && (
        <p>
          <button type="button" onClick={list.more}>
            Show more delays
          </button>{" "}
          <span class="muted">
            Showing the {formatCount(delays.length)} longest of {formatCount(count)}.
          </span>
        </p>
      )}
    </Section>
  );
}

function QualityList({ quality }: { quality: Quality }) {
  const facts: string[] = [];
  if (quality.samples !== undefined)
    facts.push(
      `${formatCount(quality.samples)} samples, ${formatCount(quality.samples_lost ?? 0)} lost`,
    );
  if (typeof quality.stacks_complete === "number")
    facts.push(`${formatShare(quality.stacks_complete)} of call stacks are complete`);
  if (typeof quality.frames_named === "number")
    facts.push(`${formatShare(quality.frames_named)} of frames have symbols`);
  if (quality.partial) facts.push("the recording was cut short");
  if (quality.delays_left_out)
    facts.push(`${formatCount(quality.delays_left_out)} more delays are not listed`);
  facts.push(...(quality.notes ?? []));
  if (facts.length === 0) return <p class="muted">No information; see the system file.</p>;
  return (
    <ul>
      {facts.map((fact) => (
        <li key={fact}>{fact}</li>
      ))}
    </ul>
  );
}
