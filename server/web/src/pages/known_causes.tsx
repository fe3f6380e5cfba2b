// All causes of delays, with a filter, an order and groups by event or holder.
import { eventAddress } from "../filters";
import { formatCount, plural } from "../format";
import { useGet } from "../load";
import { CauseStatusTag, CauseTitle, Empty, Ready, Time, Title, Wide, causeStatus } from "../parts";
import { type Place, setQuery } from "../router";
import type { CauseRecord } from "../types";
import type { CauseRecords } from "./cause";

type Compare = (a: CauseRecord, b: CauseRecord) => number;

const newestFirst = (a: string, b: string) =>
  BigInt(a) < BigInt(b) ? 1 : BigInt(a) > BigInt(b) ? -1 : 0;

// Columns that can order the rows; the server's order is by the last delay.
const orders: Record<string, Compare> = {
  cause: (a, b) => a.title.localeCompare(b.title),
  event: (a, b) => a.event.localeCompare(b.event),
  first: (a, b) => newestFirst(a.first_ns, b.first_ns),
  last: (a, b) => newestFirst(a.last_ns, b.last_ns),
  delays: (a, b) => b.delays - a.delays,
  hosts: (a, b) => b.hosts - a.hosts,
  owner: (a, b) =>
    Number(a.owner === "") - Number(b.owner === "") || a.owner.localeCompare(b.owner),
};
const alphabetic = new Set(["cause", "event", "owner"]);
const statuses = ["new", "known", "regressed", "resolved"];

// Each word must be in the title, the event or the owner.
function matchesWords(
  cause: Pick<CauseRecord, "title" | "event" | "owner">,
  words: string,
): boolean {
  const text = `${cause.title}\n${cause.event}\n${cause.owner}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function KnownCauses({ place }: { place: Place }) {
  const loaded = useGet<CauseRecords>("/api/v1/causes?limit=1000");
  return (
    <main id="main">
      <Title text="Causes" />
      <Ready of={loaded} height={300}>
        {(data) => {
          const causes = data.causes.filter((cause) => cause.part_of === null);
          if (causes.length === 0)
            return (
              <Empty title="No causes found yet.">
                <p>
                  The server looks for causes when recordings arrive. It needs at least five delayed
                  and five normal runs of an event.
                </p>
              </Empty>
            );
          return <FilteredCauses causes={causes} place={place} />;
        }}
      </Ready>
    </main>
  );
}

function FilteredCauses({ causes, place }: { causes: CauseRecord[]; place: Place }) {
  const search = place.query.get("search") ?? "";
  const status = place.query.get("status") ?? "";
  const wanted = place.query.get("order") ?? "";
  const order = Object.hasOwn(orders, wanted) ? wanted : "last";
  const group = place.query.get("group") ?? "";
  const grouped = group === "event" || group === "holder";
  const groupOf = (cause: CauseRecord) => (group === "event" ? cause.event : (cause.holder ?? ""));
  const found = causes
    .filter(
      (cause) => (status === "" || causeStatus(cause) === status) && matchesWords(cause, search),
    )
    .sort(orders[order]);
  // Causes without a holder come last.
  const names = grouped
    ? [...new Set(found.map(groupOf))].sort((a, b) => Number(a === "") - Number(b === ""))
    : [""];
  const groups = names.map(
    (name) => [name, grouped ? found.filter((cause) => groupOf(cause) === name) : found] as const,
  );
  return (
    <>
      <form
        class="filters"
        aria-label="Filter of causes"
        onSubmit={(event) => event.preventDefault()}>
        <label class="field grow">
          <span>Search</span>
          <input
            type="search"
            name="cause-search"
            maxLength={256}
            value={search}
            placeholder="function, event or owner"
            onInput={(event) => setQuery({ search: event.currentTarget.value }, "replace")}
          />
        </label>
        <label class="field">
          <span>Status</span>
          <select
            name="status"
            value={status}
            onChange={(event) => setQuery({ status: event.currentTarget.value })}>
            <option value="">any</option>
            {statuses.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Group by</span>
          <select
            name="group"
            value={grouped ? group : ""}
            onChange={(event) => setQuery({ group: event.currentTarget.value })}>
            <option value="">nothing</option>
            <option value="event">event</option>
            <option value="holder">thread waited for</option>
          </select>
        </label>
        <span class="muted" role="status">
          {found.length === causes.length
            ? plural(found.length, "cause")
            : `${formatCount(found.length)} of ${plural(causes.length, "cause")}`}
        </span>
      </form>
      {found.length === 0 ? (
        <Empty title="No cause matches." />
      ) : (
        <Wide label="Table of causes">
          <table class="list" data-testid="known-causes">
            <thead>
              <tr>
                <Column name="cause" title="Cause" order={order} />
                <th scope="col">Status</th>
                <Column name="event" title="Event" order={order} />
                <Column name="first" title="First delay" order={order} />
                <Column name="last" title="Last delay" order={order} />
                <Column name="delays" title="Delays" order={order} number />
                <Column name="hosts" title="Hosts" order={order} number />
                <Column name="owner" title="Owner" order={order} />
              </tr>
            </thead>
            {groups.map(([name, members]) => (
              <tbody key={name}>
                {grouped && (
                  <tr>
                    <th scope="rowgroup" colSpan={8}>
                      <strong>{name || "no other thread"}</strong>{" "}
                      <span class="muted">{plural(members.length, "cause")}</span>
                    </th>
                  </tr>
                )}
                {members.map((cause) => (
                  <Row key={cause.id} cause={cause} />
                ))}
              </tbody>
            ))}
          </table>
        </Wide>
      )}
    </>
  );
}

function Column({
  name,
  title,
  order,
  number = false,
}: {
  name: string;
  title: string;
  order: string;
  number?: boolean;
}) {
  const rising = alphabetic.has(name);
  return (
    <th
      scope="col"
      class={number ? "number" : ""}
      aria-sort={order === name ? (rising ? "ascending" : "descending") : undefined}>
      <button
        type="button"
        class="quiet sort"
        onClick={() => setQuery({ order: name === "last" ? undefined : name })}>
        {title}
        {order === name && <span aria-hidden="true"> {rising ? "↑" : "↓"}</span>}
      </button>
    </th>
  );
}

function Row({ cause }: { cause: CauseRecord }) {
  return (
    <tr>
      <th scope="row" class="cause-name">
        <a href={`/cause/${cause.id}`}>
          <CauseTitle title={cause.title} />
        </a>
      </th>
      <td>
        <CauseStatusTag cause={cause} />
      </td>
      <td>
        <a href={eventAddress(cause.event)}>{cause.event}</a>
      </td>
      <td>
        <Time ns={cause.first_ns} age />
      </td>
      <td>
        <Time ns={cause.last_ns} age />
      </td>
      <td class="number">{formatCount(cause.delays)}</td>
      <td class="number">{formatCount(cause.hosts)}</td>
      <td>{cause.owner}</td>
    </tr>
  );
}
