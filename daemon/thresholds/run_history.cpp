#include "daemon/thresholds/run_history.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lagtrap::daemon {
namespace {

// Runs in `now` that are not in `before`. If a count is smaller, counting began anew.
RunHistogram difference(const RunHistogram& now, const RunHistogram& before) {
    RunHistogram added = now;
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] < before[i]) return now;
        added[i] -= before[i];
    }
    return added;
}

void add(std::vector<BucketCount>& to, const RunHistogram& runs) {
    RunHistogram sum = runs;
    for (const BucketCount& count : to) sum[count.bucket] += count.runs;
    to.clear();
    for (std::uint32_t bucket = 0; bucket < sum.size(); ++bucket)
        if (sum[bucket] != 0) to.push_back({bucket, sum[bucket]});
}

}  // namespace

std::uint64_t runs_in(const RunHistogram& histogram) {
    return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::uint64_t moved(std::uint64_t value, std::int64_t by) {
    if (by >= 0) return value + static_cast<std::uint64_t>(by);
    return value - std::min(value, static_cast<std::uint64_t>(-by));
}

std::uint64_t bucket_end_ns(std::size_t bucket) {
    if (bucket + 1 >= LAGTRAP_HISTOGRAM_BUCKETS) return LAGTRAP_NEVER_NS;
    return lagtrap_histogram_bucket_start_ns(static_cast<std::uint32_t>(bucket + 1));
}

RunHistogram EventRuns::sum(std::uint64_t after_ns) const {
    RunHistogram sum{};
    for (const HourOfRuns& hour : hours) {
        if ((hour.hour + 1) * RunHistory::hour_ns <= after_ns) continue;
        for (const BucketCount& count : hour.buckets) sum[count.bucket] += count.runs;
    }
    return sum;
}

RunHistory::RunHistory(std::map<std::string, EventRuns> stored, std::uint64_t now_ns)
    : events_(std::move(stored)) {
    std::uint64_t newest = 0;
    for (const auto& [name, event] : events_)
        if (!event.hours.empty()) newest = std::max(newest, event.hours.back().hour);
    if (const std::uint64_t now = now_ns / hour_ns; newest > now)
        move(-static_cast<std::int64_t>((newest - now) * hour_ns));
    forget_old(now_ns);
}

RunHistogram RunHistory::note(const std::string& name, const std::string& identity,
                              const RunHistogram& totals, std::uint64_t now_ns) {
    EventRuns& event = events_[name];
    const auto before = totals_.find(name);
    if (event.identity != identity) {
        const bool counted_before = before != totals_.end();
        event = {identity, now_ns, {}};
        if (counted_before) {
            before->second = totals;
            return {};
        }
    }
    const RunHistogram added =
        before == totals_.end() ? totals : difference(totals, before->second);
    totals_[name] = totals;
    if (runs_in(added) == 0) return added;
    std::uint64_t hour = now_ns / hour_ns;
    if (!event.hours.empty()) hour = std::max(hour, event.hours.back().hour);
    if (event.hours.empty() || event.hours.back().hour != hour) event.hours.push_back({hour, {}});
    add(event.hours.back().buckets, added);
    return added;
}

void RunHistory::forget_old(std::uint64_t now_ns) {
    const std::uint64_t now = now_ns / hour_ns;
    std::map<std::uint64_t, std::size_t> buckets;  // by hour
    for (auto& [name, event] : events_) {
        while (!event.hours.empty() && event.hours.front().hour + hours_kept <= now)
            event.hours.pop_front();
        for (const HourOfRuns& hour : event.hours) buckets[hour.hour] += hour.buckets.size();
    }
    std::size_t left = buckets_kept;
    std::uint64_t oldest = 0;
    for (auto hour = buckets.rbegin(); hour != buckets.rend() && oldest == 0; ++hour) {
        if (hour->second > left) oldest = hour->first + 1;
        left -= std::min(left, hour->second);
    }
    for (auto& [name, event] : events_)
        while (!event.hours.empty() && event.hours.front().hour < oldest) event.hours.pop_front();
    std::erase_if(events_, [&](const auto& event) {
        return event.second.hours.empty() && event.second.since_ns / hour_ns + hours_kept <= now;
    });
    // Those of the settings in use are at most settings::events_limit.
    for (auto event = events_.begin(); event != events_.end() && events_.size() > events_kept;)
        event = totals_.contains(event->first) ? std::next(event) : events_.erase(event);
}

void RunHistory::move(std::int64_t by_ns) {
    const auto hour = static_cast<std::int64_t>(hour_ns);
    const std::int64_t hours = (by_ns + (by_ns < 0 ? -hour : hour) / 2) / hour;
    for (auto& [name, event] : events_) {
        event.since_ns = moved(event.since_ns, by_ns);
        for (HourOfRuns& one : event.hours) one.hour = moved(one.hour, hours);
    }
}

const EventRuns* RunHistory::of(const std::string& event) const {
    const auto found = events_.find(event);
    return found == events_.end() ? nullptr : &found->second;
}

}  // namespace lagtrap::daemon
