// The tables of the server's database, written once for PostgreSQL and SQLite: words that begin
// with $ stand for what the two spell differently. A released step must never change; add a new
// step instead.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "server/store/migrations.hpp"

namespace lagtrap::server {
namespace {

struct Word {
    std::string_view word, postgres, sqlite;
};

// PostgreSQL divides runs into partitions by time, each with its details.
constexpr std::string_view postgres_runs =
    R"(CREATE TABLE run(id BIGINT NOT NULL, begin_ns BIGINT NOT NULL, duration_ns BIGINT NOT NULL,
  event INT NOT NULL, host INT NOT NULL, account INT NOT NULL, build INT NOT NULL,
  process INT NOT NULL, weight INT NOT NULL, bin SMALLINT NOT NULL, start SMALLINT NOT NULL,
  delay SMALLINT NOT NULL, dirty SMALLINT NOT NULL, detail BYTEA NOT NULL,
  PRIMARY KEY(id)) PARTITION BY RANGE (id);
CREATE INDEX run_by_begin ON run(event, begin_ns, id);)";
constexpr std::string_view sqlite_runs =
    R"(CREATE TABLE run(event INTEGER NOT NULL, begin_ns INTEGER NOT NULL, id INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL, bin INTEGER NOT NULL, host INTEGER NOT NULL,
  account INTEGER NOT NULL, build INTEGER NOT NULL, process INTEGER NOT NULL,
  start INTEGER NOT NULL, delay INTEGER NOT NULL, dirty INTEGER NOT NULL, weight INTEGER NOT NULL,
  PRIMARY KEY(event, begin_ns, id)) STRICT, WITHOUT ROWID;
CREATE TABLE run_detail(id INTEGER PRIMARY KEY, event INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  detail BLOB NOT NULL) STRICT;)";

// For dashboards, see docs/server.md. A database account can be limited to these views.
constexpr std::string_view postgres_views =
    R"(CREATE VIEW report_run AS SELECT to_timestamp(r.begin_ns / 1e9) AS time, r.begin_ns,
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
  c.id, e.text;)";
constexpr std::string_view sqlite_views =
    R"(-- Only PostgreSQL has views for dashboards: an SQLite file belongs to its server alone.)";

constexpr std::array words = std::to_array<Word>({
    {"$ID", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT"},
    {"$LONG", "BIGINT", "INTEGER"},
    {"$INT", "INT", "INTEGER"},
    {"$SHORT", "SMALLINT", "INTEGER"},
    {"$BYTES", "BYTEA", "BLOB"},
    {"$TABLE", "", " STRICT"},
    {"$CLUSTERED", "", " STRICT, WITHOUT ROWID"},
    {"$NOW_S", "CAST(extract(epoch FROM now()) AS BIGINT)",
     "CAST(strftime('%s', 'now') AS INTEGER)"},
    {"$RUNS", postgres_runs, sqlite_runs},
    {"$VIEWS", postgres_views, sqlite_views},
});

constexpr const char* bundles = R"(
CREATE TABLE bundle(number $ID,
  digest TEXT NOT NULL UNIQUE, bytes $LONG NOT NULL, received_ns $LONG NOT NULL,
  sender TEXT NOT NULL, session_id TEXT NOT NULL, host TEXT NOT NULL, event TEXT NOT NULL,
  process TEXT NOT NULL, started_ns $LONG NOT NULL, longest_delay_ns $LONG NOT NULL,
  delays $LONG NOT NULL, bad_reason TEXT NOT NULL)$TABLE;
)";

constexpr const char* runs_and_accounts = R"(
CREATE TABLE label(id $ID, kind $SHORT NOT NULL,
  text TEXT NOT NULL, UNIQUE(kind, text))$TABLE;
CREATE TABLE counter(name TEXT PRIMARY KEY, value $LONG NOT NULL)$TABLE;
CREATE TABLE stack(id $LONG PRIMARY KEY, last_day $LONG NOT NULL, frames $BYTES NOT NULL)$TABLE;
CREATE TABLE batch(digest TEXT PRIMARY KEY, received_ns $LONG NOT NULL, sender TEXT NOT NULL,
  host $LONG NOT NULL, bytes $LONG NOT NULL, runs $LONG NOT NULL, sampled_away $LONG NOT NULL,
  lost $LONG NOT NULL)$TABLE;
CREATE INDEX batch_by_sender ON batch(sender, received_ns);
CREATE INDEX batch_by_age ON batch(received_ns);
$RUNS
CREATE INDEX run_by_duration ON run(event, duration_ns, id);
CREATE TABLE run_mark(id $ID, run $LONG NOT NULL,
  dirty $SHORT NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL,
  at_ns $LONG NOT NULL)$TABLE;
CREATE INDEX run_mark_by_run ON run_mark(run, id);
CREATE TABLE rollup(event $INT NOT NULL, level $SHORT NOT NULL, bucket $LONG NOT NULL,
  build $INT NOT NULL, start $SHORT NOT NULL, dirty $SHORT NOT NULL, records $LONG NOT NULL,
  runs $LONG NOT NULL, delays $LONG NOT NULL, longest_ns $LONG NOT NULL, last_ns $LONG NOT NULL,
  sketch $BYTES NOT NULL, delay_sketch $BYTES NOT NULL, PRIMARY KEY(event, level, bucket, build,
  start, dirty))$CLUSTERED;
CREATE TABLE seen(event $INT NOT NULL, kind $SHORT NOT NULL, label $INT NOT NULL,
  first_ns $LONG NOT NULL, last_ns $LONG NOT NULL, PRIMARY KEY(event, kind, label))$CLUSTERED;
ALTER TABLE bundle ADD COLUMN parsed $SHORT NOT NULL DEFAULT 0;
CREATE INDEX bundle_by_sender ON bundle(sender, received_ns);
CREATE TABLE delay(id $ID, bundle $LONG NOT NULL,
  number $INT NOT NULL, delayed $SHORT NOT NULL, event $INT NOT NULL, begin_ns $LONG NOT NULL,
  duration_ns $LONG NOT NULL, threshold_ns $LONG NOT NULL, host $INT NOT NULL,
  process $INT NOT NULL, thread $INT NOT NULL, account $INT NOT NULL, build $INT NOT NULL,
  start $SHORT NOT NULL, pid $LONG NOT NULL, tid $LONG NOT NULL, run $LONG,
  details TEXT NOT NULL, profile $BYTES NOT NULL)$TABLE;
CREATE INDEX delay_by_bundle ON delay(bundle, number);
CREATE INDEX delay_by_event ON delay(event, delayed, begin_ns);
CREATE INDEX delay_by_run ON delay(run) WHERE run IS NOT NULL;
CREATE INDEX delay_unlinked ON delay(host, begin_ns) WHERE run IS NULL AND delayed = 1;
CREATE TABLE account(name TEXT PRIMARY KEY, role $SHORT NOT NULL, password_hash TEXT NOT NULL,
  created_ns $LONG NOT NULL, disabled $SHORT NOT NULL)$TABLE;
CREATE TABLE session(token_sha256 TEXT PRIMARY KEY, account TEXT NOT NULL,
  created_ns $LONG NOT NULL, used_ns $LONG NOT NULL, expires_ns $LONG NOT NULL,
  address TEXT NOT NULL)$TABLE;
CREATE INDEX session_by_account ON session(account);
CREATE TABLE token(id TEXT PRIMARY KEY, secret_sha256 TEXT NOT NULL, name TEXT NOT NULL,
  scopes $INT NOT NULL, host TEXT NOT NULL, host_group TEXT NOT NULL, made_by TEXT NOT NULL,
  created_ns $LONG NOT NULL, expires_ns $LONG, used_ns $LONG)$TABLE;
CREATE TABLE audit(id $ID, at_ns $LONG NOT NULL,
  who TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL, detail TEXT NOT NULL)$TABLE;
CREATE TABLE job(id $ID, kind TEXT NOT NULL,
  payload TEXT NOT NULL, state $SHORT NOT NULL, attempts $INT NOT NULL,
  not_before_ns $LONG NOT NULL, lease_until_ns $LONG NOT NULL, lease TEXT NOT NULL,
  reason TEXT NOT NULL)$TABLE;
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
  at_ns $LONG NOT NULL)$TABLE;
)";

// `root` is the cause that this one was merged into, by a person or because their delays overlap;
// otherwise its own id.
constexpr const char* causes = R"(
CREATE TABLE cause(id $ID, root $LONG NOT NULL,
  event $INT NOT NULL, signature TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL, frames TEXT NOT NULL, first_ns $LONG NOT NULL, last_ns $LONG NOT NULL,
  noticed_ns $LONG NOT NULL, status $SHORT NOT NULL, resolved_ns $LONG NOT NULL,
  resolved_build TEXT NOT NULL, regressed_ns $LONG NOT NULL, owner TEXT NOT NULL,
  note TEXT NOT NULL, link TEXT NOT NULL, author TEXT NOT NULL, changed_ns $LONG NOT NULL,
  UNIQUE(event, signature))$TABLE;
CREATE INDEX cause_by_root ON cause(root);
CREATE INDEX cause_by_notice ON cause(noticed_ns);
CREATE TABLE cause_delay(cause $LONG NOT NULL, bundle $LONG NOT NULL, number $INT NOT NULL,
  host $INT NOT NULL, build $INT NOT NULL, begin_ns $LONG NOT NULL, excess_ns $LONG NOT NULL,
  PRIMARY KEY(cause, bundle, number))$CLUSTERED;
CREATE INDEX cause_delay_by_bundle ON cause_delay(bundle, number);
CREATE INDEX cause_delay_by_age ON cause_delay(begin_ns);
INSERT INTO job(kind, payload, state, attempts, not_before_ns, lease_until_ns, lease, reason)
  SELECT 'causes', text, 0, 0, 0, 0, '', '' FROM label WHERE kind = 1 ON CONFLICT DO NOTHING;
)";

// A finding is reported once: its row is the claim. `state` of a message: 0 waiting, 1 being sent,
// 2 delivered, 3 given up.
constexpr const char* rules = R"(
CREATE TABLE tell_rule(id $ID,
  name TEXT NOT NULL UNIQUE, enabled $SHORT NOT NULL, definition TEXT NOT NULL,
  secret TEXT NOT NULL, author TEXT NOT NULL, changed_ns $LONG NOT NULL, since_ns $LONG NOT NULL,
  next_ns $LONG NOT NULL, looked_ns $LONG NOT NULL, look_failure TEXT NOT NULL,
  told_ns $LONG NOT NULL, failed_ns $LONG NOT NULL, failure TEXT NOT NULL,
  delivered $LONG NOT NULL, given_up $LONG NOT NULL)$TABLE;
CREATE TABLE tell_finding(rule $LONG NOT NULL, subject TEXT NOT NULL, facts TEXT NOT NULL,
  found_ns $LONG NOT NULL, ended_ns $LONG NOT NULL, seen_ns $LONG NOT NULL,
  told_ns $LONG NOT NULL, end_told_ns $LONG NOT NULL, PRIMARY KEY(rule, subject))$TABLE;
CREATE TABLE tell_message(id TEXT PRIMARY KEY, rule $LONG NOT NULL, test $SHORT NOT NULL,
  body TEXT NOT NULL, made_ns $LONG NOT NULL, state $SHORT NOT NULL, attempts $INT NOT NULL,
  next_ns $LONG NOT NULL, settled_ns $LONG NOT NULL, lease_until_ns $LONG NOT NULL,
  lease TEXT NOT NULL, reason TEXT NOT NULL)$TABLE;
CREATE INDEX tell_message_by_turn ON tell_message(state, next_ns);
CREATE INDEX tell_message_by_rule ON tell_message(rule, made_ns);
CREATE INDEX batch_by_host ON batch(host, received_ns);
)";

// 0: unknown, for rows that are older.
constexpr const char* units_of_runs = R"(
ALTER TABLE run ADD COLUMN unit $INT NOT NULL DEFAULT 0;
ALTER TABLE delay ADD COLUMN unit $INT NOT NULL DEFAULT 0;
)";

constexpr const char* subjects = R"(
ALTER TABLE account ADD COLUMN subject TEXT NOT NULL DEFAULT '';
)";

// Each pattern and group ends with a newline.
constexpr const char* team_tables = R"(
CREATE TABLE team(name TEXT PRIMARY KEY, events TEXT NOT NULL, units TEXT NOT NULL,
  sso_groups TEXT NOT NULL)$TABLE;
CREATE TABLE team_account(team TEXT NOT NULL, account TEXT NOT NULL, by_group $SHORT NOT NULL,
  PRIMARY KEY(account, team))$CLUSTERED;
)";

// Bytes uploaded by a sender on a day (in UTC since 1970), to all servers. They replace the queries
// that needed these indices.
constexpr const char* quotas = R"(
DROP INDEX IF EXISTS batch_by_sender;
DROP INDEX IF EXISTS bundle_by_sender;
CREATE TABLE quota(name TEXT NOT NULL, day $LONG NOT NULL, bytes $LONG NOT NULL, PRIMARY KEY(name,
  day))$CLUSTERED;
)";

constexpr const char* views = R"(
$VIEWS
)";

// Objects of running programs; `parts` is the number of the last part.
constexpr const char* objects = R"(
CREATE TABLE objects_watch(id TEXT PRIMARY KEY, host TEXT NOT NULL, sender TEXT NOT NULL,
  process TEXT NOT NULL, pid $LONG NOT NULL, first_ns $LONG NOT NULL, last_ns $LONG NOT NULL,
  parts $LONG NOT NULL, ended $LONG NOT NULL, bytes $LONG NOT NULL)$TABLE;
CREATE INDEX objects_watch_by_age ON objects_watch(last_ns);
CREATE TABLE objects_part(watch TEXT NOT NULL, number $LONG NOT NULL, lost $LONG NOT NULL,
  last $LONG NOT NULL, lines $BYTES NOT NULL, PRIMARY KEY(watch, number))$TABLE;
)";

// Columns for the list of watches. They stay NULL or empty for watches that are older.
constexpr const char* object_figures = R"(
ALTER TABLE objects_watch ADD COLUMN began_ns $LONG;
ALTER TABLE objects_watch ADD COLUMN classes TEXT NOT NULL DEFAULT '';
ALTER TABLE objects_watch ADD COLUMN class_count $LONG NOT NULL DEFAULT 0;
ALTER TABLE objects_watch ADD COLUMN calls $LONG;
ALTER TABLE objects_watch ADD COLUMN failures $LONG;
ALTER TABLE objects_watch ADD COLUMN lost $LONG;
ALTER TABLE objects_watch ADD COLUMN received $LONG;
ALTER TABLE objects_watch ADD COLUMN not_told $LONG NOT NULL DEFAULT 0;
)";

constexpr const char* label_senders = R"(
ALTER TABLE label ADD COLUMN sender TEXT NOT NULL DEFAULT '';
CREATE INDEX label_of_sender ON label(sender, kind) WHERE sender <> '';
)";

// The last day (since 1970) on which a label was resolved. Existing labels count as resolved today.
constexpr const char* label_days = R"(
ALTER TABLE label ADD COLUMN last_day $LONG NOT NULL DEFAULT 0;
UPDATE label SET last_day = $NOW_S / 86400;
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
ALTER TABLE cause_delay ADD COLUMN holder $INT NOT NULL DEFAULT 0;
)";

// The requests that held delays up. `run_key` is in digits, because it may exceed 2^63.
constexpr const char* delay_edges = R"(
CREATE TABLE delay_edge(bundle $LONG NOT NULL, number $INT NOT NULL, event $INT NOT NULL,
  unit $INT NOT NULL, process $INT NOT NULL, thread $INT NOT NULL, pid $LONG NOT NULL,
  tid $LONG NOT NULL, run_key TEXT NOT NULL, trace_id TEXT NOT NULL, route TEXT NOT NULL,
  delayed_route TEXT NOT NULL, how TEXT NOT NULL, place TEXT NOT NULL,
  lost_ns $LONG NOT NULL)$TABLE;
CREATE INDEX delay_edge_by_bundle ON delay_edge(bundle, number);
)";

// The index made storing a run a quarter more expensive, and served only a list of the slowest runs
// of all time.
constexpr const char* no_index_by_duration = R"(
DROP INDEX run_by_duration;
)";

// Of both requests, as text_of_attributes() writes them.
constexpr const char* edge_attributes = R"(
ALTER TABLE delay_edge ADD COLUMN attributes TEXT NOT NULL DEFAULT '';
ALTER TABLE delay_edge ADD COLUMN delayed_attributes TEXT NOT NULL DEFAULT '';
)";

struct Step {
    int number;
    const char* text;
    // Of the text for SQLite in databases that version 0.1.0 and builds until November 2026 made;
    // empty if it is the same.
    const char* former_sqlite_sha256 = "";
};

constexpr std::array steps = std::to_array<Step>({
    {1, bundles, "dce71f411111bfcf7e6404a9e7b097022e74dca6101c0e7919263c0d5217b634"},
    {2, runs_and_accounts, "50922c2264d9f53df2bb9263cec89003fc326f7c28d1bafbb59c16b3cf009afd"},
    {3, losses},
    {4, outliers},
    {5, build_labels},
    {6, causes, "39943b6252d5d5c8ccb95f42fff793b8215752e05846680363a1b308d448251c"},
    {7, rules, "b6443e06c4ff5afc4e3bd3faa28fb412b3fe0f9b0052a852c3788040231671c1"},
    {8, units_of_runs},
    {9, subjects},
    {10, team_tables},
    {11, quotas, "558d0c31ae79453f4736c39f70783be81469c4db6b984b58a3334d757820d471"},
    {12, views},
    {13, objects},
    {14, object_figures},
    {15, label_senders},
    {16, label_days},
    {17, trace_ids},
    {18, cause_holders},
    {19, delay_edges},
    {20, no_index_by_duration},
    {21, edge_attributes},
});

std::string replace_all(std::string text, std::string_view word, std::string_view replacement) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;
         at += replacement.size())
        text.replace(at, word.size(), replacement);
    return text;
}

std::vector<Migration> migrations_for(std::string_view Word::*dialect) {
    std::vector<Migration> migrations;
    for (const Step& step : steps) {
        Migration migration{step.number, step.text, {}};
        for (const Word& word : words)
            migration.sql = replace_all(std::move(migration.sql), word.word, word.*dialect);
        if (dialect == &Word::sqlite) migration.former_sha256 = step.former_sqlite_sha256;
        migrations.push_back(std::move(migration));
    }
    return migrations;
}

}  // namespace

const std::vector<Migration>& sqlite_migrations() {
    static const std::vector<Migration> migrations = migrations_for(&Word::sqlite);
    return migrations;
}

const std::vector<Migration>& postgres_migrations() {
    static const std::vector<Migration> migrations = migrations_for(&Word::postgres);
    return migrations;
}

}  // namespace lagtrap::server
