// Maps addresses to pages.

export type Route =
  | { page: "overview" }
  | { page: "events" }
  | { page: "event"; event: string }
  | { page: "causes" }
  | { page: "cause"; id: string }
  | { page: "run"; id: string }
  | { page: "bundles" }
  | { page: "objects" }
  | { page: "watches" }
  | { page: "watch"; id: string }
  | { page: "delay"; digest: string; number: number | null }
  | { page: "machine"; digest: string; number: number }
  | { page: "account" }
  | { page: "accounts" }
  | { page: "audit" }
  | { page: "rules" }
  | { page: "compare" }
  | { page: "who-delays-whom" }
  | { page: "rule"; id: string }
  | { page: "missing" };

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

export function parseRoute(path: string): Route {
  const parts = path.split("/").slice(1);
  if (parts.length > 1 && parts.at(-1) === "") parts.pop();
  const [first, second, third] = parts;
  if (parts.length === 1) {
    if (first === "") return { page: "overview" };
    if (first === "events") return { page: "events" };
    if (first === "causes") return { page: "causes" };
    if (first === "bundles") return { page: "bundles" };
    if (first === "objects") return { page: "objects" };
    if (first === "watches") return { page: "watches" };
    if (first === "account") return { page: "account" };
    if (first === "accounts") return { page: "accounts" };
    if (first === "audit") return { page: "audit" };
    if (first === "compare") return { page: "compare" };
    if (first === "rules") return { page: "rules" };
    if (first === "who-delays-whom") return { page: "who-delays-whom" };
  }
  if (parts.length === 2 && second !== "") {
    if (first === "event") {
      const event = decoded(second);
      if (event !== null) return { page: "event", event };
    }
    if (first === "watch" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(second))
      return { page: "watch", id: second };
    if (first === "cause" && /^\d{1,19}$/.test(second)) return { page: "cause", id: second };
    if (first === "rule" && /^\d{1,19}$/.test(second)) return { page: "rule", id: second };
    if (first === "run" && /^\d{1,20}$/.test(second)) return { page: "run", id: second };
  }
  if (first === "bundle" && /^[0-9a-f]{64}$/.test(second ?? "")) {
    if (parts.length === 2) return { page: "delay", digest: second, number: null };
    if (parts.length === 3 && /^[1-9]\d{0,5}$/.test(third)) {
      return { page: "delay", digest: second, number: Number(third) };
    }
    if (parts.length === 4 && /^[1-9]\d{0,5}$/.test(third) && parts[3] === "machine")
      return { page: "machine", digest: second, number: Number(third) };
  }
  return { page: "missing" };
}
