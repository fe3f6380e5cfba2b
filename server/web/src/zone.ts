// Whether times are shown in the reader's time zone or in UTC. The browser stores the choice.

function stored(): boolean {
  try {
    return window.localStorage.getItem("lagtrap-zone") === "UTC";
  } catch {
    return false; // the browser has no storage
  }
}

let utc = stored();

export function inUtc(): boolean {
  return utc;
}

export function chooseUtc(chosen: boolean): void {
  utc = chosen;
  try {
    window.localStorage.setItem("lagtrap-zone", chosen ? "UTC" : "local");
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

// The zone's name: "UTC", "Europe/Vienna".
export function zoneName(): string {
  return utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// Milliseconds to add to a time so that Date's UTC fields show the time in the zone.
export function zoneOffset(ms: number): number {
  return utc ? 0 : -new Date(ms).getTimezoneOffset() * 60000;
}

// Parses the value of a datetime-local input to milliseconds since 1970; NaN if it is empty.
export function parseZoned(text: string): number {
  return Date.parse(utc && text !== "" ? `${text}Z` : text);
}
