// What the search in the header finds, from answers of the API.
import type { CauseRecord, Choices } from "./types";

export interface Hit {
  kind: "Event" | "Cause" | "Build" | "Host" | "Unit" | "Process" | "User" | "Run" | "Bundle";
  text: string;
  note: string; // more about it; may be empty
  address: string;
}

export interface Found {
  events: string[];
  causes: CauseRecord[];
  choices: Choices | null;
  build_names: Map<string, string>;
}

const most_of_kind = 6;

// All words of the query, in any order; case is ignored.
export function matchesWords(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
}

// What begins with the query first, then the shortest.
function best(texts: string[], query: string): string[] {
  const begins = (text: string) => (text.toLowerCase().startsWith(query.toLowerCase()) ? 0 : 1);
  return [...texts].sort((a, b) => begins(a) - begins(b) || a.length - b.length || (a < b ? -1 : 1)).slice(0, most_of_kind);
}

// Numbers may be runs, and 64 hexadecimal digits a bundle.
function byNumber(query: string): Hit[] {
  if (/^\d{1,20}$/.test(query)) return [{ kind: "Run", text: query, note: "", address: `/run/${query}` }];
  if (/^[0-9a-f]{64}$/i.test(query)) return [{ kind: "Bundle", text: query, note: "", address: `/bundle/${query.toLowerCase()}` }];
  return [];
}

// A cause's title names its functions, their library and the thread that holds a lock.
function causesOf(causes: CauseRecord[], query: string): Hit[] {
  return causes
    .filter((cause) => cause.part_of === null && matchesWords(`${cause.title} ${cause.event} ${cause.owner} ${cause.reason}`, query))
    .slice(0, most_of_kind)
    .map((cause) => ({ kind: "Cause", text: cause.title, note: cause.event, address: `/cause/${cause.id}` }));
}

function buildsOf(found: Found, query: string): Hit[] {
  const named = [...found.build_names].filter(([, name]) => matchesWords(name, query)).map(([id]) => id);
  const ids = [...new Set([...named, ...best(found.choices?.builds ?? [], query)])].slice(0, most_of_kind);
  return ids.map((id) => ({ kind: "Build", text: found.build_names.get(id) ?? id, note: found.build_names.has(id) ? id : "", address: overviewOf("build", id) }));
}

function overviewOf(filter: string, name: string): string {
  return `/?${new URLSearchParams({ [filter]: name, span: "7d" })}`;
}

// The query has no space at its ends.
export function hitsOf(query: string, found: Found): Hit[] {
  const names = (kind: Hit["kind"], texts: string[] | undefined): Hit[] =>
    best((texts ?? []).filter((text) => text !== ""), query).map((text) => ({ kind, text, note: "", address: overviewOf(kind.toLowerCase(), text) }));
  return [
    ...byNumber(query),
    ...best(found.events, query).map((event): Hit => ({ kind: "Event", text: event, note: "", address: `/event/${encodeURIComponent(event)}` })),
    ...causesOf(found.causes, query),
    ...buildsOf(found, query),
    ...names("Host", found.choices?.hosts),
    ...names("Unit", found.choices?.units),
    ...names("Process", found.choices?.processes),
    ...names("User", found.choices?.users),
  ];
}
