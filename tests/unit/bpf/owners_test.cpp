// Runs whose thread or program is gone when another one gets its number.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

using Owners = EventMonitor;

constexpr std::uint64_t longer_than_numbers_take_ns = 200'000;

TEST_F(Owners, a_thread_does_not_get_the_run_of_one_that_had_its_number) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101));
    pass(longer_than_numbers_take_ns);
    thread(101).started_ns = kernel.now_ns - 10;
    begin(0, thread(101));
    pass(5);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.depth, 0);
    EXPECT_EQ(reported[0].run.end_ns - reported[0].run.begin_ns, 5);
    EXPECT_EQ(counters(0).abandoned, 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Owners, an_end_does_not_end_the_run_of_one_that_had_the_threads_number) {
    add_event(0);
    begin(0, thread(101));
    pass(longer_than_numbers_take_ns);
    thread(101).started_ns = kernel.now_ns;
    end(0, thread(101));
    EXPECT_EQ(runs(0), 0);
    EXPECT_EQ(counters(0).abandoned, 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
}

TEST_F(Owners, numbers_are_not_used_again_within_100_microseconds) {
    add_event(0);
    for (const auto& [elapsed_ns, abandoned] : {std::pair(99'999, 0), std::pair(100'000, 1)}) {
        thread(101).started_ns = 0;
        begin(0, thread(101));
        pass(elapsed_ns);
        thread(101).started_ns = kernel.now_ns;
        end(0, thread(101));
        EXPECT_EQ(counters(0).abandoned, abandoned) << elapsed_ns;
    }
    EXPECT_EQ(runs(0), 1);
}

TEST_F(Owners, a_run_ends_with_the_program_that_began_it) {
    add_event(0);
    begin(0, thread(101));
    begin(0, thread(201));
    pass(longer_than_numbers_take_ns);
    exec(thread(101));
    pass(10);
    end(0, thread(101));
    end(0, thread(201));
    EXPECT_EQ(counters(0).abandoned, 1);
    EXPECT_EQ(runs(0), 1);
}

TEST_F(Owners, a_stage_finds_no_run_of_the_program_before) {
    add_event(0);
    begin(0, thread(101));
    pass(longer_than_numbers_take_ns);
    exec(thread(101));
    stage(0, thread(101), 0);
    EXPECT_EQ(counters(0).abandoned, 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_STAGE), 1);
}

TEST_F(Owners, a_run_of_a_program_that_began_before_it_is_its_own) {
    add_event(0);
    exec(thread(101));
    pass(10);
    begin(0, thread(101));
    pass(longer_than_numbers_take_ns);
    end(0, thread(101));
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).abandoned, 0);
}

TEST_F(Owners, of_a_key_the_process_is_asked_and_not_the_thread) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    for (const std::uint64_t key : {1, 2}) begin(0, thread(101), {.key = key});
    pass(longer_than_numbers_take_ns);
    thread(102).started_ns = kernel.now_ns;
    end(0, thread(102), {.key = 1});
    EXPECT_EQ(runs(0), 1);
    thread(102).process_started_ns = kernel.now_ns;
    end(0, thread(102), {.key = 2});
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).abandoned, 1);
}

TEST_F(Owners, keys_of_the_machine_have_no_owner) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_MACHINE);
    begin(0, thread(101), {.key = 1});
    pass(longer_than_numbers_take_ns);
    exec(thread(201));
    thread(201).process_started_ns = kernel.now_ns;
    end(0, thread(201), {.key = 1});
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).abandoned, 0);
}

}  // namespace lagtrap::native
