// What the search in the header shows of the API's answer.
import { formatDuration, formatTime } from "./format";
import type { Found } from "./types";

export interface Hit {
  kind:
    | "Event"
    | "Cause"
    | "Function"
    | "Library"
    | "Delay"
    | "Build"
    | "Host"
    | "Unit"
    | "Process"
    | "User"
    | "Run"
    | "Bundle";
  text: string;
  note: string; // more about it; may be empty
  address: string;
}

// Numbers may be runs, and 64 hexadecimal digits a bundle.
function byNumber(query: string): Hit[] {
  if (/^\d{1,20}$/.test(query))
    return [{ kind: "Run", text: query, note: "", address: `/run/${query}` }];
  if (/^[0-9a-f]{64}$/i.test(query))
    return [{ kind: "Bundle", text: query, note: "", address: `/bundle/${query.toLowerCase()}` }];
  return [];
}

function overviewOf(filter: string, name: string): string {
  return `/?${new URLSearchParams({ [filter]: name, span: "7d" })}`;
}

// The query has no space at its ends.
export function hitsOf(query: string, found: Found): Hit[] {
  const names = (kind: Hit["kind"], texts: string[]) =>
    texts.map((text): Hit => ({
      kind,
      text,
      note: "",
      address: overviewOf(kind.toLowerCase(), text),
    }));
  return [
    ...byNumber(query),
    ...found.delays.map((delay): Hit => ({
      kind: "Delay",
      text: `${delay.event} took ${formatDuration(delay.duration_ns)} on ${delay.host}`,
      note: formatTime(delay.begin_ns),
      address: `/bundle/${delay.bundle}/${delay.number}`,
    })),
    ...found.events.map((event): Hit => ({
      kind: "Event",
      text: event,
      note: "",
      address: `/event/${encodeURIComponent(event)}`,
    })),
    ...found.causes.map((cause): Hit => ({
      kind: "Cause",
      text: cause.title,
      note: cause.event,
      address: `/cause/${cause.id}`,
    })),
    ...found.functions.map((hit): Hit => ({
      kind: hit.by_library ? "Library" : "Function",
      text: hit.by_library ? `${hit.library}: ${hit.title}` : hit.function,
      note: hit.event,
      address: `/cause/${hit.id}`,
    })),
    ...found.builds.map(({ build, name }): Hit => ({
      kind: "Build",
      text: name ?? build,
      note: name === null ? "" : build,
      address: overviewOf("build", build),
    })),
    ...names("Host", found.hosts),
    ...names("Unit", found.units),
    ...names("Process", found.processes),
    ...names("User", found.users),
  ];
}
