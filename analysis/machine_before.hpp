// What the machine did in the seconds before a delay, as far as its history was kept: who had the CPUs, and who waited for
// disks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// Processes of one name together.
struct EarlierProcess {
    std::string name;
    std::size_t processes = 0;
    std::uint32_t pid = 0;      // of one that is alone; else 0
    std::string unit;           // or container, where all are of one; empty: not known
    double share = 0;           // of all CPUs
    std::string function;       // in which it was most often; empty: not known
    double function_share = 0;  // of the process's samples
};

struct EarlierDiskWaits {
    std::string process;
    std::string unit;  // or container; empty: not known
    std::uint32_t pid = 0;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
};

struct MachineBefore {
    std::uint64_t length_ns = 0;  // up to the delay's begin
    std::uint64_t samples = 0;
    double busy_share = 0;                     // of all CPUs
    std::vector<EarlierProcess> processes;     // by share, at most 20
    std::vector<EarlierDiskWaits> disk_waits;  // by their longest, at most 20
};

// Nothing where no history was kept, or the delay began before it.
[[nodiscard]] std::optional<MachineBefore> machine_before(const Recording& recording, const trace::Delay& delay);

}  // namespace lagtrap::analysis
