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
    Longer,     // "planted_call" waits for the network in every run, most of its time; in delayed runs for longer
    Tail,       // "planted_match" computes in every run, for a moment; in delayed runs for long
    Two,        // "planted_parse" computes and "planted_save" waits for the disk, in the same runs
    Mixed,      // "planted_call" as in Longer, "planted_save", or "planted_match" as in Tail: one of them in each run
    Scale,      // delayed runs take more of everything
    Scattered,  // each delayed run spends its extra time elsewhere
    Slowest,    // delayed runs are the slowest of runs that are alike
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

// The functions that the plant put in, as titles begin with them; none where there is no cause.
[[nodiscard]] std::vector<std::string> planted_functions(Plant plant);

// Whether the report is right of it: silent where nothing is planted; else a planted function is first, and all
// planted ones are before any other.
[[nodiscard]] bool tells_the_truth(const server::reports::CauseReport& report, Plant plant);

}  // namespace lagtrap::test
