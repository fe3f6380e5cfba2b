// Two CPUs and user space working on one run: the other side's action falls between a read and the
// following exchange.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class Races : public EventMonitor {
  protected:
    static std::uint64_t tag_of(std::uint64_t key) { return lagtrap_run_tag(key, 100, 0, 0); }
    // Runs `deed` before each of the next exchanges.
    void before_each(int count, const std::function<void()>& deed) {
        if (count == 0) return;
        kernel.before_exchange = [this, count, deed] {
            deed();
            before_each(count - 1, deed);
        };
    }
};

TEST_F(Races, two_ends_at_once_are_one_end) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    meanwhile([this] { end(0, thread(102), {.key = 7}); });
    end(0, thread(101), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.end_tid, 102);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Races, a_run_that_user_space_gives_up_first_is_not_ended) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    begin(0, thread(101), {.key = 7});
    meanwhile([] { ASSERT_TRUE(take_run(index_of(tag_of(7)), tag_of(7))); });
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(runs(0), 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
}

TEST_F(Races, a_restart_that_comes_after_the_end_begins_a_run_of_its_own) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_RESTART);
    begin(0, thread(101), {.key = 7});
    meanwhile([this] { end(0, thread(102), {.key = 7}); });
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 0);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(Races, an_inner_begin_whose_outer_run_gave_its_slot_to_another_begins_an_outermost_run) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    begin(0, thread(101), {.key = 7});
    const int index = index_of(tag_of(7));
    std::uint64_t other = 8;
    while (lagtrap_first_bucket(tag_of(other), LAGTRAP_MIN_BUCKETS) !=
           lagtrap_first_bucket(tag_of(7), LAGTRAP_MIN_BUCKETS))
        ++other;
    meanwhile([this, other] {
        end(0, thread(102), {.key = 7});
        begin(0, thread(102), {.key = other});
    });
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(index_of(tag_of(other)), index);
    EXPECT_GE(index_of(tag_of(7)), 0);
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(open_runs(), 1);
}

TEST_F(Races, an_inner_begin_whose_outer_run_has_just_ended_begins_an_outermost_run) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    meanwhile([this] { end(0, thread(102), {.key = 7}); });
    begin(0, thread(101), {.key = 7});
    EXPECT_GE(index_of(tag_of(7)), 0) << "else it lies inside nothing";
    pass(5);
    end(0, thread(101), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[1].run.depth, 0);
    EXPECT_EQ(reported[1].run.end_ns - reported[1].run.begin_ns, 5);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Races, an_end_before_which_a_run_begins_inside_is_the_inner_ones) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    meanwhile([this] { begin(0, thread(102), {.key = 7}); });
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(open_runs(), 1);
    EXPECT_GE(index_of(tag_of(7)), 0);
    end(0, thread(101), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].run.depth, 1);
    EXPECT_EQ(reported[1].run.depth, 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Races, a_begin_of_outermost_runs_is_not_swallowed_by_one_that_has_just_ended) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_OUTERMOST);
    begin(0, thread(101), {.key = 7});
    meanwhile([this] { end(0, thread(102), {.key = 7}); });
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(open_runs(), 1);
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(runs(0), 2);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
}

TEST_F(Races, a_place_that_another_cpu_claims_first_is_left_to_it) {
    const std::uint64_t tag = tag_of(7), other = tag ^ 2;
    meanwhile([other] { claim_slot(other); });
    const int index = claim_slot(tag);
    EXPECT_NE(index_of(other), -1);
    EXPECT_NE(index_of(other), index);
    EXPECT_EQ(index_of(tag), index);
}

TEST_F(Races, a_run_that_is_claimed_and_not_filled_yet_is_not_found) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    const int index = claim_slot(tag_of(7));
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    EXPECT_EQ(index_of(tag_of(7)), index);
}

TEST_F(Races, a_count_is_changed_though_others_are_quicker_seven_times) {
    const std::uint64_t tag = 5ULL << 32 | 1;
    __u64 count = 5ULL << 32;
    before_each(7, [&count] { ++count; });
    EXPECT_EQ(change_count(&count, tag, 1), 7);
    EXPECT_EQ(count, 5ULL << 32 | 8);
}

TEST_F(Races, a_count_is_left_to_others_who_are_quicker_eight_times) {
    const std::uint64_t tag = 5ULL << 32 | 1;
    __u64 count = 5ULL << 32;
    before_each(8, [&count] { ++count; });
    EXPECT_EQ(change_count(&count, tag, 1), -1);
    EXPECT_EQ(count, 5ULL << 32 | 8);
}

TEST_F(Races, a_hit_that_comes_late_changes_no_count_of_another_run) {
    __u64 count = 6ULL << 32 | 3;
    EXPECT_EQ(change_count(&count, 5ULL << 32, 1), -1);
    EXPECT_EQ(count, 6ULL << 32 | 3);
}

TEST_F(Races, no_count_falls_below_zero) {
    __u64 count = 5ULL << 32;
    EXPECT_EQ(change_count(&count, 5ULL << 32, -1), -1);
    EXPECT_EQ(count, 5ULL << 32);
    EXPECT_EQ(change_count(nullptr, 5ULL << 32, 1), -1);
}

TEST_F(Races, the_slot_becomes_another_runs_before_a_stage_is_counted) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    begin(0, thread(101), {.key = 7});
    const int index = index_of(tag_of(7));
    auto& slot = kernel.at<lagtrap_slot>(native_maps.open_slots, index);
    meanwhile([&slot] { slot.stage_next = 0x1234ULL << 32; });
    stage(0, thread(101), 0, {.key = 7});
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_STAGE), 1);
    EXPECT_EQ(slot.stage_next, 0x1234ULL << 32);
}

TEST_F(Races, user_space_tells_of_a_delay_just_before_its_end_takes_the_deadline) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT).threshold_ns = 10;
    begin(0, thread(101), {.key = 7});
    auto& slot = *slot_of(tag_of(7));
    pass(100);
    watch.breach_wanted = 1;
    // The first exchange prevents begins inside the run, the second takes the run, the third its
    // deadline.
    kernel.before_exchange = [this, &slot] {
        kernel.before_exchange = [this, &slot] {
            kernel.before_exchange = [&slot] { slot.deadline_ns |= LAGTRAP_DEADLINE_REPORTED; };
        };
    };
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(counters(0).delays, 1);
    EXPECT_EQ(counters(0).reported_delays, 1);
    EXPECT_EQ(watch.breach_wanted, 1);
    EXPECT_TRUE(kernel.take_records(native_maps.notices).empty());
    EXPECT_EQ(slot.deadline_ns, 0);
}

TEST_F(Races, of_two_delays_that_end_at_once_one_is_told) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT).threshold_ns = 10;
    begin(0, thread(101), {.key = 7});
    begin(0, thread(101), {.key = 8});
    pass(100);
    watch.breach_wanted = 1;
    // The fourth exchange requests a breach.
    kernel.before_exchange = [this] {
        kernel.before_exchange = [this] {
            kernel.before_exchange = [this] {
                meanwhile([this] { end(0, thread(102), {.key = 8}); });
            };
        };
    };
    end(0, thread(101), {.key = 7});
    EXPECT_EQ(runs(0), 2);
    const auto reported = take_records<lagtrap_run>(native_maps.notices, LAGTRAP_RECORD_BREACH);
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].key, 8);
}

TEST_F(Races, of_two_begins_that_want_an_earlier_look_one_wakes_user_space) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT).look_after_ns = 50;
    // The first exchange claims the slot, the second moves the next check to an earlier time.
    kernel.before_exchange = [this] { meanwhile([this] { begin(0, thread(102), {.key = 8}); }); };
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(take_records<lagtrap_record>(native_maps.notices, LAGTRAP_RECORD_WAKE).size(), 1);
    EXPECT_EQ(watch.next_look_ns, kernel.now_ns + 50);
}

}  // namespace lagtrap::native
