#include "analysis/sightings.hpp"

#include <algorithm>
#include <utility>

#include "analysis/program_path.hpp"

namespace lagtrap::analysis {

std::vector<ThreadSighting> sightings_of(const Recording& recording, const Thread& thread,
                                         Window window) {
    std::vector<ThreadSighting> seen;
    for_samples(thread, window, [&](const Sample& sample) {
        seen.push_back({sample.at_ns, sample.stack});
    });
    for (const Interval& interval : intervals_of_thread(recording, thread.tid, window))
        if (interval.state == ThreadState::Blocked)
            seen.push_back({interval.begin_ns, interval.stack});
    std::sort(seen.begin(), seen.end(),
              [](const ThreadSighting& a, const ThreadSighting& b) { return a.at_ns < b.at_ns; });
    return seen;
}

std::vector<FunctionKey> common_path(const Recording& recording,
                                     const std::vector<ThreadSighting>& sightings) {
    std::vector<FunctionKey> common;
    std::vector<StackId> stacks;
    for (const ThreadSighting& one : sightings) stacks.push_back(one.stack);
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    bool first = true;
    for (const StackId stack : stacks) {
        std::vector<FunctionKey> path;
        for (const std::uint32_t step : program_path(recording, stack).steps)
            path.push_back(key_of(recording.frames[step]));
        if (path.empty()) continue;
        if (std::exchange(first, false)) common = path;
        const auto differs =
            std::mismatch(common.begin(), common.end(), path.begin(), path.end()).first;
        common.erase(differs, common.end());
    }
    return common;
}

std::vector<FunctionKey> callers_outside(const Recording& recording, std::uint32_t tid,
                                         Window window) {
    const Thread* thread = recording.find_thread(tid);
    if (thread == nullptr) return {};
    std::vector<ThreadSighting> seen = sightings_of(
        recording, *thread, {recording.begin_ns, std::max(recording.begin_ns, window.begin_ns)});
    const auto later = sightings_of(recording, *thread,
                                    {std::min(recording.end_ns, window.end_ns), recording.end_ns});
    seen.insert(seen.end(), later.begin(), later.end());
    return common_path(recording, seen);
}

std::string operation_of(const Recording& recording, const Thread& thread, Window window) {
    const auto common = common_path(recording, sightings_of(recording, thread, window));
    const auto usual = callers_outside(recording, thread.tid, window);
    if (usual.empty()) return {};
    const auto differs =
        std::mismatch(common.begin(), common.end(), usual.begin(), usual.end()).first;
    if (differs == common.end() || recording.name(differs->first).starts_with('[')) return {};
    return recording.name(differs->first);
}

}  // namespace lagtrap::analysis
