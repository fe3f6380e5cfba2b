// The store on top of a database of either engine.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "server/store/batch_writer.hpp"
#include "server/store/counting.hpp"
#include "server/store/database.hpp"
#include "server/store/filter_sql.hpp"
#include "server/store/labels.hpp"
#include "server/store/run_detail.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Per list of choices.
inline constexpr std::size_t choices_limit = 10'000;

class SqlStore : public Store {
  public:
    explicit SqlStore(std::unique_ptr<Database> database)
        : database_(std::move(database)), labels_(*database_), batches_(*database_, labels_) {}

    // runs (sql_runs.cpp, sql_run_lists.cpp, sql_events.cpp, sql_activity.cpp, sql_dirty.cpp)
    [[nodiscard]] Result<AddOutcome> add_batch(const Receipt& receipt, const trace::RunBatch& batch) override;
    [[nodiscard]] Result<bool> has_batch(const std::string& digest) override;
    [[nodiscard]] Result<EventPage> events(const Filter& filter, const std::string& search, std::uint32_t limit,
                                           std::optional<PageKey> after) override;
    [[nodiscard]] Status activity(const ActivityQuestion& question,
                                  const std::function<Status(EventActivity&&)>& take) override;
    [[nodiscard]] Result<Losses> losses(const Filter& filter) override;
    [[nodiscard]] Result<Choices> choices(const std::string& event) override;
    [[nodiscard]] Status label_build(const BuildLabel& label) override;
    [[nodiscard]] Status name_builds(const std::vector<BuildLabel>& labels) override;
    [[nodiscard]] Result<std::vector<BuildLabel>> build_labels() override;
    [[nodiscard]] Result<Summary> summary(const Filter& filter) override;
    [[nodiscard]] Result<RunCounts> count_runs(const Filter& filter) override;
    [[nodiscard]] Result<std::vector<TrendPoint>> trend(const Filter& filter) override;
    [[nodiscard]] Result<RunGroups> run_groups(const Filter& filter, bool of_delays, std::uint32_t run_limit) override;
    [[nodiscard]] Result<SearchedDelays> searched_delays(const Filter& filter) override;
    [[nodiscard]] Result<SplitRuns> split(const Filter& filter, SplitBy by, ActivityUnit unit,
                                          std::uint32_t run_limit) override;
    [[nodiscard]] Result<RunPage> runs(const Filter& filter, RunOrder order, std::uint32_t limit,
                                       std::optional<PageKey> after) override;
    [[nodiscard]] Result<std::vector<RunDuration>> run_durations(const Filter& filter, std::uint32_t limit) override;
    [[nodiscard]] Result<StageStacks> stage_stacks(const Filter& filter, const std::string& stage,
                                                   std::uint32_t run_limit) override;
    [[nodiscard]] Result<TimedRuns> run_times(const Filter& filter, std::uint32_t run_limit) override;
    [[nodiscard]] Result<std::optional<RunDetail>> find_run(std::uint64_t id) override;
    [[nodiscard]] Result<std::vector<StoredRun>> find_runs(const std::vector<std::uint64_t>& ids) override;
    [[nodiscard]] Result<std::uint64_t> mark_dirty(const std::vector<DirtyMark>& marks) override;
    [[nodiscard]] Result<std::vector<DirtyMark>> dirty_marks(std::uint64_t run) override;

    // objects (sql_objects.cpp)
    [[nodiscard]] Result<std::vector<ObjectWatch>> object_watches(std::uint32_t limit) override;
    [[nodiscard]] Result<std::optional<ObjectWatch>> object_watch(const std::string& id) override;
    [[nodiscard]] Result<std::vector<StoredObjectsPart>> objects_parts(const std::string& watch, std::uint32_t after,
                                                                       std::uint64_t limit_bytes) override;

    // bundles (sql_bundles.cpp, sql_delays.cpp)
    [[nodiscard]] Result<AddOutcome> add(const BundleRow& row, const NewJob& work) override;
    [[nodiscard]] Result<bool> set_contents(const std::string& digest, const BundleFacts& facts,
                                            const std::string& bad_reason,
                                            const std::vector<BundleDelay>& delays) override;
    [[nodiscard]] Result<std::optional<BundleRow>> find(const std::string& digest) override;
    [[nodiscard]] Result<std::vector<BundleRow>> list(std::uint32_t limit, std::optional<std::int64_t> before) override;
    [[nodiscard]] Result<BundlePage> list_filtered(const Filter& filter, std::uint32_t limit,
                                                   std::optional<PageKey> after) override;
    [[nodiscard]] Result<std::vector<BundleRow>> oldest(std::uint32_t limit) override;
    [[nodiscard]] Result<std::vector<std::string>> digests() override;
    [[nodiscard]] Status remove(const std::string& digest) override;
    [[nodiscard]] Result<Totals> totals() override;
    [[nodiscard]] Result<std::vector<StoredDelay>> delays(const std::string& digest) override;
    [[nodiscard]] Result<std::optional<StoredDelay>> find_delay(const std::string& digest,
                                                                std::uint32_t number) override;
    [[nodiscard]] Result<DelayPage> list_delays(const Filter& filter, const std::string& digest, RunOrder order,
                                                std::uint32_t limit, std::optional<PageKey> after) override;
    [[nodiscard]] Result<DelaySummary> summarise_delays(const Filter& filter) override;
    [[nodiscard]] Status profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                                  const std::function<bool(StoredDelay&&)>& take) override;

    // causes (sql_causes.cpp)
    [[nodiscard]] Result<std::vector<CauseNews>> note_causes(const std::string& event,
                                                             const std::vector<SightedCause>& causes,
                                                             std::uint64_t now_realtime_ns) override;
    [[nodiscard]] Result<std::vector<CauseRecord>> causes(const std::optional<std::string>& event,
                                                          std::uint32_t limit) override;
    [[nodiscard]] Result<std::vector<CauseTotal>> cause_totals(std::uint32_t limit) override;
    [[nodiscard]] Result<std::optional<CauseLife>> find_cause(std::uint64_t id) override;
    [[nodiscard]] Result<bool> change_cause(std::uint64_t id, const CauseChange& change) override;

    // limited to a sight (sql_sight.cpp)
    [[nodiscard]] Result<Choices> choices_in(const Sight& sight, const std::string& event) override;
    [[nodiscard]] Result<std::vector<CauseRecord>> causes_in(const Sight& sight,
                                                             const std::optional<std::string>& event,
                                                             std::uint32_t limit) override;
    [[nodiscard]] Result<std::optional<CauseLife>> find_cause_in(const Sight& sight, std::uint64_t id) override;
    [[nodiscard]] Status limit_to_sight(const Sight& sight, std::vector<BundleRow>& rows) override;

    // accounts (sql_accounts.cpp)
    [[nodiscard]] Result<AddOutcome> add_account(const Account& account) override;
    [[nodiscard]] Result<std::optional<Account>> find_account(const std::string& name) override;
    [[nodiscard]] Result<std::vector<Account>> accounts() override;
    [[nodiscard]] Result<bool> change_account(const Account& account, const std::string& keep_session) override;
    [[nodiscard]] Status remove_account(const std::string& name) override;
    [[nodiscard]] Status add_session(const Session& session) override;
    [[nodiscard]] Result<std::optional<Session>> find_session(const std::string& token_sha256) override;
    [[nodiscard]] Status touch_session(const std::string& token_sha256, std::uint64_t used_realtime_ns) override;
    [[nodiscard]] Status remove_session(const std::string& token_sha256) override;
    [[nodiscard]] Result<std::vector<Session>> sessions(const std::string& account) override;
    [[nodiscard]] Status add_token(const Token& token) override;
    [[nodiscard]] Result<std::optional<Token>> find_token(const std::string& id) override;
    [[nodiscard]] Result<std::vector<Token>> tokens() override;
    [[nodiscard]] Status touch_token(const std::string& id, std::uint64_t used_realtime_ns) override;
    [[nodiscard]] Result<bool> remove_token(const std::string& id) override;
    [[nodiscard]] Status add_audit(const AuditEntry& entry) override;
    [[nodiscard]] Result<std::vector<AuditEntry>> audit(std::uint32_t limit, std::optional<std::uint64_t> before,
                                                        AuditPart part) override;

    // daily upload quotas (sql_quota.cpp)
    [[nodiscard]] Result<bool> take_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes,
                                          std::uint64_t limit_bytes) override;
    [[nodiscard]] Status give_back_quota(const std::string& sender, std::uint64_t day, std::uint64_t bytes) override;
    [[nodiscard]] Result<QuotaUse> quota_use(std::uint64_t day) override;

    // teams (sql_teams.cpp)
    [[nodiscard]] Result<AddOutcome> set_team(const Team& team) override;
    [[nodiscard]] Result<bool> remove_team(const std::string& name) override;
    [[nodiscard]] Result<std::vector<Team>> teams() override;
    [[nodiscard]] Result<bool> has_teams() override;
    [[nodiscard]] Result<std::vector<Team>> teams_of(const std::string& account) override;
    [[nodiscard]] Result<bool> join_team(const std::string& team, const std::string& account) override;
    [[nodiscard]] Result<bool> leave_team(const std::string& team, const std::string& account) override;
    [[nodiscard]] Status set_teams_by_groups(const std::string& account,
                                             const std::vector<std::string>& groups) override;

    // jobs (sql_jobs.cpp)
    [[nodiscard]] Result<AddOutcome> put_job(const NewJob& job) override;
    [[nodiscard]] Result<std::optional<Job>> take_job(const std::vector<std::string>& kinds,
                                                      std::uint64_t now_realtime_ns,
                                                      std::chrono::nanoseconds lease) override;
    [[nodiscard]] Result<bool> renew_job(const Job& job, std::uint64_t now_realtime_ns,
                                         std::chrono::nanoseconds lease) override;
    [[nodiscard]] Result<bool> finish_job(const Job& job) override;
    [[nodiscard]] Result<bool> fail_job(const Job& job, const std::string& reason, std::uint64_t now_realtime_ns,
                                        std::uint64_t retry_realtime_ns) override;
    [[nodiscard]] Result<JobCounts> job_counts() override;
    [[nodiscard]] Result<std::vector<FailedJob>> failed_jobs(std::uint32_t limit) override;

    // rules (sql_rules.cpp, sql_messages.cpp)
    [[nodiscard]] Result<std::optional<std::uint64_t>> add_rule(const StoredRule& rule) override;
    [[nodiscard]] Result<RuleChange> change_rule(const StoredRule& rule, bool forget) override;
    [[nodiscard]] Result<bool> remove_rule(std::uint64_t id) override;
    [[nodiscard]] Result<std::vector<StoredRule>> rules() override;
    [[nodiscard]] Result<std::optional<StoredRule>> find_rule(std::uint64_t id) override;
    [[nodiscard]] Result<std::vector<KeptFinding>> findings(std::uint64_t rule) override;
    [[nodiscard]] Result<std::vector<StoredMessage>> messages(std::uint64_t rule) override;
    [[nodiscard]] Result<std::optional<StoredRule>> take_rule(std::uint64_t now_realtime_ns,
                                                              std::chrono::nanoseconds interval) override;
    [[nodiscard]] Result<bool> note_findings(const RuleLook& look, const ComposeMessage& compose) override;
    [[nodiscard]] Status note_look_failure(std::uint64_t rule, const std::string& reason) override;
    [[nodiscard]] Result<bool> add_test_message(const StoredMessage& message) override;
    [[nodiscard]] Result<std::optional<StoredMessage>> take_message(std::uint64_t now_realtime_ns,
                                                                    std::chrono::nanoseconds lease) override;
    [[nodiscard]] Result<bool> settle_message(const StoredMessage& message, std::uint64_t now_realtime_ns) override;
    [[nodiscard]] Result<MessageCounts> message_counts() override;
    [[nodiscard]] Result<std::vector<HostSign>> signs_of_hosts(std::uint64_t now_realtime_ns) override;

    // maintenance (sql_upkeep.cpp)
    [[nodiscard]] Result<RemovedRuns> remove_runs_before(std::uint64_t realtime_ns) override;
    [[nodiscard]] Result<RemovedRuns> shrink_runs(std::uint64_t bytes) override;
    [[nodiscard]] Result<StoreSize> size() override;
    [[nodiscard]] Status maintain(std::uint64_t now_realtime_ns) override;
    [[nodiscard]] Status backup(const std::filesystem::path& file) override;
    [[nodiscard]] Result<std::vector<std::string>> check() override;

  private:
    struct RawRun {
        RunRecord record;
        DetailRecord detail;
    };
    // Runs the task with the filter's names resolved; skips it if nothing can match.
    [[nodiscard]] Status read_filtered(const Filter& filter,
                                       const std::function<Status(Connection&, const NumberedFilter&)>& task);
    // The newest runs that the filter selects, in no order.
    [[nodiscard]] Result<std::vector<RawRun>> newest_runs(Connection& connection, const NumberedFilter& numbered,
                                                          std::uint32_t limit);
    [[nodiscard]] Result<std::vector<DelayCount>> name_counts(Connection& connection,
                                                              const std::map<std::uint32_t, DelayCount>& counts);
    // Reads the rows of a SELECT of run_columns().
    [[nodiscard]] Status read_runs(Rows& rows, std::vector<RawRun>& found);
    [[nodiscard]] std::string run_columns() const;
    // Adds names, marks and bundles, in the order of `raw`.
    [[nodiscard]] Result<std::vector<StoredRun>> fill_in_runs(Connection& connection, const std::vector<RawRun>& raw);
    [[nodiscard]] Status add_links(Connection& connection, std::vector<StoredRun>& runs);
    [[nodiscard]] Status add_marks(Connection& connection, std::vector<StoredRun>& runs);
    [[nodiscard]] Result<trace::RunStack> load_stack(Connection& connection, std::uint64_t id);
    [[nodiscard]] Result<std::vector<RawRun>> select_runs(Connection& connection,
                                                          const std::vector<std::uint64_t>& ids);
    [[nodiscard]] Result<bool> mark_one(Connection& connection, const DirtyMark& mark, RollupChange& rollups);
    [[nodiscard]] Status count_bundle_events(Connection& connection, const NumberedFilter& filter,
                                             std::map<std::uint32_t, EventRow>& events);
    [[nodiscard]] Status count_hosts(Connection& connection, const NumberedFilter& filter,
                                     std::map<std::uint32_t, EventRow>& events);
    [[nodiscard]] Status count_run_events(Connection& connection, const NumberedFilter& filter,
                                          std::map<std::uint32_t, EventRow>& events);
    // The filter's events, or all events whose name contains `search`; by name.
    [[nodiscard]] Result<std::vector<std::string>> event_names(const Filter& filter, const std::string& search);
    [[nodiscard]] Status add_run_activity(Connection& connection, const NumberedFilter& numbered,
                                          const ActivityQuestion& question, EventActivity& activity);
    // Where units and hours of an activity begin; UINT64_MAX: there are none.
    struct UnitBegins {
        std::uint64_t units_ns = 0, hours_ns = 0;
    };
    [[nodiscard]] Status add_run_units(Connection& connection, const NumberedFilter& numbered, ActivityUnit unit,
                                       const UnitBegins& begins, EventActivity& activity);
    [[nodiscard]] Status add_first_runs(Connection& connection, const NumberedFilter& numbered, std::uint64_t from_ns,
                                        EventActivity& activity);
    [[nodiscard]] Status add_bundle_activity(Connection& connection, const NumberedFilter& numbered,
                                             const ActivityQuestion& question, EventActivity& activity);
    [[nodiscard]] static Status count_hosts_of_event(Connection& connection, const NumberedFilter& numbered,
                                                     std::uint64_t from_ns, EventActivity& activity);
    // `sight` may be nullptr.
    [[nodiscard]] Result<std::vector<CauseRecord>> select_causes(Connection& connection, Where where,
                                                                 std::uint32_t limit, const NumberedSight* sight);
    [[nodiscard]] Status read_sightings(Connection& connection, CauseLife& life, const NumberedSight* sight);
    [[nodiscard]] Result<std::optional<CauseLife>> read_life(Connection& connection, std::uint64_t id,
                                                             const NumberedSight* sight);
    // Links delays without a run to runs: of `host` (nullopt: all), begun from `from_ns` to
    // `to_ns`.
    [[nodiscard]] Status link_delays(std::optional<std::uint32_t> host, std::uint64_t from_ns, std::uint64_t to_ns);
    [[nodiscard]] Result<std::optional<std::uint64_t>> find_run_of_delay(Connection& connection, const Rows& delay);
    [[nodiscard]] Result<RemovedRuns> remove_before_hour(std::uint64_t hour);
    [[nodiscard]] Result<RemovedRuns> remove_surplus_runs(std::uint64_t bytes);
    [[nodiscard]] Result<std::optional<std::uint64_t>> oldest_hour();
    [[nodiscard]] static Status sum_up_day(Connection& connection, std::uint64_t day);

    std::unique_ptr<Database> database_;
    Labels labels_;
    BatchWriter batches_;
};

// Events of which some units are visible, but not the whole event.
[[nodiscard]] Result<std::vector<std::uint64_t>> events_seen_in_part(Connection& connection,
                                                                     const NumberedSight& sight);
// The hosts of these events in the filter's time, from visible runs and delays.
[[nodiscard]] Result<std::map<std::uint32_t, std::set<std::uint32_t>>> hosts_seen_in_part(Connection& connection,
                                                                                          const NumberedFilter& filter);
// All hosts with something visible.
[[nodiscard]] Result<std::vector<std::uint64_t>> hosts_in_sight(Connection& connection, const NumberedFilter& filter);

// Runs inside the caller's transaction; false if such a job is already waiting.
[[nodiscard]] Result<bool> insert_job(Connection& connection, const NewJob& job);

}  // namespace lagtrap::server
