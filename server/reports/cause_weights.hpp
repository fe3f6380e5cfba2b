// The weight of each run, and how long normal runs of the same host would have taken. Internal to
// server/reports/.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/reports/cause_tree.hpp"

namespace lagtrap::server::reports {

// Up to this number, runs of one host and kind count in full; beyond it they share that weight.
inline constexpr double runs_of_a_host = 20;
// From this number on, a host's delayed runs are compared with normal runs of the same host.
inline constexpr std::size_t own_normal_runs = 3;

struct HostRuns {
    std::vector<std::uint32_t> delayed;  // indices into the tree's runs
    std::vector<std::uint32_t> normal;
};

// Delayed runs have positive weights. Normal runs have negative weights with the same total: they
// balance the delayed runs of their host, or of all hosts if a host has too few normal runs. A sum
// of weight times time over all runs is therefore extra time, whatever the mix of hosts.
struct RunWeights {
    std::vector<double> of_run;
    std::unordered_map<std::uint32_t, HostRuns> hosts;
    std::size_t delayed = 0, normal = 0;
    double delayed_sum = 0;
};

[[nodiscard]] RunWeights weigh_runs(const CauseTree& tree);

// A quantity by run, and how much more of it a delayed run has than normal runs of its host (or of
// all hosts).
class Excess {
  public:
    Excess(const CauseTree& tree, const RunWeights& weights, std::vector<double> values);
    [[nodiscard]] double of(std::uint32_t run) const;
    [[nodiscard]] double value(std::uint32_t run) const { return values_[run]; }
    // How far normal runs exceed what is usual for them; nearly all stay below this. At least 0.
    [[nodiscard]] double of_normal_runs() const { return of_normal_runs_; }

  private:
    const CauseTree& tree_;
    std::vector<double> values_;
    double usual_ = 0;
    double of_normal_runs_ = 0;
    std::unordered_map<std::uint32_t, double> usual_of_host_;
};

}  // namespace lagtrap::server::reports
