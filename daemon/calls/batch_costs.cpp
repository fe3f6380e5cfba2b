#include "daemon/calls/batch_costs.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

std::uint64_t median_of_batches(const std::deque<std::uint64_t>& values_ns) {
    return median_ns({values_ns.begin(), values_ns.end()});
}

}  // namespace

std::uint64_t median_ns(std::vector<std::uint64_t> values_ns) {
    if (values_ns.empty()) return 0;
    const auto middle = values_ns.begin() + static_cast<std::ptrdiff_t>(values_ns.size() / 2);
    std::nth_element(values_ns.begin(), middle, values_ns.end());
    return *middle;
}

std::uint64_t usual_ns(const std::vector<std::uint64_t>& values_ns) {
    if (values_ns.empty()) return 0;
    const std::uint64_t max_ns = median_ns(values_ns) * 3 / 2;
    std::uint64_t sum_ns = 0, count = 0;
    for (const std::uint64_t value_ns : values_ns) {
        if (value_ns > max_ns) continue;
        sum_ns += value_ns;
        ++count;
    }
    return sum_ns / count;
}

std::optional<BatchCosts> batch_costs(const calls::Tree& tree, std::uint64_t rounds) {
    if (tree.calls.size() != 1 + rounds * probe_pairs) return std::nullopt;
    std::array<std::vector<std::uint64_t>, probe_pairs> inside, gaps;
    for (std::size_t number = 1; number < tree.calls.size(); ++number) {
        const calls::Call& call = tree.calls[number];
        if (call.function == 0 || call.function > probe_pairs ||
            call.end != calls::CallEnd::Returned)
            return std::nullopt;
        inside[call.function - 1].push_back(call.end_ns - call.begin_ns);
        if (number + 1 < tree.calls.size())
            gaps[call.function - 1].push_back(
                tree.calls[number + 1].begin_ns -
                std::min(call.end_ns, tree.calls[number + 1].begin_ns));
    }
    BatchCosts costs;
    for (std::size_t pair = 0; pair < probe_pairs; ++pair)
        costs[pair] = {usual_ns(inside[pair]), usual_ns(gaps[pair])};
    return costs;
}

void MeasuredCosts::add(const BatchCosts& batch) {
    for (std::size_t pair = 0; pair < probe_pairs; ++pair) {
        Pair& own = measured_[pair];
        own.inside_ns.push_back(batch[pair].inside_ns);
        own.gap_ns.push_back(batch[pair].gap_ns);
        if (own.inside_ns.size() > batches) own.inside_ns.pop_front();
        if (own.gap_ns.size() > batches) own.gap_ns.pop_front();
    }
}

CallCosts::Table MeasuredCosts::table(std::uint64_t work_ns, double slowdown) const {
    const auto slowed = [&](std::uint64_t ns) {
        return static_cast<std::uint64_t>(static_cast<double>(ns) * slowdown);
    };
    CallCosts::Table table{};
    for (std::size_t pair = 0; pair < probe_pairs; ++pair) {
        const std::uint64_t inside_ns = median_of_batches(measured_[pair].inside_ns);
        table[pair / 3][pair % 3] = {slowed(inside_ns - std::min(inside_ns, work_ns)),
                                     slowed(median_of_batches(measured_[pair].gap_ns))};
    }
    return table;
}

}  // namespace lagtrap::daemon
