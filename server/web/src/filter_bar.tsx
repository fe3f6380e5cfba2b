// The filters above every list. What is chosen goes into the address; the address alone decides what is shown.
import { useEffect, useState } from "preact/hooks";
import { type Filters, addressTime, apiQuery, narrowing } from "./filters";
import { useGet } from "./load";
import { setQuery } from "./router";
import type { Choices } from "./types";

const hour = 3600e3;
const spans: [string, number][] = [
  ["Last hour", hour],
  ["Last 24 hours", 24 * hour],
  ["Last 7 days", 7 * 24 * hour],
  ["Last 30 days", 30 * 24 * hour],
];

function localInput(ms: number | undefined): string {
  if (ms === undefined) return "";
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function Picker({ name, label, value, options }: { name: string; label: string; value: string | undefined; options: string[] }) {
  const all = value !== undefined && !options.includes(value) ? [value, ...options] : options;
  return (
    <label class={value === undefined ? "field" : "field active"}>
      <span>{label}</span>
      <select name={name} value={value ?? ""} onChange={(event) => setQuery({ [name]: event.currentTarget.value, after: undefined })}>
        <option value="">any</option>
        {all.map((option) => (
          <option key={option} value={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function TimeInput({ name, label, value }: { name: "from" | "to"; label: string; value: number | undefined }) {
  return (
    <label class={value === undefined ? "field" : "field active"}>
      <span>{label}</span>
      <input
        type="datetime-local" name={name} value={localInput(value)}
        onChange={(event) => {
          const ms = Date.parse(event.currentTarget.value);
          setQuery({ [name]: Number.isNaN(ms) ? undefined : addressTime(ms) });
        }}
      />
    </label>
  );
}

// The search box writes to the address after a pause in typing, in place of the last step.
function SearchInput({ value }: { value: string | undefined }) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  useEffect(() => {
    if (text === (value ?? "")) return undefined;
    const timer = setTimeout(() => setQuery({ search: text }, "replace"), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="field grow">
      <span>Search</span>
      <input type="search" name="search" value={text} placeholder="part of an event's name" onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}

export function FilterBar({ filters, event, search = false }: { filters: Filters; event?: string; search?: boolean }) {
  const choices = useGet<Choices>(`/api/v1/choices${apiQuery(event === undefined ? {} : { event })}`);
  const known = choices.data ?? { hosts: [], users: [], builds: [], processes: [], from: null, to: null };
  const active = narrowing(filters);
  const preset = (length: number) => {
    // Whole minutes, so that the address is short and the same span gives the same address for a while.
    const now = Math.ceil(Date.now() / 60000) * 60000;
    setQuery({ from: addressTime(now - length), to: addressTime(now) });
  };
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(submit) => submit.preventDefault()}>
      {search && <SearchInput value={filters.search} />}
      <label class="field">
        <span>Span</span>
        <select
          name="span" value=""
          onChange={(change) => {
            const length = Number(change.currentTarget.value);
            if (length > 0) preset(length);
            else if (change.currentTarget.value === "all") setQuery({ from: undefined, to: undefined });
          }}
        >
          <option value="">{filters.from === undefined && filters.to === undefined ? "all time" : "as set"}</option>
          {spans.map(([text, length]) => <option key={text} value={length}>{text}</option>)}
          <option value="all">All time</option>
        </select>
      </label>
      <TimeInput name="from" label="From" value={filters.from} />
      <TimeInput name="to" label="To" value={filters.to} />
      <Picker name="host" label="Host" value={filters.host} options={known.hosts} />
      <Picker name="user" label="User" value={filters.user} options={known.users} />
      <Picker name="build" label="Build" value={filters.build} options={known.builds} />
      <Picker name="process" label="Process" value={filters.process} options={known.processes} />
      <Picker name="start" label="Start" value={filters.start} options={["cold", "warm"]} />
      {active.length > 0 && (
        <button
          type="button" class="quiet clear"
          onClick={() => setQuery(Object.fromEntries(active.map((name) => [name, undefined])))}
        >
          Clear {active.length === 1 ? "filter" : `${active.length} filters`}
        </button>
      )}
    </form>
  );
}
