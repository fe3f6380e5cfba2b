// Where a thread's time went: on a CPU, waiting for one, blocked by reason, or not recorded. The
// parts add up to the wall time exactly; unknown time counts as not recorded and is never guessed.
// Where a context switch was lost, the thread's samples show that it ran, and each counts for one
// sampling interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

struct Window {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;  // not less than begin_ns
};

// What a busy-waiting thread spun on.
enum class SpinKind : std::uint8_t {
    None,
    Yield,       // repeated sched_yield
    Futex,       // futex calls that return immediately
    SpinLock,    // user-space loop on a lock word
    Memory,      // user-space loop until memory changes, of an unknown kind
    LockWord,    // user-space loop that takes a lock, of an unknown kind
    KernelLock,  // the kernel's spinlocks, and its mutexes while their holder runs
};

// Why it is unknown what a thread did.
enum class UnknownTime : std::uint8_t {
    NotRecorded,
    BeforeRecording,
    AfterRecording,
    BetweenThreads,  // a run passed from one thread to another
    InGoroutine,
    ThreadEnded,
};

// A period in which one thread was in one state.
struct Interval {
    enum class Gap : std::uint8_t {
        None,            // recorded
        Outside,         // before or after the recording
        Lost,            // scheduling was not recorded, or records were lost
        BetweenThreads,  // a run passed from one thread to another within it
        InGoroutine,     // in a run of goroutines, on unknown threads
    };

    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t since_ns = 0;  // begin of the state, perhaps before this interval; 0 if unknown
    std::uint32_t tid = 0;       // 0 if the thread is unknown
    // Gap::BetweenThreads: the threads that hit the markers before and after it; otherwise not set.
    std::uint32_t from_tid = 0, to_tid = 0;
    // Blocked: thread that ended it; 0 if unknown, or if the recording ended first
    std::uint32_t waker_tid = 0;
    // Blocked: where it stopped; yielded: the same, but not every time
    StackId stack = 0;
    std::uint32_t file = 0;  // Blocked: as in StateChange
    std::uint32_t lock = 0;  // Blocked: as in StateChange
    NameId wake_device = 0;  // Blocked: name of the device that ended it; 0 if none or unknown
    // Blocked, without a stack: where the run is, or what its thread waits for
    std::string_view queue;
    ThreadState state = ThreadState::NotRecorded;
    Gap gap = Gap::None;
    WakeCause wake_cause = WakeCause::Unknown;  // Blocked: what ended it
    bool woken = false;                         // Blocked: its end was recorded
    bool by_interrupt = false;                  // Blocked: an interrupt ended it
    // Blocked: the same wait continues in the next interval (by_holder)
    bool handed_on = false;
    // Blocked: `waker_tid` should have ended it, and did not
    bool outlasting = false;
    // Blocked, outlasting: the thread's own timer ended it
    bool timed_out = false;
    bool likely = false;  // Blocked, outlasting: it only likely should have
    // Blocked, outlasting: ended it with a signal; 0: nobody
    std::uint32_t signaller_tid = 0;
    bool killed = false;  // Blocked, outlasting: that signal ended the thread
    // Runnable: held back by its control group's CPU quota
    bool throttled = false;
    bool yielded = false;  // Runnable: it called sched_yield
    // before the recording: from the kernel's counters, without a stack
    bool counted = false;
    std::uint16_t cpu = 0;           // Running
    SpinKind spin = SpinKind::None;  // Running, Runnable: set by mark_spinning()

    [[nodiscard]] std::uint64_t length_ns() const { return end_ns - begin_ns; }
    // Makes the wait count as ended by this thread, whoever or whatever woke the waiting one.
    void set_waker(std::uint32_t thread) {
        waker_tid = thread;
        woken = true;
        by_interrupt = false;
        wake_cause = WakeCause::Thread;
        wake_device = 0;
    }
};

// Why the state of an interval is unknown, in words.
[[nodiscard]] std::string_view to_text(const Interval& interval);

// States of a thread in the window, in time order, without gaps or overlaps.
[[nodiscard]] std::vector<Interval> intervals_of_thread(const Recording& recording,
                                                        std::uint32_t tid, Window window);

// Begin plus duration, saturating if a hostile duration would overflow.
[[nodiscard]] std::uint64_t end_of(const trace::Delay& delay);

// States of the threads that worked on a run. Each marker hit of a run (begin, stages, end) names a
// thread. Between two hits of the same thread, that thread's states count. Between hits of two
// threads, the run passed from one to the other at a time no marker shows. If the first thread woke
// the second in between, the last such wakeup counts as that time; otherwise the whole period is
// Gap::BetweenThreads. Between two markers of a disk request the run is in a queue, whichever
// threads hit the markers. The recorded part of a goroutine's run is Gap::InGoroutine, because
// goroutines can change threads at any time, and a thread runs others in between.
[[nodiscard]] std::vector<Interval> intervals_of_delay(const Recording& recording,
                                                       const trace::Delay& delay);

struct BlockedTime {
    std::string reason;
    bool in_queue = false;  // the run was in the queue that `reason` names, on no thread
    std::uint64_t total_ns = 0;
    std::uint64_t count = 0;
};

struct TimeSplit {
    std::uint64_t wall_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t throttled_ns = 0;  // part of runnable_ns held back by a control group's CPU quota
    std::uint64_t blocked_ns = 0;
    std::uint64_t not_recorded_ns = 0;
    // Parts of not_recorded_ns: outside the recording, between threads, and in a goroutine.
    std::uint64_t outside_ns = 0;
    std::uint64_t between_threads_ns = 0;
    std::uint64_t in_goroutine_ns = 0;
    // Parts of the above known only from the kernel's counters, from before the recording; they
    // have no stacks.
    struct Counted {
        std::uint64_t on_cpu_ns = 0, runnable_ns = 0, blocked_ns = 0;
        [[nodiscard]] std::uint64_t total_ns() const {
            return on_cpu_ns + runnable_ns + blocked_ns;
        }
    };
    Counted counted;
    // Scheduling was not recorded: on_cpu_ns is samples times their interval, the rest is not
    // recorded.
    bool from_samples = false;
    std::vector<BlockedTime> blocked;  // adds up to blocked_ns; longest first

    // Time with known places; shares of functions refer to this.
    [[nodiscard]] std::uint64_t recorded_ns() const {
        return wall_ns - not_recorded_ns - counted.total_ns();
    }
};

[[nodiscard]] TimeSplit split_time(const Recording& recording,
                                   const std::vector<Interval>& intervals);

// The parts of `intervals` within the window.
[[nodiscard]] std::vector<Interval> clip(const std::vector<Interval>& intervals, Window window);

// Calls `visit(const Sample&)` for each of the thread's samples in [begin, end).
template <typename Visit>
void for_samples(const Thread& thread, Window window, Visit visit) {
    auto place = std::lower_bound(
        thread.samples.begin(), thread.samples.end(), window.begin_ns,
        [](const Sample& sample, std::uint64_t at_ns) { return sample.at_ns < at_ns; });
    for (; place != thread.samples.end() && place->at_ns < window.end_ns; ++place) visit(*place);
}

}  // namespace lagtrap::analysis
