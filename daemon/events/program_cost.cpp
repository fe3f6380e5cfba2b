#include "daemon/events/program_cost.hpp"

#include <numeric>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t enough_hits = 16;
// A program that takes this multiple of the median was interrupted.
constexpr std::uint64_t max_of_median = 4;

std::uint64_t middle_ns(std::size_t bucket) {
    const auto index = static_cast<std::uint32_t>(bucket);
    return (lagtrap_histogram_bucket_start_ns(index) +
            lagtrap_histogram_bucket_start_ns(index + 1)) /
           2;
}

}  // namespace

std::optional<std::uint64_t> program_cost_ns(const CostCounts& counts) {
    const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (total < enough_hits) return std::nullopt;
    std::size_t median = 0;
    for (std::uint64_t seen = counts[0]; seen * 2 < total; seen += counts[median]) ++median;
    std::uint64_t sum_ns = 0, measured = 0;
    for (std::size_t bucket = 0; bucket + 1 < counts.size(); ++bucket) {
        if (middle_ns(bucket) > middle_ns(median) * max_of_median) break;
        sum_ns += counts[bucket] * middle_ns(bucket);
        measured += counts[bucket];
    }
    if (measured == 0) return std::nullopt;
    return sum_ns / measured;
}

}  // namespace lagtrap::daemon
