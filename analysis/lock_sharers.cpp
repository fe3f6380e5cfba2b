#include "analysis/lock_sharers.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "analysis/block_reason.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t threads_limit = 200;
constexpr std::uint64_t looks_limit = 200'000;

class Search {
  public:
    Search(const Recording& recording, const CallPlace& place)
        : recording_(recording), place_(place) {}

    bool finds(const Thread& thread, Window window) {
        const auto first = std::partition_point(
            thread.samples.begin(), thread.samples.end(),
            [&](const Sample& sample) { return sample.at_ns < window.begin_ns; });
        for (auto sample = first; sample != thread.samples.end(); ++sample) {
            if (sample->at_ns >= window.end_ns || ++looks_ > looks_limit) break;
            if (is_in_place(sample->stack)) return true;
        }
        for (const Interval& interval : intervals_of_thread(recording_, thread.tid, window)) {
            if (++looks_ > looks_limit) break;
            if (interval.state == ThreadState::Blocked && is_in_place(interval.stack)) return true;
        }
        return false;
    }

  private:
    bool is_in_place(StackId stack) {
        const auto [known, added] = known_.try_emplace(stack, false);
        if (!added) return known->second;
        const auto frames = recording_.stacks[stack];
        const bool is_there = std::any_of(frames.begin(), frames.end(), [&](std::uint32_t index) {
            const Frame& frame = recording_.frames[index];
            return !frame.kernel && recording_.name(frame.label) == place_.function &&
                   recording_.name(frame.module) == place_.module;
        });
        known->second = is_there && wait_kind_of(recording_, stack) != WaitKind::ReadWriteLock;
        return known->second;
    }

    const Recording& recording_;
    const CallPlace& place_;
    std::map<StackId, bool> known_;
    std::uint64_t looks_ = 0;
};

}  // namespace

std::uint32_t other_threads_in(const Recording& recording, const CallPlace& place,
                               const std::vector<Interval>& waits, const Thread& holder) {
    if (waits.empty() || place.function.empty() || place.function.starts_with('[')) return 0;
    const Window window{waits.front().begin_ns, waits.back().end_ns};
    Search search(recording, place);
    std::size_t threads = 0;
    std::uint32_t found = 0;
    for (const Thread& thread : recording.threads) {
        if (thread.pid != holder.pid || thread.tid == holder.tid) continue;
        if (thread.tid == waits.front().tid) continue;
        if (++threads > threads_limit) return 0;
        if (search.finds(thread, window)) ++found;
    }
    return found;
}

}  // namespace lagtrap::analysis
