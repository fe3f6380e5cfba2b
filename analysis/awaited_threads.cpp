#include "analysis/awaited_threads.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/block_reason.hpp"
#include "analysis/child_ends.hpp"
#include "analysis/interruptions.hpp"
#include "analysis/kernel_workers.hpp"
#include "analysis/process_threads.hpp"
#include "analysis/refused_locks.hpp"
#include "analysis/socket_owners.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

// Waits that time out again and again are many, and a search visits all threads of a process.
constexpr std::size_t searches_limit = 64;
constexpr std::uint64_t searched_wait_ns = 10'000'000;
constexpr std::size_t searched_threads_limit = 1000;

// The only child process that has not ended; 0 if there are several or none.
std::uint32_t living_child_of(const Recording& recording, std::uint32_t tid) {
    const Thread* const parent = recording.find_thread(tid);
    std::uint32_t living = 0;
    for (const auto& [pid, process] : recording.processes) {
        if (parent == nullptr || process.parent_pid != parent->pid || pid == parent->pid) continue;
        const Thread* const child = recording.find_thread(pid);
        if (child == nullptr || has_ended(*child)) continue;
        if (living != 0) return 0;
        living = pid;
    }
    return living;
}

// The only child process that has not ended and may still be in vfork(): until it runs another
// program, its command line is that of its parent. 0 if there are several or none.
std::uint32_t child_in_vfork(const Recording& recording, std::uint32_t tid) {
    const Thread* const thread = recording.find_thread(tid);
    if (thread == nullptr) return 0;
    const auto parent = recording.processes.find(thread->pid);
    if (parent == recording.processes.end()) return 0;
    std::uint32_t found = 0;
    for (const auto& [pid, process] : recording.processes) {
        if (process.parent_pid != thread->pid || pid == thread->pid) continue;
        if (process.command_line != parent->second.command_line) continue;
        const Thread* const child = recording.find_thread(pid);
        if (child == nullptr || has_ended(*child)) continue;
        if (found != 0) return 0;
        found = pid;
    }
    return found;
}

// Memory may say anything: the owner must be a thread that is alive and could have the lock, in the
// same process or in one that inherited the same memory.
bool may_own(const Recording& recording, std::uint32_t owner_tid, std::uint32_t tid) {
    const Thread* const owner = recording.find_thread(owner_tid);
    const Thread* const waiting = recording.find_thread(tid);
    if (owner == nullptr || waiting == nullptr || has_ended(*owner)) return false;
    if (owner->pid == waiting->pid) return true;
    const auto parent_of = [&](std::uint32_t pid) {
        const auto process = recording.processes.find(pid);
        return process == recording.processes.end() ? 0 : process->second.parent_pid;
    };
    const std::uint32_t parent = parent_of(owner->pid), other = parent_of(waiting->pid);
    return parent == waiting->pid || other == owner->pid || (parent == other && parent > 1);
}

// The last owner of the lock that was seen, unless it passed the lock on later. A thread that finds
// the lock taken again waits again, and its owner is seen again.
std::uint32_t last_owner_seen(const Recording& recording, const Interval& wait) {
    const auto& seen = recording.lock_sightings;
    const auto after =
        std::partition_point(seen.begin(), seen.end(), [&](const LockSighting& sighting) {
            return sighting.lock < wait.lock ||
                   (sighting.lock == wait.lock && sighting.at_ns < wait.end_ns);
        });
    if (wait.lock == 0 || after == seen.begin() || (after - 1)->lock != wait.lock) return 0;
    std::uint32_t owner = (after - 1)->owner_tid;
    if (wait.lock < recording.lock_turns.size()) {
        const auto& turns = recording.lock_turns[wait.lock];
        const auto next =
            std::partition_point(turns.begin(), turns.end(),
                                 [&](const LockTurn& turn) { return turn.at_ns < wait.end_ns; });
        if (next != turns.begin() && (next - 1)->at_ns >= (after - 1)->at_ns)
            owner = (next - 1)->to_tid;
    }
    return may_own(recording, owner, wait.tid) ? owner : 0;
}

std::uint64_t busy_ns(const Recording& recording, std::uint32_t tid, const Interval& wait) {
    std::uint64_t sum_ns = 0;
    for (const Interval& interval :
         intervals_of_thread(recording, tid, {wait.begin_ns, wait.end_ns})) {
        const bool busy =
            interval.state == ThreadState::Running || interval.state == ThreadState::Runnable;
        if (busy) sum_ns += interval.length_ns();
    }
    return sum_ns;
}

bool is_in_kernel_function(const Recording& recording, StackId stack, std::string_view function) {
    const auto frames = recording.stacks[stack];
    return std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        return frame.kernel && recording.name(frame.label) == function;
    });
}

// Of the threads of a process, the only one that worked for most of the wait; 0 if there is none,
// or others worked too.
std::uint32_t only_busy_thread(const Recording& recording, std::uint32_t pid,
                               const Interval& wait) {
    std::uint32_t found = 0;
    std::size_t candidates = 0;
    for (const Thread& thread : recording.threads) {
        if (thread.pid != pid || thread.tid == wait.tid) continue;
        if (++candidates > searched_threads_limit) return 0;
        const std::uint64_t time_ns = busy_ns(recording, thread.tid, wait);
        if (time_ns * 10 < wait.length_ns()) continue;
        if (found != 0 || time_ns * 2 < wait.length_ns()) return 0;
        found = thread.tid;
    }
    return found;
}

// The process that alone has the other end; 0 if there are several or none.
std::uint32_t process_at_other_end(const Recording& recording, const Interval& wait) {
    const std::vector<std::uint32_t> pids = other_end_of(recording, wait).pids;
    return pids.size() == 1 ? pids.front() : 0;
}

// The thread that should have read from or written to the other end; 0 if it is one of several.
std::uint32_t thread_at_other_end(const Recording& recording, const Interval& wait,
                                  std::uint32_t own_pid) {
    const std::uint32_t pid = process_at_other_end(recording, wait);
    return pid == 0 || pid == own_pid ? 0 : only_thread_of(recording, pid);
}

// 0 if unknown. What is certain, or was seen in the program's memory.
std::uint32_t owner_of(const Recording& recording, const Interval& wait, WaitKind kind,
                       std::uint32_t own_pid) {
    switch (kind) {
        case WaitKind::Child:
        case WaitKind::UnixSignal:
            return wait.woken && wait.wake_cause != WakeCause::Killed
                       ? 0
                       : living_child_of(recording, wait.tid);
        case WaitKind::ChildStart: return wait.woken ? 0 : child_in_vfork(recording, wait.tid);
        case WaitKind::Lock:
        case WaitKind::ReadWriteLock: {
            const auto owner = recording.lock_owners.find(wait.tid);
            if (!wait.woken && owner != recording.lock_owners.end()) return owner->second;
            return last_owner_seen(recording, wait);
        }
        case WaitKind::ThreadEnd: return last_owner_seen(recording, wait);
        case WaitKind::FileLock: {
            const std::uint32_t pid =
                wait.file == 0 ? 0 : recording.waited_files[wait.file - 1].holder_pid;
            return pid == 0 || pid == own_pid ? 0 : only_thread_of(recording, pid);
        }
        case WaitKind::Pipe:
        case WaitKind::LocalSocket:
        case WaitKind::Network: return thread_at_other_end(recording, wait, own_pid);
        default: return 0;
    }
}

// For what any thread of the process, or of the process at the other end, may end.
std::uint32_t likely_owner_of(const Recording& recording, const Interval& wait, WaitKind kind,
                              std::uint32_t own_pid) {
    switch (kind) {
        case WaitKind::Lock:
        case WaitKind::ReadWriteLock:
        case WaitKind::PythonLock:
        case WaitKind::Signal:
        case WaitKind::Semaphore:
        case WaitKind::Once:
        case WaitKind::RowLock:
        case WaitKind::Futex: return only_busy_thread(recording, own_pid, wait);
        case WaitKind::Events:
            return is_in_kernel_function(recording, wait.stack, "eventfd_read") ||
                           is_in_kernel_function(recording, wait.stack, "eventfd_write")
                       ? only_busy_thread(recording, own_pid, wait)
                       : 0;
        case WaitKind::Pipe:
        case WaitKind::LocalSocket:
        case WaitKind::Network: {
            const std::uint32_t pid = process_at_other_end(recording, wait);
            return pid == 0 ? 0 : only_busy_thread(recording, pid, wait);
        }
        default: return 0;
    }
}

struct Owner {
    std::uint32_t tid = 0;
    bool likely = false;
};

Owner find_owner(const Recording& recording, const Interval& wait, bool in_run) {
    const Thread* const waiting = recording.find_thread(wait.tid);
    if (waiting == nullptr) return {};
    const WaitKind kind = wait_kind_of(recording, wait.stack);
    const std::uint32_t owner = owner_of(recording, wait, kind, waiting->pid);
    if (owner != 0 || !in_run) return {owner, false};
    return {likely_owner_of(recording, wait, kind, waiting->pid), true};
}

bool has_timed_out(const Interval& wait) {
    return wait.woken && wait.wake_cause == WakeCause::Timeout;
}

bool is_short(const Interval& wait) { return wait.length_ns() < searched_wait_ns; }

// Waits at one place that timed out, each too short for a search, as one from the first to the
// last.
class ShortWaits {
  public:
    explicit ShortWaits(const std::vector<Interval>& intervals) {
        for (const Interval& wait : intervals)
            if (wait.stack != 0 && has_timed_out(wait) && is_short(wait)) add(wait);
    }

    [[nodiscard]] Owner owner_of(const Recording& recording, const Interval& wait, bool in_run) {
        const auto known = series_.find(wait.stack);
        if (known == series_.end()) return {};
        Series& series = known->second;
        const bool worth_it =
            !is_short(series.whole) && series.waited_ns * 2 >= series.whole.length_ns();
        if (worth_it && !series.owner) series.owner = find_owner(recording, series.whole, in_run);
        return series.owner.value_or(Owner{});
    }

  private:
    struct Series {
        Interval whole;
        std::uint64_t waited_ns = 0;
        std::optional<Owner> owner;
    };

    void add(const Interval& wait) {
        Series& series =
            series_.try_emplace(wait.stack, Series{wait, 0, std::nullopt}).first->second;
        series.whole.end_ns = wait.end_ns;
        series.waited_ns += wait.length_ns();
        if (series.whole.lock != wait.lock) series.whole.lock = 0;
        if (series.whole.file != wait.file) series.whole.file = 0;
    }

    std::map<StackId, Series> series_;
};

void blame(Interval& wait, const Owner& owner, bool by_signal) {
    wait.timed_out = has_timed_out(wait);
    if (by_signal) wait.signaller_tid = wait.waker_tid;
    wait.killed = wait.wake_cause == WakeCause::Killed;
    wait.set_waker(owner.tid);
    wait.outlasting = true;
    wait.likely = owner.likely;
}

void blame_owners(const Recording& recording, std::vector<Interval>& intervals, bool in_run) {
    std::size_t searches = 0;
    ShortWaits short_waits(intervals);
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || wait.stack == 0) continue;
        const bool outlasts = !wait.woken && wait.end_ns >= recording.end_ns;
        const bool by_signal = wait.wake_cause == WakeCause::Killed ||
                               interruption_of(recording, wait) == Interruption::Signal;
        if (!outlasts && !by_signal && !has_timed_out(wait)) continue;
        Owner owner;
        if (!outlasts && is_short(wait))
            owner = short_waits.owner_of(recording, wait, in_run);
        else if (outlasts || ++searches <= searches_limit)
            owner = find_owner(recording, wait, in_run);
        if (owner.tid != 0) blame(wait, owner, by_signal);
    }
}

// Whoever waits for an interpreter's lock asks for it every few milliseconds and waits again, so
// most waits time out. The thread that runs meanwhile holds it.
void blame_interpreter(const Recording& recording, std::vector<Interval>& intervals) {
    std::size_t searches = 0;
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || !wait.woken ||
            wait.wake_cause != WakeCause::Timeout)
            continue;
        if (wait_kind_of(recording, wait.stack) != WaitKind::InterpreterLock) continue;
        const Thread* const waiting = recording.find_thread(wait.tid);
        if (waiting == nullptr || ++searches > searches_limit) return;
        const std::uint32_t holder = only_busy_thread(recording, waiting->pid, wait);
        if (holder == 0) continue;
        wait.set_waker(holder);
    }
}

// The kernel's timers and packets only tell a writer that the other end has read.
void blame_readers(const Recording& recording, std::vector<Interval>& intervals) {
    std::size_t searches = 0;
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || !wait.by_interrupt ||
            wait.wake_cause == WakeCause::Timeout)
            continue;
        if (wait.file == 0 || room_of(recording, wait.stack) != Room::Data) continue;
        const Thread* const waiting = recording.find_thread(wait.tid);
        if (waiting == nullptr || ++searches > searches_limit) return;
        const std::uint32_t reader = thread_at_other_end(recording, wait, waiting->pid);
        if (reader == 0) continue;
        wait.set_waker(reader);
    }
}

}  // namespace

void find_awaited(const Recording& recording, std::vector<Interval>& intervals, bool in_run) {
    blame_givers_of_work(recording, intervals);
    blame_full_listeners(recording, intervals);
    blame_readers(recording, intervals);
    blame_enders_of_children(recording, intervals);
    blame_refusers(recording, intervals);
    if (in_run) blame_polled_children(recording, intervals);
    blame_owners(recording, intervals, in_run);
    blame_interpreter(recording, intervals);
}

void forget_needless_guesses(std::vector<Interval>& waits) {
    const bool is_known = std::any_of(waits.begin(), waits.end(), [](const Interval& wait) {
        return wait.state == ThreadState::Blocked && wait.waker_tid != 0 && !wait.by_interrupt &&
               !wait.likely;
    });
    if (!is_known) return;
    for (Interval& wait : waits) {
        if (!wait.likely) continue;
        const bool by_signal = wait.signaller_tid != 0;
        wait.woken = wait.timed_out || by_signal;
        wait.wake_cause = wait.timed_out ? WakeCause::Timeout
                          : wait.killed  ? WakeCause::Killed
                          : by_signal    ? WakeCause::Signal
                                         : WakeCause::Unknown;
        wait.waker_tid = std::exchange(wait.signaller_tid, 0);
        wait.outlasting = wait.timed_out = wait.likely = wait.killed = false;
    }
}

}  // namespace lagtrap::analysis
