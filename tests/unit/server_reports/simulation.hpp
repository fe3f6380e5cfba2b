// Simulated profiles of runs on many hosts with known causes, for tests and benchmarks of causes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run_profile.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::test {

enum class Plant {
    Nothing,  // delayed runs are like other runs
    Cpu,      // "planted_parse" computes, called from several places
    Lock,     // "take_lock" waits while another thread, in "planted_compaction", holds the lock
    Disk,     // "planted_save" waits for the disk
    // "planted_call" waits for the network for most of every run; in delayed runs for longer
    Longer,
    Tail,  // "planted_match" computes briefly in every run; in delayed runs for long
    Two,   // "planted_parse" computes and "planted_save" waits for the disk, in the same runs
    // one of these in each run: "planted_call" as in Longer, "planted_save", "planted_match" as in
    // Tail
    Mixed,
    Scale,      // delayed runs take more of everything
    Scattered,  // each delayed run spends its extra time elsewhere
    Slowest,    // delayed runs are the slowest of similar runs
};

struct Simulation {
    std::uint64_t seed = 1;
    Plant plant = Plant::Cpu;
    std::uint32_t hosts = 1000;
    std::uint32_t delayed_of_host = 2;
    std::uint32_t normal_of_host = 2;
    // share of the delayed runs, in builds with the cause; the others are scattered
    double affected = 0.5;
    std::uint32_t builds = 1;       // spread evenly over hosts
    std::uint32_t first_build = 0;  // that has the cause
    // The first host sends this many more delayed and normal runs; its delayed ones have a slow
    // disk.
    std::uint32_t loud_host_runs = 0;
    std::uint32_t more_frames = 0;  // in each stack
};

struct SimulatedRun {
    server::reports::ProfiledRun run;
    analysis::RunProfile profile;
};

// Runs take a median of 20 ms, varying by host, by function on a host, and by run; delays take 200
// ms more.
[[nodiscard]] std::vector<SimulatedRun> simulate(const Simulation& simulation);

[[nodiscard]] server::reports::CauseReport causes_of(
    const std::vector<SimulatedRun>& runs, const server::reports::CauseOptions& options = {});

// The planted functions, as titles begin with them; empty if there is no cause.
[[nodiscard]] std::vector<std::string> planted_functions(Plant plant);

// Whether the report is right: silent if nothing is planted; otherwise a planted function is first,
// and all planted ones come before any other.
[[nodiscard]] bool tells_the_truth(const server::reports::CauseReport& report, Plant plant);

}  // namespace lagtrap::test
