// Reads the recorder's rings, and gives each record to the recording or to the history.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "bpf/records.h"
#include "core/result.hpp"
#include "daemon/capture/history_window.hpp"

struct ring_buffer;

namespace lagtrap::daemon {

// Not thread-safe.
class RecordIntake {
  public:
    using Take = std::function<void(const lagtrap_record*)>;

    RecordIntake() = default;
    ~RecordIntake() { unmap(); }
    RecordIntake(const RecordIntake&) = delete;
    RecordIntake& operator=(const RecordIntake&) = delete;

    // Maps the rings of records, of runs, and of stack copies, unless some are mapped. The maps
    // stay with the caller.
    [[nodiscard]] Status map(int records_fd, int runs_fd, int copies_fd);
    void unmap();

    // Sets the receiver of records; null drops them. History records go to the history instead.
    void give_to(Take take) { take_ = std::move(take); }
    // From now on, keeps records of at least this length in memory.
    void keep_history(std::chrono::nanoseconds length) { history_.emplace(length); }
    void end_history() { history_.reset(); }
    [[nodiscard]] bool keeps_history() const { return history_.has_value(); }
    // Only while it is kept.
    [[nodiscard]] HistoryWindow& history() { return *history_; }
    [[nodiscard]] const HistoryWindow& history() const { return *history_; }

    // Without rings, these do nothing.
    // Reads the rings until they are empty. That may take long while much is recorded.
    [[nodiscard]] Status consume();
    // Reads what is in the rings now.
    [[nodiscard]] Status consume_present();
    // Reads a part of the rings, so that other work waits a few milliseconds at most. True if there
    // may be more.
    [[nodiscard]] Result<bool> consume_part();

  private:
    void take(const lagtrap_record* record);
    [[nodiscard]] Result<bool> consume_rings(std::uint64_t max_bytes);

    ring_buffer* rings_ = nullptr;
    std::uint64_t left_to_consume_bytes_ = 0;
    Take take_;
    std::optional<HistoryWindow> history_;  // set while a history is kept
};

}  // namespace lagtrap::daemon
