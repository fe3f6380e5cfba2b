#include "analysis/refused_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "analysis/block_reason.hpp"
#include "analysis/process_threads.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t few_sleeps = 3;

}  // namespace

void blame_refusers(const Recording& recording, std::vector<Interval>& intervals) {
    using Place = std::tuple<StackId, NameId, std::uint32_t>;  // with the path and the holder
    std::map<Place, std::vector<Interval*>> loops;
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || wait.stack == 0 || wait.file == 0) continue;
        if (!wait.woken || wait.wake_cause != WakeCause::Timeout) continue;
        const WaitedFile& file = recording.waited_files[wait.file - 1];
        if (file.kind == WaitFileKind::Refused && file.holder_pid != 0)
            loops[{wait.stack, file.path, file.holder_pid}].push_back(&wait);
    }
    for (const auto& [place, waits] : loops) {
        const auto [stack, path, holder_pid] = place;
        const WaitKind kind = wait_kind_of(recording, stack);
        const bool is_retry = kind == WaitKind::DatabaseLock ||
                              (kind == WaitKind::Sleep && waits.size() >= few_sleeps);
        const Thread* const own = recording.find_thread(waits.front()->tid);
        if (!is_retry || own == nullptr || own->pid == holder_pid) continue;
        const std::uint32_t holder = only_thread_of(recording, holder_pid);
        if (holder == 0) continue;
        for (Interval* const wait : waits) {
            wait->set_waker(holder);
            wait->outlasting = wait->timed_out = true;
        }
    }
}

}  // namespace lagtrap::analysis
