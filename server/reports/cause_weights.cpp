#include "server/reports/cause_weights.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::server::reports {

namespace {

constexpr double nearly_all = 0.99;

double weight_among(std::size_t runs) {
    return std::min(1.0, runs_of_a_host / static_cast<double>(runs));
}

}  // namespace

RunWeights weigh_runs(const CauseTree& tree) {
    RunWeights weights;
    weights.of_run.assign(tree.runs().size(), 0);
    for (std::uint32_t i = 0; i < tree.runs().size(); ++i) {
        const TreeRun& run = tree.runs()[i];
        HostRuns& host = weights.hosts[run.host];
        (run.delayed ? host.delayed : host.normal).push_back(i);
        ++(run.delayed ? weights.delayed : weights.normal);
    }
    double without_own = 0;
    double normal_sum = 0;
    for (const auto& [number, host] : weights.hosts) {
        if (!host.normal.empty())
            normal_sum +=
                weight_among(host.normal.size()) * static_cast<double>(host.normal.size());
        if (host.delayed.empty()) continue;
        const double weight = weight_among(host.delayed.size());
        const double sum = weight * static_cast<double>(host.delayed.size());
        weights.delayed_sum += sum;
        for (const std::uint32_t run : host.delayed) weights.of_run[run] = weight;
        if (host.normal.size() < own_normal_runs) {
            without_own += sum;
        } else {
            for (const std::uint32_t run : host.normal) {
                weights.of_run[run] -= sum / static_cast<double>(host.normal.size());
            }
        }
    }
    for (const auto& [number, host] : weights.hosts) {
        for (const std::uint32_t run : host.normal) {
            weights.of_run[run] -= without_own * weight_among(host.normal.size()) / normal_sum;
        }
    }
    return weights;
}

Excess::Excess(const CauseTree& tree, const RunWeights& weights, std::vector<double> values)
    : tree_(tree), values_(std::move(values)) {
    double sum = 0;
    double weight_sum = 0;
    for (const auto& [number, host] : weights.hosts) {
        if (host.normal.empty()) continue;
        double host_sum = 0;
        for (const std::uint32_t run : host.normal) host_sum += values_[run];
        const double mean = host_sum / static_cast<double>(host.normal.size());
        if (host.normal.size() >= own_normal_runs) usual_of_host_[number] = mean;
        const double weight = std::min(runs_of_a_host, static_cast<double>(host.normal.size()));
        sum += mean * weight;
        weight_sum += weight;
    }
    usual_ = weight_sum > 0 ? sum / weight_sum : 0;
    std::vector<double> normal;
    normal.reserve(weights.normal);
    for (const auto& [number, host] : weights.hosts) {
        for (const std::uint32_t run : host.normal) normal.push_back(of(run));
    }
    if (normal.empty()) return;
    const auto rank =
        static_cast<std::ptrdiff_t>(nearly_all * static_cast<double>(normal.size() - 1));
    std::nth_element(normal.begin(), normal.begin() + rank, normal.end());
    of_normal_runs_ = std::max(normal[static_cast<std::size_t>(rank)], 0.0);
}

double Excess::of(std::uint32_t run) const {
    const auto own = usual_of_host_.find(tree_.runs()[run].host);
    return values_[run] - (own == usual_of_host_.end() ? usual_ : own->second);
}

}  // namespace lagtrap::server::reports
