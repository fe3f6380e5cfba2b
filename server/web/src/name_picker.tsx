// A control to choose any number of names: hosts, builds, units.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount, shortId } from "./format";
import { useGet } from "./load";
import { fitsPattern, longestPart, shortenMiddle } from "./names";
import type { Choices } from "./types";

export type NameKind = "host" | "user" | "build" | "process" | "unit";
const lists = {
  host: "hosts",
  user: "users",
  build: "builds",
  process: "processes",
  unit: "units",
} as const;
const shown_most = 200;
const known_most = 1000; // the server lists only this many; others need a search

// `event`: only names seen with it. `names`: people's names of builds.
export function NamePicker({
  kind,
  label,
  chosen,
  choices,
  event,
  names,
  onChange,
}: {
  kind: NameKind;
  label: string;
  chosen: string[];
  choices: Choices | null;
  event?: string;
  names?: Map<string, string>;
  onChange: (chosen: string[]) => void;
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    const outside = (pressed: Event) => {
      if (!root.current?.contains(pressed.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);
  const nameOf = (value: string) =>
    names?.has(value) ? `${names.get(value)} (${shortId(value)})` : value;
  const text =
    chosen.length === 0
      ? "any"
      : chosen.length === 1
        ? (names?.get(chosen[0]) ?? chosen[0])
        : `${chosen.length} selected`;
  return (
    <div
      class={chosen.length === 0 ? "field picker" : "field picker active"}
      ref={root}
      onKeyDown={(pressed) => {
        if (pressed.key !== "Escape" || !open) return;
        pressed.stopPropagation();
        close();
      }}>
      <span aria-hidden="true">{label}</span>
      <button
        ref={button}
        type="button"
        class="picker-button"
        aria-label={`${label}: ${text}`}
        title={chosen.map(nameOf).join("\n") || undefined}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}>
        {shortenMiddle(text, 22)}
      </button>
      {open && (
        <Panel {...{ kind, label, chosen, choices, event, nameOf, onChange }} onClose={close} />
      )}
    </div>
  );
}

function Panel({
  kind,
  label,
  chosen,
  choices,
  event,
  nameOf,
  onChange,
  onClose,
}: {
  kind: NameKind;
  label: string;
  chosen: string[];
  choices: Choices | null;
  event?: string;
  nameOf: (value: string) => string;
  onChange: (chosen: string[]) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const search = useRef<HTMLInputElement>(null);
  // Names chosen before the panel opened stay on top; names ticked since stay in place.
  const [first] = useState(chosen);
  useEffect(() => search.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  const known = choices?.[lists[kind]] ?? [];
  const query = new URLSearchParams({
    ...(event !== undefined && { event }),
    search: longestPart(asked),
  });
  const found = useGet<Choices>(
    known.length >= known_most && asked !== "" ? `/api/v1/choices?${query}` : null,
  );
  const all = [...new Set([...first, ...known, ...(found.data?.[lists[kind]] ?? []), ...chosen])];
  const part = text.toLowerCase();
  const is_pattern = /[^*]/.test(text) && text.includes("*");
  const fitting = is_pattern
    ? [text, ...all.filter((value) => value !== text && fitsPattern(text, value))]
    : all.filter((value) => nameOf(value).toLowerCase().includes(part));
  const shown = fitting.slice(0, shown_most);
  const toggle = (value: string) =>
    onChange(
      chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value],
    );
  return (
    <div class="picker-panel" role="dialog" aria-label={`${label}: any of these`}>
      <input
        ref={search}
        type="search"
        aria-label={`Search in ${lists[kind]}`}
        placeholder="part of a name, or fra-*"
        maxLength={256}
        value={text}
        onInput={(typed) => setText(typed.currentTarget.value)}
      />
      <ul>
        {shown.map((value) => (
          <li key={value}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.includes(value)}
                onChange={() => toggle(value)}
              />{" "}
              <span>
                {nameOf(value)}
                {is_pattern && value === text && <span class="muted"> all that match</span>}
              </span>
            </label>
          </li>
        ))}
      </ul>
      {shown.length === 0 && (
        <p class="muted" role="status">
          {found.loading ? "Searching…" : `No ${lists[kind]} match.`}
        </p>
      )}
      {fitting.length > shown.length && (
        <p class="muted">
          {formatCount(fitting.length - shown.length)} more; type part of a name to find them.
        </p>
      )}
      <p class="picker-end">
        <button
          type="button"
          class="quiet"
          disabled={chosen.length === 0}
          onClick={() => onChange([])}>
          Clear
        </button>
        <button type="button" onClick={onClose}>
          Done
        </button>
      </p>
    </div>
  );
}
