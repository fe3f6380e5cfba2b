// The records of the machine's last seconds, in memory: the oldest go first. Not for several threads at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "bpf/records.h"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// Held in segments. A stack is written once in each, so that a segment can be forgotten without another missing its stacks.
class HistoryWindow {
  public:
    // Segments that together are as long as the window, and one that is being filled.
    static constexpr std::size_t segments_of_length = 2;
    static constexpr std::size_t limit_bytes = 16 << 20;

    explicit HistoryWindow(std::chrono::nanoseconds length);

    void take(const lagtrap_record* record);
    // Begins another segment if the last one is old enough; true: it did, and stacks are to be told anew.
    [[nodiscard]] bool turn(std::uint64_t now_ns);
    void clear() { segments_.clear(); }

    // By age, without what is older than the window's length.
    template <typename Visit>
    void for_each(std::uint64_t now_ns, Visit visit) const {
        const std::uint64_t from_ns = now_ns - std::min(now_ns, length_ns_);
        for (const Segment& segment : segments_)
            segment.records.for_each([&](const lagtrap_record* record) {
                if (record->at_ns >= from_ns || record->type == LAGTRAP_RECORD_STACK) visit(record);
            });
    }
    // Of the time before `now_ns`, as far as it is held.
    [[nodiscard]] std::uint64_t length_ns(std::uint64_t now_ns) const;
    [[nodiscard]] std::size_t size_bytes() const;
    // Segments that went before their time, as there was no more room.
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
