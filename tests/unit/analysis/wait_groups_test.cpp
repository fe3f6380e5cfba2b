// Waits of one kind at different places are different causes.
#include "analysis/wait_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::wait_groups_test {
namespace {

using test::MadeRecording;
using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;

Stack lock_in(const std::string& function) {
    return {"main",         "serve",     function, "!/usr/lib/libc.so.6!pthread_mutex_lock",
            "k:futex_wait", "k:schedule"};
}

// Thread 11 waits in one function until 12 wakes it, and then in the other until 13 does.
std::vector<std::string> sentences(const std::string& first, std::uint64_t first_ms,
                                   const std::string& second) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.thread(10, 12, "cleaner").thread(10, 13, "sorter");
    builder.switched(1 * ms, 0, 0, 0, 11)
        .switched(1 * ms, 1, 0, 0, 12)
        .switched(1 * ms, 2, 0, 0, 13);
    builder.samples(2 * ms, 300 * ms, 1, 10, 12, {"clean"})
        .samples(2 * ms, 300 * ms, 2, 10, 13, {"sort"});
    const std::uint64_t turn = 10 * ms + first_ms * ms;
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, lock_in(first));
    builder.waking(turn, 1, 12, 11).switched(turn, 0, 0, 0, 11);
    builder.switched(turn + 1 * ms, 0, 11, 1, 0).off_cpu(turn + 1 * ms, 10, 11, lock_in(second));
    builder.waking(210 * ms, 2, 13, 11).switched(210 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    return sentences_of(builder);
}

TEST(WaitGroups, each_place_has_a_holder_of_its_own) {
    const auto found = sentences("open_file", 120, "add_entry");
    ASSERT_GE(found.size(), 2U);
    EXPECT_THAT(found.at(0),
                AllOf(StartsWith("Waited 120 ms (59 %) for a lock in open_file"),
                      HasSubstr("which cleaner (12) held; meanwhile cleaner (12) computed")));
    EXPECT_THAT(found.at(1),
                AllOf(StartsWith("Waited 79.0 ms (39 %) for a lock in add_entry"),
                      HasSubstr("which sorter (13) held; meanwhile sorter (13) computed")));
}

TEST(WaitGroups, a_short_wait_elsewhere_stays_with_the_longest) {
    EXPECT_THAT(sentences("open_file", 190, "add_entry").at(0),
                StartsWith("Waited 199 ms (99 %) for a lock in"));
}

TEST(WaitGroups, waits_in_one_function_are_one_cause) {
    EXPECT_THAT(sentences("open_file", 120, "open_file").at(0),
                StartsWith("Waited 199 ms (99 %) for a lock in"));
}

Interval interval_of(ThreadState state, std::uint64_t length_ms, std::uint64_t begin_ms = 10) {
    Interval interval;
    interval.begin_ns = begin_ms * ms;
    interval.end_ns = (begin_ms + length_ms) * ms;
    interval.tid = 11;
    interval.state = state;
    return interval;
}

Interval blocked_in(StackId stack, std::uint64_t length_ms) {
    Interval interval = interval_of(ThreadState::Blocked, length_ms);
    interval.stack = stack;
    return interval;
}

// A recording from 0 to 1 s with thread 11.
MadeRecording recorded() {
    MadeRecording made;
    made.recording.end_ns = 1000 * ms;
    made.recording.has_scheduling = true;
    made.thread(10, 11);
    return made;
}

TEST(IntervalGroups, are_by_state_and_the_longest_is_first) {
    const MadeRecording made = recorded();
    Interval throttled = interval_of(ThreadState::Runnable, 7);
    throttled.throttled = true;
    const auto groups = groups_of(made.recording, {interval_of(ThreadState::Running, 5),
                                                   interval_of(ThreadState::Runnable, 2), throttled,
                                                   interval_of(ThreadState::Running, 4, 30)});
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].kind, TimeKind::OnCpu);
    EXPECT_EQ(groups[0].time_ns, 9 * ms);
    EXPECT_EQ(groups[0].intervals.size(), 2U);
    EXPECT_EQ(groups[0].reason, "");
    EXPECT_FALSE(groups[0].throttled);
    EXPECT_EQ(groups[1].kind, TimeKind::Runnable);
    EXPECT_EQ(groups[1].time_ns, 7 * ms);
    EXPECT_EQ(groups[1].reason, "CPU quota");
    EXPECT_TRUE(groups[1].throttled);
    EXPECT_EQ(groups[2].kind, TimeKind::Runnable);
    EXPECT_EQ(groups[2].reason, "");
    EXPECT_FALSE(groups[2].throttled);
}

TEST(IntervalGroups, of_waits_are_by_reason) {
    MadeRecording made = recorded();
    const StackId lock = made.stack(lock_in("read_file"));
    const StackId same = made.stack(lock_in("write_file"));
    const StackId unknown = made.stack({"main", "k:strange_wait", "k:schedule"});
    const StackId other = made.stack({"main", "k:odd_wait", "k:schedule"});
    const auto groups = groups_of(made.recording, {blocked_in(lock, 10), blocked_in(unknown, 9),
                                                   blocked_in(same, 10), blocked_in(other, 5)});
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].kind, TimeKind::Blocked);
    EXPECT_EQ(groups[0].wait, WaitKind::Lock);
    EXPECT_EQ(groups[0].block, BlockReason::Futex);
    EXPECT_EQ(groups[0].reason, "lock (futex)");
    EXPECT_EQ(groups[0].time_ns, 20 * ms);
    EXPECT_EQ(groups[1].reason, "blocked in strange_wait");
    EXPECT_EQ(groups[1].block, BlockReason::Unknown);
    EXPECT_EQ(groups[1].wait, WaitKind::Other);
    EXPECT_EQ(groups[2].reason, "blocked in odd_wait");
}

TEST(IntervalGroups, of_waits_without_a_stack_are_for_the_disk_if_a_disk_ended_them) {
    MadeRecording made = recorded();
    Interval wait = blocked_in(0, 10);
    const auto group = [&] { return groups_of(made.recording, {wait}).at(0); };
    wait.wake_cause = WakeCause::Disk;
    EXPECT_EQ(group().block, BlockReason::Unknown) << "its end was not recorded";
    wait.woken = true;
    EXPECT_EQ(group().block, BlockReason::Disk);
    EXPECT_EQ(group().wait, WaitKind::Disk);
    EXPECT_EQ(group().reason, "disk");
    wait.wake_cause = WakeCause::Device;
    EXPECT_EQ(group().block, BlockReason::Unknown);
    wait.wake_cause = WakeCause::Disk;
    wait.stack = made.stack(lock_in("read_file"));
    EXPECT_EQ(group().block, BlockReason::Futex);
}

TEST(IntervalGroups, of_queues_have_their_name_as_reason) {
    const MadeRecording made = recorded();
    Interval queued = interval_of(ThreadState::Blocked, 8);
    queued.queue = "disk";
    Interval odd = interval_of(ThreadState::Blocked, 3);
    odd.queue = "pit";
    const auto groups = groups_of(made.recording, {queued, odd});
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].reason, "disk");
    EXPECT_EQ(groups[0].block, find_block_reason("disk"));
    EXPECT_EQ(groups[0].wait, facts_of(find_block_reason("disk")).kind);
    EXPECT_EQ(groups[1].reason, "pit");
    EXPECT_EQ(groups[1].block, BlockReason::Unknown);
}

TEST(IntervalGroups, of_unknown_time_say_why) {
    MadeRecording made = recorded();
    made.recording.begin_ns = 20 * ms;
    const auto group = [&](ThreadState state, Interval::Gap gap, std::uint64_t begin_ms) {
        Interval interval = interval_of(state, 5, begin_ms);
        interval.gap = gap;
        const auto groups = groups_of(made.recording, {interval});
        EXPECT_EQ(groups.size(), 1U);
        EXPECT_EQ(groups.at(0).kind, TimeKind::Unknown);
        EXPECT_EQ(groups.at(0).time_ns, 5 * ms);
        return std::pair(groups.at(0).unknown, groups.at(0).reason);
    };
    using Gap = Interval::Gap;
    const auto lost = ThreadState::NotRecorded;
    EXPECT_EQ(group(lost, Gap::Outside, 10),
              std::pair(UnknownTime::BeforeRecording, std::string("before the recording")));
    EXPECT_EQ(group(lost, Gap::Outside, 1000),
              std::pair(UnknownTime::AfterRecording, std::string("after the recording")));
    EXPECT_EQ(group(lost, Gap::BetweenThreads, 30),
              std::pair(UnknownTime::BetweenThreads, std::string("between its markers")));
    EXPECT_EQ(group(lost, Gap::InGoroutine, 30),
              std::pair(UnknownTime::InGoroutine, std::string("in a goroutine")));
    EXPECT_EQ(group(lost, Gap::Lost, 30),
              std::pair(UnknownTime::NotRecorded, std::string("not recorded")));
    EXPECT_EQ(group(ThreadState::Exited, Gap::None, 30),
              std::pair(UnknownTime::ThreadEnded, std::string("thread had ended")));
}

TEST(IntervalGroups, samples_show_that_a_thread_ran_in_lost_time) {
    MadeRecording made = recorded();
    const StackId stack = made.stack({"main", "work"});
    for (const std::uint64_t at : {11, 12, 13})
        made.recording.threads[0].samples.push_back({at * ms, stack, 0});
    Interval lost = interval_of(ThreadState::NotRecorded, 10);
    lost.gap = Interval::Gap::Lost;
    const auto groups = groups_of(made.recording, {lost});
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].kind, TimeKind::Unknown);
    EXPECT_EQ(groups[0].time_ns, 7 * ms);
    EXPECT_EQ(groups[1].kind, TimeKind::OnCpu);
    EXPECT_EQ(groups[1].time_ns, 3 * ms);
}

// The times in milliseconds of the parts of waits at these places.
std::vector<std::uint64_t> parts_of(
    const std::vector<std::pair<std::string, std::uint64_t>>& places,
    WaitKind wait = WaitKind::Lock, BlockReason block = BlockReason::Futex) {
    MadeRecording made = recorded();
    IntervalGroup group;
    group.kind = TimeKind::Blocked;
    group.wait = wait;
    group.block = block;
    group.reason = "lock (futex)";
    for (const auto& [function, length_ms] : places) {
        const StackId stack = function.empty() ? 0 : made.stack({"main", function, "k:schedule"});
        group.intervals.push_back(blocked_in(stack, length_ms));
        group.time_ns += length_ms * ms;
    }
    std::vector<std::uint64_t> times;
    std::size_t intervals = 0;
    for (const IntervalGroup& part : split_by_place(made.recording, {group})) {
        EXPECT_EQ(part.kind, TimeKind::Blocked);
        EXPECT_EQ(part.wait, wait);
        EXPECT_EQ(part.block, block);
        EXPECT_EQ(part.reason, "lock (futex)");
        std::uint64_t time_ns = 0;
        for (const Interval& interval : part.intervals) time_ns += interval.length_ns();
        EXPECT_EQ(part.time_ns, time_ns);
        intervals += part.intervals.size();
        times.push_back(part.time_ns / ms);
    }
    EXPECT_EQ(intervals, places.size());
    return times;
}

using Parts = std::vector<std::uint64_t>;

TEST(IntervalGroups, split_at_two_or_three_places) {
    EXPECT_EQ(parts_of({{"one", 10}}), (Parts{10}));
    EXPECT_EQ(parts_of({{"one", 10}, {"two", 20}, {"one", 5}}), (Parts{20, 15}));
    EXPECT_EQ(parts_of({{"one", 10}, {"two", 20}, {"three", 30}}), (Parts{30, 20, 10}));
    EXPECT_EQ(parts_of({{"one", 10}, {"two", 20}, {"three", 31}}), (Parts{41, 20}))
        << "less than a sixth stays with the longest";
    EXPECT_EQ(parts_of({{"one", 10}, {"two", 10}, {"three", 10}, {"four", 10}}), (Parts{40}));
    EXPECT_EQ(parts_of({{"one", 10}, {"two", 10}, {"", 1}}), (Parts{21})) << "a place is unknown";
}

TEST(IntervalGroups, split_only_where_holders_may_differ) {
    const std::vector<std::pair<std::string, std::uint64_t>> places{{"one", 10}, {"two", 20}};
    for (const WaitKind wait :
         {WaitKind::Lock, WaitKind::ReadWriteLock, WaitKind::Signal, WaitKind::Semaphore,
          WaitKind::ThreadEnd, WaitKind::Futex, WaitKind::KernelLock, WaitKind::FileLock,
          WaitKind::DatabaseLock, WaitKind::RowLock, WaitKind::Pipe, WaitKind::LocalSocket,
          WaitKind::Network, WaitKind::Child, WaitKind::Events, WaitKind::Sleep})
        EXPECT_EQ(parts_of(places, wait), (Parts{20, 10})) << static_cast<int>(wait);
    for (const WaitKind wait : {WaitKind::Disk, WaitKind::PageFault, WaitKind::Memory,
                                WaitKind::Stopped, WaitKind::Other, WaitKind::InterpreterLock})
        EXPECT_EQ(parts_of(places, wait), (Parts{30})) << static_cast<int>(wait);
    EXPECT_EQ(parts_of(places, WaitKind::Lock, BlockReason::Frozen), (Parts{30}));
}

}  // namespace
}  // namespace lagtrap::analysis::wait_groups_test
