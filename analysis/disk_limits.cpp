#include "analysis/disk_limits.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/parts.hpp"

namespace lagtrap::analysis {

namespace {

using LimitKey = std::tuple<NameId, NameId, bool, std::uint64_t, std::uint64_t>;

LimitKey key_of(const DiskLimit& limit) {
    return {limit.disk, limit.group, limit.writes, limit.bytes_per_s, limit.operations_per_s};
}

// The last one noted in the wait; nullptr if there is none.
const DiskLimit* limit_of(const Recording& recording, const Interval& wait) {
    const std::uint64_t begin_ns =
        wait.since_ns != 0 ? std::min(wait.since_ns, wait.begin_ns) : wait.begin_ns;
    const std::vector<DiskLimit>& limits = recording.disk_limits;
    auto limit = std::lower_bound(
        limits.begin(), limits.end(), wait.end_ns,
        [](const DiskLimit& one, std::uint64_t at_ns) { return one.at_ns < at_ns; });
    while (limit != limits.begin() && (--limit)->at_ns >= begin_ns)
        if (limit->tid == wait.tid) return &*limit;
    return nullptr;
}

}  // namespace

HeldBack held_back_in(const Recording& recording, const std::vector<Interval>& waits) {
    HeldBack found;
    if (recording.disk_limits.empty()) return found;
    std::map<LimitKey, std::uint64_t> times;
    std::uint64_t whole_ns = 0;
    for (const Interval& wait : waits) {
        if (!wait.counted) whole_ns += wait.length_ns();
        if (const DiskLimit* limit = limit_of(recording, wait))
            times[key_of(*limit)] += wait.length_ns();
    }
    for (const auto& [key, time_ns] : times) {
        if (!is_most(time_ns, whole_ns)) continue;
        found.disk = recording.name(std::get<0>(key));
        found.group = recording.name(std::get<1>(key));
        std::tie(std::ignore, std::ignore, found.writes, found.bytes_per_s,
                 found.operations_per_s) = key;
    }
    return found;
}

}  // namespace lagtrap::analysis
