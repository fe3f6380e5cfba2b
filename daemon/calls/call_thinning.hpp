// Detaches functions that are called too often for the budget of a call trace, most expensive
// first.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "calls/call_stream.hpp"

namespace lagtrap::daemon {

// The cost is the CPU time of the probes, as a share of one CPU.
class CallThinning {
  public:
    // `share`: 0.1 is a tenth of a CPU.
    explicit CallThinning(double share) : share_(share) {}

    // Takes effect at the next look().
    void set_share(double share) { share_ = share; }

    // `hits` has the total of each function so far, `functions` the cost of a call. Returns the
    // functions to detach now, most expensive first, and each function only once. A burst of some
    // tens of milliseconds detaches nothing. `cpu` is the total CPU time of the process; nullopt:
    // assume that it uses one CPU all the time.
    [[nodiscard]] std::vector<calls::DetachedFunction> look(
        std::chrono::nanoseconds now, const std::vector<std::uint64_t>& hits,
        const std::vector<calls::Function>& functions,
        std::optional<std::chrono::nanoseconds> cpu = std::nullopt);

    // True if the next look() should follow at once: right after the start, or with much debt,
    // every moment slows the program.
    [[nodiscard]] bool is_urgent() const;

  private:
    struct Function {
        std::uint64_t hits = 0;  // at the last look
        double recent_ns = 0;    // recent CPU time of its probes
        double recent_hits = 0;
        bool out = false;
    };
    // The debt that is tolerated before functions are detached.
    [[nodiscard]] double max_owed_ns() const;
    // The attached functions among the first `count`, most expensive first.
    [[nodiscard]] std::vector<std::uint32_t> most_expensive_first(std::size_t count) const;
    // Factor by which probes of these functions cost more than measured, because of cold caches.
    // `order` is most expensive first.
    [[nodiscard]] double colder(const std::vector<std::uint32_t>& order) const;

    double share_;
    double looked_at_ns_ = 0;  // time between the first and the last look
    double recent_cpu_ns_ = 0;
    double recent_elapsed_ns_ = 0;
    double owed_ns_ = 0;              // CPU time used beyond the share so far
    double since_thinned_ns_ = 1e18;  // since the last detach
    double aimed_at_ = 1;             // target, as a fraction of the share
    std::chrono::nanoseconds last_{0};
    std::optional<std::chrono::nanoseconds> last_cpu_;
    std::vector<Function> functions_;
};

}  // namespace lagtrap::daemon
