#include "trace/merge/thread_ends.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::thread_ends_test {
namespace {

lagtrap_task_change exit_of(std::uint32_t tid, std::uint64_t at_ns) {
    lagtrap_task_change exit{};
    exit.header.at_ns = at_ns;
    exit.tid = tid;
    return exit;
}

lagtrap_run open_run(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) {
    lagtrap_run run{};
    run.begin_tid = tid;
    run.begin_ns = run.begin_hit_ns = begin_ns;
    run.end_ns = end_ns;
    run.flags = LAGTRAP_RUN_OPEN;
    return run;
}

struct ThreadEndsTest : testing::Test {
    ThreadEndsTest() {
        for (const std::uint64_t at_ns : {500, 90, 700}) ends.add(exit_of(7, at_ns));
    }
    lagtrap_run cut(lagtrap_run run) const {
        ends.cut_off(run);
        return run;
    }
    ThreadEnds ends;
};

TEST_F(ThreadEndsTest, an_open_run_is_no_longer_than_its_thread) {
    const lagtrap_run run = cut(open_run(7, 100, 1000));
    EXPECT_EQ(run.end_ns, 500) << "earlier and later ends are of others with this number";
    EXPECT_EQ(run.flags, LAGTRAP_RUN_OPEN | LAGTRAP_RUN_ABANDONED);
}

TEST_F(ThreadEndsTest, runs_of_threads_that_live_stay_as_they_are) {
    for (const lagtrap_run& run :
         {open_run(7, 100, 400), open_run(8, 100, 1000), open_run(7, 800, 1000)}) {
        EXPECT_EQ(cut(run).end_ns, run.end_ns);
        EXPECT_EQ(cut(run).flags, LAGTRAP_RUN_OPEN);
    }
}

TEST_F(ThreadEndsTest, runs_that_another_thread_may_end_outlive_the_one_that_began_them) {
    lagtrap_run of_value = open_run(7, 100, 1000);
    of_value.key = 42;
    EXPECT_EQ(cut(of_value).end_ns, 1000);
    lagtrap_run of_goroutine = open_run(7, 100, 1000);
    of_goroutine.flags |= LAGTRAP_RUN_IN_GO;
    EXPECT_EQ(cut(of_goroutine).end_ns, 1000);
}

TEST_F(ThreadEndsTest, a_run_that_has_ended_keeps_its_end) {
    lagtrap_run run = open_run(7, 100, 1000);
    run.flags = LAGTRAP_RUN_DELAY;
    EXPECT_EQ(cut(run).end_ns, 1000);
}

TEST_F(ThreadEndsTest, runs_of_goroutines_outlive_the_thread_that_began_them) {
    lagtrap_run of_goroutine = open_run(7, 100, 1000);
    of_goroutine.flags |= LAGTRAP_RUN_OF_GOROUTINE;
    EXPECT_EQ(cut(of_goroutine).end_ns, 1000);
}

TEST_F(ThreadEndsTest, a_thread_may_end_at_its_first_hit_but_not_before) {
    lagtrap_run run = open_run(7, 400, 1000);
    run.begin_hit_ns = 500;
    EXPECT_EQ(cut(run).end_ns, 500);
    run.begin_hit_ns = 501;
    EXPECT_EQ(cut(run).end_ns, 700);
}

}  // namespace
}  // namespace lagtrap::trace::thread_ends_test
