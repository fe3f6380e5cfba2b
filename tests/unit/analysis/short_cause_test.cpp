#include "analysis/short_cause.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::short_cause_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

const TraceBuilder::Stack lock_stack{"start_thread",      "handle",       "pthread_mutex_lock",
                                     "k:__x64_sys_futex", "k:futex_wait", "k:schedule"};

// Thread 11 of process 10 waits from 10 ms to 210 ms for thread 20, which computes meanwhile.
TraceBuilder waits(const TraceBuilder::Stack& stack, std::uint32_t pid_of_waker = 20) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.process(20, "/usr/bin/report").thread(pid_of_waker, 20, "report");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 20);
    builder.samples(2 * ms, 220 * ms, 1, pid_of_waker, 20, {"main", "merge_rows"});
    builder.switched(10 * ms, 0, 11, 2, 0).off_cpu(10 * ms, 10, 11, stack);
    builder.waking(210 * ms, 1, 20, 11).switched(210 * ms, 0, 0, 0, 11);
    return builder;
}

std::string cause_of(TraceBuilder builder) {
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    return short_cause(causes_of_delay(*recording, builder.system.delays.at(0)));
}

TEST(ShortCause, NamesTheHolderOfALockAndWhatItDid) {
    EXPECT_EQ(cause_of(waits(lock_stack)),
              "Waited for a lock held by report, which computed in merge_rows");
    EXPECT_EQ(cause_of(waits(lock_stack, 10)),
              "Waited for a lock held by its thread report, which computed in merge_rows");
}

TEST(ShortCause, NamesTheProcessThatEndedAnotherWait) {
    const TraceBuilder::Stack pipe{"main",        "read_answer", "read",
                                   "k:ksys_read", "k:pipe_read", "k:schedule"};
    EXPECT_EQ(cause_of(waits(pipe)), "Waited on a pipe, for report, which computed in merge_rows");
}

TEST(ShortCause, NamesNoThreadThatIsMerelyBusyWhileAWaitTimesOut) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").thread(10, 12, "statistics");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 12);
    builder.samples(2 * ms, 220 * ms, 1, 10, 12, {"main", "merge_rows"});
    builder.switched(10 * ms, 0, 11, 1, 0);
    builder.off_cpu(10 * ms, 10, 11,
                    {"main", "take", "pthread_cond_timedwait", "k:futex_wait", "k:schedule"});
    builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
    EXPECT_EQ(cause_of(builder), "Waited for a signal from another thread in take");
}

// 11 waits for a lock that 12 holds, which waits for a signal until it times out, while 13
// computes.
TEST(ShortCause, EndsTheChainBeforeAThreadThatIsMerelyBusy) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 11, "worker")
        .thread(10, 12, "flusher")
        .thread(10, 13, "statistics");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 13);
    builder.samples(2 * ms, 220 * ms, 1, 10, 13, {"main", "merge_rows"});
    builder.off_cpu(5 * ms, 10, 12,
                    {"main", "flush", "pthread_cond_timedwait", "k:futex_wait", "k:schedule"});
    builder.switched(10 * ms, 0, 11, 1, 0);
    builder.off_cpu(10 * ms, 10, 11,
                    {"main", "take", "pthread_mutex_lock", "k:futex_wait", "k:schedule"});
    builder.caused_waking(209 * ms, 2, 0, 12, 2).switched(209 * ms, 2, 0, 0, 12);
    builder.waking(210 * ms, 2, 12, 11).switched(210 * ms, 0, 0, 0, 11);
    EXPECT_EQ(cause_of(builder),
              "Waited for a lock held by its thread flusher, which waited for a signal from "
              "another thread in flush");
}

TEST(ShortCause, NamesTheFunctionThatComputed) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").switched(1 * ms, 0, 0, 0, 11);
    builder.samples(5 * ms, 220 * ms, 0, 10, 11, {"main", "handle", "parse"});
    EXPECT_EQ(cause_of(builder), "Computed in parse");
}

TEST(ShortCause, NamesWhoeverUsedTheCpu) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker");
    builder.process(30, "/usr/bin/backup").thread(30, 30, "backup").switched(1 * ms, 0, 0, 0, 11);
    builder.switched(10 * ms, 0, 11, 0, 30).switched(210 * ms, 0, 30, 0, 11);
    EXPECT_EQ(cause_of(builder), "Waited for a CPU that backup used");
}

TEST(ShortCause, SaysWhatIsUnknown) {
    EXPECT_EQ(short_cause({}), "Unknown");
    DelayCauses causes;
    causes.causes.emplace_back();
    causes.causes.front().doing.unknown = UnknownTime::BeforeRecording;
    EXPECT_EQ(short_cause(causes), "Unknown: before the recording");
}

}  // namespace
}  // namespace lagtrap::analysis::short_cause_test
