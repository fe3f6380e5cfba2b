// Where a thread's time went: on a CPU, waiting for one, blocked by reason, not recorded. The parts add up to the
// wall time exactly; what is not known is not recorded, never guessed. Where a context switch was lost, samples of the
// thread show that it ran: each counts for its interval.
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
    std::uint64_t end_ns = 0;  // not before begin_ns
};

// What a thread spun on that waits without giving up.
enum class SpinKind : std::uint8_t {
    None,
    Yield,       // sched_yield over and over
    Futex,       // futex calls that return at once
    SpinLock,    // a loop in user space around a lock word
    KernelLock,  // the kernel's own spinlocks, and its mutexes while their holder runs
};

// A stretch of time in which one thread was in one state.
struct Interval {
    enum class Gap : std::uint8_t {
        None,            // recorded
        Outside,         // before the recording began or after it ended
        Lost,            // scheduling was not recorded, or records were lost
        BetweenThreads,  // a run passed from one thread to another somewhere in it
        InGoroutine,     // of a run that goroutines made, on threads that are not known
    };

    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t tid = 0;  // 0 where no thread can be named
    // Gap::BetweenThreads: who met the marker before it, and who the one after it; not filled in elsewhere.
    std::uint32_t from_tid = 0, to_tid = 0;
    std::uint32_t waker_tid = 0;  // Blocked: who ended it; 0: unknown, or the recording ended first
    StackId stack = 0;            // Blocked: where it stopped; yielded: the same, but not of each time
    std::uint32_t file = 0;       // Blocked: as StateChange has it
    std::uint32_t lock = 0;       // Blocked: the same
    NameId wake_device = 0;       // Blocked: name of the device that ended it; 0: none, or not known
    std::string_view queue;       // Blocked, without a stack: where the run is meanwhile, or what its thread waits for
    ThreadState state = ThreadState::NotRecorded;
    Gap gap = Gap::None;
    WakeCause wake_cause = WakeCause::Unknown;  // Blocked: what ended it
    bool woken = false;                         // Blocked: its end was seen
    bool by_interrupt = false;                  // Blocked: an interrupt ended it
    bool handed_on = false;                     // Blocked: the same wait goes on with the next interval (by_holder)
    bool throttled = false;                     // Runnable: by the CPU quota of its control group
    bool yielded = false;                       // Runnable: it had called sched_yield
    bool counted = false;                       // before the recording: by the kernel's counts, without a stack
    std::uint16_t cpu = 0;                      // Running: on which
    SpinKind spin = SpinKind::None;             // Running, Runnable: as mark_spinning() has found

    [[nodiscard]] std::uint64_t length_ns() const { return end_ns - begin_ns; }
};

// Why the state of an interval is not known, in words.
[[nodiscard]] std::string_view words_of(const Interval& interval);

// The states of a thread over the window, without gaps or overlaps, by time.
[[nodiscard]] std::vector<Interval> intervals_of_thread(const Recording& recording, std::uint32_t tid, Window window);

// Begin plus duration; a hostile duration ends at the last nanosecond there is.
[[nodiscard]] std::uint64_t end_of(const trace::Delay& delay);

// The states of whoever worked on a run. A run's hits (begin, stages, end) name a thread each. Between two hits
// of one thread, that thread's states count. Between hits of two threads, the run was handed over at a moment
// that no marker tells: if the first thread woke the second in between, at the last such waking; otherwise the
// whole stretch is Gap::BetweenThreads. Between two markers of a request to a disk the run is in a queue, whichever
// threads the markers met. A run of a goroutine is Gap::InGoroutine as far as it was recorded: goroutines change threads at any
// time, and a thread runs others meanwhile.
[[nodiscard]] std::vector<Interval> intervals_of_delay(const Recording& recording, const trace::Delay& delay);

struct BlockedTime {
    std::string reason;
    std::uint64_t total_ns = 0;
    std::uint64_t count = 0;
};

struct TimeSplit {
    std::uint64_t wall_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t throttled_ns = 0;  // what of runnable_ns the CPU quota of a control group took
    std::uint64_t blocked_ns = 0;
    std::uint64_t not_recorded_ns = 0;
    // What of not_recorded_ns lay outside the recording, what between threads, and what in a goroutine.
    std::uint64_t outside_ns = 0;
    std::uint64_t between_threads_ns = 0;
    std::uint64_t in_goroutine_ns = 0;
    // What of the parts above is known by the kernel's counts alone, from before the recording: it has no stacks.
    struct Counted {
        std::uint64_t on_cpu_ns = 0, runnable_ns = 0, blocked_ns = 0;
        [[nodiscard]] std::uint64_t total_ns() const { return on_cpu_ns + runnable_ns + blocked_ns; }
    };
    Counted counted;
    // Scheduling was not recorded: on_cpu_ns is samples times their interval, all else is not recorded.
    bool from_samples = false;
    std::vector<BlockedTime> blocked;  // adds up to blocked_ns; longest first

    // Of which it is also known where: of this, functions have shares.
    [[nodiscard]] std::uint64_t recorded_ns() const { return wall_ns - not_recorded_ns - counted.total_ns(); }
};

[[nodiscard]] TimeSplit split_time(const Recording& recording, const std::vector<Interval>& intervals);

// What of `intervals` lies in the window.
[[nodiscard]] std::vector<Interval> clip(const std::vector<Interval>& intervals, Window window);

// Calls `visit(const Sample&)` for each sample of the thread in [begin, end).
template <typename Visit>
void for_samples(const Thread& thread, Window window, Visit visit) {
    auto place = std::lower_bound(thread.samples.begin(), thread.samples.end(), window.begin_ns,
                                  [](const Sample& sample, std::uint64_t at_ns) { return sample.at_ns < at_ns; });
    for (; place != thread.samples.end() && place->at_ns < window.end_ns; ++place) visit(*place);
}

}  // namespace lagtrap::analysis
