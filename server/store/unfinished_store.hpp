// A store that can not do anything yet.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include "server/store/store.hpp"

namespace lagtrap::server {

inline Error unfinished() { return make_error(ErrorKind::Unsupported, "this store can not do that"); }

class UnfinishedStore : public Store {
  public:
    Result<AddOutcome> add_batch(const Receipt& receipt, const trace::RunBatch& batch) override { return unfinished(); }
    Result<bool> has_batch(const std::string& digest) override { return unfinished(); }
    Result<EventPage> events(const Filter& filter, const std::string& search, std::uint32_t limit,
                             std::optional<PageKey> after) override {
        return unfinished();
    }
    Result<Choices> choices(const std::string& event) override { return unfinished(); }
    Result<Summary> summary(const Filter& filter) override { return unfinished(); }
    Result<RunCounts> count_runs(const Filter& filter) override { return unfinished(); }
    Result<std::vector<TrendPoint>> trend(const Filter& filter) override { return unfinished(); }
    Result<RunPage> runs(const Filter& filter, RunOrder order, std::uint32_t limit,
                         std::optional<PageKey> after) override {
        return unfinished();
    }
    Result<std::vector<RunDuration>> run_durations(const Filter& filter, std::uint32_t limit) override {
        return unfinished();
    }
    Result<StageStacks> stage_stacks(const Filter& filter, const std::string& stage, std::uint32_t run_limit) override {
        return unfinished();
    }
    Result<std::optional<RunDetail>> find_run(std::uint64_t id) override { return unfinished(); }
    Result<std::vector<StoredRun>> find_runs(const std::vector<std::uint64_t>& ids) override { return unfinished(); }
    Result<std::uint64_t> mark_dirty(const std::vector<DirtyMark>& marks) override { return unfinished(); }
    Result<std::vector<DirtyMark>> dirty_marks(std::uint64_t run) override { return unfinished(); }
    Result<bool> set_contents(const std::string& digest, const BundleFacts& facts, const std::string& bad_reason,
                              const std::vector<BundleDelay>& delays) override {
        return unfinished();
    }
    Result<BundlePage> list_filtered(const Filter& filter, std::uint32_t limit, std::optional<PageKey> after) override {
        return unfinished();
    }
    Result<std::vector<StoredDelay>> delays(const std::string& digest) override { return unfinished(); }
    Status profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                    const std::function<bool(StoredDelay&&)>& take) override {
        return unfinished();
    }
    Result<std::uint64_t> received_bytes(const std::string& sender, std::uint64_t since_realtime_ns) override {
        return unfinished();
    }
    Result<AddOutcome> add_account(const Account& account) override { return unfinished(); }
    Result<std::optional<Account>> find_account(const std::string& name) override { return unfinished(); }
    Result<std::vector<Account>> accounts() override { return unfinished(); }
    Result<bool> change_account(const Account& account, const std::string& keep_session) override {
        return unfinished();
    }
    Status remove_account(const std::string& name) override { return unfinished(); }
    Status add_session(const Session& session) override { return unfinished(); }
    Result<std::optional<Session>> find_session(const std::string& token_sha256) override { return unfinished(); }
    Status touch_session(const std::string& token_sha256, std::uint64_t used_realtime_ns) override {
        return unfinished();
    }
    Status remove_session(const std::string& token_sha256) override { return unfinished(); }
    Result<std::vector<Session>> sessions(const std::string& account) override { return unfinished(); }
    Status add_token(const Token& token) override { return unfinished(); }
    Result<std::optional<Token>> find_token(const std::string& id) override { return unfinished(); }
    Result<std::vector<Token>> tokens() override { return unfinished(); }
    Status touch_token(const std::string& id, std::uint64_t used_realtime_ns) override { return unfinished(); }
    Result<bool> remove_token(const std::string& id) override { return unfinished(); }
    Status add_audit(const AuditEntry& entry) override { return unfinished(); }
    Result<std::vector<AuditEntry>> audit(std::uint32_t limit, std::optional<std::uint64_t> before) override {
        return unfinished();
    }
    Result<AddOutcome> put_job(const std::string& kind, const std::string& payload,
                               std::uint64_t not_before_realtime_ns) override {
        return unfinished();
    }
    Result<std::optional<Job>> take_job(const std::vector<std::string>& kinds, std::uint64_t now_realtime_ns,
                                        std::chrono::nanoseconds lease) override {
        return unfinished();
    }
    Result<bool> renew_job(const Job& job, std::uint64_t now_realtime_ns, std::chrono::nanoseconds lease) override {
        return unfinished();
    }
    Result<bool> finish_job(const Job& job) override { return unfinished(); }
    Result<bool> fail_job(const Job& job, const std::string& reason, std::uint64_t now_realtime_ns,
                          std::uint64_t retry_realtime_ns) override {
        return unfinished();
    }
    Result<JobCounts> job_counts() override { return unfinished(); }
    Result<std::vector<FailedJob>> failed_jobs(std::uint32_t limit) override { return unfinished(); }
    Result<RemovedRuns> remove_runs_before(std::uint64_t realtime_ns) override { return unfinished(); }
    Result<RemovedRuns> shrink_runs(std::uint64_t bytes) override { return unfinished(); }
    Result<StoreSize> size() override { return unfinished(); }
    Status maintain(std::uint64_t now_realtime_ns) override { return unfinished(); }
    Status backup(const std::filesystem::path& file) override { return unfinished(); }
    Result<std::vector<std::string>> check() override { return unfinished(); }
};

}  // namespace lagtrap::server

#pragma GCC diagnostic pop
