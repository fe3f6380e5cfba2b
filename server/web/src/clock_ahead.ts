// Events with runs of the future: a machine's clock is wrong, or this one's.
const tolerated_ns = 300e9;

// The event whose last run is furthest ahead, and by how much; null if none is.
export function furthestAhead(
  events: { event: string; last_ns: string }[],
  now_ms: number,
): { event: string; ahead_ns: number } | null {
  let found: { event: string; ahead_ns: number } | null = null;
  for (const { event, last_ns } of events) {
    const ahead_ns = Number(BigInt(last_ns) - BigInt(Math.floor(now_ms)) * 1000000n);
    if (ahead_ns > (found?.ahead_ns ?? tolerated_ns)) found = { event, ahead_ns };
  }
  return found;
}
