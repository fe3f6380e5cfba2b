#include "trace/merge/listed_threads.hpp"

#include <algorithm>
#include <limits>

namespace lagtrap::trace {

void ListedThreads::add(const lagtrap_thread& thread) {
    first_.push_back(thread);
    last_[thread.tid] = thread;
}

void ListedThreads::finish() {
    std::stable_sort(first_.begin(), first_.end(),
                     [](const auto& a, const auto& b) { return a.tid < b.tid; });
    const auto same = [](const auto& a, const auto& b) { return a.tid == b.tid; };
    first_.erase(std::unique(first_.begin(), first_.end(), same), first_.end());
}

void ListedThreads::note_switch(std::uint32_t tid, std::uint64_t at_ns) {
    const auto [known, added] = first_switch_ns_.try_emplace(tid, at_ns);
    if (!added) known->second = std::min(known->second, at_ns);
}

void ListedThreads::take_sleepers(const std::function<void(const lagtrap_thread&)>& each) {
    constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();
    for (const lagtrap_thread& first : first_) {
        const auto switched = first_switch_ns_.find(first.tid);
        const std::uint64_t switched_ns =
            switched == first_switch_ns_.end() ? never_ns : switched->second;
        if (switched_ns < first.header.at_ns) continue;
        const lagtrap_thread& last = last_.at(first.tid);
        const lagtrap_thread& thread = switched_ns < last.header.at_ns ? first : last;
        if (thread.state != 0 && (thread.kernel_stack_id != 0 || thread.user_stack_id != 0))
            each(thread);
    }
    first_switch_ns_.clear();
    last_.clear();
}

}  // namespace lagtrap::trace
