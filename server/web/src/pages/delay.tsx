// One delay of a bundle: where its time went.
import { useState } from "preact/hooks";
import { ApiError } from "../api";
import { colourOfReason, state_colours } from "../colours";
import { eventAddress } from "../filters";
import { formatBytes, formatCount, formatDuration, formatShare, shortId } from "../format";
import { useGet } from "../load";
import { Empty, Figure, Ready, Section, Swatch, Time, Title } from "../parts";
import { openInPerfetto } from "../perfetto";
import type { Place } from "../router";
import type { BundleDelays, Delay, Quality } from "../types";
import { Profile } from "./profile";
import { StageLine } from "./run";
import { TimelineView } from "./timeline";

export function DelayPage({ digest, number, place }: { digest: string; number: number | null; place: Place }) {
  const loaded = useGet<BundleDelays>(`/api/v1/bundles/${digest}/delays`);
  if (loaded.error?.status === 422) return <BadBundle digest={digest} reason={loaded.error.message} />;
  return (
    <main id="main">
      <Ready of={loaded} height={400}>
        {(data) => {
          const longest = [...data.delays].sort((one, other) => other.duration_ns - one.duration_ns)[0];
          const delay = number === null ? longest : data.delays.find((candidate) => candidate.number === number);
          if (!delay) return <NoDelay digest={digest} any={longest !== undefined} />;
          return <OneDelay digest={digest} data={data} delay={delay} place={place} />;
        }}
      </Ready>
    </main>
  );
}

function Downloads({ digest }: { digest: string }) {
  return (
    <>
      <a class="button" href={`/api/v1/bundles/${digest}`} download>Download bundle</a>{" "}
      <a class="button" href={`/api/v1/bundles/${digest}/system`} target="_blank" rel="noopener">System file</a>
    </>
  );
}

function BadBundle({ digest, reason }: { digest: string; reason: string }) {
  return (
    <main id="main">
      <Title text={`Bundle ${shortId(digest)}`} />
      <Empty title="This bundle can not be read.">
        <p class="problem">{reason}</p>
        <p>It is kept as it came. Download it and look at it with <code>lagtrap report FILE</code>, or record again with a newer lagtrapd.</p>
        <p><a class="button" href={`/api/v1/bundles/${digest}`} download>Download bundle</a></p>
      </Empty>
    </main>
  );
}

function NoDelay({ digest, any }: { digest: string; any: boolean }) {
  return (
    <>
      <Title text={`Bundle ${shortId(digest)}`} />
      <Empty title={any ? "The bundle has no delay of this number." : "No run in this recording passed its threshold."}>
        {any ? <p><a href={`/bundle/${digest}`}>Open the longest delay of the bundle</a>.</p> : <p>It may have been started by hand. The trace can still be read:</p>}
        <p><Downloads digest={digest} /></p>
      </Empty>
    </>
  );
}

function OneDelay({ digest, data, delay, place }: { digest: string; data: BundleDelays; delay: Delay; place: Place }) {
  const [said, setSaid] = useState("");
  const perfetto = async () => {
    try {
      await openInPerfetto(digest, delay, setSaid);
    } catch (error) {
      setSaid(`That did not work: ${(error as Error).message}.${error instanceof ApiError && error.hint ? ` ${error.hint}` : ""}`);
    }
  };
  return (
    <>
      <p class="crumbs"><a href={eventAddress(delay.event)}>{delay.event}</a> › bundle <span class="code">{shortId(digest)}</span></p>
      <div class="title-row">
        <Title text={`Delay ${delay.number} of ${delay.event}`} />
        <div class="actions">
          <Downloads digest={digest} />{" "}
          <button type="button" class="primary" onClick={() => void perfetto()}>Open in Perfetto</button>
        </div>
      </div>
      <p class="said" role="status">{said}</p>
      <dl class="figures">
        <Figure label="Duration" value={formatDuration(delay.duration_ns)} tone="bad" note={`threshold ${formatDuration(delay.threshold_ns)}`} />
        <Figure label="Process" value={delay.process} note={`pid ${delay.pid}`} />
        <Figure label="Thread" value={delay.thread} note={`tid ${delay.tid}`} />
        {data.bundle && <Figure label="Host" value={data.bundle.host} note={formatBytes(data.bundle.bytes)} />}
      </dl>
      <p>Began <Time ns={delay.begin_ns} precise />. {delay.run && <a href={`/run/${delay.run}`}>Open its run</a>}</p>
      <Section title="Where the time went"><TimeSplit delay={delay} /></Section>
      {delay.stages.length > 0 && <Section title="Stages"><StageLine stages={delay.stages} whole_ns={delay.duration_ns} runs={[delay as never]} /></Section>}
      <Profile digest={digest} delay={delay} place={place} />
      <TimelineView digest={digest} delay={delay} />
      {data.delays.length > 1 && <Others digest={digest} delays={data.delays} current={delay.number} />}
      <Section title="Quality of the recording"><QualityList quality={data.quality} /></Section>
    </>
  );
}

// The parts add up to the delay; what is not known is a part of its own.
function TimeSplit({ delay }: { delay: Delay }) {
  const reasons = delay.blocked.map((entry) => entry.reason);
  const named = delay.blocked.reduce((sum, entry) => sum + entry.ns, 0);
  const parts: { text: string; ns: number; colour: string }[] = [
    { text: "on CPU", ns: delay.on_cpu_ns, colour: state_colours["on CPU"] },
    { text: "runnable, waiting for a CPU", ns: delay.runnable_ns, colour: state_colours.runnable },
    ...delay.blocked.map((entry) => ({ text: `blocked: ${entry.reason || "reason unknown"}`, ns: entry.ns, colour: colourOfReason(reasons, entry.reason) })),
    { text: "blocked: other", ns: Math.max(0, delay.blocked_ns - named), colour: "#8c6bb1" },
    { text: "unknown", ns: delay.unknown_ns, colour: state_colours.unknown },
  ].filter((part) => part.ns > 0);
  return (
    <>
      <div class="stage-line" aria-hidden="true">
        {parts.map((part) => <span key={part.text} title={`${part.text}: ${formatDuration(part.ns)}`} style={{ flexGrow: part.ns, backgroundColor: part.colour }} />)}
      </div>
      <ul class="split">
        {parts.map((part) => (
          <li key={part.text}><Swatch colour={part.colour} /> {part.text} <strong>{formatDuration(part.ns)}</strong> <span class="muted">{formatShare(Math.min(1, part.ns / Math.max(1, delay.duration_ns)))}</span></li>
        ))}
      </ul>
    </>
  );
}

function Others({ digest, delays, current }: { digest: string; delays: Delay[]; current: number }) {
  return (
    <Section title={`All delays of this bundle (${formatCount(delays.length)})`}>
      <div class="scroll">
        <table class="list compact">
          <thead><tr><th scope="col">Delay</th><th scope="col">Event</th><th scope="col">Began</th><th scope="col" class="number">Duration</th><th scope="col">Thread</th></tr></thead>
          <tbody>
            {delays.map((delay) => (
              <tr key={delay.number} aria-current={delay.number === current ? "true" : undefined}>
                <th scope="row"><a href={`/bundle/${digest}/${delay.number}`}>{delay.number}</a></th>
                <td>{delay.event}</td><td><Time ns={delay.begin_ns} precise /></td>
                <td class="number">{formatDuration(delay.duration_ns)}</td><td>{delay.process} / {delay.thread} ({delay.tid})</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function QualityList({ quality }: { quality: Quality }) {
  const facts: string[] = [];
  if (quality.samples !== undefined) facts.push(`${formatCount(quality.samples)} samples, ${formatCount(quality.samples_lost ?? 0)} lost`);
  if (typeof quality.stacks_complete === "number") facts.push(`${formatShare(quality.stacks_complete)} of the stacks reach their thread's first function`);
  if (typeof quality.frames_named === "number") facts.push(`${formatShare(quality.frames_named)} of the frames have a name`);
  if (quality.partial) facts.push("the recording was cut short");
  if (quality.delays_left_out) facts.push(`${formatCount(quality.delays_left_out)} further delays are not listed`);
  facts.push(...(quality.notes ?? []));
  if (facts.length === 0) return <p class="muted">Nothing is known; the system file may say more.</p>;
  return <ul>{facts.map((fact) => <li key={fact}>{fact}</li>)}</ul>;
}
