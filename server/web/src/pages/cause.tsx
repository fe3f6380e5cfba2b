// A cause of delays: since when and where it occurs, who owns it, and whether it came back.
import { useState } from "preact/hooks";
import { type ApiError, send } from "../api";
import { BuildName, useBuildNames } from "../builds";
import { ChartCanvas } from "../charts/chart";
import { run_colours } from "../colours";
import { eventAddress } from "../filters";
import { baseName, formatCount, formatDuration, formatTime, plural, shortId } from "../format";
import { HandOver } from "../hand_over";
import { useGet } from "../load";
import { stateName } from "../names";
import { CauseStatusTag, CauseTitle, Failure, Figure, FunctionName, Ready, Scroll, Section, Time, Title } from "../parts";
import { causeRuleAddress } from "./rule_form";
import type { CauseCount, CauseLife, CauseRecord, Choices, Session } from "../types";

export interface CauseRecords {
  causes: CauseRecord[];
}
interface Change {
  status?: "known" | "resolved";
  resolved_build?: string;
  owner?: string;
  note?: string;
  link?: string;
  part_of?: string;
}

export function CausePage({ id, session }: { id: string; session: Session }) {
  const loaded = useGet<CauseLife>(`/api/v1/causes/${id}`);
  return (
    <main id="main">
      <Ready of={loaded} height={400}>{(cause) => <Life cause={cause} session={session} onChanged={loaded.reload} />}</Ready>
    </main>
  );
}

function Life({ cause, session, onChanged }: { cause: CauseLife; session: Session; onChanged: () => void }) {
  const may = session.role !== "reader";
  return (
    <>
      <p class="crumbs"><a href={eventAddress(cause.event)}>{cause.event}</a> › <a href="/causes">causes</a></p>
      <div class="title-row">
        <Title text={cause.title}><CauseTitle title={cause.title} /></Title>
        <div class="title-links">
          {session.role === "admin" && <a href={causeRuleAddress(cause.event)} title="When it is resolved and comes back">Alert me</a>}
          <HandOver />
        </div>
      </div>
      {cause.part_of !== null && <p class="notice">This is part of <a href={`/cause/${cause.part_of}`}>another cause</a>. The figures below cover the whole cause.</p>}
      <p data-testid="cause-status">
        <CauseStatusTag cause={cause} /> {cause.state}{cause.reason !== "" && `: ${cause.reason}`}.{" "}
        {cause.status === "resolved" && cause.resolved_ns && <>Resolved <Time ns={cause.resolved_ns} />{cause.resolved_build && <> in build <BuildName id={cause.resolved_build} /></>}. </>}
        {cause.status === "regressed" && cause.regressed_ns && <>Came back <Time ns={cause.regressed_ns} />{cause.resolved_build && <>, although resolved in build <BuildName id={cause.resolved_build} /></>}. </>}
        {cause.owner !== "" && <>Owner: {cause.owner}. </>}
        {/^https?:/.test(cause.link) && <a href={cause.link} rel="noreferrer" target="_blank">{cause.link}</a>}
      </p>
      {cause.note !== "" && <p class="note">{cause.note}</p>}
      <dl class="figures">
        <Figure label="Delays" value={formatCount(cause.delays)} />
        <Figure label="First" value={formatTime(cause.first_ns).slice(0, 16)} />
        <Figure label="Last" value={formatTime(cause.last_ns).slice(0, 16)} />
        <Figure label="Hosts" value={formatCount(cause.by_host.length)} />
        <Figure label="Builds" value={formatCount(cause.by_build.length)} />
        <Figure label="Found" value={formatTime(cause.noticed_ns).slice(0, 16)} />
      </dl>
      <div class="columns">
        <div>
          <Section title="Delays by day"><Days days={cause.days} /></Section>
          <Section title="Call stack at fault">
            <ol class="stack">
              {cause.frames.map((frame, index) => <li key={index}><FunctionName name={stateName(frame) || "unknown function"} /><span class="muted">{baseName(frame.module)}</span></li>)}
            </ol>
            <p class="muted">signature <span class="code">{shortId(cause.signature)}</span></p>
          </Section>
          <Delays cause={cause} />
        </div>
        <div>
          <Section title="Hosts"><Counts counts={cause.by_host} /></Section>
          <Section title="Builds"><Counts counts={cause.by_build} /></Section>
          {may && <Decide cause={cause} onChanged={onChanged} />}
        </div>
      </div>
    </>
  );
}

function Days({ days }: { days: CauseLife["days"] }) {
  if (days.length === 0) return <p class="muted">None of its delays is stored any more.</p>;
  const day_ns = 86400n * 1000000000n;
  const last = BigInt(Math.floor(Date.now() / 86400e3)) * day_ns;
  const fortnight = last - 13n * day_ns; // at least two weeks, because one day alone shows no trend
  const first = BigInt(days[0].from_ns) < fortnight ? BigInt(days[0].from_ns) : fortnight;
  const count = Math.max(1, Math.min(400, Number((last - first) / day_ns) + 1));
  const values = Array.from({ length: count }, () => 0);
  for (const day of days) {
    const place = Number((BigInt(day.from_ns) - first) / day_ns);
    if (place >= 0 && place < count) values[place] = day.delays;
  }
  const summary = `Delays on ${formatCount(days.length)} of ${plural(count, "day")}, at most ${formatCount(Math.max(...values))} a day`;
  const nameOf = (place: number) => new Date(Number((first + BigInt(place) * day_ns) / 1000000n)).toISOString().slice(0, 10); // days of UTC
  return (
    <>
      <ChartCanvas
        height={130} inputs={[days, count]} label={summary}
        make={() => ({
          sets: [{ values, colour: run_colours.late }],
          stacked: true, filled: 0.86, whole: true, value: formatCount, labels: values.map((_, place) => nameOf(place).slice(5)), padding: { top: 0, bottom: 0 },
          tip: (place) => [nameOf(place), plural(values[place], "delay")],
        })}
      />
      <p class="muted">{summary}.</p>
    </>
  );
}

function Counts({ counts }: { counts: CauseCount[] }) {
  return (
    <Scroll label="Counts of the cause">
      <table class="list compact">
        <thead><tr><th scope="col">{counts[0]?.host === undefined ? "Build" : "Host"}</th><th scope="col" class="number">Delays</th><th scope="col">Last</th></tr></thead>
        <tbody>
          {counts.slice(0, 50).map((count) => (
            <tr key={count.host ?? count.build}>
              <th scope="row">{count.host ?? <BuildName id={count.build ?? ""} />}</th><td class="number">{formatCount(count.delays)}</td><td><Time ns={count.last_ns} age /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {counts.length > 50 && <p class="muted">and {formatCount(counts.length - 50)} others</p>}
    </Scroll>
  );
}

function Delays({ cause }: { cause: CauseLife }) {
  return (
    <Section title="Delays" id="delays" aside={cause.newest_delays.length < cause.delays && <span class="muted">the newest {formatCount(cause.newest_delays.length)} of {formatCount(cause.delays)}</span>}>
      <Scroll label="Newest delays of the cause">
        <table class="list compact">
          <thead><tr><th scope="col">Delay</th><th scope="col" class="number">Extra time</th><th scope="col">Host</th><th scope="col">Build</th></tr></thead>
          <tbody>
            {cause.newest_delays.map((delay) => (
              <tr key={`${delay.bundle} ${delay.delay} ${delay.begin_ns}`}>
                <th scope="row">{delay.bundle === null ? <><Time ns={delay.begin_ns} /> <span class="muted">recording removed</span></> : <a href={`/bundle/${delay.bundle}/${delay.delay}`}><Time ns={delay.begin_ns} /></a>}</th>
                <td class="number">+{formatDuration(delay.excess_ns)}</td><td>{delay.host}</td><td><BuildName id={delay.build} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Section>
  );
}

// The status and notes that people set.
function Decide({ cause, onChanged }: { cause: CauseLife; onChanged: () => void }) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [owner, setOwner] = useState(cause.owner);
  const [note, setNote] = useState(cause.note);
  const [link, setLink] = useState(cause.link);
  const [build, setBuild] = useState("");
  const names = useBuildNames();
  const choices = useGet<Choices>(`/api/v1/choices?event=${encodeURIComponent(cause.event)}`);
  // Builds of the event's program only: those with runs, and those with delays of this cause.
  const builds = [...new Set([...(choices.data?.builds ?? []), ...cause.by_build.map((count) => count.build ?? "")])].filter((id) => id !== "");
  const put = async (change: Change) => {
    setProblem(null);
    try {
      await send("PUT", `/api/v1/causes/${cause.id}`, change);
      onChanged();
    } catch (error) {
      setProblem(error as ApiError);
    }
  };
  return (
    <Section title="Status and notes">
      {problem && <Failure error={problem} />}
      <form class="row-form" onSubmit={(event) => { event.preventDefault(); void put({ owner, note, link }); }}>
        <label class="field"><span>Owner</span><input name="owner" maxLength={64} value={owner} onInput={(event) => setOwner(event.currentTarget.value)} /></label>
        <label class="field grow"><span>Note</span><input name="note" maxLength={1000} value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
        <label class="field grow"><span>Link</span><input name="link" type="url" maxLength={500} value={link} placeholder="https://" onInput={(event) => setLink(event.currentTarget.value)} /></label>
        <button type="submit">Save</button>
      </form>
      <form class="row-form" onSubmit={(event) => { event.preventDefault(); void put({ status: "resolved", resolved_build: build }); }}>
        {cause.status !== "known" && <button type="button" onClick={() => void put({ status: "known" })}>{cause.status === "resolved" ? "Reopen" : "Mark as known"}</button>}
        {cause.status !== "resolved" && (
          <>
            <label class="field">
              <span>Resolved in</span>
              <select name="resolved_build" value={build} onChange={(event) => setBuild(event.currentTarget.value)}>
                <option value="">any build</option>
                {builds.map((id) => <option key={id} value={id}>{names.get(id) ?? id}</option>)}
              </select>
            </label>
            <button type="submit">Mark as resolved</button>
          </>
        )}
      </form>
      <Merge cause={cause} onPut={put} />
    </Section>
  );
}

function Merge({ cause, onPut }: { cause: CauseLife; onPut: (change: Change) => Promise<void> }) {
  const [into, setInto] = useState("");
  const known = useGet<CauseRecords>(`/api/v1/causes?limit=1000&event=${encodeURIComponent(cause.event)}`);
  const others = (known.data?.causes ?? []).filter((other) => other.id !== cause.id && other.part_of === null);
  return (
    <div class="sub">
      {cause.parts.length > 0 && (
        <>
          <h3>Includes {plural(cause.parts.length, "other cause")}, found under other names or merged by hand</h3>
          <ul>{cause.parts.map((part) => <li key={part.id}><a href={`/cause/${part.id}`}><CauseTitle title={part.title} /></a> <span class="muted">{plural(part.delays, "delay")}</span></li>)}</ul>
        </>
      )}
      {cause.part_of !== null ? (
        <button type="button" onClick={() => void onPut({ part_of: "" })}>Split off as a separate cause</button>
      ) : others.length > 0 && (
        <form class="row-form" onSubmit={(event) => { event.preventDefault(); if (into !== "") void onPut({ part_of: into }); }}>
          <label class="field grow">
            <span>Same cause as</span>
            <select name="part_of" value={into} onChange={(event) => setInto(event.currentTarget.value)}>
              <option value="">choose a cause</option>
              {others.map((other) => <option key={other.id} value={other.id}>{other.title} ({plural(other.delays, "delay")})</option>)}
            </select>
          </label>
          <button type="submit" disabled={into === ""}>Merge</button>
        </form>
      )}
    </div>
  );
}
