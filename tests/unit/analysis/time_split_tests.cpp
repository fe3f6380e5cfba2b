#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/block_reason.hpp"
#include "analysis/delay_cause.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/time_split.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::time_split_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

std::uint64_t sum_of_parts(const TimeSplit& split) {
    return split.on_cpu_ns + split.runnable_ns + split.blocked_ns + split.not_recorded_ns;
}

// Thread 10 runs until 10 ms, waits for a lock until 20 ms and for a CPU until 22 ms, runs until 30
// ms, is preempted until 34 ms, runs until 40 ms, sleeps until 90 ms, and runs until the
// recording's end at 100 ms.
TraceBuilder busy_thread() {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.switched(10 * ms, 0, 10, 1, 0)
        .off_cpu(10 * ms, 10, 10, {"main", "lock", "k:futex_wait", "k:schedule"});
    builder.waking(20 * ms, 1, 11, 10).switched(22 * ms, 0, 0, 0, 10);
    builder.switched(30 * ms, 0, 10, 0, 12)
        .switched(34 * ms, 0, 12, 1, 10)
        .off_cpu(34 * ms, 12, 12, {"other"});
    builder.switched(40 * ms, 0, 10, 1, 0)
        .off_cpu(40 * ms, 10, 10, {"main", "nap", "k:do_nanosleep"});
    builder.waking(90 * ms, 0, 0, 10, true).switched(90 * ms, 0, 0, 0, 10);
    return builder;
}

TEST(TimeSplit, parts_are_right_and_add_up) {
    const auto recording = busy_thread().decode();
    ASSERT_TRUE(recording);
    const auto split =
        split_time(*recording, intervals_of_thread(*recording, 10, {begin, begin + 100 * ms}));
    EXPECT_EQ(split.wall_ns, 100 * ms);
    EXPECT_EQ(split.on_cpu_ns, (10 + 8 + 6 + 10) * ms);
    EXPECT_EQ(split.runnable_ns, (2 + 4) * ms);
    EXPECT_EQ(split.blocked_ns, (10 + 50) * ms);
    EXPECT_EQ(split.not_recorded_ns, 0);
    ASSERT_EQ(split.blocked.size(), 2);
    EXPECT_EQ(split.blocked[0].reason, "sleep");
    EXPECT_FALSE(split.blocked[0].in_queue);
    EXPECT_EQ(split.blocked[0].total_ns, 50 * ms);
    EXPECT_EQ(split.blocked[1].reason, "lock (futex)");
    EXPECT_EQ(split.blocked[1].total_ns, 10 * ms);
}

TEST(TimeSplit, adds_up_for_every_window) {
    const auto recording = busy_thread().decode();
    ASSERT_TRUE(recording);
    for (std::uint64_t from = begin - 20 * ms; from < begin + 130 * ms; from += 3 * ms + 7) {
        for (std::uint64_t length = 0; length < 140 * ms; length += 11 * ms + 3) {
            const auto intervals = intervals_of_thread(*recording, 10, {from, from + length});
            const auto split = split_time(*recording, intervals);
            ASSERT_EQ(split.wall_ns, length);
            ASSERT_EQ(sum_of_parts(split), length);
            std::uint64_t at = from;
            for (const Interval& interval : intervals) {
                ASSERT_EQ(interval.begin_ns, at);
                at = interval.end_ns;
            }
        }
    }
}

TEST(TimeSplit, time_outside_the_recording_is_unknown) {
    const auto recording = busy_thread().decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(
        *recording, intervals_of_thread(*recording, 10, {begin - 30 * ms, begin + 105 * ms}));
    EXPECT_EQ(split.outside_ns, 35 * ms);
    EXPECT_EQ(split.not_recorded_ns, 35 * ms);
    const auto stranger =
        split_time(*recording, intervals_of_thread(*recording, 99, {begin, begin + 5 * ms}));
    EXPECT_EQ(stranger.not_recorded_ns, 5 * ms);
    EXPECT_EQ(stranger.outside_ns, 0);
}

TEST(TimeSplit, names_who_ended_a_wait) {
    const auto recording = busy_thread().decode();
    ASSERT_TRUE(recording);
    const auto intervals = intervals_of_thread(*recording, 10, {begin, begin + 100 * ms});
    std::vector<Interval> blocked;
    for (const Interval& interval : intervals) {
        if (interval.state == ThreadState::Blocked) blocked.push_back(interval);
    }
    ASSERT_EQ(blocked.size(), 2);
    EXPECT_EQ(blocked[0].waker_tid, 11);
    EXPECT_FALSE(blocked[0].by_interrupt);
    EXPECT_TRUE(blocked[1].by_interrupt);
}

TEST(TimeSplit, a_waking_just_before_the_stop_ends_it) {
    TraceBuilder builder(100 * ms);
    builder.switched(1 * ms, 0, 0, 0, 10);
    builder.waking(10 * ms, 1, 11, 10)
        .switched(10 * ms + 2000, 0, 10, 1, 0)
        .switched(15 * ms, 0, 0, 0, 10);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split =
        split_time(*recording, intervals_of_thread(*recording, 10, {begin + ms, begin + 20 * ms}));
    EXPECT_EQ(split.blocked_ns, 0);
    EXPECT_EQ(split.runnable_ns, 5 * ms - 2000);
}

// 10 and 11 share a group. The quota stops 10; 11, which was waiting for its CPU, then waits
// because of the quota too.
TEST(TimeSplit, tells_a_quota_from_a_busy_cpu) {
    TraceBuilder builder(100 * ms);
    builder.switched(1 * ms, 0, 0, 0, 11).switched(5 * ms, 0, 11, 0, 10);
    builder.throttled_switch(20 * ms, 0, 10, 12, true);
    builder.throttled_switch(60 * ms, 0, 12, 11, false, 20 * ms, 55 * ms);
    builder.throttled_switch(70 * ms, 0, 11, 10, false, 20 * ms, 55 * ms);
    builder.throttled_switch(75 * ms, 0, 10, 12, true);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = [&](std::uint32_t tid) {
        return split_time(*recording,
                          intervals_of_thread(*recording, tid, {begin + 5 * ms, begin + 95 * ms}));
    };
    EXPECT_EQ(split(11).runnable_ns, 55 * ms + 25 * ms);
    EXPECT_EQ(split(11).throttled_ns, 35 * ms);
    EXPECT_EQ(split(10).runnable_ns, 50 * ms + 20 * ms);
    EXPECT_EQ(split(10).throttled_ns, 35 * ms + 20 * ms);  // throttled until the recording's end
    EXPECT_EQ(split(12).throttled_ns, 0);
}

TEST(TimeSplit, without_scheduling_samples_count_as_time_on_a_cpu) {
    TraceBuilder builder(100 * ms);
    builder.samples(10 * ms, 30 * ms, 0, 10, 10, {"main"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split =
        split_time(*recording, intervals_of_thread(*recording, 10, {begin, begin + 50 * ms}));
    EXPECT_TRUE(split.from_samples);
    EXPECT_EQ(split.on_cpu_ns, 20 * ms);
    EXPECT_EQ(split.not_recorded_ns, 30 * ms);
    // A sample stands for a millisecond, but not for more than there is.
    const auto part = split_time(
        *recording, intervals_of_thread(*recording, 10, {begin + 10 * ms, begin + 10 * ms + 9}));
    EXPECT_EQ(part.on_cpu_ns, 9);
    EXPECT_EQ(part.not_recorded_ns, 0);
}

// The records of 10 stopping and returning are missing; in between it was sampled for 20 ms.
TEST(TimeSplit, samples_fill_the_place_of_lost_switches) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").thread(10, 11, "other");
    builder.switched(10 * ms, 0, 0, 0, 10).samples(15 * ms, 35 * ms, 0, 10, 10, {"main", "spin"});
    builder.switched(40 * ms, 0, 11, 1, 0).switched(50 * ms, 0, 0, 0, 10);
    auto delay =
        TraceBuilder::delay(1, "work", static_cast<std::int64_t>(10 * ms), 40 * ms, 5 * ms, 10, 10);
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto intervals = intervals_of_delay(*recording, delay);
    const TimeSplit split = split_time(*recording, intervals);
    EXPECT_FALSE(split.from_samples);
    EXPECT_EQ(split.on_cpu_ns, 20 * ms);
    EXPECT_EQ(split.not_recorded_ns, 20 * ms);
    std::uint64_t on_cpu_ns = 0;
    for (const ProfileEntry& entry : profile_of_delay(*recording, delay).entries) {
        if (entry.links.back().kind == TimeKind::OnCpu) on_cpu_ns += entry.time_ns;
    }
    EXPECT_EQ(on_cpu_ns, 20 * ms);
}

// A run that began on thread 10 and ended on 11: either 10 queues it at 20 ms and wakes 11, or the
// hand-over was not seen.
TEST(TimeSplit, a_run_that_changes_threads_is_followed_by_wakings) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "front").thread(10, 11, "worker");
    builder.off_cpu(0, 10, 11, {"worker_main", "k:do_futex"}).switched(1 * ms, 0, 0, 0, 10);
    builder.waking(20 * ms, 0, 10, 11).switched(23 * ms, 1, 0, 0, 11);
    auto delay = TraceBuilder::delay(1, "request", static_cast<std::int64_t>(10 * ms), 40 * ms,
                                     5 * ms, 10, 10);
    delay.end_tid = 11;
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(split.wall_ns, 40 * ms);
    EXPECT_EQ(split.on_cpu_ns, 10 * ms + 27 * ms);
    EXPECT_EQ(split.runnable_ns, 3 * ms);
    EXPECT_EQ(split.between_threads_ns, 0);

    delay.begin_ns = begin + 25 * ms;
    const auto unseen = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(unseen.between_threads_ns, 40 * ms);
    EXPECT_EQ(unseen.not_recorded_ns, 40 * ms);
}

// 11 was woken before the run began, and waits for a CPU until after that.
TEST(TimeSplit, a_wakeup_before_the_run_is_no_hand_over) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "front").thread(10, 11, "worker");
    builder.off_cpu(0, 10, 11, {"worker_main", "k:do_futex"}).switched(1 * ms, 0, 0, 0, 10);
    builder.waking(8 * ms, 0, 10, 11).switched(23 * ms, 1, 0, 0, 11);
    auto delay = TraceBuilder::delay(1, "request", static_cast<std::int64_t>(10 * ms), 40 * ms,
                                     5 * ms, 10, 10);
    delay.end_tid = 11;
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(split.wall_ns, 40 * ms);
    EXPECT_EQ(split.between_threads_ns, 40 * ms);
    EXPECT_EQ(split.not_recorded_ns, 40 * ms);
}

// The first wakeup was for other work.
TEST(TimeSplit, a_run_is_handed_over_by_the_last_wakeup) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "front").thread(10, 11, "worker");
    builder.off_cpu(0, 10, 11, {"worker_main", "k:do_futex"}).switched(1 * ms, 0, 0, 0, 10);
    builder.waking(15 * ms, 0, 10, 11).switched(16 * ms, 1, 0, 0, 11);
    builder.switched(18 * ms, 1, 11, 1, 0).off_cpu(18 * ms, 10, 11, {"worker_main", "k:do_futex"});
    builder.waking(30 * ms, 0, 10, 11).switched(31 * ms, 1, 0, 0, 11);
    auto delay = TraceBuilder::delay(1, "request", static_cast<std::int64_t>(10 * ms), 40 * ms,
                                     5 * ms, 10, 10);
    delay.end_tid = 11;
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(split.on_cpu_ns, 39 * ms);
    EXPECT_EQ(split.blocked_ns, 0);
}

// A goroutine whose run begins and ends on one thread may have run on another in between, and that
// thread may have run others, so no thread's time counts.
TEST(TimeSplit, a_run_of_a_goroutine_has_no_thread) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "server").switched(1 * ms, 0, 0, 0, 10);
    auto delay = TraceBuilder::delay(1, "request", -static_cast<std::int64_t>(10 * ms), 40 * ms,
                                     5 * ms, 10, 10);
    delay.in_go = true;
    delay.goroutine = 34;
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(split.in_goroutine_ns, 30 * ms);
    EXPECT_EQ(split.outside_ns, 10 * ms);
    EXPECT_EQ(split.not_recorded_ns, split.wall_ns);
    const auto sentences = cause_sentences(causes_of_delay(*recording, delay));
    ASSERT_FALSE(sentences.empty());
    EXPECT_THAT(sentences.front(),
                testing::AllOf(
                    testing::HasSubstr("the run was in goroutine 34"),
                    testing::HasSubstr("Meanwhile, threads of its process computed for 29.0 ms")));
}

TEST(TimeSplit, stages_say_which_thread_had_the_run) {
    TraceBuilder builder(100 * ms);
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 11);
    auto delay = TraceBuilder::delay(1, "request", static_cast<std::int64_t>(10 * ms), 40 * ms,
                                     5 * ms, 10, 10);
    delay.end_tid = 11;
    delay.stages = {{"queued", 10 * ms, 10}, {"picked", 15 * ms, 11}};
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
    EXPECT_EQ(split.on_cpu_ns, 10 * ms + 25 * ms);
    EXPECT_EQ(split.between_threads_ns, 5 * ms);
}

// The thread hit by the completing interrupt has nothing to do with the request, and the thread
// that sent it may do other work.
TEST(TimeSplit, a_request_to_a_disk_is_in_its_queue) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "writer").thread(20, 20, "innocent");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 20);
    builder.system.markers["disk"] = {{"", "tracepoint block:block_rq_insert"},
                                      {"sent", "tracepoint block:block_rq_issue"},
                                      {"", "tracepoint block:block_rq_complete"}};
    for (const std::uint32_t end_tid : {20U, 10U}) {
        auto delay = TraceBuilder::delay(1, "disk", static_cast<std::int64_t>(10 * ms), 40 * ms,
                                         5 * ms, 10, 10);
        delay.end_tid = end_tid;
        delay.stages = {{"sent", 5 * ms, 10}};
        builder.run(delay);
        const auto recording = builder.decode();
        ASSERT_TRUE(recording);
        const auto split = split_time(*recording, intervals_of_delay(*recording, delay));
        EXPECT_EQ(sum_of_parts(split), 40 * ms);
        EXPECT_EQ(split.not_recorded_ns, 0);
        ASSERT_EQ(split.blocked.size(), 2);
        EXPECT_EQ(split.blocked[0].reason, "in the device's queue");
        EXPECT_TRUE(split.blocked[0].in_queue);
        EXPECT_EQ(split.blocked[0].total_ns, 35 * ms);
        EXPECT_EQ(split.blocked[1].reason, "in the queue of the kernel");
    }
    auto early = TraceBuilder::delay(1, "disk", -10 * static_cast<std::int64_t>(ms), 40 * ms,
                                     5 * ms, 10, 10);
    early.open = true;
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto split = split_time(*recording, intervals_of_delay(*recording, early));
    EXPECT_EQ(split.outside_ns, 10 * ms);
    EXPECT_EQ(split.blocked_ns, 30 * ms);
}

std::string_view name_of(std::string_view kernel_function) {
    return facts_of(reason_of_function(kernel_function)).name;
}

TEST(BlockReason, reads_kernel_functions) {
    EXPECT_EQ(name_of("futex_wait_queue"), "lock (futex)");
    EXPECT_EQ(name_of("do_nanosleep"), "sleep");
    EXPECT_EQ(name_of("ep_poll"), "events");
    EXPECT_EQ(name_of("inet_csk_accept"), "events");  // a server without a client
    EXPECT_EQ(name_of("tcp_recvmsg_locked"), "network");
    EXPECT_EQ(name_of("unix_stream_read_generic"), "local socket");
    EXPECT_EQ(name_of("anon_pipe_read"), "pipe");
    EXPECT_EQ(name_of("do_wait"), "child process");
    EXPECT_EQ(name_of("jbd2_log_wait_commit [jbd2]"), "disk");
    EXPECT_EQ(name_of("filemap_fault"), "page fault");
    EXPECT_EQ(name_of("rwsem_down_write_slowpath.constprop.0"), "lock in the kernel");
    EXPECT_EQ(name_of("do_wait_intr"), "unknown reason");
    EXPECT_EQ(name_of("nothing_known"), "unknown reason");
}

TEST(BlockReason, its_names_find_it) {
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(BlockReason::Unknown); ++i) {
        const auto reason = static_cast<BlockReason>(i);
        EXPECT_EQ(facts_of(reason).reason, reason);
        EXPECT_EQ(find_block_reason(facts_of(reason).name), reason) << facts_of(reason).name;
    }
    EXPECT_EQ(find_block_reason("blocked in odd_wait"), BlockReason::Unknown);
}

TEST(BlockReason, says_which_waits_no_program_ends) {
    for (const char* function :
         {"do_nanosleep", "submit_bio_wait", "filemap_fault", "do_swap_page", "msleep"})
        EXPECT_TRUE(facts_of(reason_of_function(function)).ends_by_interrupt) << function;
    // A page that another program provides.
    for (const char* function :
         {"handle_userfault", "futex_wait_queue", "pipe_read", "tcp_recvmsg", "nothing_known"})
        EXPECT_FALSE(facts_of(reason_of_function(function)).ends_by_interrupt) << function;
}

std::string reason_of(const TraceBuilder::Stack& stack) {
    TraceBuilder builder(100 * ms);
    builder.sample(1 * ms, 0, 10, 10, stack);
    const auto recording = builder.decode();
    return recording ? reason_of_stack(*recording, recording->find_thread(10)->samples.at(0).stack)
                     : "";
}

TEST(BlockReason, weighs_the_functions_of_a_stack) {
    EXPECT_EQ(reason_of({"main", "k:do_fsync", "k:ext4_sync_file", "k:folio_wait_bit_common",
                         "k:io_schedule"}),
              "disk");
    EXPECT_EQ(reason_of({"main", "k:asm_exc_page_fault", "k:handle_mm_fault", "k:io_schedule"}),
              "page fault");
    EXPECT_EQ(reason_of({"main", "k:do_syscall_64", "k:odd_wait", "k:schedule", "k:__schedule"}),
              "blocked in odd_wait");
    EXPECT_EQ(reason_of({"main", "wait_here"}), "blocked in wait_here");
    // A user function with the name of a kernel function says nothing.
    EXPECT_EQ(reason_of({"main", "do_nanosleep"}), "blocked in do_nanosleep");
    EXPECT_EQ(reason_of({"?:/lib/x.so"}), "unknown reason");
}

}  // namespace
}  // namespace lagtrap::analysis::time_split_tests
