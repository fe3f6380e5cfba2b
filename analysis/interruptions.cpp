#include "analysis/interruptions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/block_reason.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

// Whether the program called the kernel at the same place. Kernel functions may differ: the stack
// of a wait that began before the recording lacks some.
bool is_same_call(const Recording& recording, StackId a, StackId b) {
    if (a == b) return true;
    const auto of_program = [&](StackId stack) {
        const auto frames = recording.stacks[stack];
        const auto kernel = std::find_if(frames.begin(), frames.end(), [&](auto place) {
            return recording.frames[place].kernel;
        });
        return frames.first(static_cast<std::size_t>(kernel - frames.begin()));
    };
    const auto first = of_program(a), second = of_program(b);
    return !first.empty() && std::equal(first.begin(), first.end(), second.begin(), second.end());
}

bool is_pause(const Recording& recording, const Interval& wait) {
    const BlockReason reason = block_reason_of(recording, wait.stack);
    return reason == BlockReason::StoppedBySignal || reason == BlockReason::Frozen;
}

// Such waits may be for a signal, such as that of a child that ended.
bool may_be_for_signal(const Recording& recording, const Interval& wait) {
    const WaitKind kind = wait_kind_of(recording, wait.stack);
    return kind == WaitKind::Child || kind == WaitKind::UnixSignal || kind == WaitKind::Events;
}

struct Later {
    const Interval* wait = nullptr;
    std::uint64_t paused_ns = 0;  // before that wait
};

}  // namespace

Interruption interruption_of(const Recording& recording, const Interval& wait) {
    if (!wait.woken || wait.by_interrupt || wait.waker_tid == 0) return Interruption::None;
    if (wait.wake_cause == WakeCause::Killed) return Interruption::Killed;
    switch (block_reason_of(recording, wait.stack)) {
        case BlockReason::StoppedBySignal: return Interruption::Resumed;
        case BlockReason::Frozen: return Interruption::Thawed;
        default: break;
    }
    if (wait.wake_cause != WakeCause::Signal || may_be_for_signal(recording, wait))
        return Interruption::None;
    return Interruption::Signal;
}

// A signal or a freeze ends the thread's wait, and then the thread stops by itself.
std::uint32_t stopper_of(const Recording& recording, const Interval& pause) {
    constexpr std::uint64_t soon_ns = 20'000'000;
    const Thread* const thread = recording.find_thread(pause.tid);
    if (thread == nullptr) return 0;
    auto change = std::lower_bound(
        thread->changes.begin(), thread->changes.end(), pause.since_ns,
        [](const StateChange& one, std::uint64_t at_ns) { return one.at_ns < at_ns; });
    while (change != thread->changes.begin() && (change - 1)->state != ThreadState::Blocked) {
        --change;
        if (change->at_ns + soon_ns < pause.since_ns) return 0;
        if (!change->woken) continue;
        const bool frozen = block_reason_of(recording, pause.stack) == BlockReason::Frozen;
        const bool stopped = change->wake_cause == WakeCause::Signal || frozen;
        return stopped && !change->by_interrupt ? change->waker_tid : 0;
    }
    return 0;
}

void join_repeated_waits(const Recording& recording, std::vector<Interval>& intervals) {
    constexpr std::uint64_t max_gap_ns = 50'000'000;
    std::map<std::uint32_t, Later> later;  // by thread
    for (auto wait = intervals.rbegin(); wait != intervals.rend(); ++wait) {
        if (wait->state != ThreadState::Blocked || wait->tid == 0) continue;
        if (is_pause(recording, *wait)) {
            later[wait->tid].paused_ns += wait->length_ns();
            continue;
        }
        const auto [next, paused_ns] = std::exchange(later[wait->tid], Later{&*wait, 0});
        const bool in_vain = wait->wake_cause == WakeCause::Timeout ||
                             wait->wake_cause == WakeCause::Timer || paused_ns > 0 ||
                             interruption_of(recording, *wait) == Interruption::Signal;
        if (next == nullptr || !in_vain || !is_same_call(recording, next->stack, wait->stack))
            continue;
        if (next->begin_ns > wait->end_ns + paused_ns + max_gap_ns || !next->woken ||
            ended_by_nobody(recording, *next))
            continue;
        wait->waker_tid = next->waker_tid;
        wait->by_interrupt = next->by_interrupt;
        wait->wake_cause = next->wake_cause;
        wait->wake_device = next->wake_device;
    }
}

}  // namespace lagtrap::analysis
