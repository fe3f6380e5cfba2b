// A profile as a tree of calls, for a flame graph; if wanted, beside the mean of other profiles.
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
    State = 3,        // no function: "blocked: disk", "waits for a CPU", "unknown", "waits for THREAD"
};

struct FlameNode {
    std::int32_t parent = -1;  // before its children; -1: node 0, the root
    std::uint32_t name = 0;    // index into Flame::names
    std::uint64_t value_ns = 0;
    std::uint64_t baseline_ns = 0;  // mean of the baseline's runs
    FlameKind kind = FlameKind::User;
};

struct FlameName {
    std::string function;
    std::string module;
};

struct Flame {
    std::uint64_t total_ns = 0;  // of the root
    std::uint64_t baseline_total_ns = 0;
    std::uint64_t baseline_runs = 0;  // 0: no baseline
    std::vector<FlameNode> nodes;     // at least the root
    std::vector<FlameName> names;
    std::uint64_t dropped = 0;  // nodes that were left out as too small; their time is in their parents
};

enum class FlameTime : std::uint8_t { All, OnCpu, OffCpu };  // OffCpu: runnable and blocked

enum class FlameView : std::uint8_t {
    OwnStack,   // the run's thread alone
    WaitChain,  // what the threads did that it waited for stands on top of the waits
};

inline constexpr std::size_t flame_node_limit = 50'000;

// OnCpu and OffCpu tell apart what the run's own thread did. Beyond `node_limit` nodes (at least 1) the smallest go.
[[nodiscard]] Flame flame_of(const RunProfile& profile, std::span<const RunProfile> baseline, FlameTime time,
                             FlameView view = FlameView::WaitChain, std::size_t node_limit = flame_node_limit);

// The mean of some profiles beside the mean of others.
[[nodiscard]] Flame flame_of_means(std::span<const RunProfile> profiles, std::span<const RunProfile> baseline,
                                   FlameTime time, FlameView view = FlameView::WaitChain,
                                   std::size_t node_limit = flame_node_limit);

}  // namespace lagtrap::analysis
