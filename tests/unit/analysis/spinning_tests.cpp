// Where a thread spun instead of waiting.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/spinning.hpp"
#include "analysis/time_split.hpp"
#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::spinning_tests {
namespace {

using test::MadeRecording;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

using Frames = std::vector<std::string>;

// What a thread did for that many samples, a millisecond apart.
struct Doing {
    std::uint64_t samples;
    Frames stack;
};

// How long it spun in that way, between 18 samples in a function that computes on each side.
std::uint64_t spun_ns(SpinKind kind, const std::vector<Doing>& parts) {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    std::uint64_t at_ns = 2 * ms;
    const auto add = [&](const Doing& part) {
        builder.samples(at_ns, at_ns + part.samples * ms, 0, 10, 10, part.stack);
        at_ns += part.samples * ms;
    };
    add({18, {"main", "encode"}});
    for (const Doing& part : parts) add(part);
    add({18, {"main", "encode"}});
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    const std::uint64_t begin_ns = recording->begin_ns;
    auto intervals = intervals_of_thread(*recording, 10, {begin_ns + 2 * ms, begin_ns + at_ns});
    mark_spinning(*recording, intervals);
    std::uint64_t spun_ns = 0;
    for (const Interval& interval : intervals)
        if (interval.spin == kind) spun_ns += interval.length_ns();
    return spun_ns;
}

const Frames yields = {"main", "take", "!/lib/libc.so.6!sched_yield", "k:__do_sys_sched_yield"};
const Frames waits = {"main", "take", "[busy wait]"};
const Frames tries = {"main", "take", "[busy wait?]"};

TEST(Spinning, three_yields_in_a_row_are_enough) {
    EXPECT_EQ(spun_ns(SpinKind::Yield, {{2, yields}}), 0);
    EXPECT_EQ(spun_ns(SpinKind::Yield, {{3, yields}}), 3 * ms);
    EXPECT_EQ(spun_ns(SpinKind::Yield, {{20, yields}}), 20 * ms);
}

TEST(Spinning, a_loop_of_an_unknown_kind_needs_sixteen_samples) {
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{15, waits}}), 0);
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{16, waits}}), 16 * ms);
    const Frames computes = {"main", "take"};
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{15, waits}, {1, computes}, {15, waits}}), 0);
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{16, waits}, {1, computes}, {15, waits}}), 16 * ms);
}

TEST(Spinning, a_loop_that_also_yields_is_one_of_yields) {
    for (const Frames& stack : {waits, tries}) {
        EXPECT_EQ(spun_ns(SpinKind::Yield, {{4, stack}, {1, yields}, {4, stack}}), 9 * ms);
        EXPECT_EQ(spun_ns(SpinKind::Memory, {{4, stack}, {1, yields}, {4, stack}}), 0);
    }
    const Frames elsewhere = {"main", "await", "[busy wait]"};
    EXPECT_EQ(spun_ns(SpinKind::Yield, {{4, elsewhere}, {3, yields}}), 3 * ms);
}

TEST(Spinning, an_outer_loop_that_tries_the_lock_belongs_to_the_one_that_waits) {
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{7, waits}, {2, tries}, {7, waits}}), 16 * ms);
    const Frames inlined = {"main", "take", "std::atomic<bool>::load", "[busy wait?]"};
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{7, waits}, {2, inlined}, {7, waits}}), 16 * ms);
    const Frames elsewhere = {"main", "give", "[busy wait?]"};
    EXPECT_EQ(spun_ns(SpinKind::Memory, {{9, waits}, {2, elsewhere}, {9, waits}}), 0);
}

// How long a thread spins that tries a lock for that many milliseconds, while another thread
// computes in `first`, and then in `then`.
std::uint64_t tried_ns(std::uint64_t count, const Frames& first, const Frames& then) {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 11);
    const std::uint64_t end_ns = (2 + count) * ms;
    builder.samples(2 * ms, end_ns, 0, 10, 10, tries);
    builder.samples(end_ns, end_ns + 20 * ms, 0, 10, 10, {"main", "encode"});
    builder.samples(2 * ms, end_ns, 1, 10, 11, first);
    builder.samples(end_ns, end_ns + 20 * ms, 1, 10, 11, then);
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    const std::uint64_t begin_ns = recording->begin_ns;
    auto intervals =
        intervals_of_thread(*recording, 10, {begin_ns + 2 * ms, begin_ns + end_ns + 20 * ms});
    mark_spinning(*recording, intervals);
    std::uint64_t spun_ns = 0;
    for (const Interval& interval : intervals)
        if (interval.spin == SpinKind::LockWord) spun_ns += interval.length_ns();
    return spun_ns;
}

TEST(Spinning, a_loop_on_a_lock_word_spins_if_somebody_seems_to_hold_the_lock) {
    const Frames compact = {"run", "compact"}, idle = {"run", "clean"};
    EXPECT_EQ(tried_ns(40, compact, idle), 40 * ms - ms / 2);
    EXPECT_EQ(tried_ns(16, compact, idle), 16 * ms - ms / 2);
    EXPECT_EQ(tried_ns(15, compact, idle), 0);
    EXPECT_EQ(tried_ns(40, compact, compact), 0);
    EXPECT_EQ(spun_ns(SpinKind::LockWord, {{40, tries}}), 0);
}

// Threads of process 10 from 0 to 100 ms, which are sampled each millisecond while they run.
class SpinningThreads : public ::testing::Test {
  protected:
    SpinningThreads() {
        made_.recording.end_ns = 100 * ms;
        made_.recording.has_scheduling = true;
        made_.recording.threads.reserve(8);  // references stay
    }
    // Call by ascending number. The thread runs in this period, and is blocked otherwise.
    Thread& runs(std::uint32_t tid, std::uint64_t from_ms, std::uint64_t to_ms,
                 std::uint32_t pid = 10) {
        Thread& thread = made_.thread(pid, tid);
        change(thread, 0, ThreadState::Blocked);
        change(thread, from_ms, ThreadState::Running);
        change(thread, to_ms, ThreadState::Blocked);
        return thread;
    }
    static void change(Thread& thread, std::uint64_t at_ms, ThreadState state) {
        StateChange one;
        one.at_ns = at_ms * ms;
        one.state = state;
        thread.changes.push_back(one);
    }
    void seen(Thread& thread, std::uint64_t from_ms, std::uint64_t to_ms,
              const std::vector<std::string>& frames) {
        const StackId stack = made_.stack(frames);
        for (std::uint64_t at = from_ms; at < to_ms; ++at)
            thread.samples.push_back({at * ms, stack, 0});
    }
    static Interval spin(std::uint64_t from_ms, std::uint64_t to_ms,
                         SpinKind kind = SpinKind::SpinLock) {
        Interval interval;
        interval.begin_ns = from_ms * ms;
        interval.end_ns = to_ms * ms;
        interval.tid = 11;
        interval.state = ThreadState::Running;
        interval.spin = kind;
        return interval;
    }
    std::uint32_t holder(const std::vector<Interval>& spins) const {
        return likely_spin_holder(made_.recording, spins);
    }
    MadeRecording made_;
};

TEST_F(SpinningThreads, the_thread_that_ran_last_is_the_holder) {
    runs(11, 0, 100);
    runs(12, 5, 30);
    runs(13, 5, 40);
    runs(14, 5, 60, 20);
    EXPECT_EQ(holder({spin(10, 50)}), 13U);
    EXPECT_EQ(holder({spin(10, 50, SpinKind::Yield)}), 13U);
    EXPECT_EQ(holder({spin(10, 50, SpinKind::KernelLock)}), 0U);
    EXPECT_EQ(holder({spin(70, 90)}), 0U) << "nobody ran";
    EXPECT_EQ(holder({}), 0U);
}

TEST_F(SpinningThreads, of_several_that_went_on_it_is_the_one_that_left_its_function) {
    runs(11, 0, 100);
    Thread& leaves = runs(12, 5, 80);
    seen(leaves, 10, 50, {"main", "hold"});
    seen(leaves, 50, 80, {"main", "rest"});
    Thread& stays = runs(13, 5, 80);
    seen(stays, 10, 80, {"main", "work"});
    EXPECT_EQ(holder({spin(10, 50)}), 12U);
    for (Sample& sample : made_.recording.threads[1].samples)
        sample.stack = made_.recording.threads[1].samples.front().stack;
    EXPECT_EQ(holder({spin(10, 50)}), 0U) << "none of the two left";
}

TEST_F(SpinningThreads, whoever_spins_too_is_no_holder) {
    runs(11, 0, 100);
    seen(runs(12, 5, 80), 10, 80, {"main", "spin_lock"});
    seen(runs(13, 5, 80), 10, 80, {"main", "work"});
    EXPECT_EQ(holder({spin(10, 50)}), 13U);
}

TEST_F(SpinningThreads, a_holder_has_most_of_the_time) {
    runs(11, 0, 100);
    runs(12, 5, 20);
    Thread& later = runs(13, 50, 60);
    change(later, 90, ThreadState::Blocked);
    EXPECT_EQ(holder({spin(10, 20), spin(50, 60)}), 0U);
    EXPECT_EQ(holder({spin(10, 20), spin(45, 60)}), 13U);
    EXPECT_EQ(holder({spin(5, 20), spin(50, 60)}), 12U);
}

TEST_F(SpinningThreads, periods_that_were_cut_are_one) {
    runs(11, 0, 100);
    runs(12, 5, 30);
    runs(13, 35, 50);
    // In the first part alone, it would be thread 12.
    EXPECT_EQ(holder({spin(10, 30), spin(30, 50)}), 13U);
    EXPECT_EQ(holder({spin(10, 30)}), 12U);
}

// The spinning time of thread 11 in the recording, by kind.
std::map<SpinKind, std::uint64_t> spun_of(const MadeRecording& made, std::uint64_t from_ms,
                                          std::uint64_t to_ms) {
    auto intervals = intervals_of_thread(made.recording, 11, {from_ms * ms, to_ms * ms});
    mark_spinning(made.recording, intervals);
    std::map<SpinKind, std::uint64_t> times;
    std::uint64_t at_ns = from_ms * ms;
    for (const Interval& interval : intervals) {
        EXPECT_EQ(interval.begin_ns, at_ns) << "no gap, and nothing twice";
        at_ns = interval.end_ns;
        if (interval.spin != SpinKind::None) times[interval.spin] += interval.length_ns();
    }
    EXPECT_EQ(at_ns, to_ms * ms);
    return times;
}

using Times = std::map<SpinKind, std::uint64_t>;
const std::string libc_yield = "!/usr/lib/x86_64-linux-gnu/libc.so.6!sched_yield";

TEST_F(SpinningThreads, the_loop_around_a_call_counts) {
    Thread& thread = runs(11, 0, 100);
    seen(thread, 10, 20, {"main", "take", libc_yield});
    seen(thread, 20, 30, {"main", "take"});
    seen(thread, 30, 40, {"main", "take", libc_yield});
    seen(thread, 40, 60, {"main", "encode"});
    EXPECT_EQ(spun_of(made_, 10, 60), (Times{{SpinKind::Yield, 30 * ms - ms / 2}}));
}

TEST_F(SpinningThreads, the_loop_before_the_first_call_counts_too) {
    Thread& thread = runs(11, 0, 100);
    seen(thread, 10, 20, {"main", "take"});
    seen(thread, 20, 30, {"main", "take", libc_yield});
    seen(thread, 30, 60, {"main", "encode"});
    EXPECT_EQ(spun_of(made_, 10, 60), (Times{{SpinKind::Yield, 20 * ms - ms / 2}}));
}

TEST_F(SpinningThreads, the_loop_around_a_kernel_lock_is_work) {
    Thread& thread = runs(11, 0, 100);
    seen(thread, 10, 20, {"main", "take", "k:osq_lock"});
    seen(thread, 20, 60, {"main", "take"});
    EXPECT_EQ(spun_of(made_, 10, 60), (Times{{SpinKind::KernelLock, 10 * ms - ms / 2}}));
}

TEST_F(SpinningThreads, waits_between_two_tries_are_spinning) {
    Thread& thread = made_.thread(10, 11);
    change(thread, 0, ThreadState::Running);
    for (std::uint64_t at = 10; at < 90; at += 10) {
        change(thread, at, ThreadState::Runnable);
        thread.changes.back().yielded = true;
        thread.changes.back().stack = made_.stack({"main", "take", libc_yield});
        change(thread, at + 5, ThreadState::Running);
    }
    change(thread, 95, ThreadState::Blocked);
    const Times times = spun_of(made_, 5, 100);
    EXPECT_EQ(times.size(), 1U);
    EXPECT_EQ(times.at(SpinKind::Yield), 90 * ms) << "until it blocks";
    EXPECT_TRUE(spun_of(made_, 15, 100).empty()) << "a lock that yields before it sleeps";
}

TEST_F(SpinningThreads, whoever_is_held_back_by_a_quota_does_not_spin) {
    Thread& thread = made_.thread(10, 11);
    change(thread, 0, ThreadState::Running);
    change(thread, 20, ThreadState::Runnable);
    thread.changes.back().throttled = true;
    change(thread, 30, ThreadState::Running);
    seen(thread, 10, 20, {"main", "spin_lock"});
    seen(thread, 30, 40, {"main", "spin_lock"});
    EXPECT_EQ(spun_of(made_, 10, 40), (Times{{SpinKind::SpinLock, 20 * ms}}));
}

}  // namespace
}  // namespace lagtrap::analysis::spinning_tests
