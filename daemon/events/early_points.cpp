#include "daemon/events/early_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace lagtrap::daemon {
namespace {

// Latest point, as a fraction of the threshold. A later one would show no more than the breach
// does.
constexpr double latest_part = 0.875;
constexpr double earliest_part = 1.0 / 16;
constexpr double step = 1.189207115;  // four steps for each power of two, like the histogram

double saved_for(std::chrono::nanoseconds longest) {
    return static_cast<double>(
        std::max<std::chrono::nanoseconds>(longest, std::chrono::seconds(2)).count());
}

std::uint64_t end_of_bucket(std::size_t bucket) {
    return bucket + 1 < LAGTRAP_HISTOGRAM_BUCKETS
               ? lagtrap_histogram_bucket_start_ns(static_cast<std::uint32_t>(bucket + 1))
               : LAGTRAP_NEVER_NS;
}

}  // namespace

EarlyPoints::EarlyPoints(std::vector<std::chrono::nanoseconds> thresholds, std::uint64_t share_ppm)
    : share_(static_cast<double>(share_ppm) / 1e6), learned_(thresholds.size()) {
    for (const auto threshold : thresholds)
        thresholds_ns_.push_back(static_cast<std::uint64_t>(threshold.count()));
    choose();
}

void EarlyPoints::learn(std::size_t event, const Histogram& counted, std::uint64_t now_ns) {
    Learned& learned = learned_[event];
    const std::uint64_t passed_ns =
        learned.at_ns == 0 ? 0 : now_ns - std::min(now_ns, learned.at_ns);
    const double keep = std::exp2(-static_cast<double>(passed_ns) /
                                  static_cast<double>(std::chrono::nanoseconds(half_life).count()));
    learned.time_ns = learned.time_ns * keep + static_cast<double>(passed_ns);
    for (std::size_t i = 0; i < counted.size(); ++i) {
        const std::uint64_t runs =
            learned.at_ns == 0 ? 0 : counted[i] - std::min(counted[i], learned.before[i]);
        learned.runs[i] = learned.runs[i] * keep + static_cast<double>(runs);
    }
    learned.before = counted;
    learned.at_ns = now_ns;
}

std::uint64_t EarlyPoints::least_of(std::size_t event) const {
    const auto part_ns =
        static_cast<std::uint64_t>(static_cast<double>(thresholds_ns_[event]) * earliest_part);
    return std::max(part_ns, static_cast<std::uint64_t>(std::chrono::nanoseconds(least).count()));
}

// Share of the time that runs of this event would be recorded early. Each run counts with the
// longest duration of its bucket.
double EarlyPoints::share_at(std::size_t event, std::uint64_t point_ns) const {
    const Learned& learned = learned_[event];
    if (learned.time_ns <= 0) return 0;
    double taken_ns = 0;
    for (std::size_t i = 0; i < learned.runs.size(); ++i) {
        const std::uint64_t until_ns = std::min(end_of_bucket(i), thresholds_ns_[event]);
        if (end_of_bucket(i) <= point_ns) continue;
        const double each_ns = static_cast<double>(until_ns - std::min(until_ns, point_ns)) +
                               static_cast<double>(std::chrono::nanoseconds(time_around).count());
        taken_ns += learned.runs[i] * each_ns;
    }
    return taken_ns / learned.time_ns;
}

std::uint64_t EarlyPoints::smallest_within(std::size_t event, double share) const {
    const double latest_ns = static_cast<double>(thresholds_ns_[event]) * latest_part;
    for (auto point_ns = static_cast<double>(least_of(event)); point_ns <= latest_ns;
         point_ns *= step)
        if (share_at(event, static_cast<std::uint64_t>(point_ns)) <= share)
            return static_cast<std::uint64_t>(point_ns);
    return LAGTRAP_NEVER_NS;
}

// Cheap events come first; what they leave is shared by the others.
void EarlyPoints::choose() {
    points_ns_.assign(thresholds_ns_.size(), LAGTRAP_NEVER_NS);
    if (share_ <= 0) return;
    std::vector<std::pair<double, std::size_t>> needs;
    for (std::size_t event = 0; event < thresholds_ns_.size(); ++event)
        needs.emplace_back(share_at(event, least_of(event)), event);
    std::sort(needs.begin(), needs.end());
    double left = share_;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        const std::size_t event = needs[i].second;
        const std::uint64_t point_ns =
            smallest_within(event, left / static_cast<double>(needs.size() - i));
        points_ns_[event] = point_ns;
        if (point_ns != LAGTRAP_NEVER_NS) left -= share_at(event, point_ns);
    }
}

EarlyBudget::EarlyBudget(std::uint64_t share_ppm, std::chrono::nanoseconds longest)
    : share_(static_cast<double>(share_ppm) / 1e6),
      max_ns_(saved_for(longest)),
      saved_ns_(max_ns_) {}

void EarlyBudget::set_longest(std::chrono::nanoseconds longest) {
    max_ns_ = saved_for(longest);
    saved_ns_ = std::min(saved_ns_, max_ns_);
}

bool EarlyBudget::has_room(std::uint64_t now_ns) {
    if (looked_ns_ != 0)
        saved_ns_ = std::min(
            max_ns_,
            saved_ns_ + share_ * static_cast<double>(now_ns - std::min(now_ns, looked_ns_)));
    looked_ns_ = now_ns;
    return saved_ns_ > 0;
}

}  // namespace lagtrap::daemon
