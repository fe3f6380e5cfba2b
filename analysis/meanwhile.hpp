// What else began around a delay: new processes, and other delays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

struct Beginning {
    std::int64_t offset_ns = 0;  // relative to the delay's begin; may be negative
    std::uint32_t pid = 0;
    std::string process;
    std::string command_line;      // of a process; empty if unknown
    std::size_t delay_number = 0;  // from 1, for another delay of the recording; 0 for a process
};

struct Meanwhile {
    std::vector<Beginning> beginnings;  // in time order; at most 20
    std::uint64_t left_out = 0;
};

inline constexpr std::uint64_t shortly_before_ns = 1'000'000'000;

// Processes started between a second before the delay and its end, except its own, and delays that
// overlap it. Processes that ended before the recording began are unknown.
[[nodiscard]] Meanwhile meanwhile_of(const Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::analysis
