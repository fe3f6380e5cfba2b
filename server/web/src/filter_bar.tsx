// The filters above every list. Choices change the address, and only the address decides what is
// shown.
import { useState } from "preact/hooks";
import { type Filters, type Span, addressTime, apiQuery, lists, narrowing } from "./filters";
import { useBuildNames } from "./builds";
import { NamePicker } from "./name_picker";
import { useGet } from "./load";
import { setQuery } from "./router";
import { useTyped } from "./typing";
import { parseZoned, zoneOffset } from "./zone";
import type { Choices } from "./types";

export const span_names: [Span, string][] = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];

export const labels = {
  host: "Host",
  user: "User",
  build: "Build",
  process: "Process",
  unit: "Unit",
} as const;

export function localInput(ms: number | undefined): string {
  if (ms === undefined) return "";
  return new Date(ms + zoneOffset(ms)).toISOString().slice(0, 16);
}

function Picker({
  name,
  label,
  value,
  options,
}: {
  name: string;
  label: string;
  value: string | undefined;
  options: string[];
}) {
  return (
    <label class={value === undefined ? "field" : "field active"}>
      <span>{label}</span>
      <select
        name={name}
        value={value ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value, after: undefined })}>
        <option value="">any</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

function TimeInput({
  name,
  label,
  value,
}: {
  name: "from" | "to";
  label: string;
  value: number | undefined;
}) {
  return (
    <label class={value === undefined ? "field" : "field active"}>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={localInput(value)}
        onChange={(event) => {
          const ms = parseZoned(event.currentTarget.value);
          setQuery({ [name]: Number.isNaN(ms) ? undefined : addressTime(ms), span: undefined });
        }}
      />
    </label>
  );
}

// The search box updates the address after a pause in typing, and replaces the current history
// entry.
function SearchInput({ value }: { value: string | undefined }) {
  const [text, setText] = useTyped(value ?? "", 200, (search) => setQuery({ search }, "replace"));
  return (
    <label class="field grow">
      <span>Search</span>
      <input
        type="search"
        name="search"
        value={text}
        placeholder="part of an event's name"
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

// `always_span`: the page has a time span even if the address has none.
export function FilterBar({
  filters,
  event,
  search = false,
  always_span = false,
}: {
  filters: Filters;
  event?: string;
  search?: boolean;
  always_span?: boolean;
}) {
  const choices = useGet<Choices>(
    `/api/v1/choices${apiQuery(event === undefined ? {} : { event })}`,
  );
  const names = useBuildNames();
  const [open, setOpen] = useState(false); // only on phones
  const active = narrowing(filters).filter((name) => !always_span || name !== "span");
  return (
    <form
      class={open ? "filters" : "filters folded"}
      role="search"
      aria-label="Filters"
      onSubmit={(submit) => submit.preventDefault()}>
      {search && <SearchInput value={filters.search} />}
      <button type="button" class="unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filters{active.length > 0 && `: ${active.length}`}
      </button>
      <label class={filters.span === undefined || always_span ? "field" : "field active"}>
        <span>Span</span>
        <select
          name="span"
          value={
            filters.span ?? (filters.from === undefined && filters.to === undefined ? "all" : "set")
          }
          onChange={(change) => {
            const chosen = change.currentTarget.value;
            setQuery({
              from: undefined,
              to: undefined,
              span: chosen === "all" ? undefined : chosen,
            });
          }}>
          {span_names.map(([span, text]) => (
            <option key={span} value={span}>
              {text}
            </option>
          ))}
          {!always_span && <option value="all">All time</option>}
          {(filters.from !== undefined || filters.to !== undefined) && (
            <option value="set" disabled>
              Custom
            </option>
          )}
        </select>
      </label>
      <TimeInput name="from" label="From" value={filters.from} />
      <TimeInput name="to" label="To" value={filters.to} />
      {lists.map((kind) => (
        <NamePicker
          key={kind}
          kind={kind}
          label={labels[kind]}
          chosen={filters[kind] ?? []}
          choices={choices.data}
          event={event}
          names={kind === "build" ? names : undefined}
          onChange={(chosen) => setQuery({ [kind]: chosen, after: undefined })}
        />
      ))}
      <Picker name="start" label="Start" value={filters.start} options={["cold", "warm"]} />
      {active.length > 0 && (
        <button
          type="button"
          class="quiet clear"
          onClick={() => setQuery(Object.fromEntries(active.map((name) => [name, undefined])))}>
          Clear {active.length === 1 ? "filter" : `${active.length} filters`}
        </button>
      )}
    </form>
  );
}
