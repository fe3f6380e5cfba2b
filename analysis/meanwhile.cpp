#include "analysis/meanwhile.hpp"

#include <algorithm>

#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t beginnings_limit = 20;
constexpr std::uint32_t kernel_threads_parent = 2;

std::int64_t offset_of(std::uint64_t at_ns, const trace::Delay& delay) {
    return static_cast<std::int64_t>(at_ns - delay.begin_ns);
}

}  // namespace

Meanwhile meanwhile_of(const Recording& recording, const trace::Delay& delay) {
    Meanwhile found;
    const std::uint64_t end_ns = end_of(delay);
    const std::uint64_t from_ns = delay.begin_ns - std::min(delay.begin_ns, shortly_before_ns);
    for (const auto& [pid, process] : recording.processes) {
        if (process.started_ns < from_ns || process.started_ns >= end_ns) continue;
        if (pid == delay.begin_pid || process.parent_pid == kernel_threads_parent) continue;
        found.beginnings.push_back({offset_of(process.started_ns, delay), pid,
                                    recording.process_name(pid), process.command_line, 0});
    }
    for (std::size_t i = 0; i < recording.system.delays.size(); ++i) {
        const trace::Delay& other = recording.system.delays[i];
        const bool same = other.run_id == delay.run_id && other.begin_ns == delay.begin_ns &&
                          other.begin_tid == delay.begin_tid && other.event == delay.event;
        if (same || other.begin_ns >= end_ns || end_of(other) <= delay.begin_ns) continue;
        found.beginnings.push_back(
            {offset_of(other.begin_ns, delay), other.begin_pid, other.process, {}, i + 1});
    }
    std::sort(found.beginnings.begin(), found.beginnings.end(),
              [](const Beginning& a, const Beginning& b) {
                  return a.offset_ns != b.offset_ns ? a.offset_ns < b.offset_ns : a.pid < b.pid;
              });
    if (found.beginnings.size() > beginnings_limit) {
        // Keep those nearest to the delay's begin.
        const auto first_after =
            std::partition_point(found.beginnings.begin(), found.beginnings.end(),
                                 [](const Beginning& one) { return one.offset_ns < 0; });
        const auto before = static_cast<std::size_t>(first_after - found.beginnings.begin());
        const std::size_t skip =
            std::min(before > beginnings_limit / 2 ? before - beginnings_limit / 2 : 0,
                     found.beginnings.size() - beginnings_limit);
        found.left_out = found.beginnings.size() - beginnings_limit;
        found.beginnings.erase(found.beginnings.begin(),
                               found.beginnings.begin() + static_cast<std::ptrdiff_t>(skip));
        found.beginnings.resize(beginnings_limit);
    }
    return found;
}

}  // namespace lagtrap::analysis
