// Begins while a run with their key is open, if only their order shows how they nest.
#include <algorithm>

#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

using NestedRuns = EventMonitor;

TEST_F(NestedRuns, an_end_ends_the_innermost_run) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    for (int depth = 0; depth < 3; ++depth, pass(10)) begin(0, thread(101));
    for (int depth = 0; depth < 3; ++depth, pass(100)) end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 3);
    for (std::size_t i = 0; i < reported.size(); ++i) {
        EXPECT_EQ(reported[i].run.depth, 2 - i);
        EXPECT_EQ(reported[i].run.end_ns - reported[i].run.begin_ns, 10 + i * 110);
    }
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(NestedRuns, runs_of_two_threads_are_apart) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101));
    pass(10);
    begin(0, thread(102));
    pass(5);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.begin_tid, 101);
    EXPECT_EQ(reported[0].run.end_ns - reported[0].run.begin_ns, 15);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(NestedRuns, runs_of_two_events_are_apart) {
    add_event(0);
    add_event(1);
    begin(0, thread(101));
    begin(1, thread(101));
    end(0, thread(101));
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(runs(1), 0);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(NestedRuns, begins_deeper_than_the_limit_are_counted_and_their_ends_end_nothing) {
    constexpr int beyond = 5;
    add_event(0);
    for (int i = 0; i < LAGTRAP_MAX_DEPTH + beyond; ++i) begin(0, thread(101));
    EXPECT_EQ(counters(0).too_deep, beyond);
    EXPECT_EQ(open_runs(), LAGTRAP_MAX_DEPTH);
    for (int i = 0; i < beyond; ++i) end(0, thread(101));
    EXPECT_EQ(runs(0), 0);
    for (int i = 0; i < LAGTRAP_MAX_DEPTH; ++i) end(0, thread(101));
    EXPECT_EQ(runs(0), LAGTRAP_MAX_DEPTH);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(NestedRuns, an_end_without_a_begin_is_counted) {
    add_event(0);
    end(0, thread(101));
    begin(0, thread(101));
    end(0, thread(101));
    end(0, thread(101));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 2);
    EXPECT_EQ(runs(0), 1);
}

TEST_F(NestedRuns, a_run_around_which_another_may_have_been_left_is_doubtful) {
    add_event(0);
    begin(0, thread(101));
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 0);
    begin(0, thread(101));
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 1);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 1))->doubtful, 0);
}

TEST_F(NestedRuns, of_outermost_runs_the_first_begin_and_the_last_end_count) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS, LAGTRAP_NESTING_OUTERMOST);
    for (int i = 0; i < 3; ++i, pass(10)) begin(0, thread(101));
    for (int i = 0; i < 3; ++i, pass(10)) end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.end_ns - reported[0].run.begin_ns, 50);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
}

TEST_F(NestedRuns, a_begin_restarts_the_run_where_the_event_says_so) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS, LAGTRAP_NESTING_RESTART);
    begin(0, thread(101));
    pass(100);
    begin(0, thread(101));
    EXPECT_EQ(open_runs(), 1);
    pass(7);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.end_ns - reported[0].run.begin_ns, 7);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(NestedRuns, a_run_that_was_restarted_after_its_threshold_counts_as_late) {
    add_event(0, 0, LAGTRAP_NESTING_RESTART).threshold_ns = 50;
    begin(0, thread(101));
    slot_of(lagtrap_run_tag(101, 0, 0, 0))->reported = 1;
    pass(100);
    begin(0, thread(101));
    EXPECT_EQ(counters(0).unended_late, 1);
    EXPECT_EQ(counters(0).withdrawn, 1);
    begin(0, thread(101));
    EXPECT_EQ(counters(0).unended_late, 1);
    EXPECT_EQ(counters(0).withdrawn, 1);
}

TEST_F(NestedRuns, programs_without_arguments_pair_as_well) {
    add_event(0, 0, LAGTRAP_NESTING_EACH, Probe::usdt_without_arguments);
    begin(0, thread(101));
    begin(0, thread(101));
    end(0, thread(101));
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(open_runs(), 1);
}

}  // namespace lagtrap::native
