// Whether times are shown in the reader's zone or in UTC. The browser keeps the choice.

function stored(): boolean {
  try {
    return window.localStorage.getItem("lagtrap-zone") === "UTC";
  } catch {
    return false; // a browser that keeps nothing
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
    // Then it lasts as long as the page.
  }
}

// The zone's name: "UTC", "Europe/Vienna".
export function zoneName(): string {
  return utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// Milliseconds to add to a time, so that the parts of it that Date gives for UTC are those of the zone.
export function zoneOffset(ms: number): number {
  return utc ? 0 : -new Date(ms).getTimezoneOffset() * 60000;
}

// What an input of type datetime-local says, as milliseconds since 1970; NaN for nothing.
export function parseZoned(text: string): number {
  return Date.parse(utc && text !== "" ? `${text}Z` : text);
}
