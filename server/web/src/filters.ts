// The filters that all lists share, and their form in the address: a link shows what its sender
// saw.

// Spans that end now, so that an address shows new data whenever it is opened.
export const spans = {
  "1h": 3600e3,
  "24h": 24 * 3600e3,
  "7d": 7 * 24 * 3600e3,
  "30d": 30 * 24 * 3600e3,
} as const;
export type Span = keyof typeof spans;

export interface Filters {
  event?: string;
  search?: string;
  span?: Span; // instead of from and to
  from?: number; // milliseconds since 1970, whole minutes in the address
  to?: number;
  host?: string[]; // any one of them; never empty
  user?: string[];
  build?: string[];
  process?: string[];
  unit?: string[];
  start?: "cold" | "warm";
  dirty?: boolean;
  outliers?: false; // outliers are excluded
}

const texts = ["event", "search"] as const;
export const lists = ["host", "user", "build", "process", "unit"] as const;
const max_text = 256;
const max_list = 100; // the server's limit

// "2026-11-21T10:57Z", with seconds only if they are not zero.
export function addressTime(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace(/(:00)?\.000Z$/, "Z")
    .replace(/\.\d+Z$/, "Z");
}

export function parseAddressTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

// Ignores what it does not understand, because an address is untrusted text.
export function parseFilters(query: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const name of texts) {
    const value = query.get(name);
    if (value) filters[name] = value.slice(0, max_text);
  }
  for (const name of lists) {
    const values = new Set(
      query
        .getAll(name)
        .filter((value) => value !== "")
        .map((value) => value.slice(0, max_text)),
    );
    if (values.size > 0) filters[name] = [...values].sort().slice(0, max_list);
  }
  for (const name of ["from", "to"] as const) {
    const ms = parseAddressTime(query.get(name) ?? "");
    if (ms !== undefined) filters[name] = ms;
  }
  const span = query.get("span") ?? "";
  if (span in spans && filters.from === undefined && filters.to === undefined)
    filters.span = span as Span;
  const start = query.get("start");
  if (start === "cold" || start === "warm") filters.start = start;
  if (query.get("dirty") === "1") filters.dirty = true;
  if (query.get("outliers") === "0") filters.outliers = false;
  return filters;
}

// In a fixed order, so that equal filters give equal addresses.
function pairs(filters: Filters, time: (ms: number) => string): [string, string][] {
  const found: [string, string][] = [];
  for (const name of texts) {
    const value = filters[name];
    if (value) found.push([name, value]);
  }
  for (const name of lists)
    for (const value of [...(filters[name] ?? [])].sort()) found.push([name, value]);
  for (const name of ["from", "to"] as const) {
    const ms = filters[name];
    if (ms !== undefined) found.push([name, time(ms)]);
  }
  if (filters.span) found.push(["span", filters.span]);
  if (filters.start) found.push(["start", filters.start]);
  if (filters.dirty) found.push(["dirty", "1"]);
  if (filters.outliers === false) found.push(["outliers", "0"]);
  return found;
}

type Extra = Record<string, string | number | undefined>;

function join(base: [string, string][], extra: Extra): string {
  const query = new URLSearchParams(base);
  for (const [name, value] of Object.entries(extra)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

// The query of a page's address, with its question mark; empty without filters.
export function addressQuery(filters: Filters, extra: Extra = {}): string {
  return join(pairs(filters, addressTime), extra);
}

// Converts the span to milliseconds since 1970. Whole hours, or days of UTC, are what the server
// rounds trends to, so that all pages have the same figures. The last hour is never a part of one.
export function absolute({ span, ...rest }: Filters, now = Date.now()): Filters {
  if (span === undefined) return rest;
  const unit = span === "1h" || span === "24h" ? spans["1h"] : spans["24h"];
  const round = span === "1h" ? Math.floor : Math.ceil;
  return { ...rest, from: round(now / unit) * unit - spans[span] };
}

// The query of a request to the API; times become nanoseconds.
export function apiQuery(filters: Filters, extra: Extra = {}): string {
  return join(
    pairs(absolute(filters), (ms) => `${BigInt(Math.floor(ms)) * 1000000n}`),
    extra,
  );
}

// Filters other than the page's event and the choices to show dirty runs and outliers.
export function narrowing(filters: Filters): (keyof Filters)[] {
  return (
    ["search", "span", "from", "to", "host", "user", "build", "process", "unit", "start"] as const
  ).filter((name) => filters[name] !== undefined);
}

export function eventAddress(event: string, filters: Filters = {}): string {
  const { event: _event, search: _search, ...rest } = filters;
  return `/event/${encodeURIComponent(event)}${addressQuery(rest)}`;
}
