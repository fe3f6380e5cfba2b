// The store as seen by a person who may see only part of it.
#pragma once

#include "server/store/evidence_store.hpp"

namespace lagtrap::server {

// Answers as if the invisible parts did not exist. Operations for machines and for the server
// itself fail with ErrorKind::Denied. `store` must outlive it. Any thread.
class SightedStore final : public EvidenceStore {
  public:
    SightedStore(EvidenceStore& store, SightRef sight) : store_(store), sight_(std::move(sight)) {}

    [[nodiscard]] Result<AddOutcome> add_batch(const Receipt& receipt, const trace::RunBatch& batch) override;
    [[nodiscard]] Result<bool> has_batch(const std::string& digest) override;
    [[nodiscard]] Result<EventPage> events(const Filter& filter, const std::string& search, std::uint32_t limit,
                                           std::optional<PageKey> after) override;
    [[nodiscard]] Status activity(const ActivityQuestion& question,
                                  const std::function<Status(EventActivity&&)>& take) override;
    [[nodiscard]] Result<Losses> losses(const Filter& filter) override;
    [[nodiscard]] Result<Choices> choices(const std::string& event) override;
    // Denied for a build that is not visible.
    [[nodiscard]] Status label_build(const BuildLabel& label) override;
    [[nodiscard]] Status name_builds(const std::vector<BuildLabel>& labels) override;
    [[nodiscard]] Result<std::vector<BuildLabel>> build_labels() override;
    [[nodiscard]] Result<Summary> summary(const Filter& filter) override;
    [[nodiscard]] Result<RunCounts> count_runs(const Filter& filter) override;
    [[nodiscard]] Result<std::vector<TrendPoint>> trend(const Filter& filter) override;
    [[nodiscard]] Result<SplitRuns> split(const Filter& filter, SplitBy by, ActivityUnit unit,
                                          std::uint32_t run_limit) override;
    [[nodiscard]] Result<RunGroups> run_groups(const Filter& filter, bool of_delays, std::uint32_t run_limit) override;
    [[nodiscard]] Result<SearchedDelays> searched_delays(const Filter& filter) override;
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

    [[nodiscard]] Result<std::vector<CauseNews>> note_causes(const std::string& event,
                                                             const std::vector<SightedCause>& causes,
                                                             std::uint64_t now_realtime_ns) override;
    [[nodiscard]] Result<std::vector<CauseRecord>> causes(const std::optional<std::string>& event,
                                                          std::uint32_t limit) override;
    // Only of events that are visible completely.
    [[nodiscard]] Result<std::vector<CauseTotal>> cause_totals(std::uint32_t limit) override;
    [[nodiscard]] Result<std::optional<CauseLife>> find_cause(std::uint64_t id) override;
    [[nodiscard]] Result<bool> change_cause(std::uint64_t id, const CauseChange& change) override;

    [[nodiscard]] Result<Choices> choices_in(const Sight& sight, const std::string& event) override;
    [[nodiscard]] Result<std::vector<CauseRecord>> causes_in(const Sight& sight,
                                                             const std::optional<std::string>& event,
                                                             std::uint32_t limit) override;
    [[nodiscard]] Result<std::optional<CauseLife>> find_cause_in(const Sight& sight, std::uint64_t id) override;
    [[nodiscard]] Status limit_to_sight(const Sight& sight, std::vector<BundleRow>& rows) override;

  private:
    [[nodiscard]] Filter seen(Filter filter) const {
        filter.sight = sight_;
        return filter;
    }

    EvidenceStore& store_;
    const SightRef sight_;
};

}  // namespace lagtrap::server
