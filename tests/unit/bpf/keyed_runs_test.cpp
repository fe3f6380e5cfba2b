// Runs keyed by a value: any thread may end them.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

using KeyedRuns = EventMonitor;

TEST_F(KeyedRuns, another_thread_of_the_process_ends_a_run) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    pass(40);
    end(0, thread(102), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.key, 7);
    EXPECT_EQ(reported[0].run.begin_tid, 101);
    EXPECT_EQ(reported[0].run.end_tid, 102);
    EXPECT_STREQ(reported[0].run.comm, "");
}

TEST_F(KeyedRuns, a_run_that_its_own_thread_ends_has_the_threads_name) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    end(0, thread(101), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_STREQ(reported[0].run.comm, "thread-101");
}

TEST_F(KeyedRuns, equal_keys_of_two_processes_are_two_keys) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    begin(0, thread(101), {.key = 7});
    end(0, thread(201), {.key = 7});
    EXPECT_EQ(runs(0), 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(KeyedRuns, a_key_of_the_machine_is_one_for_all_processes) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_MACHINE);
    begin(0, thread(101), {.key = 7});
    end(0, thread(201), {.key = 7});
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(KeyedRuns, keys_end_in_any_order) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    for (std::uint64_t key = 0; key < 10; ++key) begin(0, thread(101), {.key = key});
    for (std::uint64_t key = 0; key < 10; ++key) end(0, thread(101), {.key = key * 3 % 10});
    EXPECT_EQ(runs(0), 10);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
}

TEST_F(KeyedRuns, runs_of_one_key_nest_across_threads) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    begin(0, thread(102), {.key = 7});
    end(0, thread(103), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.begin_tid, 102);
    EXPECT_EQ(reported[0].run.depth, 1);
}

TEST_F(KeyedRuns, functions_have_their_key_in_a_parameter) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_EACH, Probe::function);
    begin(0, thread(101), {.key = 7});
    end(0, thread(101), {.key = 8});
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    end(0, thread(102), {.key = 7});
    EXPECT_EQ(runs(0), 1);
}

}  // namespace lagtrap::native
