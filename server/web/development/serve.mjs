// A server for working on the pages: the built files and the API over made-up data. Not for anything else: it keeps
// nothing and listens on loopback alone.
//   node serve.mjs --pages FOLDER [--port N] [--world FILE]
// The passwords of the accounts "admin" and "reader" are made up at each start, or taken from LAGTRAP_DEVELOPMENT_PASSWORD.
// --world writes what the browser tests need to know (tests/browser/README.md).
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { parseArgs } from "node:util";
import { Refusal, bundleDelays, causes, choices, compare, delaySummary, events, listAllDelays, listBundles, listRuns, ofDelay, runDetail, setDirty, stageStacks, summary, timeShift } from "./answers.mjs";
import { changeCause, findCause, listCauses } from "./causes.mjs";
import { answerRules } from "./rules.mjs";
import { compareSets, setFlame } from "./sets.mjs";
import { buildLabels, overview, split, trend } from "./trends.mjs";
import { listWatches, watchSummary, watch_world } from "./watches.mjs";
import { bad_bundle, big_bundle, good_bundle, hostile_name, ns, slow_function } from "./data.mjs";

const { values } = parseArgs({ options: { pages: { type: "string" }, port: { type: "string", default: "0" }, world: { type: "string" } } });
if (!values.pages) {
  console.error("say where the built pages are: --pages FOLDER");
  process.exit(2);
}
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' https://ui.perfetto.dev; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8" };
const password = process.env.LAGTRAP_DEVELOPMENT_PASSWORD ?? randomBytes(9).toString("base64url");
const accounts = new Map(["admin", "reader"].map((account) => [account, { account, role: account, password, created_ns: ns(Date.now() - 86400000), last_sign_in_ns: null }]));
const tokens = new Map();
const teams = new Map();
const audit = [];
const sessions = new Map();

function note(who, action, object, detail) {
  audit.unshift({ id: String(audit.length + 1), at_ns: ns(Date.now()), who, action, object, detail });
}

const shown = ({ password: _password, ...account }) => account;
const sessionOf = (request) => sessions.get(/(?:^|; )lagtrap=([^;]+)/.exec(request.headers.cookie ?? "")?.[1]);

function needAdmin(session) {
  if (session.role !== "admin") throw new Refusal(403, "only admins may do this", "Ask an admin of this server.");
}

async function bodyOf(request) {
  let text = "";
  for await (const piece of request) {
    text += piece;
    if (text.length > 1 << 20) throw new Refusal(413, "the request is too large");
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, "the request is not JSON");
  }
}

async function signIn(request, response) {
  const { account, password: given } = await bodyOf(request);
  const found = accounts.get(account);
  if (!found || found.password !== given) note(null, "refuse sign-in", found ? account : "an unknown account", "account and password do not fit, from 127.0.0.1");
  if (!found || found.password !== given) throw new Refusal(401, "the account or the password is wrong");
  found.last_sign_in_ns = ns(Date.now());
  note(account, "sign in", null, "from 127.0.0.1");
  const secret = randomBytes(24).toString("base64url");
  sessions.set(secret, { account, role: found.role, has_password: true, teams: [], expires_ns: ns(Date.now() + 12 * 3600000) });
  response.setHeader("Set-Cookie", `lagtrap=${secret}; Path=/; HttpOnly; SameSite=Lax`);
  return undefined;
}

const audit_parts = { "sign-ins": /^(sign in|sign out|refuse sign-in)$/, refusals: /^refuse / };

function exportAudit(query) {
  const { entries } = listAudit(new URLSearchParams({ limit: "1000000", only: query.get("only") ?? "" }));
  if (query.get("format") === "ndjson") return { file: entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), type: "application/x-ndjson", name: "audit.ndjson" };
  const lines = entries.map((entry) => ["id", "at_ns", "who", "action", "object", "detail"].map((name) => `"${entry[name] ?? ""}"`).join(","));
  return { file: ["id,at_ns,who,action,object,detail", ...lines, ""].join("\r\n"), type: "text/csv; charset=utf-8", name: "audit.csv" };
}

async function changePassword(request, session) {
  const { password: old, new_password } = await bodyOf(request);
  const found = accounts.get(session.account);
  if (found.password !== old) throw new Refusal(403, "that is not the password in use", "type the password with which you signed in");
  found.password = new_password;
  for (const [secret, candidate] of sessions) if (candidate.account === session.account && candidate !== session) sessions.delete(secret);
  note(session.account, "change password", session.account, "its other sessions are over, from 127.0.0.1");
  return undefined;
}

function listAudit(query) {
  const limit = Number(query.get("limit") ?? 100);
  const after = query.get("after");
  const part = audit_parts[query.get("only")];
  const chosen = part ? audit.filter((entry) => part.test(entry.action)) : audit;
  const older = after === null ? chosen : chosen.filter((entry) => Number(entry.id) < Number(after.split("-")[1]));
  const entries = older.slice(0, limit);
  return { entries, next: entries.length === limit ? `0-${entries.at(-1).id}` : null };
}

async function administer(method, kind, name, request, session, query) {
  needAdmin(session);
  if (kind === "audit") return name === "export" ? exportAudit(query) : listAudit(query);
  if (kind === "accounts") {
    if (method === "GET") return { accounts: [...accounts.values()].map(shown) };
    if (method === "DELETE") {
      if (!accounts.delete(name)) throw new Refusal(404, "there is no such account");
      note(session.account, "delete account", name, "from 127.0.0.1");
      return undefined;
    }
    const body = await bodyOf(request);
    if (accounts.has(body.account)) throw new Refusal(409, "there is an account of this name");
    const made = { ...body, created_ns: ns(Date.now()), last_sign_in_ns: null };
    accounts.set(body.account, made);
    note(session.account, "add account", body.account, `${body.role}, from 127.0.0.1`);
    return shown(made);
  }
  if (kind === "teams") {
    if (method === "GET") return { teams: [...teams.values()] };
    if (method === "DELETE") {
      if (!teams.delete(name)) throw new Refusal(404, "there is no such team, or no such account in it");
      return undefined;
    }
    teams.set(name, { accounts: teams.get(name)?.accounts ?? [], ...(await bodyOf(request)), team: name });
    return teams.get(name);
  }
  if (method === "GET") return { tokens: [...tokens.values()] };
  if (method === "DELETE") {
    if (!tokens.delete(name)) throw new Refusal(404, "there is no such token");
    return undefined;
  }
  const body = await bodyOf(request);
  const id = randomBytes(4).toString("hex");
  tokens.set(id, { id, name: body.name, scope: body.scope, host: body.host ?? null, created_ns: ns(Date.now()), expires_ns: body.expires_ns ?? null, last_used_ns: null });
  return { id, token: `ltu_${id}_${randomBytes(32).toString("base64url")}` };
}

async function answer(request, response, url) {
  const [kind, name, what, number, detail] = url.pathname.slice("/api/v1/".length).split("/").map(decodeURIComponent);
  const { method } = request;
  if (kind === "session" && method === "POST") return signIn(request, response);
  if (kind === "session" && name === "ways") return { provider: null };
  const session = sessionOf(request);
  if (!session) throw new Refusal(401, "nobody is signed in");
  const query = url.searchParams;
  if (kind === "session" && name === "password") return changePassword(request, session);
  if (kind === "session") {
    if (method === "GET") return session;
    for (const [secret, candidate] of sessions) if (candidate === session) sessions.delete(secret);
    return undefined;
  }
  if (["accounts", "tokens", "teams", "audit"].includes(kind)) return administer(method, kind, name, request, session, query);
  if (kind === "rules") {
    needAdmin(session);
    return (await answerRules(method, name, what, method === "POST" && what === undefined || method === "PUT" ? await bodyOf(request) : null, session.account)) ?? unknown();
  }
  if (kind === "compare" && method === "POST") return compare(await bodyOf(request));
  if (kind === "runs" && what === "dirty" && method === "PUT") {
    if (session.role === "reader") throw new Refusal(403, "this account may not mark runs", "Ask an admin for the role uploader.");
    return setDirty(name, await bodyOf(request), session.account);
  }
  if (kind === "causes" && method === "PUT") {
    if (session.role === "reader") throw new Refusal(403, "this account may not change causes", "Ask an admin for the role uploader.");
    return changeCause(name, await bodyOf(request), session.account) ?? unknown();
  }
  if (method !== "GET") throw new Refusal(405, "this cannot be done here");
  if (kind === "causes") return name === undefined ? listCauses(query) : (findCause(name) ?? unknown());
  if (kind === "overview") return overview(query);
  if (kind === "builds") return buildLabels();
  if (kind === "events" && name === undefined) return events(query);
  if (kind === "events" && what === "compare") return (number === "flame" ? setFlame : compareSets)(name, query);
  if (kind === "events") return { summary, delays: delaySummary, runs: listRuns, stages: stageStacks, times: timeShift, causes, trend, split }[what]?.(name, query) ?? unknown();
  if (kind === "delays") return listAllDelays(query);
  if (kind === "objects") return name === undefined ? listWatches() : ((what === "summary" ? watchSummary(name) : null) ?? unknown());
  if (kind === "choices") return choices(query);
  if (kind === "formats") return { formats: [{ name: "folded", title: "Folded stacks", use: "stacks with their microseconds", suffix: "folded", state: "on-cpu" }] };
  if (kind === "runs") return runDetail(name);
  if (kind === "bundles" && name === undefined) return listBundles(query);
  if (kind === "bundles" && what === "delays") return number === undefined ? bundleDelays(name, query) : ofDelay(name, Number(number), detail, query);
  if (kind === "bundles" && ["trace", "system", undefined].includes(what)) {
    if (what !== undefined) bundleDelays(name);
    return { file: what === "system" ? "<system/>" : "bytes of a made-up file", type: what === "system" ? "application/xml" : "application/octet-stream" };
  }
  return unknown();
}

function unknown() {
  throw new Refusal(404, "there is no such thing in the API");
}

async function page(url) {
  const wanted = normalize(url.pathname);
  const path = wanted.startsWith("/assets/") ? wanted : "/index.html";
  const file = await readFile(join(values.pages, path));
  if (path === "/index.html") return { file: String(file).replace('lagtrap-viewer" content=""', 'lagtrap-viewer" content="https://ui.perfetto.dev"'), type: types[".html"] };
  return { file, type: types[extname(path)] };
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  response.setHeader("Content-Security-Policy", policy);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cache-Control", "no-store");
  try {
    const result = await (url.pathname.startsWith("/api/v1/") ? answer(request, response, url) : page(url));
    if (result === undefined || result === "removed") response.writeHead(204).end();
    else if (result.file !== undefined) response.writeHead(200, { "Content-Type": result.type, ...(result.name && { "Content-Disposition": `attachment; filename="${result.name}"` }) }).end(result.file);
    else response.writeHead(request.method === "POST" && /(accounts|tokens|rules)$/.test(url.pathname) ? 201 : 200, { "Content-Type": "application/json" }).end(JSON.stringify(result));
  } catch (error) {
    const status = error instanceof Refusal ? error.status : error.code === "ENOENT" ? 404 : 500;
    if (status === 500) console.error(error);
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ error: { message: error.message, hint: error.hint } }));
  }
});
server.listen(Number(values.port), "127.0.0.1", async () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const world = {
    url: address, accounts: { admin: { account: "admin", password }, reader: { account: "reader", password } },
    event: { name: "checkout", runs: 1400, hidden: 12, stage: "price", host: "web-03", unit: "container shop-canary", cause: slow_function }, worse: { event: "checkout", build: "v4.0", cause: slow_function }, lost: { host: "web-03", runs: "1,234" }, quiet_event: "open document", delays_event: "import catalogue", hostile_event: hostile_name,
    delay: { bundle: good_bundle, number: 1, function: slow_function, hostile_function: hostile_name, followed_class: "shop::Cart", traced_function: "shop::price_cart", woken: true }, big_delay: { bundle: big_bundle, number: 1, nodes: 50000 }, bad_bundle,
    watch: watch_world,
  };
  if (values.world) await writeFile(values.world, JSON.stringify(world, null, 2));
  console.log(`${address}  accounts admin and reader, password ${password}`);
});
