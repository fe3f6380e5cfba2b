#include "server/reports/host_tests.hpp"

#include <algorithm>
#include <map>

#include "server/reports/rank_test.hpp"

namespace lagtrap::server::reports {
namespace {

constexpr std::size_t runs_tested_of_a_host = 20;
// If fewer hosts than many_hosts have delays, each may contribute more runs to the test.
constexpr std::size_t many_hosts = 3;
constexpr std::size_t runs_tested_of_few_hosts = 200;

}  // namespace

double rank_p_value(const RunWeights& weights, const std::vector<double>& values,
                    std::size_t min_runs) {
    std::size_t delayed_hosts = 0;
    for (const auto& [number, host] : weights.hosts) delayed_hosts += host.delayed.empty() ? 0 : 1;
    const std::size_t most =
        delayed_hosts < many_hosts ? runs_tested_of_few_hosts : runs_tested_of_a_host;
    const auto sample = [&](const std::vector<std::uint32_t>& runs) {
        std::vector<double> picked;
        const std::size_t count = std::min(runs.size(), most);
        for (std::size_t i = 0; i < count; ++i)
            picked.push_back(values[runs[i * runs.size() / count]]);
        return picked;
    };
    const auto mean = [&](const std::vector<std::uint32_t>& runs) {
        double sum = 0;
        for (const std::uint32_t run : runs) sum += values[run];
        return sum / static_cast<double>(runs.size());
    };
    std::vector<RankGroup> groups;
    RankGroup between;
    std::vector<double> all_normal;
    std::map<std::uint32_t, const HostRuns*> ordered;
    for (const auto& [number, host] : weights.hosts) ordered[number] = &host;
    for (const auto& [number, host] : ordered) {
        if (!host->normal.empty()) all_normal.push_back(mean(host->normal));
        if (!host->delayed.empty() && !host->normal.empty()) {
            groups.push_back({sample(host->delayed), sample(host->normal)});
        } else if (!host->delayed.empty()) {
            between.delayed.push_back(mean(host->delayed));
        } else {
            between.normal.push_back(mean(host->normal));
        }
    }
    if (between.normal.size() < min_runs) between.normal = std::move(all_normal);
    groups.push_back(std::move(between));
    return rank_test(groups);
}

double count_p_value(const RunWeights& weights, const Excess& excess, double much,
                     std::size_t min_runs) {
    const auto above = [&](std::uint32_t run) { return excess.of(run) >= much; };
    const auto counted = [&](const std::vector<std::uint32_t>& runs) {
        return static_cast<std::size_t>(std::ranges::count_if(runs, above));
    };
    const auto half = [&](const std::vector<std::uint32_t>& runs) {
        return counted(runs) * 2 > runs.size() ? 1U : 0U;
    };
    std::vector<CountGroup> groups;
    CountGroup between;
    CountGroup all_normal;
    for (const auto& [number, host] : weights.hosts) {
        if (!host.normal.empty()) {
            ++all_normal.normal;
            all_normal.normal_above += half(host.normal);
        }
        if (!host.delayed.empty() && !host.normal.empty()) {
            groups.push_back({host.delayed.size(), host.normal.size(), counted(host.delayed),
                              counted(host.normal)});
        } else if (!host.delayed.empty()) {
            ++between.delayed;
            between.delayed_above += half(host.delayed);
        } else {
            ++between.normal;
            between.normal_above += half(host.normal);
        }
    }
    if (between.normal < min_runs) {
        between.normal = all_normal.normal;
        between.normal_above = all_normal.normal_above;
    }
    groups.push_back(between);
    return count_test(groups);
}

}  // namespace lagtrap::server::reports
