// The schema for SQLite. A released step must never change; add a new step instead.
#include "server/store/migrations.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* bundles = R"(
CREATE TABLE bundle(number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE,
  bytes INTEGER NOT NULL, received_ns INTEGER NOT NULL, sender TEXT NOT NULL,
  session_id TEXT NOT NULL, host TEXT NOT NULL, event TEXT NOT NULL, process TEXT NOT NULL,
  started_ns INTEGER NOT NULL, longest_delay_ns INTEGER NOT NULL, delays INTEGER NOT NULL,
  bad_reason TEXT NOT NULL) STRICT;
)";

constexpr const char* runs_and_accounts = R"(
CREATE TABLE label(id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, text TEXT NOT NULL,
  UNIQUE(kind, text)) STRICT;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE stack(id INTEGER PRIMARY KEY, last_day INTEGER NOT NULL, frames BLOB NOT NULL) STRICT;
CREATE TABLE batch(digest TEXT PRIMARY KEY, received_ns INTEGER NOT NULL, sender TEXT NOT NULL,
  host INTEGER NOT NULL, bytes INTEGER NOT NULL, runs INTEGER NOT NULL,
  sampled_away INTEGER NOT NULL, lost INTEGER NOT NULL) STRICT;
CREATE INDEX batch_by_sender ON batch(sender, received_ns);
CREATE INDEX batch_by_age ON batch(received_ns);
CREATE TABLE run(event INTEGER NOT NULL, begin_ns INTEGER NOT NULL, id INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL, bin INTEGER NOT NULL, host INTEGER NOT NULL,
  account INTEGER NOT NULL, build INTEGER NOT NULL, process INTEGER NOT NULL,
  start INTEGER NOT NULL, delay INTEGER NOT NULL, dirty INTEGER NOT NULL, weight INTEGER NOT NULL,
  PRIMARY KEY(event, begin_ns, id)) STRICT, WITHOUT ROWID;
CREATE INDEX run_by_duration ON run(event, duration_ns, id);
CREATE TABLE run_detail(id INTEGER PRIMARY KEY, event INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  detail BLOB NOT NULL) STRICT;
CREATE TABLE run_mark(id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL,
  dirty INTEGER NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL,
  at_ns INTEGER NOT NULL) STRICT;
CREATE INDEX run_mark_by_run ON run_mark(run, id);
CREATE TABLE rollup(event INTEGER NOT NULL, level INTEGER NOT NULL, bucket INTEGER NOT NULL,
  build INTEGER NOT NULL, start INTEGER NOT NULL, dirty INTEGER NOT NULL, records INTEGER NOT NULL,
  runs INTEGER NOT NULL, delays INTEGER NOT NULL, longest_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL, sketch BLOB NOT NULL, delay_sketch BLOB NOT NULL, PRIMARY KEY(event,
  level, bucket, build, start, dirty)) STRICT, WITHOUT ROWID;
CREATE TABLE seen(event INTEGER NOT NULL, kind INTEGER NOT NULL, label INTEGER NOT NULL,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, PRIMARY KEY(event, kind, label)) STRICT,
  WITHOUT ROWID;
ALTER TABLE bundle ADD COLUMN parsed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX bundle_by_sender ON bundle(sender, received_ns);
CREATE TABLE delay(id INTEGER PRIMARY KEY AUTOINCREMENT, bundle INTEGER NOT NULL,
  number INTEGER NOT NULL, delayed INTEGER NOT NULL, event INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, threshold_ns INTEGER NOT NULL,
  host INTEGER NOT NULL, process INTEGER NOT NULL, thread INTEGER NOT NULL,
  account INTEGER NOT NULL, build INTEGER NOT NULL, start INTEGER NOT NULL, pid INTEGER NOT NULL,
  tid INTEGER NOT NULL, run INTEGER, details TEXT NOT NULL, profile BLOB NOT NULL) STRICT;
CREATE INDEX delay_by_bundle ON delay(bundle, number);
CREATE INDEX delay_by_event ON delay(event, delayed, begin_ns);
CREATE INDEX delay_by_run ON delay(run) WHERE run IS NOT NULL;
CREATE INDEX delay_unlinked ON delay(host, begin_ns) WHERE run IS NULL AND delayed = 1;
CREATE TABLE account(name TEXT PRIMARY KEY, role INTEGER NOT NULL, password_hash TEXT NOT NULL,
  created_ns INTEGER NOT NULL, disabled INTEGER NOT NULL) STRICT;
CREATE TABLE session(token_sha256 TEXT PRIMARY KEY, account TEXT NOT NULL,
  created_ns INTEGER NOT NULL, used_ns INTEGER NOT NULL, expires_ns INTEGER NOT NULL,
  address TEXT NOT NULL) STRICT;
CREATE INDEX session_by_account ON session(account);
CREATE TABLE token(id TEXT PRIMARY KEY, secret_sha256 TEXT NOT NULL, name TEXT NOT NULL,
  scopes INTEGER NOT NULL, host TEXT NOT NULL, host_group TEXT NOT NULL, made_by TEXT NOT NULL,
  created_ns INTEGER NOT NULL, expires_ns INTEGER, used_ns INTEGER) STRICT;
CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL, who TEXT NOT NULL,
  action TEXT NOT NULL, object TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE TABLE job(id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, payload TEXT NOT NULL,
  state INTEGER NOT NULL, attempts INTEGER NOT NULL, not_before_ns INTEGER NOT NULL,
  lease_until_ns INTEGER NOT NULL, lease TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
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
  at_ns INTEGER NOT NULL) STRICT;
)";

// `root` is the cause that this one was merged into, by a person or because their delays overlap;
// otherwise its own id.
constexpr const char* causes = R"(
CREATE TABLE cause(id INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL,
  event INTEGER NOT NULL, signature TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL, frames TEXT NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
  noticed_ns INTEGER NOT NULL, status INTEGER NOT NULL, resolved_ns INTEGER NOT NULL,
  resolved_build TEXT NOT NULL, regressed_ns INTEGER NOT NULL, owner TEXT NOT NULL,
  note TEXT NOT NULL, link TEXT NOT NULL, author TEXT NOT NULL, changed_ns INTEGER NOT NULL,
  UNIQUE(event, signature)) STRICT;
CREATE INDEX cause_by_root ON cause(root);
CREATE INDEX cause_by_notice ON cause(noticed_ns);
CREATE TABLE cause_delay(cause INTEGER NOT NULL, bundle INTEGER NOT NULL, number INTEGER NOT NULL,
  host INTEGER NOT NULL, build INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  excess_ns INTEGER NOT NULL, PRIMARY KEY(cause, bundle, number)) STRICT, WITHOUT ROWID;
CREATE INDEX cause_delay_by_bundle ON cause_delay(bundle, number);
CREATE INDEX cause_delay_by_age ON cause_delay(begin_ns);
INSERT INTO job(kind, payload, state, attempts, not_before_ns, lease_until_ns, lease, reason)
  SELECT 'causes', text, 0, 0, 0, 0, '', '' FROM label WHERE kind = 1 ON CONFLICT DO NOTHING;
)";

// A finding is reported once: its row is the claim. `state` of a message: 0 waiting, 1 being sent,
// 2 delivered, 3 given up.
constexpr const char* rules = R"(
CREATE TABLE tell_rule(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
  enabled INTEGER NOT NULL, definition TEXT NOT NULL, secret TEXT NOT NULL, author TEXT NOT NULL,
  changed_ns INTEGER NOT NULL, since_ns INTEGER NOT NULL, next_ns INTEGER NOT NULL,
  looked_ns INTEGER NOT NULL, look_failure TEXT NOT NULL, told_ns INTEGER NOT NULL,
  failed_ns INTEGER NOT NULL, failure TEXT NOT NULL, delivered INTEGER NOT NULL,
  given_up INTEGER NOT NULL) STRICT;
CREATE TABLE tell_finding(rule INTEGER NOT NULL, subject TEXT NOT NULL, facts TEXT NOT NULL,
  found_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, seen_ns INTEGER NOT NULL,
  told_ns INTEGER NOT NULL, end_told_ns INTEGER NOT NULL, PRIMARY KEY(rule, subject)) STRICT;
CREATE TABLE tell_message(id TEXT PRIMARY KEY, rule INTEGER NOT NULL, test INTEGER NOT NULL,
  body TEXT NOT NULL, made_ns INTEGER NOT NULL, state INTEGER NOT NULL, attempts INTEGER NOT NULL,
  next_ns INTEGER NOT NULL, settled_ns INTEGER NOT NULL, lease_until_ns INTEGER NOT NULL,
  lease TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE INDEX tell_message_by_turn ON tell_message(state, next_ns);
CREATE INDEX tell_message_by_rule ON tell_message(rule, made_ns);
CREATE INDEX batch_by_host ON batch(host, received_ns);
)";

// 0: unknown, for rows that are older.
constexpr const char* unit_columns = R"(
ALTER TABLE run ADD COLUMN unit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delay ADD COLUMN unit INTEGER NOT NULL DEFAULT 0;
)";

constexpr const char* subjects = R"(
ALTER TABLE account ADD COLUMN subject TEXT NOT NULL DEFAULT '';
)";

// Each pattern and group ends with a newline.
constexpr const char* team_tables = R"(
CREATE TABLE team(name TEXT PRIMARY KEY, events TEXT NOT NULL, units TEXT NOT NULL,
  sso_groups TEXT NOT NULL) STRICT;
CREATE TABLE team_account(team TEXT NOT NULL, account TEXT NOT NULL, by_group INTEGER NOT NULL,
  PRIMARY KEY(account, team)) STRICT, WITHOUT ROWID;
)";

// Bytes uploaded by a sender on a day (in UTC since 1970), to all servers. They replace the queries
// that needed these indices.
constexpr const char* quotas = R"(
DROP INDEX IF EXISTS batch_by_sender;
DROP INDEX IF EXISTS bundle_by_sender;
CREATE TABLE quota(name TEXT NOT NULL, day INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY(name, day)) STRICT, WITHOUT ROWID;
)";

constexpr const char* views = R"(
-- The views for dashboards are PostgreSQL's: a file of SQLite belongs to its server alone.
)";

// Objects of running programs; `parts` is the number of the last part.
constexpr const char* objects = R"(
CREATE TABLE objects_watch(id TEXT PRIMARY KEY, host TEXT NOT NULL, sender TEXT NOT NULL,
  process TEXT NOT NULL, pid INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
  parts INTEGER NOT NULL, ended INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
CREATE INDEX objects_watch_by_age ON objects_watch(last_ns);
CREATE TABLE objects_part(watch TEXT NOT NULL, number INTEGER NOT NULL, lost INTEGER NOT NULL,
  last INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY(watch, number)) STRICT;
)";

// Columns for the list of watches. They stay NULL or empty for watches that are older.
constexpr const char* object_figures = R"(
ALTER TABLE objects_watch ADD COLUMN began_ns INTEGER;
ALTER TABLE objects_watch ADD COLUMN classes TEXT NOT NULL DEFAULT '';
ALTER TABLE objects_watch ADD COLUMN class_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE objects_watch ADD COLUMN calls INTEGER;
ALTER TABLE objects_watch ADD COLUMN failures INTEGER;
ALTER TABLE objects_watch ADD COLUMN lost INTEGER;
ALTER TABLE objects_watch ADD COLUMN received INTEGER;
ALTER TABLE objects_watch ADD COLUMN not_told INTEGER NOT NULL DEFAULT 0;
)";

constexpr const char* label_senders = R"(
ALTER TABLE label ADD COLUMN sender TEXT NOT NULL DEFAULT '';
CREATE INDEX label_of_sender ON label(sender, kind) WHERE sender <> '';
)";

// The last day (since 1970) on which a label was resolved. Existing labels count as resolved today.
constexpr const char* label_days = R"(
ALTER TABLE label ADD COLUMN last_day INTEGER NOT NULL DEFAULT 0;
UPDATE label SET last_day = CAST(strftime('%s', 'now') AS INTEGER) / 86400;
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
ALTER TABLE cause_delay ADD COLUMN holder INTEGER NOT NULL DEFAULT 0;
)";

}  // namespace

const std::vector<Migration>& sqlite_migrations() {
    static const std::vector<Migration> steps = {
        {1, bundles},      {2, runs_and_accounts}, {3, losses},
        {4, outliers},     {5, build_labels},      {6, causes},
        {7, rules},        {8, unit_columns},      {9, subjects},
        {10, team_tables}, {11, quotas},           {12, views},
        {13, objects},     {14, object_figures},   {15, label_senders},
        {16, label_days},  {17, trace_ids},        {18, cause_holders}};
    return steps;
}

}  // namespace lagtrap::server
