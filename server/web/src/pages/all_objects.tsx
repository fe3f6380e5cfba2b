// Objects of many delays: what fails most across all bundles with object records, then each delay.
import { useState } from "preact/hooks";
import { FilterBar } from "../filter_bar";
import { type Filters, apiQuery, eventAddress, parseFilters } from "../filters";
import { formatCount, formatDuration, formatTime, plural } from "../format";
import { useMore } from "../load";
import { Empty, Failure, Section, Time, Title, Wide } from "../parts";
import type { Place } from "../router";
import type { DelayList, FollowedObjects } from "../types";
import {
  CallTree,
  ObjectPages,
  fileName,
  matcher,
  objectName,
  shownCalls,
  wrongs,
} from "./objects";

type Found = DelayList["delays"][number] & { objects: FollowedObjects };

export function AllObjects({ place }: { place: Place }) {
  const filters = parseFilters(place.query);
  const { dirty: _dirty, outliers: _outliers, ...rest } = filters;
  const list = useMore<DelayList>(`/api/v1/delays${apiQuery(rest, { limit: 100 })}`);
  const looked = list.parts.flatMap((part) => part.delays);
  const found = looked.filter((delay): delay is Found => Boolean(delay.objects));
  const done = list.parts.length > 0;
  return (
    <main id="main">
      <Title text={filters.event ? `Objects of ${filters.event}` : "Objects"} />
      <ObjectPages current="delays" />
      <FilterBar filters={filters} event={filters.event} />
      {list.problem && <Failure error={list.problem} again={list.more} />}
      {done && found.length === 0 && <Nothing looked={looked.length} more={list.next !== null} />}
      {found.length > 0 && <Shown found={found} filters={filters} />}
      {done && (
        <p class="muted">
          {formatCount(found.length)} of the newest {plural(looked.length, "delay")}{" "}
          {found.length === 1 ? "has" : "have"} object records.{" "}
          {list.next && (
            <button type="button" onClick={list.more}>
              Load older delays
            </button>
          )}
        </p>
      )}
    </main>
  );
}

function Nothing({ looked, more }: { looked: number; more: boolean }) {
  return (
    <Empty
      title={
        looked === 0
          ? "No delay matches these filters."
          : "None of these delays has object records."
      }>
      <p>
        {more ? "Older ones may have some. " : ""}To record objects after a breach, add{" "}
        <code>{'<object class="..."/>'}</code> or <code>{'<object preset="..."/>'}</code> to the
        event in the settings. To record them by hand, run <code>lagtrap objects</code>; with{" "}
        <code>--send</code> you can <a href="/watches">watch them live</a>.
      </p>
    </Empty>
  );
}

// Delays of one recording have the same objects.
function onePerRecording(found: Found[]): Found[] {
  const seen = new Set<string>();
  return found.filter(({ bundle, objects }) => {
    const key = `${bundle} ${objects.pid}`;
    return !seen.has(key) && seen.add(key);
  });
}

function Shown({ found, filters }: { found: Found[]; filters: Filters }) {
  const [filter, setFilter] = useState("");
  const [failedOnly, setFailedOnly] = useState(false);
  const wanted = matcher(filter);
  const recordings = onePerRecording(found);
  return (
    <div data-testid="all-objects">
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
        </label>
      </p>
      <AllFailures found={recordings} wanted={wanted} />
      {!failedOnly && <AllClasses found={recordings} wanted={wanted} />}
      <Delays found={found} wanted={wanted} filters={filters} />
      {recordings.map((delay) => {
        const calls = shownCalls(delay.objects.longest, wanted, failedOnly);
        if (calls.length === 0) return null;
        return (
          <Section
            key={`${delay.bundle}/${delay.number}`}
            title={`${delay.event} on ${delay.host}, ${formatTime(delay.begin_ns, true)}`}
            aside={<a href={`/bundle/${delay.bundle}/${delay.number}`}>Open the delay</a>}>
            <CallTree calls={calls} />
          </Section>
        );
      })}
    </div>
  );
}

interface AllFailure {
  function: string;
  module: string;
  error: string;
  count: number;
  hosts: Set<string>;
  last: Found; // the newest delay with it
  object: string;
}

// Merges failures of one function with the same error across delays.
function failuresOf(found: Found[]): AllFailure[] {
  const all = new Map<string, AllFailure>();
  for (const delay of found) {
    for (const one of delay.objects.failures) {
      const key = JSON.stringify([one.function, one.module, one.error]);
      const known = all.get(key) ?? {
        ...one,
        count: 0,
        hosts: new Set<string>(),
        last: delay,
        object: objectName(one.object, one.title),
      };
      known.count += one.count;
      known.hosts.add(delay.host);
      all.set(key, known);
    }
  }
  return [...all.values()].sort((one, other) => other.count - one.count);
}

function AllFailures({ found, wanted }: { found: Found[]; wanted: (text: string) => boolean }) {
  const failures = failuresOf(found).filter((one) =>
    wanted(`${one.function} ${one.error} ${one.object}`),
  );
  if (failures.length === 0) return <p>No call failed.</p>;
  return (
    <Section title="Failures">
      <Wide label="Failed calls">
        <table class="list" data-testid="object-failures">
          <thead>
            <tr>
              <th scope="col" class="number">
                Count
              </th>
              <th scope="col">Function</th>
              <th scope="col">Component</th>
              <th scope="col">Error</th>
              <th scope="col">First object</th>
              <th scope="col" class="number">
                Hosts
              </th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {failures.slice(0, 100).map((one) => (
              <tr key={`${one.module} ${one.function} ${one.error}`}>
                <td class="number">{formatCount(one.count)}</td>
                <td class="code object-failed">{one.function}</td>
                <td class="code" title={one.module}>
                  {fileName(one.module)}
                </td>
                <td>{one.error}</td>
                <td class="code">{one.object}</td>
                <td class="number">{formatCount(one.hosts.size)}</td>
                <td>
                  <a href={`/bundle/${one.last.bundle}/${one.last.number}`}>
                    <Time ns={one.last.begin_ns} />
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      {failures.length > 100 && (
        <p class="muted">
          and {formatCount(failures.length - 100)} less frequent ones; use the filter to find them
        </p>
      )}
    </Section>
  );
}

type ClassRow = FollowedObjects["classes"][number];

function AllClasses({ found, wanted }: { found: Found[]; wanted: (text: string) => boolean }) {
  const all = new Map<string, ClassRow>();
  for (const delay of found) {
    for (const one of delay.objects.classes) {
      const known = all.get(one.name);
      if (!known) {
        all.set(one.name, { ...one });
        continue;
      }
      for (const count of [
        "created",
        "released",
        "alive",
        "failures",
        "released_twice",
        "used_after",
        "unknown",
        "replaced",
        "not_followed",
      ] as const)
        known[count] += one[count];
    }
  }
  const rows = [...all.values()]
    .filter((one) => wanted(one.name))
    .sort((one, other) => other.failures - one.failures);
  return (
    <Section title="Objects by class">
      <Wide label="Objects by class">
        <table class="list" data-testid="object-classes">
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col" class="number">
                Created
              </th>
              <th scope="col" class="number">
                Released
              </th>
              <th scope="col" class="number">
                Alive at the end
              </th>
              <th scope="col" class="number">
                Failed calls
              </th>
              <th scope="col">Problems</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.name}>
                <td class="code">{one.name}</td>
                <td class="number">{formatCount(one.created)}</td>
                <td class="number">{formatCount(one.released)}</td>
                <td class="number">{formatCount(one.alive)}</td>
                <td class="number">{formatCount(one.failures)}</td>
                <td>{wrongs(one)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Section>
  );
}

// Delays with failures first.
function Delays({
  found,
  wanted,
  filters,
}: {
  found: Found[];
  wanted: (text: string) => boolean;
  filters: Filters;
}) {
  const failures = (delay: Found) =>
    delay.objects.classes.reduce((sum, one) => sum + one.failures, 0);
  const says = (delay: Found) =>
    [
      ...delay.objects.classes.map((one) => one.name),
      ...delay.objects.failures.map((one) => `${one.function} ${one.error} ${one.title}`),
    ].join(" ");
  const rows = found
    .filter((delay) => wanted(says(delay)))
    .sort((one, other) => failures(other) - failures(one));
  return (
    <Section title="Delays with objects">
      <Wide label="Delays with objects">
        <table class="list" data-testid="object-delays">
          <thead>
            <tr>
              <th scope="col">Delay</th>
              <th scope="col">Event</th>
              <th scope="col">Host</th>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Followed for
              </th>
              <th scope="col" class="number">
                Failed calls
              </th>
              <th scope="col">Classes</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((delay) => (
              <tr key={`${delay.bundle}/${delay.number}`}>
                <th scope="row">
                  <a href={`/bundle/${delay.bundle}/${delay.number}`}>
                    <Time ns={delay.begin_ns} />
                  </a>
                </th>
                <td>
                  <a href={eventAddress(delay.event, filters)}>{delay.event}</a>
                </td>
                <td>{delay.host}</td>
                <td>{delay.objects.process}</td>
                <td class="number">{formatDuration(delay.objects.length_ns)}</td>
                <td class="number">{formatCount(failures(delay))}</td>
                <td class="code">
                  {delay.objects.classes
                    .slice(0, 4)
                    .map((one) => one.name)
                    .join(", ")}
                  {delay.objects.classes.length > 4 &&
                    ` and ${delay.objects.classes.length - 4} more`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Section>
  );
}
