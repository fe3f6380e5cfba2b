// How much each run counts, and what normal runs of its host would have taken. Used inside server/reports/ alone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/reports/cause_tree.hpp"

namespace lagtrap::server::reports {

// So many runs of one host and kind count in full; more share their weight.
inline constexpr double runs_of_a_host = 20;
// From so many on, a host's delayed runs are compared with normal runs of the same host.
inline constexpr std::size_t own_normal_runs = 3;

struct HostRuns {
    std::vector<std::uint32_t> delayed;  // indices into the tree's runs
    std::vector<std::uint32_t> normal;
};

// Weights of delayed runs are above 0. Those of normal runs are below 0, and together they weigh as much: each host's
// delayed runs are balanced by its own normal runs, or, where it has too few, by those of all hosts. So a sum over all
// runs of weight times time is extra time, whatever the mixture of hosts.
struct RunWeights {
    std::vector<double> of_run;
    std::unordered_map<std::uint32_t, HostRuns> hosts;
    std::size_t delayed = 0, normal = 0;
    double delayed_sum = 0;
};

[[nodiscard]] RunWeights weigh_runs(const CauseTree& tree);

// A quantity that each run has, and what a delayed run has of it beyond normal runs of its host (or of all hosts).
class Excess {
  public:
    Excess(const CauseTree& tree, const RunWeights& weights, std::vector<double> values);
    [[nodiscard]] double of(std::uint32_t run) const;
    [[nodiscard]] double value(std::uint32_t run) const { return values_[run]; }
    // What normal runs have of it beyond what is usual for them: nearly all have less. 0 or more.
    [[nodiscard]] double of_normal_runs() const { return of_normal_runs_; }

  private:
    const CauseTree& tree_;
    std::vector<double> values_;
    double usual_ = 0;
    double of_normal_runs_ = 0;
    std::unordered_map<std::uint32_t, double> usual_of_host_;
};

}  // namespace lagtrap::server::reports
