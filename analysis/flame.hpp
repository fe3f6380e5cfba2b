// Builds the call tree of a flame graph from a profile, optionally next to the mean of baseline
// profiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/run_profile.hpp"

namespace lagtrap::analysis {

enum class FlameKind : std::uint8_t {
    User = 0,
    Kernel = 1,
    RunTimeCode = 2,  // JIT code
    // not a function: "blocked: disk", "waits for a CPU", "unknown", "waits for THREAD"
    State = 3,
};

struct FlameNode {
    std::int32_t parent = -1;  // precedes its children; -1 for node 0, the root
    std::uint32_t name = 0;    // index into Flame::names
    std::uint64_t value_ns = 0;
    std::uint64_t baseline_ns = 0;  // mean over the baseline's runs
    FlameKind kind = FlameKind::User;
};

struct FlameName {
    std::string function;
    std::string module;
};

struct Flame {
    std::uint64_t total_ns = 0;  // of the root
    std::uint64_t baseline_total_ns = 0;
    std::uint64_t baseline_runs = 0;  // 0 if there is no baseline
    std::vector<FlameNode> nodes;     // at least the root
    std::vector<FlameName> names;
    // nodes left out because they are small; their time is in their parents
    std::uint64_t dropped = 0;
};

enum class FlameTime : std::uint8_t { All, OnCpu, OffCpu };  // OffCpu is runnable and blocked time

enum class FlameView : std::uint8_t {
    OwnStack,   // only the run's thread
    WaitChain,  // on top of each wait, what the awaited threads did
};

inline constexpr std::size_t flame_node_limit = 50'000;

// OnCpu and OffCpu select by what the run's own thread did. Beyond `node_limit` nodes (at least 1),
// the smallest are dropped.
[[nodiscard]] Flame flame_of(const RunProfile& profile, std::span<const RunProfile> baseline,
                             FlameTime time, FlameView view = FlameView::WaitChain,
                             std::size_t node_limit = flame_node_limit);

// Compares the mean of some profiles with the mean of others.
[[nodiscard]] Flame flame_of_means(std::span<const RunProfile> profiles,
                                   std::span<const RunProfile> baseline, FlameTime time,
                                   FlameView view = FlameView::WaitChain,
                                   std::size_t node_limit = flame_node_limit);

}  // namespace lagtrap::analysis
