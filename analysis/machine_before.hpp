// What the machine did in the seconds before a delay, as far as the history goes: who used the
// CPUs, and who waited for disks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

// All processes of one name.
struct EarlierProcess {
    std::string name;
    std::size_t processes = 0;
    std::uint32_t pid = 0;      // if there is only one; otherwise 0
    std::string unit;           // or container, if they share one; empty if unknown
    double share = 0;           // of all CPUs
    std::string function;       // where it was seen most often; empty if unknown
    double function_share = 0;  // of the process's samples
};

struct EarlierDiskWaits {
    std::string process;
    std::string unit;  // or container; empty if unknown
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
    std::vector<EarlierDiskWaits> disk_waits;  // by their longest wait, at most 20
};

// nullopt if there is no history or the delay began before it.
[[nodiscard]] std::optional<MachineBefore> machine_before(const Recording& recording,
                                                          const trace::Delay& delay);

}  // namespace lagtrap::analysis
