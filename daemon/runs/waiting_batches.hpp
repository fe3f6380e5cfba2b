// Batches that wait to be written, in order.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "daemon/runs/gathered_batch.hpp"

namespace lagtrap::daemon {

class WaitingBatches {
  public:
    // True if it holds so much that a new batch should be dropped. Both limits must be reached:
    // small batches, which take little memory, may be many.
    [[nodiscard]] bool full() const {
        return batches_.size() >= batches_limit && runs_ >= trace::run_batch_runs_limit;
    }
    void put(GatheredBatch batch) {
        runs_ += batch.batch.runs.size();
        batches_.push_back(std::move(batch));
    }
    // The oldest, which is being written until finish(). Without its modules, so that its frames
    // stay without names, if there is no time for them. There must be one.
    [[nodiscard]] GatheredBatch take() {
        GatheredBatch next = std::move(batches_.front());
        batches_.pop_front();
        runs_ -= next.batch.runs.size();
        writing_ = true;
        if (ending_ || batches_.size() > batches_for_names) next.modules.clear();
        return next;
    }
    void finish() { writing_ = false; }
    // What waits is still to be written, but quickly.
    void end() { ending_ = true; }

    [[nodiscard]] bool empty() const { return batches_.empty(); }
    [[nodiscard]] bool ending() const { return ending_; }
    // No batch waits or is being written.
    [[nodiscard]] bool idle() const { return batches_.empty() && !writing_; }

  private:
    static constexpr std::size_t batches_limit = 16;
    static constexpr std::size_t batches_for_names = 8;  // with more, they come too fast

    std::deque<GatheredBatch> batches_;
    std::size_t runs_ = 0;
    bool writing_ = false;
    bool ending_ = false;
};

}  // namespace lagtrap::daemon
