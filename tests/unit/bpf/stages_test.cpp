// Stages of runs, and the values that a begin carries.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

using Stages = EventMonitor;

TEST_F(Stages, a_stage_is_kept_with_its_time_thread_and_cpu) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.key = 7});
    pass(10);
    const std::uint64_t at_ns = kernel.now_ns;
    kernel.cpu = 3;
    stage(0, thread(102), 5, {.key = 7});
    pass(10);
    kernel.cpu = 0;
    end(0, thread(101), {.key = 7});
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    ASSERT_EQ(reported[0].run.stage_count, 1);
    const lagtrap_stage_hit& kept = reported[0].run.stages[0];
    EXPECT_EQ(kept.at_ns, at_ns);
    EXPECT_EQ(kept.tid, 102);
    EXPECT_EQ(kept.stage, 5);
    EXPECT_EQ(kept.cpu, 3);
}

TEST_F(Stages, stages_beyond_those_that_are_kept_are_counted_as_lost) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101));
    for (int i = 0; i < LAGTRAP_MAX_STAGES + 3; ++i) stage(0, thread(101), i % LAGTRAP_MAX_STAGES);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.stage_count, LAGTRAP_MAX_STAGES);
    EXPECT_EQ(reported[0].run.stages_lost, 3);
}

TEST_F(Stages, the_count_of_lost_stages_stays_at_its_largest_number) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101));
    for (int i = 0; i < 500; ++i) stage(0, thread(101), 0);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.stages_lost, 255);
}

TEST_F(Stages, a_stage_without_a_run_is_counted_at_its_marker) {
    add_event(0);
    stage(0, thread(101), 2);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_STAGE + 2), 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_STAGE), 0);
}

TEST_F(Stages, a_stage_is_the_innermost_runs) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101));
    begin(0, thread(101));
    stage(0, thread(101), 1);
    end(0, thread(101));
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].run.stage_count, 1);
    EXPECT_EQ(reported[1].run.stage_count, 0);
}

TEST_F(Stages, a_stage_of_a_run_too_deep_for_the_table_is_no_other_events) {
    add_event(0);
    add_event(1, LAGTRAP_EVENT_RECORD_RUNS);
    begin(1, thread(101));
    for (int depth = 0; depth <= 256; ++depth) begin(0, thread(101));
    stage(0, thread(101), 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_STAGE + 1), 1);
    end(1, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.stage_count, 0);
    EXPECT_EQ(reported[0].doubtful, 0);
}

TEST_F(Stages, an_event_without_stages_tells_none) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_WITHOUT_STAGES);
    begin(0, thread(101));
    stage(0, thread(101), 1);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.stage_count, 0);
    EXPECT_TRUE(reported[0].run.flags & LAGTRAP_RUN_WITHOUT_STAGES);
}

TEST_F(Stages, the_next_run_in_a_slot_has_no_stages_of_the_one_before) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    for (int i = 0; i < 2; ++i) {
        begin(0, thread(101));
        if (i == 0) stage(0, thread(101), 1);
        end(0, thread(101));
    }
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].run.stage_count, 1);
    EXPECT_EQ(reported[1].run.stage_count, 0);
}

class OtherEnds : public EventMonitor {
  protected:
    OtherEnds() {
        add_event(0, LAGTRAP_EVENT_RECORD_RUNS).threshold_ns = 50;
        for (const std::uint16_t meaning : {LAGTRAP_END_FAILED, LAGTRAP_END_CANCELLED}) {
            auto& marker = kernel.at<lagtrap_marker_config>(native_maps.marker_configs,
                                                            LAGTRAP_PLACE_STAGE + meaning);
            marker.role = LAGTRAP_ROLE_END;
            marker.stage = meaning;
        }
    }
    void end_as(std::uint16_t meaning) { stage(0, thread(101), meaning); }
};

TEST_F(OtherEnds, a_run_that_failed_or_was_cancelled_is_counted_apart) {
    for (const std::uint16_t meaning :
         {LAGTRAP_END_FAILED, LAGTRAP_END_FAILED, LAGTRAP_END_CANCELLED}) {
        begin(0, thread(101));
        pass(10);
        end_as(meaning);
        EXPECT_EQ(open_runs(), 0);
    }
    EXPECT_EQ(runs(0), 0);
    EXPECT_EQ(counters(0).failed, 2);
    EXPECT_EQ(counters(0).cancelled, 1);
    EXPECT_EQ(counters(0).max_ns, 0);
    EXPECT_EQ(counters(0).delays, 0);
}

TEST_F(OtherEnds, a_run_that_failed_is_told_as_such_and_stands_for_itself_alone) {
    kernel.at<lagtrap_run_quota>(native_maps.run_quotas, 0).pending = 7;
    begin(0, thread(101));
    end_as(LAGTRAP_END_FAILED);
    begin(0, thread(101));
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].report.meaning, LAGTRAP_END_FAILED);
    EXPECT_EQ(reported[0].report.weight, 1);
    EXPECT_EQ(reported[1].report.meaning, LAGTRAP_END_DONE);
    EXPECT_EQ(reported[1].report.weight, 8);
}

TEST_F(OtherEnds, failed_runs_beyond_the_limit_or_the_room_are_in_no_other_report) {
    auto& quota = kernel.at<lagtrap_run_quota>(native_maps.run_quotas, 0);
    quota.interval_ns = LAGTRAP_RUN_BURST_NS + 1;
    begin(0, thread(101));
    end_as(LAGTRAP_END_FAILED);
    EXPECT_EQ(quota.sampled_away, 1);
    EXPECT_EQ(quota.pending, 0);
    quota.interval_ns = 0;
    EXPECT_TRUE(take_reports().empty());
    begin(0, thread(101));
    kernel.map(native_maps.reported_runs).room_bytes = 0;
    end_as(LAGTRAP_END_FAILED);
    EXPECT_EQ(quota.ring_full, 1);
    EXPECT_EQ(quota.pending, 0);
    EXPECT_EQ(quota.reported, 0);
}

TEST_F(OtherEnds, a_run_that_failed_slowly_is_a_delay) {
    begin(0, thread(101));
    pass(100);
    end_as(LAGTRAP_END_FAILED);
    EXPECT_EQ(counters(0).delays, 1);
    EXPECT_EQ(counters(0).failed, 1);
}

TEST_F(OtherEnds, an_error_outside_of_runs_is_no_unmatched_end) {
    end_as(LAGTRAP_END_FAILED);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    begin(0, thread(101));
    end(0, thread(101));
    end_as(LAGTRAP_END_FAILED);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(counters(0).failed, 0);
    EXPECT_EQ(runs(0), 1);
}

TEST_F(Stages, a_begin_may_be_earlier_than_its_hit) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    begin(0, thread(101), {.begin_ns = kernel.now_ns - 500});
    pass(10);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.end_ns - reported[0].run.begin_ns, 510);
    EXPECT_EQ(reported[0].run.begin_hit_ns - reported[0].run.begin_ns, 500);
    EXPECT_TRUE(reported[0].run.flags & LAGTRAP_RUN_EARLIER_BEGIN);
}

TEST_F(Stages, a_begin_in_the_future_or_an_hour_back_is_not_believed) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    pass(4'000'000'000'000);
    for (const std::uint64_t claimed_ns : {kernel.now_ns + 1, kernel.now_ns - 3'600'000'000'000}) {
        begin(0, thread(101), {.begin_ns = claimed_ns});
        end(0, thread(101));
    }
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    for (const lagtrap_slot& one : reported) {
        EXPECT_EQ(one.run.begin_ns, one.run.begin_hit_ns);
        EXPECT_FALSE(one.run.flags & LAGTRAP_RUN_EARLIER_BEGIN);
    }
}

}  // namespace lagtrap::native
