// Accounts for every run between its end and the spool: collected, waiting to be written, written,
// or lost.
#pragma once

#include <cstdint>
#include <utility>

namespace lagtrap::daemon {

struct BatchTotals {
    std::uint64_t written = 0;        // batches in the spool
    std::uint64_t written_runs = 0;   // runs in these batches, without those that they represent
    std::uint64_t written_bytes = 0;  // of their files
    std::uint64_t failed = 0;         // batches that could not be written or arrived too fast
    // runs represented by those, or not written by an earlier daemon
    std::uint64_t lost_runs = 0;
    std::uint64_t removed = 0;  // batches that the spool removed unsent, ever
};

// `runs` are runs that a batch represents: each with its weight, and those that it reports as lost.
// Not thread-safe.
class RunLedger {
  public:
    // So many are in the batch that is being collected.
    void gathered(std::uint64_t runs) { gathered_ = runs; }
    // The collected batch waits to be written.
    void waits(std::uint64_t runs) {
        gathered_ = 0;
        unwritten_ += runs;
    }
    // The collected batch found no room.
    void dropped(std::uint64_t runs) {
        gathered_ = 0;
        ++totals_.failed;
        lost(runs);
    }
    // No batch will contain them.
    void lost(std::uint64_t runs) {
        totals_.lost_runs += runs;
        lost_to_report_ += runs;
        unwritten_ += runs;
    }
    // A waiting batch is in the spool, `recorded` of its runs with their data.
    void written(std::uint64_t runs, std::uint64_t recorded, std::uint64_t bytes) {
        ++totals_.written;
        totals_.written_runs += recorded;
        totals_.written_bytes += bytes;
        unwritten_ -= runs;
    }
    // A waiting batch could not be written.
    void failed(std::uint64_t runs) {
        ++totals_.failed;
        unwritten_ -= runs;
        lost(runs);
    }
    // Runs lost since the last call, which the next batch reports.
    [[nodiscard]] std::uint64_t take_lost() {
        unwritten_ -= lost_to_report_;
        return std::exchange(lost_to_report_, 0);
    }

    // Runs that no file contains or reports as lost yet: what is lost if the daemon is killed now.
    [[nodiscard]] std::uint64_t unwritten() const { return gathered_ + unwritten_; }
    [[nodiscard]] const BatchTotals& totals() const { return totals_; }

  private:
    BatchTotals totals_;
    std::uint64_t lost_to_report_ = 0;
    std::uint64_t gathered_ = 0;   // in the batch that is being collected
    std::uint64_t unwritten_ = 0;  // in waiting batches, and lost_to_report_
};

}  // namespace lagtrap::daemon
