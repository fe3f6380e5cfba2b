// What else began around a delay: processes that were started, and other delays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

struct Beginning {
    std::int64_t offset_ns = 0;  // after the delay's begin; negative: before it
    std::uint32_t pid = 0;
    std::string process;
    std::string command_line;      // of a process; empty where it is not known
    std::size_t delay_number = 0;  // from 1: another delay of the recording; 0: a process
};

struct Meanwhile {
    std::vector<Beginning> beginnings;  // by time; at most 20
    std::uint64_t left_out = 0;
};

inline constexpr std::uint64_t shortly_before_ns = 1'000'000'000;

// Processes that began from a second before the delay until its end, its own left out, and delays that overlap it.
// Processes that had ended before the recording began are not known.
[[nodiscard]] Meanwhile meanwhile_of(const Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::analysis
