// Who had the CPU that a delayed thread waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::cpu_cause_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

TEST(CpuCause, says_who_had_the_cpu_and_how_urgent_it_was) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/opt/rt_hog --all")
        .thread(30, 30, "rt_hog");
    builder.process(20, "/bin/cc").thread(20, 20, "cc1plus").switched(1 * ms, 0, 0, 0, 20);
    builder.switched(1 * ms, 1, 0, 0, 10).samples(10 * ms, 40 * ms, 1, 10, 10, {"main", "serve"});
    builder.switched(40 * ms, 1, 10, 0, 30, 49).switched(290 * ms, 1, 30, 1, 10);
    builder.samples(290 * ms, 300 * ms, 1, 10, 10, {"main", "serve"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 280 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder),
        testing::ElementsAre(
            "Waited 250 ms (89 %) for a CPU while rt_hog (30, real-time priority 50) had CPU 1.",
            "Computed for 30.0 ms (11 %) in serve."));
}

// Only for other units and containers; the delayed process's own is shown above.
TEST(CpuCause, says_which_unit_others_belong_to) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").unit(10, "container web");
    builder.process(30, "/bin/backup").thread(30, 30, "backup").unit(30, "backup.service");
    builder.process(11, "/usr/bin/app").thread(11, 11, "app").unit(11, "container web");
    builder.switched(1 * ms, 1, 0, 0, 10).samples(10 * ms, 40 * ms, 1, 10, 10, {"main", "serve"});
    builder.switched(40 * ms, 1, 10, 0, 30)
        .switched(240 * ms, 1, 30, 0, 11)
        .switched(290 * ms, 1, 11, 1, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 280 * ms, 10 * ms, 10, 10));
    EXPECT_EQ(sentences_of(builder).at(0),
              "Waited 250 ms (89 %) for a CPU while backup (30, backup.service) had CPU 1, and app "
              "(11) for 50.0 ms.");
}

TEST(CpuCause, a_priority_given_while_the_thread_ran_is_told) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .process(30, "/opt/rt_hog --all")
        .thread(30, 30, "rt_hog");
    builder.switched(1 * ms, 1, 0, 0, 10).samples(10 * ms, 40 * ms, 1, 10, 10, {"main", "serve"});
    builder.switched(40 * ms, 1, 10, 0, 30, 120).switched(290 * ms, 1, 30, 1, 10, 120, 59);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 280 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                HasSubstr("for a CPU while rt_hog (30, real-time priority 40) had CPU 1."));
}

TEST(CpuCause, a_cpu_that_several_had_is_not_blamed_on_one) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    for (std::uint32_t pid = 30; pid < 35; ++pid)
        builder.process(pid, "/bin/job").thread(pid, pid, "job-" + std::to_string(pid));
    builder.switched(1 * ms, 0, 0, 0, 10).switched(40 * ms, 0, 10, 0, 30);
    for (std::uint32_t i = 1; i < 5; ++i)
        builder.switched((40 + 50 * i) * ms, 0, 29 + i, 0, 30 + i);
    builder.switched(290 * ms, 0, 34, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(30 * ms), 270 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                "Waited 250 ms (93 %) for a CPU while others had it: job-30 (30) 50.0 ms, job-31 "
                "(31) 50.0 ms, job-32 (32) 50.0 ms.");
}

// Jobs had most of the time, but a real-time thread had a third: both are named.
TEST(CpuCause, who_had_a_good_part_of_the_cpu_is_named_too) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.process(30, "/bin/job")
        .thread(30, 30, "job")
        .process(31, "/bin/job")
        .thread(31, 31, "job");
    builder.process(32, "/bin/job").thread(32, 32, "job");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(40 * ms, 0, 10, 0, 30)
        .switched(130 * ms, 0, 30, 0, 31);
    builder.switched(220 * ms, 0, 31, 0, 32, 59).switched(320 * ms, 0, 32, 1, 10);
    builder.run(TraceBuilder::delay(1, "work", at(30 * ms), 300 * ms, 10 * ms, 10, 10));
    EXPECT_EQ(sentences_of(builder).at(0),
              "Waited 280 ms (93 %) for a CPU while job (2 threads) had CPU 0, and job (32, "
              "real-time priority 40) for 100 ms.");
}

// The thread is runnable and its CPU idle: something else keeps it from running, and no thread is
// named.
TEST(CpuCause, an_idle_cpu_is_blamed_on_nobody) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.switched(40 * ms, 0, 10, 0, 0).switched(290 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(30 * ms), 270 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(sentences_of(builder).at(0),
                HasSubstr("probably the CPU limit of its control group"));
}

TEST(CpuCause, an_idle_cpu_that_is_slow_to_wake_up_is_not_limited) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.switched(40 * ms, 0, 10, 1, 0).off_cpu(40 * ms, 10, 10, {"main", "k:schedule"});
    builder.waking(50 * ms, 0, 0, 10, true).switched(290 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(30 * ms), 270 * ms, 10 * ms, 10, 10));
    EXPECT_THAT(
        sentences_of(builder).at(0),
        AllOf(HasSubstr("which was idle: it was slow to wake up"), Not(HasSubstr("limit"))));
}

}  // namespace
}  // namespace lagtrap::analysis::cpu_cause_tests
