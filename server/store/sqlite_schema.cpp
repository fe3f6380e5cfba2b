// The schema for SQLite. A step that has been released is never changed; what changes is a new step.
#include "server/store/migrations.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* bundles = R"(
CREATE TABLE bundle(number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, received_ns INTEGER NOT NULL,
  sender TEXT NOT NULL, session_id TEXT NOT NULL, host TEXT NOT NULL, event TEXT NOT NULL, process TEXT NOT NULL,
  started_ns INTEGER NOT NULL, longest_delay_ns INTEGER NOT NULL, delays INTEGER NOT NULL, bad_reason TEXT NOT NULL) STRICT;
)";

constexpr const char* runs_and_accounts = R"(
CREATE TABLE label(id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE(kind, text)) STRICT;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE stack(id INTEGER PRIMARY KEY, last_day INTEGER NOT NULL, frames BLOB NOT NULL) STRICT;
CREATE TABLE batch(digest TEXT PRIMARY KEY, received_ns INTEGER NOT NULL, sender TEXT NOT NULL, host INTEGER NOT NULL,
  bytes INTEGER NOT NULL, runs INTEGER NOT NULL, sampled_away INTEGER NOT NULL, lost INTEGER NOT NULL) STRICT;
CREATE INDEX batch_by_sender ON batch(sender, received_ns);
CREATE INDEX batch_by_age ON batch(received_ns);
CREATE TABLE run(event INTEGER NOT NULL, begin_ns INTEGER NOT NULL, id INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  bin INTEGER NOT NULL, host INTEGER NOT NULL, account INTEGER NOT NULL, build INTEGER NOT NULL,
  process INTEGER NOT NULL, start INTEGER NOT NULL, delay INTEGER NOT NULL, dirty INTEGER NOT NULL,
  weight INTEGER NOT NULL, PRIMARY KEY(event, begin_ns, id)) STRICT, WITHOUT ROWID;
CREATE INDEX run_by_duration ON run(event, duration_ns, id);
CREATE TABLE run_detail(id INTEGER PRIMARY KEY, event INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  detail BLOB NOT NULL) STRICT;
CREATE TABLE run_mark(id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, dirty INTEGER NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL,
  author TEXT NOT NULL, at_ns INTEGER NOT NULL) STRICT;
CREATE INDEX run_mark_by_run ON run_mark(run, id);
CREATE TABLE rollup(event INTEGER NOT NULL, level INTEGER NOT NULL, bucket INTEGER NOT NULL, build INTEGER NOT NULL,
  start INTEGER NOT NULL, dirty INTEGER NOT NULL, records INTEGER NOT NULL, runs INTEGER NOT NULL, delays INTEGER NOT NULL,
  longest_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, sketch BLOB NOT NULL, delay_sketch BLOB NOT NULL,
  PRIMARY KEY(event, level, bucket, build, start, dirty)) STRICT, WITHOUT ROWID;
CREATE TABLE seen(event INTEGER NOT NULL, kind INTEGER NOT NULL, label INTEGER NOT NULL, first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL, PRIMARY KEY(event, kind, label)) STRICT, WITHOUT ROWID;
ALTER TABLE bundle ADD COLUMN parsed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX bundle_by_sender ON bundle(sender, received_ns);
CREATE TABLE delay(id INTEGER PRIMARY KEY AUTOINCREMENT, bundle INTEGER NOT NULL, number INTEGER NOT NULL, delayed INTEGER NOT NULL, event INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, threshold_ns INTEGER NOT NULL, host INTEGER NOT NULL,
  process INTEGER NOT NULL, thread INTEGER NOT NULL, account INTEGER NOT NULL, build INTEGER NOT NULL, start INTEGER NOT NULL,
  pid INTEGER NOT NULL, tid INTEGER NOT NULL, run INTEGER, details TEXT NOT NULL, profile BLOB NOT NULL) STRICT;
CREATE INDEX delay_by_bundle ON delay(bundle, number);
CREATE INDEX delay_by_event ON delay(event, delayed, begin_ns);
CREATE INDEX delay_by_run ON delay(run) WHERE run IS NOT NULL;
CREATE INDEX delay_unlinked ON delay(host, begin_ns) WHERE run IS NULL AND delayed = 1;
CREATE TABLE account(name TEXT PRIMARY KEY, role INTEGER NOT NULL, password_hash TEXT NOT NULL,
  created_ns INTEGER NOT NULL, disabled INTEGER NOT NULL) STRICT;
CREATE TABLE session(token_sha256 TEXT PRIMARY KEY, account TEXT NOT NULL, created_ns INTEGER NOT NULL,
  used_ns INTEGER NOT NULL, expires_ns INTEGER NOT NULL, address TEXT NOT NULL) STRICT;
CREATE INDEX session_by_account ON session(account);
CREATE TABLE token(id TEXT PRIMARY KEY, secret_sha256 TEXT NOT NULL, name TEXT NOT NULL, scopes INTEGER NOT NULL,
  host TEXT NOT NULL, host_group TEXT NOT NULL, made_by TEXT NOT NULL, created_ns INTEGER NOT NULL, expires_ns INTEGER,
  used_ns INTEGER) STRICT;
CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL,
  detail TEXT NOT NULL) STRICT;
CREATE TABLE job(id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, payload TEXT NOT NULL, state INTEGER NOT NULL, attempts INTEGER NOT NULL,
  not_before_ns INTEGER NOT NULL, lease_until_ns INTEGER NOT NULL, lease TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX job_waits_once ON job(kind, payload) WHERE state = 0;
CREATE INDEX job_by_turn ON job(state, not_before_ns);
)";

constexpr const char* losses = R"(
CREATE INDEX batch_with_losses ON batch(received_ns) WHERE lost > 0;
)";

}  // namespace

const std::vector<Migration>& sqlite_migrations() {
    static const std::vector<Migration> steps = {{1, bundles}, {2, runs_and_accounts}, {3, losses}};
    return steps;
}

}  // namespace lagtrap::server
