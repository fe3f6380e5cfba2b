// A cause of delays: since when and where it occurs, who owns it, and whether it came back.
import { useState } from "preact/hooks";
import { type ApiError, send } from "../api";
import { BuildName, useBuildNames } from "../builds";
import { ChartCanvas } from "../charts/chart";
import { run_colours } from "../colours";
import { eventAddress } from "../filters";
import {
  baseName,
  dayAndMonth,
  formatCount,
  formatDuration,
  formatMoment,
  formatShare,
  plural,
  shortId,
} from "../format";
import { HandOver } from "../hand_over";
import { useGet } from "../load";
import { stateName } from "../names";
import {
  CauseStatusTag,
  CauseTitle,
  Failure,
  Figure,
  FunctionName,
  Ready,
  Scroll,
  Section,
  Time,
  Title,
} from "../parts";
import type { Place } from "../router";
import { culpritOf, exampleAddress } from "./causes";
import { DifferencePicture, zoomOf } from "./compare_sets";
import { causeRuleAddress } from "./rule_form";
import { TimelineView } from "./timeline";
import type {
  BundleDelays,
  CauseCount,
  CauseLife,
  CauseRecord,
  Choices,
  Flame,
  Session,
} from "../types";

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

export function CausePage({ id, session, place }: { id: string; session: Session; place: Place }) {
  const loaded = useGet<CauseLife>(`/api/v1/causes/${id}`);
  return (
    <main id="main">
      <Ready of={loaded} height={400}>
        {(cause) => (
          <Life cause={cause} session={session} place={place} onChanged={loaded.reload} />
        )}
      </Ready>
    </main>
  );
}

function Life({
  cause,
  session,
  place,
  onChanged,
}: {
  cause: CauseLife;
  session: Session;
  place: Place;
  onChanged: () => void;
}) {
  const may = session.role !== "reader";
  return (
    <>
      <p class="crumbs">
        <a href={eventAddress(cause.event)}>{cause.event}</a> › <a href="/causes">causes</a>
      </p>
      <div class="title-row">
        <Title text={cause.title}>
          <CauseTitle title={cause.title} />
        </Title>
        <div class="title-links">
          {session.role === "admin" && (
            <a href={causeRuleAddress(cause.event)} title="When it is resolved and comes back">
              Alert me
            </a>
          )}
          <HandOver />
        </div>
      </div>
      {cause.part_of !== null && (
        <p class="notice">
          This is part of <a href={`/cause/${cause.part_of}`}>another cause</a>. The figures below
          cover the whole cause.
        </p>
      )}
      <p data-testid="cause-status">
        <CauseStatusTag cause={cause} /> {cause.state}
        {cause.reason !== "" && `: ${cause.reason}`}.{" "}
        {cause.status === "resolved" && cause.resolved_ns && (
          <>
            Resolved <Time ns={cause.resolved_ns} />
            {cause.resolved_build && (
              <>
                {" "}
                in build <BuildName id={cause.resolved_build} />
              </>
            )}
            .{" "}
          </>
        )}
        {cause.status === "regressed" && cause.regressed_ns && (
          <>
            Came back <Time ns={cause.regressed_ns} />
            {cause.resolved_build && (
              <>
                , although resolved in build <BuildName id={cause.resolved_build} />
              </>
            )}
            .{" "}
          </>
        )}
        {cause.owner !== "" && <>Owner: {cause.owner}. </>}
        {/^https?:/.test(cause.link) && (
          <a href={cause.link} rel="noreferrer" target="_blank">
            {cause.link}
          </a>
        )}
      </p>
      {cause.note !== "" && <p class="note">{cause.note}</p>}
      <dl class="figures">
        <Figure label="Delays" value={formatCount(cause.delays)} />
        <Figure label="First" value={formatMoment(cause.first_ns)} />
        <Figure label="Last" value={formatMoment(cause.last_ns)} />
        <Figure label="Hosts" value={formatCount(cause.by_host.length)} />
        <Figure label="Builds" value={formatCount(cause.by_build.length)} />
        <Figure label="Found" value={formatMoment(cause.noticed_ns)} />
      </dl>
      <div class="columns main-column">
        <div>
          <Days cause={cause} />
          <Difference cause={cause} place={place} />
          <Example cause={cause} />
          <Section title="Call stack at fault">
            <ol class="stack">
              {cause.frames.map((frame, index) => (
                <li key={index}>
                  <FunctionName name={stateName(frame) || "unknown function"} />
                  <span class="muted">{baseName(frame.module)}</span>
                </li>
              ))}
            </ol>
            <p class="muted">
              signature <span class="code">{shortId(cause.signature)}</span>
            </p>
          </Section>
          <Delays cause={cause} />
        </div>
        <div>
          {cause.by_holder.length > 0 && (
            <Section title="Threads waited for">
              <Counts counts={cause.by_holder} />
            </Section>
          )}
          <Section title="Hosts">
            <Counts counts={cause.by_host} />
          </Section>
          <Section title="Builds">
            <Counts counts={cause.by_build} />
          </Section>
          {may && <Decide cause={cause} onChanged={onChanged} />}
        </div>
      </div>
    </>
  );
}

const day_ns = 86400n * 1000000000n;

// The share of runs that the cause delays, or the number of recorded delays if runs are not
// recorded. Today, which is not over, is pale.
function Days({ cause }: { cause: CauseLife }) {
  const { days, builds } = cause;
  const names = useBuildNames();
  const of_runs = days.some((day) => day.rate !== null);
  const title = of_runs ? "Rate by day" : "Delays by day";
  if (days.length === 0)
    return (
      <Section title={title}>
        <p class="muted">None of its delays is stored any more.</p>
      </Section>
    );
  const last = BigInt(Math.floor(Date.now() / 86400e3)) * day_ns;
  const fortnight = last - 13n * day_ns; // at least two weeks, because one day alone shows no trend
  const first = BigInt(days[0].from_ns) < fortnight ? BigInt(days[0].from_ns) : fortnight;
  const count = Math.max(1, Math.min(400, Number((last - first) / day_ns) + 1));
  const placeOf = (ns: string) => Number((BigInt(ns) - first) / day_ns);
  const known = new Map(days.map((day) => [placeOf(day.from_ns), day]));
  const values = Array.from(
    { length: count },
    (_, place) => (of_runs ? known.get(place)?.rate : known.get(place)?.delays) ?? 0,
  );
  const write = of_runs ? formatShare : formatCount;
  const marks = builds
    .map((build) => ({
      place: placeOf(build.from_ns),
      name: names.get(build.build) ?? shortId(build.build),
    }))
    .filter(({ place }) => place >= 0 && place < count)
    .slice(-12);
  const summary =
    `Delays on ${formatCount(days.length)} of ${plural(count, "day")}, ` +
    `at most ${write(Math.max(...values))}${of_runs ? " of a day's runs" : " a day"}`;
  const nameOf = (place: number) =>
    // Days of UTC.
    new Date(Number((first + BigInt(place) * day_ns) / 1000000n)).toISOString().slice(0, 10);
  return (
    <Section title={title}>
      <ChartCanvas
        height={160}
        inputs={[cause, count, names]}
        label={summary}
        make={(theme) => ({
          sets: [
            { values, colour: (place) => (place === count - 1 ? theme.muted : run_colours.late) },
          ],
          stacked: true,
          filled: 0.86,
          whole: !of_runs,
          value: write,
          labels: values.map((_, place) => dayAndMonth(nameOf(place))),
          padding: { top: 16, bottom: 0 },
          after: (context, area) => {
            context.fillStyle = theme.text;
            let free = 0; // names must not overlap
            for (const { place, name } of marks) {
              const x = Math.round(area.x(place) - area.step / 2);
              context.fillRect(x, 14, 1, area.box.bottom - 14);
              const width = context.measureText(name).width;
              if (x < free || x + width > area.box.right) continue;
              context.textAlign = "left";
              context.fillText(name, x, 7);
              free = x + width + 8;
            }
          },
          tip: (place) => [
            `${nameOf(place)}${place === count - 1 ? ", so far" : ""}`,
            ...(of_runs ? [`${write(values[place])} of runs`] : []),
            plural(known.get(place)?.delays ?? 0, "recorded delay"),
            ...marks
              .filter((mark) => mark.place === place)
              .map(({ name }) => `first runs of ${name}`),
          ],
        })}
      />
      <p class="muted">
        {summary}.{values[count - 1] > 0 && " Grey: today so far."}
        {of_runs && " Estimated from the recorded delays."}
        {marks.length > 0 && (
          <>
            {" "}
            Lines mark the first runs of{" "}
            <span data-testid="builds-marked">{marks.map(({ name }) => name).join(", ")}</span>.
          </>
        )}
      </p>
    </Section>
  );
}

// Its delays against the event's others.
function Difference({ cause, place }: { cause: CauseLife; place: Place }) {
  const loaded = useGet<Flame>(`/api/v1/causes/${cause.id}/flame`);
  return (
    <Section title="Compared with the event's other delays" id="flame">
      <Ready of={loaded} height={300}>
        {(flame) =>
          flame.runs === 0 || flame.nodes.length <= 1 ? (
            <p class="muted">No recording of its delays is stored any more.</p>
          ) : flame.baseline_total === null ? (
            <p class="muted">All recorded delays of this event have this cause.</p>
          ) : (
            <DifferencePicture
              flame={flame}
              zoomed={zoomOf(place, flame)}
              of="this cause"
              others={flame.baseline_runs === 1 ? "other delay" : "other delays"}
              within="in other delays"
              reveal={culpritOf(cause)}
            />
          )
        }
      </Ready>
    </Section>
  );
}

// The timeline of the delay whose extra time is in the middle.
function Example({ cause }: { cause: CauseLife }) {
  const kept = cause.newest_delays
    .filter((delay) => delay.bundle !== null)
    .sort((a, b) => a.excess_ns - b.excess_ns);
  const typical = kept[kept.length >> 1];
  const loaded = useGet<BundleDelays>(
    typical ? `/api/v1/bundles/${typical.bundle}/delays?number=${typical.delay}` : null,
  );
  const delay = loaded.data?.delays[0];
  if (!typical || !delay) return null;
  return (
    <>
      <TimelineView
        digest={typical.bundle as string}
        delay={delay}
        title={`A typical delay: ${formatDuration(delay.duration_ns)} on ${typical.host}`}
      />
      <p>
        <a href={exampleAddress(typical.bundle as string, typical.delay, cause)}>Open this delay</a>
      </p>
    </>
  );
}

function Counts({ counts }: { counts: CauseCount[] }) {
  return (
    <Scroll label="Counts of the cause">
      <table class="list compact">
        <thead>
          <tr>
            <th scope="col">
              {counts[0]?.holder !== undefined
                ? "Thread"
                : counts[0]?.host === undefined
                  ? "Build"
                  : "Host"}
            </th>
            <th scope="col" class="number">
              Delays
            </th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {counts.slice(0, 50).map((count) => (
            <tr key={count.holder ?? count.host ?? count.build}>
              <th scope="row" class="name">
                {count.holder ?? count.host ?? <BuildName id={count.build ?? ""} />}
              </th>
              <td class="number">{formatCount(count.delays)}</td>
              <td>
                <Time ns={count.last_ns} age />
              </td>
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
    <Section
      title="Delays"
      id="delays"
      aside={
        cause.newest_delays.length < cause.delays && (
          <span class="muted">
            the newest {formatCount(cause.newest_delays.length)} of {formatCount(cause.delays)}
          </span>
        )
      }>
      <Scroll label="Newest delays of the cause">
        <table class="list compact cards">
          <thead>
            <tr>
              <th scope="col">Delay</th>
              <th scope="col" class="number">
                Extra time
              </th>
              <th scope="col">Host</th>
              <th scope="col">Build</th>
            </tr>
          </thead>
          <tbody>
            {cause.newest_delays.map((delay) => (
              <tr key={`${delay.bundle} ${delay.delay} ${delay.begin_ns}`}>
                <th scope="row">
                  {delay.bundle === null ? (
                    <>
                      <Time ns={delay.begin_ns} /> <span class="muted">recording removed</span>
                    </>
                  ) : (
                    <a href={`/bundle/${delay.bundle}/${delay.delay}`}>
                      <Time ns={delay.begin_ns} />
                    </a>
                  )}
                </th>
                <td class="number">+{formatDuration(delay.excess_ns)}</td>
                <td class="name">{delay.host}</td>
                <td>
                  <BuildName id={delay.build} />
                </td>
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
  const builds = [
    ...new Set([
      ...(choices.data?.builds ?? []),
      ...cause.by_build.map((count) => count.build ?? ""),
    ]),
  ].filter((id) => id !== "");
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
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          void put({ owner, note, link });
        }}>
        <label class="field">
          <span>Owner</span>
          <input
            name="owner"
            maxLength={64}
            value={owner}
            onInput={(event) => setOwner(event.currentTarget.value)}
          />
        </label>
        <label class="field grow">
          <span>Note</span>
          <input
            name="note"
            maxLength={1000}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
          />
        </label>
        <label class="field grow">
          <span>Link</span>
          <input
            name="link"
            type="url"
            maxLength={500}
            value={link}
            placeholder="https://"
            onInput={(event) => setLink(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Save</button>
      </form>
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          void put({ status: "resolved", resolved_build: build });
        }}>
        {cause.status !== "known" && (
          <button type="button" onClick={() => void put({ status: "known" })}>
            {cause.status === "resolved" ? "Reopen" : "Mark as known"}
          </button>
        )}
        {cause.status !== "resolved" && (
          <>
            <label class="field">
              <span>Resolved in</span>
              <select
                name="resolved_build"
                value={build}
                onChange={(event) => setBuild(event.currentTarget.value)}>
                <option value="">any build</option>
                {builds.map((id) => (
                  <option key={id} value={id}>
                    {names.get(id) ?? id}
                  </option>
                ))}
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
  const known = useGet<CauseRecords>(
    `/api/v1/causes?limit=1000&event=${encodeURIComponent(cause.event)}`,
  );
  const others = (known.data?.causes ?? []).filter(
    (other) => other.id !== cause.id && other.part_of === null,
  );
  return (
    <div class="sub">
      {cause.parts.length > 0 && (
        <>
          <h3>
            Includes {plural(cause.parts.length, "other cause")}, found under other names or merged
            by hand
          </h3>
          <ul>
            {cause.parts.map((part) => (
              <li key={part.id}>
                <a href={`/cause/${part.id}`}>
                  <CauseTitle title={part.title} />
                </a>{" "}
                <span class="muted">{plural(part.delays, "delay")}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {cause.part_of !== null ? (
        <button type="button" onClick={() => void onPut({ part_of: "" })}>
          Split off as a separate cause
        </button>
      ) : (
        others.length > 0 && (
          <form
            class="row-form"
            onSubmit={(event) => {
              event.preventDefault();
              if (into !== "") void onPut({ part_of: into });
            }}>
            <label class="field grow">
              <span>Same cause as</span>
              <select
                name="part_of"
                value={into}
                onChange={(event) => setInto(event.currentTarget.value)}>
                <option value="">choose a cause</option>
                {others.map((other) => (
                  <option key={other.id} value={other.id}>
                    {other.title} ({plural(other.delays, "delay")})
                  </option>
                ))}
              </select>
            </label>
            <button type="submit" disabled={into === ""}>
              Merge
            </button>
          </form>
        )
      )}
    </div>
  );
}
