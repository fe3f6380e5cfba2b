// Profiles of runs of many hosts whose truth is known, for tests and benchmarks of causes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run_profile.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::test {

enum class Plant {
    Nothing,    // delayed runs are runs like others
    Cpu,        // "planted_parse" computes, called from several places
    Lock,       // "take_lock" waits while another thread, in "planted_compaction", holds the lock
    Disk,       // "planted_save" waits for the disk
    Scale,      // delayed runs take more of everything
    Scattered,  // each delayed run spends its extra time elsewhere
};

struct Simulation {
    std::uint64_t seed = 1;
    Plant plant = Plant::Cpu;
    std::uint32_t hosts = 1000;
    std::uint32_t delayed_of_host = 2;
    std::uint32_t normal_of_host = 2;
    double affected = 0.5;          // of the delayed runs of builds that have the cause; the others are scattered
    std::uint32_t builds = 1;       // hosts have them evenly
    std::uint32_t first_build = 0;  // that has the cause
    // The first host sends so many delayed and normal runs more, the delayed ones with a slow disk of its own.
    std::uint32_t loud_host_runs = 0;
    std::uint32_t more_frames = 0;  // on each stack
};

struct SimulatedRun {
    server::reports::ProfiledRun run;
    analysis::RunProfile profile;
};

// Runs take 20 ms by the median, with a variance of hosts, of functions on hosts, and of runs; delays 200 ms more.
[[nodiscard]] std::vector<SimulatedRun> simulate(const Simulation& simulation);

[[nodiscard]] server::reports::CauseReport causes_of(const std::vector<SimulatedRun>& runs,
                                                     const server::reports::CauseOptions& options = {});

// The function that the plant put in, as a title begins with it; empty where there is none.
[[nodiscard]] std::string planted_function(Plant plant);

}  // namespace lagtrap::test
