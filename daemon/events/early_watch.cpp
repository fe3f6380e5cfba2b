#include "daemon/events/early_watch.hpp"

#include <algorithm>
#include <utility>

#include "core/clock.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t learning_interval_ns = 5'000'000'000;
// Early recordings need checks every fifth of the smallest threshold, so that few are needed even
// when runs begin and end all the time.
constexpr std::uint64_t looks_of_threshold = 5;
constexpr std::chrono::nanoseconds min_interval = 2ms, max_interval = 20ms;

using Thresholds = std::vector<std::chrono::nanoseconds>;

// 0 if the threshold follows from runs that are not known yet.
std::chrono::nanoseconds known_threshold(std::chrono::nanoseconds threshold,
                                         bool follows_from_runs) {
    return follows_from_runs && threshold >= settings::max_threshold ? 0ns : threshold;
}

Thresholds thresholds_of(const settings::Settings& settings) {
    Thresholds thresholds;
    for (const settings::Event& event : settings.events)
        thresholds.push_back(known_threshold(event.threshold, event.threshold_rule.has_value()));
    return thresholds;
}

std::uint64_t share_of(const settings::Settings& settings) {
    return settings.history.early_share_ppm;
}

std::chrono::nanoseconds longest_of(const Thresholds& thresholds) {
    return thresholds.empty() ? 0ns : *std::ranges::max_element(thresholds);
}

std::uint64_t interval_of(const Thresholds& thresholds) {
    std::chrono::nanoseconds smallest = max_interval * looks_of_threshold;
    for (const std::chrono::nanoseconds threshold : thresholds)
        if (threshold.count() > 0) smallest = std::min(smallest, threshold);
    return static_cast<std::uint64_t>(std::clamp<std::chrono::nanoseconds>(
                                          smallest / looks_of_threshold, min_interval, max_interval)
                                          .count());
}

}  // namespace

EarlyWatch::EarlyWatch(const settings::Settings& settings)
    : thresholds_(thresholds_of(settings)),
      points_(thresholds_, share_of(settings)),
      budget_(share_of(settings), longest_of(thresholds_)),
      look_interval_ns_(interval_of(thresholds_)) {
    if (share_of(settings) != 0) counts_.since_ns = monotonic_ns();
}

void EarlyWatch::set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold) {
    thresholds_[event] = known_threshold(threshold, true);
    points_.set_threshold(event, static_cast<std::uint64_t>(thresholds_[event].count()));
    budget_.set_longest(longest_of(thresholds_));
    look_interval_ns_ = interval_of(thresholds_);
    points_.choose();
}

bool EarlyWatch::learn(std::uint64_t now_ns, const CountsOf& counts_of) {
    if (counts_.since_ns == 0 || now_ns < next_learning_ns_) return false;
    next_learning_ns_ = now_ns + learning_interval_ns;
    for (std::uint32_t event = 0; event < points_ns().size(); ++event)
        if (const auto counted = counts_of(event)) points_.learn(event, *counted, now_ns);
    const std::vector<std::uint64_t> before = points_ns();
    points_.choose();
    return points_ns() != before;
}

EarlyWatch::Action EarlyWatch::take_look(std::uint32_t early_pid, bool wanted,
                                         std::uint64_t now_ns) {
    const bool is_early = early_pid != 0;
    if (!is_early) held_back_ = false;
    if (is_on()) {
        if (is_early && wanted) return Action::None;
        end(now_ns);
        ++counts_.dropped;
        return Action::Discard;
    }
    if (!is_early || !wanted || held_back_) return Action::None;
    if (!budget_.has_room(now_ns)) {
        held_back_ = true;
        ++counts_.held_back;
        return Action::None;
    }
    began_ns_ = now_ns;
    ++counts_.begun;
    return Action::Begin;
}

void EarlyWatch::take_breach(std::uint64_t now_ns) {
    if (!is_on()) return;
    end(now_ns);
    ++counts_.kept;
}

void EarlyWatch::outgrow(std::uint64_t now_ns) {
    if (!is_on()) return;
    end(now_ns);
    held_back_ = true;
    ++counts_.dropped;
    ++counts_.outgrown;
}

void EarlyWatch::end(std::uint64_t now_ns) {
    const std::uint64_t took_ns = now_ns - std::min(now_ns, std::exchange(began_ns_, 0));
    counts_.time_ns += took_ns;
    budget_.pay(took_ns + static_cast<std::uint64_t>(
                              std::chrono::nanoseconds(EarlyPoints::time_around).count()));
}

EarlyCounts EarlyWatch::counts(std::uint64_t now_ns) const {
    EarlyCounts counts = counts_;
    if (is_on()) counts.time_ns += now_ns - std::min(now_ns, began_ns_);
    return counts;
}

}  // namespace lagtrap::daemon
