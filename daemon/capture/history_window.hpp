// Keeps the records of the last seconds in memory and discards the oldest. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "bpf/records.h"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// Records are stored in segments. Each segment has all the stacks that it refers to, so that older
// ones can be discarded.
class HistoryWindow {
  public:
    // Number of segments that make up the window. One more is being filled.
    static constexpr std::size_t segments_of_length = 2;
    static constexpr std::size_t limit_bytes = 16 << 20;

    explicit HistoryWindow(std::chrono::nanoseconds length);

    void take(const lagtrap_record* record);
    // Starts a new segment if the last one is old enough. True if it did; the kernel must then send
    // all stacks again.
    [[nodiscard]] bool turn(std::uint64_t now_ns);
    void clear() { segments_.clear(); }

    // Visits records from oldest to newest, except those older than the window.
    template <typename Visit>
    void for_each(std::uint64_t now_ns, Visit visit) const {
        const std::uint64_t from_ns = now_ns - std::min(now_ns, length_ns_);
        for (const Segment& segment : segments_)
            segment.records.for_each([&](const lagtrap_record* record) {
                if (record->at_ns >= from_ns || record->type == LAGTRAP_RECORD_STACK) visit(record);
            });
    }
    // Length of the history before `now_ns`.
    [[nodiscard]] std::uint64_t length_ns(std::uint64_t now_ns) const;
    [[nodiscard]] std::size_t size_bytes() const;
    // Number of segments discarded early for lack of space.
    [[nodiscard]] std::uint64_t cut() const { return cut_; }

  private:
    struct Segment {
        std::uint64_t began_ns = 0;
        RecordBuffer records;
    };

    std::uint64_t length_ns_;
    std::deque<Segment> segments_;
    std::uint64_t cut_ = 0;
};

}  // namespace lagtrap::daemon
