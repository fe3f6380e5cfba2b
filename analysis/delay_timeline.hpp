// What the thread of a delay did over time.
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
    std::uint64_t from_ns = 0;  // since the delay's begin
    std::uint64_t to_ns = 0;
    TimeKind kind = TimeKind::Unknown;
    std::string reason;                // for blocked and unknown time
    std::uint32_t tid = 0;             // 0 if unknown
    std::optional<std::uint32_t> cpu;  // of its first sample; nullopt if there is none
    // ended the wait; nullopt if an interrupt did, or if unknown
    std::optional<TimelineWaker> waker;
    // of a wait, in Recording::stacks, outermost first; 0 if there is none
    StackId stack = 0;
};

struct TimelineSample {
    std::uint64_t at_ns = 0;  // since the delay's begin
    StackId stack = 0;
};

struct DelayTimeline {
    std::uint64_t begin_ns = 0;  // CLOCK_BOOTTIME
    std::uint64_t end_ns = 0;
    // in time order, without gaps or overlaps, from begin to end
    std::vector<TimelineInterval> intervals;
    std::vector<TimelineSample> samples;  // in time order
    std::uint64_t dropped = 0;            // intervals merged into others, and samples left out
};

inline constexpr std::size_t timeline_limit = 20'000;

// Returns at most `limit` intervals (at least 1) and as many samples. Beyond that, short neighbours
// are merged into intervals of unknown kind, whose reason says so, and samples are thinned out
// evenly.
[[nodiscard]] DelayTimeline timeline_of_delay(const Recording& recording, const trace::Delay& delay,
                                              std::size_t limit = timeline_limit);

}  // namespace lagtrap::analysis
