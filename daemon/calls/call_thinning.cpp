#include "daemon/calls/call_thinning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lagtrap::daemon {
namespace {

// The debt that triggers detaching, in seconds' worth of the share. Soon after an earlier detach
// the limit is lower: the remaining calls run faster, and it takes less time to see whether they
// are too fast.
constexpr double max_owed_s = 0.3;
constexpr double max_owed_then_s = 0.1;
constexpr double second_ns = 1e9;
// Weight of the past at each check, so that bursts are forgotten. Shorter intervals forget less.
constexpr double kept_of_recent = 0.8;
constexpr double usual_look_ns = 20e6;
constexpr double first_looks_ns = 200e6;
constexpr double urgent_share = 0.2;  // fraction of the permitted debt

// Aim for this fraction of the share, because costs are measured with warm caches.
constexpr double aimed_at = 0.5;
// If functions have to be detached again soon, the estimate was too low: with cold caches a probe
// costs several times as much as measured, and the program speeds up more than expected. Aim lower
// each time, down to this.
constexpr double min_aimed_at = 0.06;
// Lower bound for the program's estimated speed under probes, as a fraction of its normal speed.
constexpr double min_left = 0.01;
// Probes in many functions run with cold caches: in thousands of functions they cost two to three
// times as much as measured with warm caches.
constexpr double cold_functions = 250;
constexpr double coldest = 2;
constexpr double max_of_cost = 0.9;

}  // namespace

double CallThinning::max_owed_ns() const {
    return share_ * (since_thinned_ns_ < second_ns ? max_owed_then_s : max_owed_s) * 1e9;
}

bool CallThinning::is_urgent() const {
    return looked_at_ns_ < first_looks_ns || owed_ns_ > urgent_share * max_owed_ns();
}

std::vector<std::uint32_t> CallThinning::most_expensive_first(std::size_t count) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t number = 0; number < count; ++number)
        if (!functions_[number].out) order.push_back(number);
    std::sort(order.begin(), order.end(), [&](std::uint32_t one, std::uint32_t other) {
        return functions_[one].recent_ns > functions_[other].recent_ns;
    });
    return order;
}

double CallThinning::colder(const std::vector<std::uint32_t>& order) const {
    double all_ns = 0, ns = 0, many = 0;
    for (const std::uint32_t number : order) all_ns += functions_[number].recent_ns;
    for (const std::uint32_t number : order) {
        if (ns > max_of_cost * all_ns) break;
        ns += functions_[number].recent_ns;
        ++many;
    }
    return 1 + std::min(coldest, many / cold_functions);
}

std::vector<calls::DetachedFunction> CallThinning::look(
    std::chrono::nanoseconds now, const std::vector<std::uint64_t>& hits,
    const std::vector<calls::Function>& functions, std::optional<std::chrono::nanoseconds> cpu) {
    const std::size_t count = std::min(hits.size(), functions.size());
    if (functions_.size() < count) functions_.resize(count);
    const bool first = last_.count() == 0;
    const auto elapsed_ns = first ? 0.0 : static_cast<double>((now - last_).count());
    last_ = now;
    looked_at_ns_ += elapsed_ns;
    double took_ns = 0;
    const double kept = std::pow(kept_of_recent, std::min(1.0, elapsed_ns / usual_look_ns));
    recent_elapsed_ns_ = recent_elapsed_ns_ * kept + elapsed_ns;
    const bool known = cpu && last_cpu_;
    const double cpu_ns = known ? static_cast<double>((*cpu - *last_cpu_).count()) : elapsed_ns;
    recent_cpu_ns_ = recent_cpu_ns_ * kept + cpu_ns;
    last_cpu_ = cpu;
    for (std::size_t number = 0; number < count; ++number) {
        Function& function = functions_[number];
        const auto more = static_cast<double>(hits[number] - std::min(hits[number], function.hits));
        function.hits = hits[number];
        const auto cost_ns = static_cast<double>(functions[number].cost.inside_ns +
                                                 functions[number].cost.around_ns);
        function.recent_ns = function.recent_ns * kept + more * cost_ns;
        function.recent_hits = function.recent_hits * kept + more;
        if (!function.out) took_ns += more * cost_ns;
    }
    if (first) return {};
    std::vector<std::uint32_t> order;
    if (took_ns > share_ * elapsed_ns) {
        order = most_expensive_first(count);
        took_ns = std::max(took_ns, std::min(took_ns * colder(order), cpu_ns));
    }
    owed_ns_ = std::max(0.0, owed_ns_ + took_ns - share_ * elapsed_ns);
    since_thinned_ns_ += elapsed_ns;
    const bool soon = since_thinned_ns_ < second_ns;
    if (owed_ns_ <= max_owed_ns()) return {};
    owed_ns_ = 0;
    aimed_at_ = soon ? std::max(min_aimed_at, aimed_at_ / 2) : aimed_at;
    since_thinned_ns_ = 0;

    if (order.empty()) order = most_expensive_first(count);
    double rate = 0;  // in CPUs
    for (const std::uint32_t number : order)
        rate += functions_[number].recent_ns / recent_elapsed_ns_;
    // Without the detached probes the program runs faster and calls the remaining functions more
    // often. The more functions, the less certain the estimate.
    const double times = colder(order);
    const double all_ns = rate * recent_elapsed_ns_;
    const double faster =
        1 / std::max(min_left, 1 - times * all_ns / std::max(recent_cpu_ns_, all_ns));
    const double most = share_ * aimed_at_ / times;
    std::vector<calls::DetachedFunction> out;
    for (const std::uint32_t number : order) {
        if (rate * faster <= most) break;
        Function& function = functions_[number];
        // Keep the traced function: without it there are no trees.
        if (functions[number].level == 0 || function.recent_ns <= 0) continue;
        rate -= function.recent_ns / recent_elapsed_ns_;
        function.out = true;
        out.push_back(
            {number, static_cast<std::uint64_t>(function.recent_hits / recent_elapsed_ns_ * 1e9)});
    }
    return out;
}

}  // namespace lagtrap::daemon
