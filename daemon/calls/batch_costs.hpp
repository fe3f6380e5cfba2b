// The cost of probes from measured calls. Uses neither the kernel nor a clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "calls/call_tree.hpp"
#include "daemon/calls/call_costs.hpp"

namespace lagtrap::daemon {

// Pairs of an entry and an exit, in the order of CallCosts::Table.
inline constexpr std::size_t probe_pairs = 6;

// 0 if there are none; the upper one of two in the middle.
[[nodiscard]] std::uint64_t median_ns(std::vector<std::uint64_t> values_ns);
// The mean without values over 1.5 medians, which were interrupted: Interruptions counts those. Not
// the median, because the sum of many calls should be right. 0 if there are none.
[[nodiscard]] std::uint64_t usual_ns(const std::vector<std::uint64_t>& values_ns);

// Cost of one pair in one batch, including the work of the function.
struct BatchCost {
    std::uint64_t inside_ns = 0;
    // From the end of a call to the next begin. The part of an entry before the program runs is
    // nearly the same for all kinds, so the gap counts as the call's own.
    std::uint64_t gap_ns = 0;
};
using BatchCosts = std::array<BatchCost, probe_pairs>;

// `tree` has an outer call and `rounds` calls of each of the functions 1 to probe_pairs. nullopt if
// it has others, or if some did not return.
[[nodiscard]] std::optional<BatchCosts> batch_costs(const calls::Tree& tree, std::uint64_t rounds);

// Medians over the last batches, so that a disturbed one has little effect.
class MeasuredCosts {
  public:
    // A disturbance of the machine may last as long as several batches.
    static constexpr std::size_t batches = 5;

    void add(const BatchCosts& batch);
    [[nodiscard]] bool empty() const { return measured_[0].inside_ns.empty(); }
    // `work_ns` is the functions' own work, `slowdown` that of interruptions.
    [[nodiscard]] CallCosts::Table table(std::uint64_t work_ns, double slowdown) const;

  private:
    struct Pair {
        std::deque<std::uint64_t> inside_ns, gap_ns;
    };
    std::array<Pair, probe_pairs> measured_;
};

}  // namespace lagtrap::daemon
