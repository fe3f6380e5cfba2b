#include "daemon/calls/call_thinning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lagtrap::daemon {
namespace {

// What may be owed before something is taken out, in seconds' shares. Once something was, what stays runs faster, perhaps too fast:
// that is known sooner.
constexpr double most_owed_s = 0.3;
constexpr double most_owed_then_s = 0.1;
constexpr double second_ns = 1e9;
// How much of what was lately counts at each look, so that a burst is forgotten; less is forgotten where looks follow each other sooner.
constexpr double kept_of_recent = 0.8;
constexpr double usual_look_ns = 20e6;
constexpr double first_looks_ns = 200e6;
constexpr double urgent_share = 0.2;  // of what may be owed

// Once something has to go, the rest shall be well within the share: costs are measured with warm caches.
constexpr double aimed_at = 0.5;
// Who has to take something out again so soon had foreseen too little: with cold caches a probe costs several times what was
// measured, and the program gets faster than was thought.
constexpr double least_aimed_at = 0.06;
// Of the program's own speed, while probes slow it down; less is not believed.
constexpr double least_left = 0.01;
// Probes of many functions have cold caches: those of thousands cost two to three times what was measured with warm ones.
constexpr double cold_functions = 250;
constexpr double coldest = 2;
constexpr double most_of_cost = 0.9;

}  // namespace

double CallThinning::most_owed_ns() const {
    return share_ * (since_thinned_ns_ < second_ns ? most_owed_then_s : most_owed_s) * 1e9;
}

bool CallThinning::is_urgent() const {
    return looked_at_ns_ < first_looks_ns || owed_ns_ > urgent_share * most_owed_ns();
}

std::vector<std::uint32_t> CallThinning::dearest_first(std::size_t count) const {
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
        if (ns > most_of_cost * all_ns) break;
        ns += functions_[number].recent_ns;
        ++many;
    }
    return 1 + std::min(coldest, many / cold_functions);
}

std::vector<calls::TakenOut> CallThinning::look(std::chrono::nanoseconds now, const std::vector<std::uint64_t>& hits,
                                                const std::vector<calls::Function>& functions,
                                                std::optional<std::chrono::nanoseconds> cpu) {
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
        const auto cost_ns = static_cast<double>(functions[number].cost.inside_ns + functions[number].cost.around_ns);
        function.recent_ns = function.recent_ns * kept + more * cost_ns;
        function.recent_hits = function.recent_hits * kept + more;
        if (!function.out) took_ns += more * cost_ns;
    }
    if (first) return {};
    std::vector<std::uint32_t> order;
    if (took_ns > share_ * elapsed_ns) {
        order = dearest_first(count);
        took_ns = std::max(took_ns, std::min(took_ns * colder(order), cpu_ns));
    }
    owed_ns_ = std::max(0.0, owed_ns_ + took_ns - share_ * elapsed_ns);
    since_thinned_ns_ += elapsed_ns;
    const bool soon = since_thinned_ns_ < second_ns;
    if (owed_ns_ <= most_owed_ns()) return {};
    owed_ns_ = 0;
    aimed_at_ = soon ? std::max(least_aimed_at, aimed_at_ / 2) : aimed_at;
    since_thinned_ns_ = 0;

    if (order.empty()) order = dearest_first(count);
    double rate = 0;  // of a CPU
    for (const std::uint32_t number : order) rate += functions_[number].recent_ns / recent_elapsed_ns_;
    // Without the probes that go now the program is faster, and so are calls of what stays. Where many go, less is sure.
    const double times = colder(order);
    const double all_ns = rate * recent_elapsed_ns_;
    const double faster = 1 / std::max(least_left, 1 - times * all_ns / std::max(recent_cpu_ns_, all_ns));
    const double most = share_ * aimed_at_ / times;
    std::vector<calls::TakenOut> out;
    for (const std::uint32_t number : order) {
        if (rate * faster <= most) break;
        Function& function = functions_[number];
        // The function that the trace is of stays: without it there is none.
        if (functions[number].level == 0 || function.recent_ns <= 0) continue;
        rate -= function.recent_ns / recent_elapsed_ns_;
        function.out = true;
        out.push_back({number, static_cast<std::uint64_t>(function.recent_hits / recent_elapsed_ns_ * 1e9)});
    }
    return out;
}

}  // namespace lagtrap::daemon
