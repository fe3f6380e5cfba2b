// What the thread of a delay did from moment to moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"

namespace lagtrap::analysis {

struct TimelineWaker {
    std::string process;
    std::string thread;
};

struct TimelineInterval {
    std::uint64_t from_ns = 0;  // after the delay's begin
    std::uint64_t to_ns = 0;
    TimeKind kind = TimeKind::Unknown;
    std::string reason;                  // of blocked and of unknown time
    std::uint32_t tid = 0;               // 0: not known
    std::optional<std::uint32_t> cpu;    // of its first sample; nothing where there is none
    std::optional<TimelineWaker> waker;  // who ended the wait; nothing where an interrupt did or it is not known
    StackId stack = 0;                   // of a wait; 0: none. Recording::stacks has it, outermost first
};

struct TimelineSample {
    std::uint64_t at_ns = 0;  // after the delay's begin
    StackId stack = 0;
};

struct DelayTimeline {
    std::uint64_t begin_ns = 0;  // CLOCK_BOOTTIME
    std::uint64_t end_ns = 0;
    std::vector<TimelineInterval> intervals;  // by time, without gaps and overlaps, from begin to end
    std::vector<TimelineSample> samples;      // by time
    std::uint64_t dropped = 0;                // intervals that became part of others, and samples left out
};

inline constexpr std::size_t timeline_limit = 20'000;

// At most `limit` intervals (at least 1) and as many samples. Beyond that neighbours that are short become one interval
// of unknown kind, whose reason says so, and samples are left out evenly.
[[nodiscard]] DelayTimeline timeline_of_delay(const Recording& recording, const trace::Delay& delay,
                                              std::size_t limit = timeline_limit);

}  // namespace lagtrap::analysis
