// Writes batches of runs into the database.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/store/batch_store.hpp"
#include "server/store/database.hpp"
#include "server/store/labels.hpp"
#include "server/store/rollup.hpp"
#include "server/store/run_store.hpp"
#include "server/store/seen_names.hpp"

namespace lagtrap::server {

// Any thread.
class BatchWriter {
  public:
    BatchWriter(Database& database, Labels& labels) : database_(database), labels_(labels) {}

    [[nodiscard]] Result<AddOutcome> add(const Receipt& receipt, const trace::RunBatch& batch);

  private:
    // Everything to be written, prepared before the transaction begins.
    struct Prepared {
        std::uint32_t host = 0;
        std::vector<RunRecord> runs;
        std::vector<DirtyMark> marks;
        SeenNames seen;
        RollupChange rollups;
    };
    class LabelsOfBatch;

    [[nodiscard]] Result<Prepared> prepare(const Receipt& receipt, const trace::RunBatch& batch);
    [[nodiscard]] Result<std::vector<std::uint64_t>> keep_stacks(const trace::RunBatch& batch,
                                                                 std::uint64_t day);
    [[nodiscard]] Result<std::uint64_t> take_numbers(std::uint64_t count);
    [[nodiscard]] static RunRecord make_record(const trace::RecordedRun& run,
                                               const LabelsOfBatch& labels,
                                               const std::vector<std::uint64_t>& stacks,
                                               std::uint64_t number);
    static void note_seen(const RunRecord& run, SeenNames& seen);
    void drop_known(SeenNames& seen);
    void remember_seen(const SeenNames& seen);

    Database& database_;
    Labels& labels_;
    std::mutex mutex_;  // guards the members below
    std::uint64_t next_number_ = 0, numbers_end_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> stack_days_;  // by stack: last_day of its row
    SeenNames known_seen_;                                         // what the rows contain at least
};

// How far `seen.last_ns` may lag: rows that every batch would update are updated once a minute.
inline constexpr std::uint64_t seen_slack_ns = 60ULL * 1'000'000'000ULL;

[[nodiscard]] Status insert_mark(Connection& connection, const DirtyMark& mark);

}  // namespace lagtrap::server
