// Markers of one thread whose nesting follows from stack pointers: an inner frame has the smaller
// one.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class StackOrder : public EventMonitor {
  protected:
    void begin_at(std::uint64_t stack_pointer, std::uint64_t site = 0x400000) {
        begin(0, thread(101), {.stack_pointer = stack_pointer, .site = site});
    }
    void end_at(std::uint64_t stack_pointer) {
        end(0, thread(101), {.stack_pointer = stack_pointer});
    }
    // Depth and length of each run that has ended.
    std::vector<std::pair<int, std::uint64_t>> ended() {
        std::vector<std::pair<int, std::uint64_t>> found;
        for (const auto& one : take_reports())
            found.emplace_back(one.run.depth, one.run.end_ns - one.run.begin_ns);
        return found;
    }
    using Ended = std::vector<std::pair<int, std::uint64_t>>;
};

TEST_F(StackOrder, a_begin_at_the_same_marker_of_the_same_frame_takes_the_place_of_the_run_before) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS);
    begin_at(0x7000);
    pass(10);
    begin_at(0x7000);
    pass(3);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 3}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
    EXPECT_EQ(counters(0).abandoned, 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(StackOrder, two_markers_of_one_frame_nest_and_the_outer_run_is_doubtful) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER);
    begin_at(0x7000, 0x400000);
    begin_at(0x7000, 0x400010);
    EXPECT_EQ(open_runs(), 2);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 1);
}

TEST_F(StackOrder, a_begin_in_an_inner_frame_leaves_no_doubt) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER);
    begin_at(0x7000);
    begin_at(0x6000);
    EXPECT_EQ(open_runs(), 2);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 0);
}

TEST_F(StackOrder, a_begin_further_out_gives_up_all_runs_inside_it) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS);
    for (const std::uint64_t place : {0x7000, 0x6000, 0x5000}) begin_at(place);
    pass(10);
    begin_at(0x6800);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 2);
    EXPECT_EQ(open_runs(), 2);
    pass(1);
    end_at(0x6800);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{1, 1}, {0, 11}}));
}

TEST_F(StackOrder, an_end_of_the_outer_frame_gives_up_the_run_inside) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS);
    begin_at(0x7000);
    pass(10);
    begin_at(0x6000);
    pass(1);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 11}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(StackOrder, an_end_gives_up_no_run_around_it) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS);
    for (const std::uint64_t place : {0x7000, 0x6000, 0x5000}) begin_at(place);
    end_at(0x6000);
    EXPECT_EQ(ended(), (Ended{{1, 0}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(StackOrder, an_outermost_run_is_begun_anew_in_its_own_frame) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS, LAGTRAP_NESTING_OUTERMOST);
    begin_at(0x7000);
    pass(10);
    begin_at(0x7000);
    pass(2);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 2}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
}

// Either it is inside the run, or the run was left: its next end may be that of either.
TEST_F(StackOrder, of_two_markers_of_one_frame_the_outermost_run_is_doubtful) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS, LAGTRAP_NESTING_OUTERMOST);
    begin_at(0x7000, 0x400000);
    begin_at(0x6000, 0x400010);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 0) << "it is in an inner frame";
    end_at(0x6000);
    begin_at(0x7000, 0x400010);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 1);
    pass(10);
    end_at(0x7000);
    EXPECT_TRUE(ended().empty());
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 10}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 0);
    begin_at(0x7000, 0x400000);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->doubtful, 0) << "a new run";
}

TEST_F(StackOrder, the_end_of_an_outermost_run_ends_it_although_inner_ends_are_missing) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER | LAGTRAP_EVENT_RECORD_RUNS, LAGTRAP_NESTING_OUTERMOST);
    begin_at(0x7000);
    begin_at(0x6000);
    begin_at(0x5000);
    pass(10);
    end_at(0x5000);
    EXPECT_TRUE(ended().empty());
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 10}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1);
}

// Functions: entries and returns.
class Calls : public StackOrder {
  protected:
    void watch_calls(std::uint32_t nesting = LAGTRAP_NESTING_EACH) {
        add_event(0, LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_RECORD_RUNS, nesting,
                  Probe::function);
    }
};

TEST_F(Calls, recursive_calls_return_innermost_first) {
    watch_calls();
    for (int i = 0; i < 4; ++i, pass(1)) begin_at(0x7000 - i * 0x100);
    for (int i = 3; i >= 0; --i, pass(10)) end_at(0x7000 - i * 0x100);
    EXPECT_EQ(ended(), (Ended{{3, 1}, {2, 12}, {1, 23}, {0, 34}}));
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Calls, calls_that_were_jumped_out_of_are_given_up_at_the_return_around_them) {
    watch_calls();
    for (const std::uint64_t place : {0x7000, 0x6000, 0x5000}) begin_at(place);
    pass(10);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 10}}));
    EXPECT_EQ(counters(0).abandoned, 2);
    EXPECT_EQ(counters(0).left, 2);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Calls, calls_that_were_jumped_out_of_are_given_up_at_the_next_entry) {
    watch_calls();
    for (const std::uint64_t place : {0x7000, 0x6000, 0x5000}) begin_at(place);
    begin_at(0x6000);
    EXPECT_EQ(counters(0).abandoned, 2);
    EXPECT_EQ(counters(0).left, 2);
    EXPECT_EQ(open_runs(), 2);
}

TEST_F(Calls, a_call_that_was_left_is_no_run_and_no_delay_however_late_that_is_seen) {
    watch_calls();
    kernel.at<lagtrap_event_config>(native_maps.event_configs, 0).threshold_ns = 50;
    for (int i = 0; i < 3; ++i, pass(100)) begin_at(0x7000);
    end_at(0x7000);
    EXPECT_EQ(counters(0).left, 2);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).delays, 1);
    EXPECT_EQ(ended(), (Ended{{0, 100}}));
}

// The daemon uses it to check whether the frame still exists.
TEST_F(Calls, the_return_address_is_kept) {
    watch_calls();
    kernel.user_words[0x7000] = 0x401234;
    begin_at(0x7000);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->return_address, 0)
        << "nobody will look at the run";
    end_at(0x7000);
    kernel.at<lagtrap_event_config>(native_maps.event_configs, 0).look_after_ns = 50;
    begin_at(0x7000);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->return_address, 0x401234);
    begin_at(0x6000);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 1))->return_address, 0)
        << "that memory cannot be read";
}

TEST_F(StackOrder, of_other_markers_no_return_address_is_known) {
    add_event(0, LAGTRAP_EVENT_STACK_ORDER);
    kernel.user_words[0x7000] = 0x401234;
    begin_at(0x7000);
    EXPECT_EQ(slot_of(lagtrap_run_tag(101, 0, 0, 0))->return_address, 0);
}

TEST_F(Calls, a_return_without_an_entry_ends_no_call_around_it) {
    watch_calls();
    begin_at(0x7000);
    end_at(0x6000);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    EXPECT_EQ(open_runs(), 1);
    begin_at(0x6000);
    end_at(0x5000);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 2);
    EXPECT_EQ(open_runs(), 2);
}

TEST_F(Calls, a_return_further_out_than_all_calls_gives_them_up) {
    watch_calls();
    begin_at(0x6000);
    begin_at(0x5000);
    end_at(0x7000);
    EXPECT_TRUE(ended().empty());
    EXPECT_EQ(counters(0).abandoned, 2);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Calls, calls_deeper_than_return_probes_reach_are_counted_and_not_opened) {
    watch_calls();
    for (int i = 0; i < LAGTRAP_MAX_DEPTH + 3; ++i) begin_at(0x70000 - i * 0x100);
    EXPECT_EQ(counters(0).too_deep, 3);
    EXPECT_EQ(open_runs(), LAGTRAP_MAX_DEPTH);
    for (int i = LAGTRAP_MAX_DEPTH - 1; i >= 0; --i) end_at(0x70000 - i * 0x100);
    EXPECT_EQ(runs(0), LAGTRAP_MAX_DEPTH);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Calls, of_outermost_calls_those_inside_are_passed_over) {
    watch_calls(LAGTRAP_NESTING_OUTERMOST);
    begin_at(0x7000);
    pass(10);
    begin_at(0x6000);
    end_at(0x6000);
    EXPECT_EQ(open_runs(), 1);
    end_at(0x7000);
    EXPECT_EQ(ended(), (Ended{{0, 10}}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
}

TEST_F(Calls, an_exit_that_another_function_shares_is_not_missed) {
    watch_calls();
    const auto exit_marker = static_cast<std::uint64_t>(LAGTRAP_PLACE_END);
    native_registers registers{};
    registers.stack_pointer = 0x7000;
    kernel.current = &thread(101);
    kernel.cookie = exit_marker | LAGTRAP_COOKIE_EXIT_SHARED;
    native_on_function(&registers);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    kernel.cookie = exit_marker;
    native_on_function(&registers);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
}

TEST_F(Calls, a_return_probe_sees_the_stack_without_the_return_address) {
    watch_calls();
    begin_at(0x7000);
    native_registers registers{};
    registers.stack_pointer = 0x7008;
    kernel.cookie = LAGTRAP_PLACE_END | static_cast<std::uint64_t>(LAGTRAP_EXIT_RETURNED)
                                            << LAGTRAP_COOKIE_EXIT_SHIFT;
    native_on_function(&registers);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).abandoned, 0);
}

}  // namespace lagtrap::native
