// The schema for PostgreSQL. A released step must never change; add a new step instead.
#include "server/store/migrations.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* bundles = R"(
CREATE TABLE bundle(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE, bytes BIGINT NOT NULL, received_ns BIGINT NOT NULL,
  sender TEXT NOT NULL, session_id TEXT NOT NULL, host TEXT NOT NULL, event TEXT NOT NULL,
  process TEXT NOT NULL, started_ns BIGINT NOT NULL, longest_delay_ns BIGINT NOT NULL,
  delays BIGINT NOT NULL, bad_reason TEXT NOT NULL);
)";

constexpr const char* runs_and_accounts = R"(
CREATE TABLE label(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind SMALLINT NOT NULL,
  text TEXT NOT NULL, UNIQUE(kind, text));
CREATE TABLE counter(name TEXT PRIMARY KEY, value BIGINT NOT NULL);
CREATE TABLE stack(id BIGINT PRIMARY KEY, last_day BIGINT NOT NULL, frames BYTEA NOT NULL);
CREATE TABLE batch(digest TEXT PRIMARY KEY, received_ns BIGINT NOT NULL, sender TEXT NOT NULL,
  host BIGINT NOT NULL, bytes BIGINT NOT NULL, runs BIGINT NOT NULL, sampled_away BIGINT NOT NULL,
  lost BIGINT NOT NULL);
CREATE INDEX batch_by_sender ON batch(sender, received_ns);
CREATE INDEX batch_by_age ON batch(received_ns);
CREATE TABLE run(id BIGINT NOT NULL, begin_ns BIGINT NOT NULL, duration_ns BIGINT NOT NULL,
  event INT NOT NULL, host INT NOT NULL, account INT NOT NULL, build INT NOT NULL,
  process INT NOT NULL, weight INT NOT NULL, bin SMALLINT NOT NULL, start SMALLINT NOT NULL,
  delay SMALLINT NOT NULL, dirty SMALLINT NOT NULL, detail BYTEA NOT NULL,
  PRIMARY KEY(id)) PARTITION BY RANGE (id);
CREATE INDEX run_by_begin ON run(event, begin_ns, id);
CREATE INDEX run_by_duration ON run(event, duration_ns, id);
CREATE TABLE run_mark(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run BIGINT NOT NULL,
  dirty SMALLINT NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL,
  at_ns BIGINT NOT NULL);
CREATE INDEX run_mark_by_run ON run_mark(run, id);
CREATE TABLE rollup(event INT NOT NULL, level SMALLINT NOT NULL, bucket BIGINT NOT NULL,
  build INT NOT NULL, start SMALLINT NOT NULL, dirty SMALLINT NOT NULL, records BIGINT NOT NULL,
  runs BIGINT NOT NULL, delays BIGINT NOT NULL, longest_ns BIGINT NOT NULL, last_ns BIGINT NOT NULL,
  sketch BYTEA NOT NULL, delay_sketch BYTEA NOT NULL, PRIMARY KEY(event, level, bucket, build,
  start, dirty));
CREATE TABLE seen(event INT NOT NULL, kind SMALLINT NOT NULL, label INT NOT NULL,
  first_ns BIGINT NOT NULL, last_ns BIGINT NOT NULL, PRIMARY KEY(event, kind, label));
ALTER TABLE bundle ADD COLUMN parsed SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX bundle_by_sender ON bundle(sender, received_ns);
CREATE TABLE delay(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, bundle BIGINT NOT NULL,
  number INT NOT NULL, delayed SMALLINT NOT NULL, event INT NOT NULL, begin_ns BIGINT NOT NULL,
  duration_ns BIGINT NOT NULL, threshold_ns BIGINT NOT NULL, host INT NOT NULL,
  process INT NOT NULL, thread INT NOT NULL, account INT NOT NULL, build INT NOT NULL,
  start SMALLINT NOT NULL, pid BIGINT NOT NULL, tid BIGINT NOT NULL, run BIGINT,
  details TEXT NOT NULL, profile BYTEA NOT NULL);
CREATE INDEX delay_by_bundle ON delay(bundle, number);
CREATE INDEX delay_by_event ON delay(event, delayed, begin_ns);
CREATE INDEX delay_by_run ON delay(run) WHERE run IS NOT NULL;
CREATE INDEX delay_unlinked ON delay(host, begin_ns) WHERE run IS NULL AND delayed = 1;
CREATE TABLE account(name TEXT PRIMARY KEY, role SMALLINT NOT NULL, password_hash TEXT NOT NULL,
  created_ns BIGINT NOT NULL, disabled SMALLINT NOT NULL);
CREATE TABLE session(token_sha256 TEXT PRIMARY KEY, account TEXT NOT NULL,
  created_ns BIGINT NOT NULL, used_ns BIGINT NOT NULL, expires_ns BIGINT NOT NULL,
  address TEXT NOT NULL);
CREATE INDEX session_by_account ON session(account);
CREATE TABLE token(id TEXT PRIMARY KEY, secret_sha256 TEXT NOT NULL, name TEXT NOT NULL,
  scopes INT NOT NULL, host TEXT NOT NULL, host_group TEXT NOT NULL, made_by TEXT NOT NULL,
  created_ns BIGINT NOT NULL, expires_ns BIGINT, used_ns BIGINT);
CREATE TABLE audit(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at_ns BIGINT NOT NULL,
  who TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE job(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT NOT NULL,
  payload TEXT NOT NULL, state SMALLINT NOT NULL, attempts INT NOT NULL,
  not_before_ns BIGINT NOT NULL, lease_until_ns BIGINT NOT NULL, lease TEXT NOT NULL,
  reason TEXT NOT NULL);
CREATE UNIQUE INDEX job_waits_once ON job(kind, payload) WHERE state = 0;
CREATE INDEX job_by_turn ON job(state, not_before_ns);
)";

constexpr const char* losses = R"(
CREATE INDEX batch_with_losses ON batch(received_ns) WHERE lost > 0;
)";

// Runs hidden by the rule on durations are judged again, and marked instead.
constexpr const char* outliers = R"(
INSERT INTO job(kind, payload, state, attempts, not_before_ns, lease_until_ns, lease, reason)
  SELECT 'dirty', text, 0, 0, 0, 0, '', '' FROM label WHERE kind = 1 ON CONFLICT DO NOTHING;
)";

constexpr const char* build_labels = R"(
CREATE TABLE build_label(build TEXT PRIMARY KEY, name TEXT NOT NULL, author TEXT NOT NULL,
  at_ns BIGINT NOT NULL);
)";

// `root` is the cause that this one was merged into, by a person or because their delays overlap;
// otherwise its own id.
constexpr const char* causes = R"(
CREATE TABLE cause(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, root BIGINT NOT NULL,
  event INT NOT NULL, signature TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL, frames TEXT NOT NULL, first_ns BIGINT NOT NULL, last_ns BIGINT NOT NULL,
  noticed_ns BIGINT NOT NULL, status SMALLINT NOT NULL, resolved_ns BIGINT NOT NULL,
  resolved_build TEXT NOT NULL, regressed_ns BIGINT NOT NULL, owner TEXT NOT NULL,
  note TEXT NOT NULL, link TEXT NOT NULL, author TEXT NOT NULL, changed_ns BIGINT NOT NULL,
  UNIQUE(event, signature));
CREATE INDEX cause_by_root ON cause(root);
CREATE INDEX cause_by_notice ON cause(noticed_ns);
CREATE TABLE cause_delay(cause BIGINT NOT NULL, bundle BIGINT NOT NULL, number INT NOT NULL,
  host INT NOT NULL, build INT NOT NULL, begin_ns BIGINT NOT NULL, excess_ns BIGINT NOT NULL,
  PRIMARY KEY(cause, bundle, number));
CREATE INDEX cause_delay_by_bundle ON cause_delay(bundle, number);
CREATE INDEX cause_delay_by_age ON cause_delay(begin_ns);
INSERT INTO job(kind, payload, state, attempts, not_before_ns, lease_until_ns, lease, reason)
  SELECT 'causes', text, 0, 0, 0, 0, '', '' FROM label WHERE kind = 1 ON CONFLICT DO NOTHING;
)";

// A finding is reported once: its row is the claim. `state` of a message: 0 waiting, 1 being sent,
// 2 delivered, 3 given up.
constexpr const char* rules = R"(
CREATE TABLE tell_rule(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE, enabled SMALLINT NOT NULL, definition TEXT NOT NULL,
  secret TEXT NOT NULL, author TEXT NOT NULL, changed_ns BIGINT NOT NULL, since_ns BIGINT NOT NULL,
  next_ns BIGINT NOT NULL, looked_ns BIGINT NOT NULL, look_failure TEXT NOT NULL,
  told_ns BIGINT NOT NULL, failed_ns BIGINT NOT NULL, failure TEXT NOT NULL,
  delivered BIGINT NOT NULL, given_up BIGINT NOT NULL);
CREATE TABLE tell_finding(rule BIGINT NOT NULL, subject TEXT NOT NULL, facts TEXT NOT NULL,
  found_ns BIGINT NOT NULL, ended_ns BIGINT NOT NULL, seen_ns BIGINT NOT NULL,
  told_ns BIGINT NOT NULL, end_told_ns BIGINT NOT NULL, PRIMARY KEY(rule, subject));
CREATE TABLE tell_message(id TEXT PRIMARY KEY, rule BIGINT NOT NULL, test SMALLINT NOT NULL,
  body TEXT NOT NULL, made_ns BIGINT NOT NULL, state SMALLINT NOT NULL, attempts INT NOT NULL,
  next_ns BIGINT NOT NULL, settled_ns BIGINT NOT NULL, lease_until_ns BIGINT NOT NULL,
  lease TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX tell_message_by_turn ON tell_message(state, next_ns);
CREATE INDEX tell_message_by_rule ON tell_message(rule, made_ns);
CREATE INDEX batch_by_host ON batch(host, received_ns);
)";

// 0: unknown, for rows that are older.
constexpr const char* units_of_runs = R"(
ALTER TABLE run ADD COLUMN unit INT NOT NULL DEFAULT 0;
ALTER TABLE delay ADD COLUMN unit INT NOT NULL DEFAULT 0;
)";

constexpr const char* subjects = R"(
ALTER TABLE account ADD COLUMN subject TEXT NOT NULL DEFAULT '';
)";

// Each pattern and group ends with a newline.
constexpr const char* team_tables = R"(
CREATE TABLE team(name TEXT PRIMARY KEY, events TEXT NOT NULL, units TEXT NOT NULL,
  sso_groups TEXT NOT NULL);
CREATE TABLE team_account(team TEXT NOT NULL, account TEXT NOT NULL, by_group SMALLINT NOT NULL,
  PRIMARY KEY(account, team));
)";

// Bytes uploaded by a sender on a day (in UTC since 1970), to all servers. They replace the queries
// that needed these indices.
constexpr const char* quotas = R"(
DROP INDEX IF EXISTS batch_by_sender;
DROP INDEX IF EXISTS bundle_by_sender;
CREATE TABLE quota(name TEXT NOT NULL, day BIGINT NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY(name,
  day));
)";

// For dashboards, see docs/server.md. A database account can be limited to these views.
constexpr const char* views = R"(
CREATE VIEW report_run AS SELECT to_timestamp(r.begin_ns / 1e9) AS time, r.begin_ns,
  e.text AS event, h.text AS host, COALESCE(u.text, '') AS unit, COALESCE(n.name, b.text) AS build,
  p.text AS process, r.duration_ns / 1e6 AS duration_ms, r.weight AS stands_for,
  r.delay <> 0 AS delayed FROM run r JOIN label e ON e.id = r.event JOIN label h ON h.id = r.host
  LEFT JOIN label u ON u.id = r.unit JOIN label b ON b.id = r.build JOIN label p ON p.id = r.process
  LEFT JOIN build_label n ON n.build = b.text WHERE r.dirty <> 1;
CREATE VIEW report_hour AS SELECT to_timestamp(r.bucket * 3600) AS time, e.text AS event,
  COALESCE(n.name, b.text) AS build, SUM(r.runs)::BIGINT AS runs, SUM(r.delays)::BIGINT AS delays,
  MAX(r.longest_ns) / 1e6 AS longest_ms FROM rollup r JOIN label e ON e.id = r.event JOIN label b ON
  b.id = r.build LEFT JOIN build_label n ON n.build = b.text WHERE r.level = 0 AND r.dirty <> 1
  GROUP BY r.bucket, e.text, COALESCE(n.name, b.text);
CREATE VIEW report_delay AS SELECT to_timestamp(d.begin_ns / 1e9) AS time, d.begin_ns,
  e.text AS event, h.text AS host, COALESCE(u.text, '') AS unit, COALESCE(n.name, b.text) AS build,
  p.text AS process, d.duration_ns / 1e6 AS duration_ms, d.threshold_ns / 1e6 AS threshold_ms,
  x.digest AS bundle,
  d.number FROM delay d JOIN bundle x ON x.number = d.bundle JOIN label e ON e.id = d.event JOIN
  label h ON h.id = d.host LEFT JOIN label u ON u.id = d.unit JOIN label b ON b.id = d.build JOIN
  label p ON p.id = d.process LEFT JOIN build_label n ON n.build = b.text WHERE d.delayed = 1;
CREATE VIEW report_cause AS SELECT c.id, e.text AS event, c.title, (ARRAY['new', 'known',
  'resolved', 'regressed'])[c.status + 1] AS status,
  to_timestamp(MIN(a.first_ns) / 1e9) AS first_seen,
  to_timestamp(MAX(a.last_ns) / 1e9) AS last_seen, c.owner, c.note, c.link,
  (SELECT COUNT(DISTINCT (s.bundle,
  s.number)) FROM cause_delay s JOIN cause t ON t.id = s.cause WHERE t.root = c.id) AS delays FROM
  cause c JOIN cause a ON a.root = c.id JOIN label e ON e.id = c.event WHERE c.root = c.id GROUP BY
  c.id, e.text;
)";

// Objects of running programs; `parts` is the number of the last part.
constexpr const char* objects = R"(
CREATE TABLE objects_watch(id TEXT PRIMARY KEY, host TEXT NOT NULL, sender TEXT NOT NULL,
  process TEXT NOT NULL, pid BIGINT NOT NULL, first_ns BIGINT NOT NULL, last_ns BIGINT NOT NULL,
  parts BIGINT NOT NULL, ended BIGINT NOT NULL, bytes BIGINT NOT NULL);
CREATE INDEX objects_watch_by_age ON objects_watch(last_ns);
CREATE TABLE objects_part(watch TEXT NOT NULL, number BIGINT NOT NULL, lost BIGINT NOT NULL,
  last BIGINT NOT NULL, lines BYTEA NOT NULL, PRIMARY KEY(watch, number));
)";

// Columns for the list of watches. They stay NULL or empty for watches that are older.
constexpr const char* object_figures = R"(
ALTER TABLE objects_watch ADD COLUMN began_ns BIGINT;
ALTER TABLE objects_watch ADD COLUMN classes TEXT NOT NULL DEFAULT '';
ALTER TABLE objects_watch ADD COLUMN class_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE objects_watch ADD COLUMN calls BIGINT;
ALTER TABLE objects_watch ADD COLUMN failures BIGINT;
ALTER TABLE objects_watch ADD COLUMN lost BIGINT;
ALTER TABLE objects_watch ADD COLUMN received BIGINT;
ALTER TABLE objects_watch ADD COLUMN not_told BIGINT NOT NULL DEFAULT 0;
)";

constexpr const char* label_senders = R"(
ALTER TABLE label ADD COLUMN sender TEXT NOT NULL DEFAULT '';
CREATE INDEX label_of_sender ON label(sender, kind) WHERE sender <> '';
)";

// The last day (since 1970) on which a label was resolved. Existing labels count as resolved today.
constexpr const char* label_days = R"(
ALTER TABLE label ADD COLUMN last_day BIGINT NOT NULL DEFAULT 0;
UPDATE label SET last_day = CAST(extract(epoch FROM now()) AS BIGINT) / 86400;
)";

// Empty for delays without a trace, and for those stored by an older version.
constexpr const char* trace_ids = R"(
ALTER TABLE delay ADD COLUMN trace_id TEXT NOT NULL DEFAULT '';
CREATE INDEX delay_by_trace ON delay(trace_id) WHERE trace_id <> '';
)";

// The thread that delays of a cause wait for; 0 if there is none, and until the causes are searched
// again.
constexpr const char* cause_holders = R"(
ALTER TABLE cause ADD COLUMN holder TEXT NOT NULL DEFAULT '';
ALTER TABLE cause_delay ADD COLUMN holder INT NOT NULL DEFAULT 0;
)";

}  // namespace

const std::vector<Migration>& postgres_migrations() {
    static const std::vector<Migration> steps = {
        {1, bundles},      {2, runs_and_accounts}, {3, losses},
        {4, outliers},     {5, build_labels},      {6, causes},
        {7, rules},        {8, units_of_runs},     {9, subjects},
        {10, team_tables}, {11, quotas},           {12, views},
        {13, objects},     {14, object_figures},   {15, label_senders},
        {16, label_days},  {17, trace_ids},        {18, cause_holders}};
    return steps;
}

}  // namespace lagtrap::server
