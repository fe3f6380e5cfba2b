// What the development server answers about causes as they are known: two of them, which can be changed.
import { builds, good_bundle, ns, slow_function } from "./data.mjs";

const day_ms = 86400e3;
const record = (id, title, more) => ({
  id, part_of: null, event: "checkout", signature: "5be1a0c39d7f4412", title, state: "blocked", reason: "lock (futex)", status: "new", first_ns: ns(Date.now() - 3 * day_ms), last_ns: ns(Date.now() - 600e3),
  noticed_ns: ns(Date.now() - 3 * day_ms), resolved_ns: null, resolved_build: null, regressed_ns: null, owner: "", note: "", link: "", changed_by: null, delays: 31, hosts: 5, ...more,
});
const known = new Map([
  ["7", record("7", `${slow_function} waits for a lock`)],
  ["8", record("8", "shop::Journal::sync waits for the disk", { signature: "77aa01be23c4f9d0", reason: "disk", status: "known", delays: 9, hosts: 2 })],
]);

export const recordOf = (signature) => [...known.values()].find((cause) => cause.signature === signature) ?? null;
export const newestCause = (event) => (event === "checkout" ? known.get("7") : null);

export function listCauses(query) {
  return { causes: [...known.values()].filter((cause) => !query.get("event") || cause.event === query.get("event")) };
}

export function findCause(id) {
  const cause = known.get(id);
  if (!cause) return null;
  const count = (of) => ({ ...of, delays: cause.delays, first_ns: cause.first_ns, last_ns: cause.last_ns });
  return {
    ...cause, frames: [{ function: slow_function, module: "/usr/bin/shop" }], parts: [...known.values()].filter((part) => part.part_of === id), by_host: [count({ host: "web-03" })], by_build: [count({ build: builds[3] })],
    days: [{ from_ns: String((BigInt(cause.first_ns) / 86400000000000n) * 86400000000000n), delays: cause.delays }],
    newest_delays: [{ bundle: good_bundle, delay: 1, host: "web-03", build: builds[3], begin_ns: cause.last_ns, excess_ns: 218e6 }, { bundle: null, delay: 2, host: "web-04", build: builds[3], begin_ns: cause.first_ns, excess_ns: 200e6 }],
  };
}

export function changeCause(id, body, account) {
  const cause = known.get(id);
  if (!cause) return null;
  for (const name of ["owner", "note", "link"]) if (body[name] !== undefined) cause[name] = body[name];
  if (body.status !== undefined) Object.assign(cause, { status: body.status, resolved_ns: body.status === "resolved" ? ns(Date.now()) : null, resolved_build: body.resolved_build || null });
  if (body.part_of !== undefined) cause.part_of = body.part_of || null;
  cause.changed_by = account;
  return findCause(id);
}
