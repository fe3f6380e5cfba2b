// Medians and quantiles of values in memory.
#pragma once

#include <algorithm>
#include <vector>

namespace lagtrap::server::reports {

// Interpolates linearly between the two nearest values. `sorted` must not be empty; `share` is 0 to
// 1.
inline double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

}  // namespace lagtrap::server::reports
