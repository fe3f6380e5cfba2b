// The end of a run: counts, a breach, a recording, a report.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class Delays : public EventMonitor {
  protected:
    void run_for(std::uint64_t elapsed_ns, std::uint32_t event = 0) {
        begin(event, thread(101));
        pass(elapsed_ns);
        end(event, thread(101));
    }
    std::vector<lagtrap_run> take_breaches() {
        return take_records<lagtrap_run>(native_maps.notices, LAGTRAP_RECORD_BREACH);
    }
    std::vector<lagtrap_run> take_recorded() {
        return take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
    }
    lagtrap_slot& slot() { return *slot_of(lagtrap_run_tag(101, 0, 0, 0)); }
};

TEST_F(Delays, a_run_over_its_threshold_is_a_delay) {
    add_event(0).threshold_ns = 100;
    for (const std::uint64_t elapsed_ns : {99, 100, 101, 500}) run_for(elapsed_ns);
    EXPECT_EQ(counters(0).delays, 2);
    EXPECT_EQ(counters(0).max_ns, 500);
    for (const std::uint64_t elapsed_ns : {99, 100, 101, 500})
        EXPECT_GE(counters(0).histogram[lagtrap_histogram_bucket(elapsed_ns)], 1) << elapsed_ns;
    EXPECT_EQ(runs(0), 4);
}

TEST_F(Delays, counts_are_those_of_the_cpu) {
    add_event(0);
    run_for(10);
    kernel.cpu = 1;
    EXPECT_EQ(runs(0), 0);
    run_for(10);
    run_for(10);
    EXPECT_EQ(runs(0), 2);
    kernel.cpu = 0;
    EXPECT_EQ(runs(0), 1);
}

TEST_F(Delays, the_first_delay_is_told_where_one_is_wanted) {
    add_event(0).threshold_ns = 100;
    watch.breach_wanted = 1;
    run_for(50);
    EXPECT_TRUE(take_breaches().empty());
    run_for(150);
    run_for(200);
    const auto reported = take_breaches();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].end_ns - reported[0].begin_ns, 150);
    EXPECT_TRUE(reported[0].flags & LAGTRAP_RUN_DELAY);
    EXPECT_EQ(watch.breach_wanted, 0);
}

TEST_F(Delays, a_user_who_has_had_his_share_begins_no_recording) {
    add_event(0).threshold_ns = 100;
    const std::uint32_t uid = thread(101).uid, any = 1;
    ASSERT_EQ(native_update(native_maps.parties_without_recordings, &uid, &any), 0);
    watch.breach_wanted = 1;
    run_for(150);
    EXPECT_TRUE(take_breaches().empty());
    EXPECT_EQ(watch.breach_wanted, 1);
    EXPECT_EQ(counters(0).unrecorded, 1);
    EXPECT_EQ(counters(0).delays, 1);
}

TEST_F(Delays, in_a_recording_every_run_is_recorded) {
    add_event(0).threshold_ns = 100;
    run_for(10);
    watch.recording = 1;
    run_for(20);
    run_for(150);
    const auto recorded = take_recorded();
    ASSERT_EQ(recorded.size(), 2);
    EXPECT_FALSE(recorded[0].flags & LAGTRAP_RUN_DELAY);
    EXPECT_TRUE(recorded[1].flags & LAGTRAP_RUN_DELAY);
}

TEST_F(Delays, runs_that_find_the_ring_of_the_recording_full_are_counted) {
    add_event(0);
    watch.recording = 1;
    kernel.map(native_maps.recorded_runs).room_bytes =
        2 * (sizeof(lagtrap_run) - sizeof(lagtrap_run::stages) + 8);
    for (int i = 0; i < 5; ++i) run_for(10);
    EXPECT_EQ(counters(0).records_lost, 3);
    EXPECT_EQ(take_recorded().size(), 2);
    EXPECT_EQ(runs(0), 5);
}

TEST_F(Delays, a_delay_that_was_told_at_its_deadline_is_recorded_and_not_told_again) {
    add_event(0).threshold_ns = 100;
    begin(0, thread(101));
    slot().deadline_ns |= LAGTRAP_DEADLINE_REPORTED;
    pass(150);
    watch.breach_wanted = 1;
    end(0, thread(101));
    EXPECT_TRUE(take_breaches().empty());
    const auto recorded = take_recorded();
    ASSERT_EQ(recorded.size(), 1);
    EXPECT_EQ(recorded[0].flags & (LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED),
              LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED);
    EXPECT_EQ(counters(0).reported_delays, 1);
}

TEST_F(Delays, an_event_that_may_not_record_leaves_the_breach_to_others) {
    add_event(0, LAGTRAP_EVENT_UNRECORDED).threshold_ns = 100;
    add_event(1).threshold_ns = 100;
    watch.breach_wanted = 1;
    run_for(200, 0);
    EXPECT_TRUE(take_breaches().empty());
    EXPECT_EQ(counters(0).delays, 1);
    run_for(200, 1);
    const auto breaches = take_breaches();
    ASSERT_EQ(breaches.size(), 1);
    EXPECT_EQ(breaches[0].event, 1);
}

TEST_F(Delays, deadlines_are_even) {
    add_event(0).threshold_ns = 101;
    begin(0, thread(101));
    EXPECT_EQ(slot().deadline_ns, (kernel.now_ns + 101) & ~1ULL);
}

TEST_F(Delays, a_begin_says_when_its_run_is_to_be_looked_at) {
    auto& config = add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    config.threshold_ns = 3'000'000;
    begin(0, thread(101), {.key = 7});
    const std::uint64_t tag = lagtrap_run_tag(7, 100, 0, 0);
    auto& state = bucket(lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS)).state;
    EXPECT_EQ(state, 0) << "its event does not want it";
    end(0, thread(101), {.key = 7});

    config.look_after_ns = 1'000'000;
    state = 2;  // runs in their second bucket
    begin(0, thread(101), {.key = 7});
    const std::uint64_t due_ns =
        (kernel.now_ns + 1'000'000 + LAGTRAP_SPILLED_MASK) & ~LAGTRAP_SPILLED_MASK;
    EXPECT_EQ(state, due_ns | 2);
    end(0, thread(101), {.key = 7});
    pass(500'000);
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(state, due_ns | 2) << "earlier than this run needs";
    end(0, thread(101), {.key = 7});
    config.look_after_ns = 100'000;
    begin(0, thread(101), {.key = 7});
    EXPECT_LT(state, due_ns);
    EXPECT_EQ(watch.look_at_all, 0);
}

TEST_F(Delays, a_begin_wakes_user_space_where_it_would_look_too_late) {
    add_event(0).look_after_ns = 50;
    begin(0, thread(101));
    EXPECT_EQ(take_records<lagtrap_record>(native_maps.notices, LAGTRAP_RECORD_WAKE).size(), 1);
    EXPECT_EQ(watch.next_look_ns, kernel.now_ns + 50);
    EXPECT_EQ(watch.begun_since_look, 1);
    pass(10);
    begin(0, thread(102));
    EXPECT_TRUE(kernel.take_records(native_maps.notices).empty());
}

TEST_F(Delays, of_runs_beyond_the_limit_the_next_report_says_how_many) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    auto& quota = kernel.at<lagtrap_run_quota>(native_maps.run_quotas, 0);
    quota.interval_ns = LAGTRAP_RUN_BURST_NS / 2;
    for (int i = 0; i < 5; ++i) run_for(10);
    EXPECT_EQ(take_reports().size(), 2);
    EXPECT_EQ(quota.sampled_away, 3);
    pass(LAGTRAP_RUN_BURST_NS);
    run_for(10);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].report.weight, 4);
    EXPECT_EQ(quota.pending, 0);
    EXPECT_EQ(quota.reported, 3);
}

TEST_F(Delays, a_report_that_finds_no_room_is_part_of_the_next) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    auto& quota = kernel.at<lagtrap_run_quota>(native_maps.run_quotas, 0);
    kernel.map(native_maps.reported_runs).room_bytes = 0;
    run_for(10);
    EXPECT_TRUE(take_reports().empty());
    EXPECT_EQ(quota.ring_full, 1);
    run_for(10);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].report.weight, 2);
}

TEST_F(Delays, the_text_of_a_trace_is_told_of_delays_alone) {
    add_event(0, LAGTRAP_EVENT_TRACE_TEXT).threshold_ns = 100;
    kernel.user_texts[0x1000] = "00-0af7651916cd43dd8448eb211c80319c";
    watch.recording = 1;
    for (const std::uint64_t elapsed_ns : {10, 150}) {
        begin(0, thread(101), {.text_address = 0x1000});
        pass(elapsed_ns);
        end(0, thread(101));
    }
    const auto reported =
        take_records<lagtrap_trace_text>(native_maps.recorded_runs, LAGTRAP_RECORD_TRACE_TEXT);
    ASSERT_EQ(reported.size(), 1);
    EXPECT_STREQ(reported[0].text, "00-0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(reported[0].bytes, 36);
    EXPECT_EQ(counters(0).texts_lost, 0);
}

TEST_F(Delays, a_text_that_cannot_be_read_is_counted) {
    add_event(0, LAGTRAP_EVENT_TRACE_TEXT).threshold_ns = 100;
    watch.recording = 1;
    begin(0, thread(101), {.text_address = 0x1000});
    pass(150);
    end(0, thread(101));
    EXPECT_EQ(counters(0).texts_lost, 1);
}

}  // namespace lagtrap::native
