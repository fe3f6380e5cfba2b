#include "cli/status/histogram.hpp"

#include "cli/control/status_fields.hpp"

namespace lagtrap::cli {

std::vector<HistogramBucket> histogram_of(const boost::json::object& event) {
    std::vector<HistogramBucket> buckets;
    const auto* value = event.if_contains("histogram");
    if (value == nullptr || !value->is_array()) return buckets;
    for (const auto& entry : value->as_array()) {
        if (!entry.is_object()) continue;
        const boost::json::object& bucket = entry.as_object();
        buckets.push_back(
            {number(bucket, "from_ns"), number(bucket, "to_ns"), number(bucket, "count")});
    }
    return buckets;
}

std::uint64_t percentile_ns(const std::vector<HistogramBucket>& histogram, double share) {
    double total = 0;
    for (const HistogramBucket& bucket : histogram) total += static_cast<double>(bucket.count);
    double wanted = total * share;
    std::uint64_t last_ns = 0;
    for (const HistogramBucket& bucket : histogram) {
        if (bucket.count == 0 || bucket.to_ns < bucket.from_ns) continue;
        const auto count = static_cast<double>(bucket.count);
        last_ns = bucket.to_ns;
        if (wanted <= count) {
            const double length = static_cast<double>(bucket.to_ns - bucket.from_ns);
            return bucket.from_ns + static_cast<std::uint64_t>(length * wanted / count);
        }
        wanted -= count;
    }
    return last_ns;
}

}  // namespace lagtrap::cli
