// All that open runs, runs that ended and hits leave for user space.
#include <algorithm>
#include <numeric>

#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native::run_records_test {

namespace {

constexpr std::uint64_t hour = 3'600'000'000'000;

class RunRecords : public EventMonitor {
  protected:
    // What earlier runs have left in the table's slots.
    void fill_slots() {
        for (std::uint32_t i = 0; i < LAGTRAP_MIN_BUCKETS * LAGTRAP_BUCKET_SLOTS; ++i)
            std::memset(static_cast<void*>(&kernel.at<lagtrap_slot>(native_maps.open_slots, i)),
                        0xa5, sizeof(lagtrap_slot));
    }
    lagtrap_slot& slot_of_thread(std::uint32_t tid = 101) {
        lagtrap_slot* found = slot_of(lagtrap_run_tag(tid, 0, 0, 0));
        static lagtrap_slot none;
        EXPECT_NE(found, nullptr);
        return found != nullptr ? *found : none = {};
    }
    std::uint64_t costs() {
        const auto& all = counters(0).costs;
        return std::accumulate(std::begin(all), std::end(all), std::uint64_t{0});
    }
};

TEST_F(RunRecords, an_open_run_has_what_its_begin_knew_and_nothing_of_earlier_runs) {
    for (const Probe probe : {Probe::usdt, Probe::function, Probe::usdt_without_arguments}) {
        kernel.reset();
        fill_slots();
        auto& config = add_event(3, LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NESTING_EACH, probe);
        config.threshold_ns = 1000;
        thread(101).uid = 1234;
        kernel.cpu = 2;
        begin(3, thread(101), {.key = 0, .stack_pointer = 0x7050, .site = 0x400123});
        const std::uint64_t tag = lagtrap_run_tag(101, 0, 3, 0);
        const lagtrap_slot* found = slot_of(tag);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->deadline_ns, kernel.now_ns + 1000);
        EXPECT_EQ(found->stack_pointer, 0x7050U);
        EXPECT_EQ(found->return_address, 0U);
        EXPECT_EQ(found->site, 0x400123U);
        EXPECT_EQ(found->open_depth, tag >> 32 << 32);
        EXPECT_EQ(found->stage_next, tag >> 32 << 32);
        EXPECT_EQ(found->reported, 0U);
        EXPECT_EQ(found->doubtful, 0U);
        EXPECT_EQ(found->goroutine, 0U);
        EXPECT_EQ(found->goid_offset, 0U);
        EXPECT_EQ(found->go_frame_offset, 0U);
        EXPECT_EQ(found->times_generation, 0U);
        EXPECT_EQ(found->by_frame, 0U);
        const lagtrap_run& run = found->run;
        EXPECT_EQ(run.header.type, LAGTRAP_RECORD_RUN);
        EXPECT_EQ(run.begin_ns, kernel.now_ns);
        EXPECT_EQ(run.begin_hit_ns, kernel.now_ns);
        EXPECT_EQ(run.end_ns, 0U);
        EXPECT_EQ(run.key, 0U);
        EXPECT_EQ(run.event, 3U);
        EXPECT_EQ(run.begin_pid, 100U);
        EXPECT_EQ(run.begin_tid, 101U);
        EXPECT_EQ(run.begin_cpu, 2);
        EXPECT_EQ(run.begin_party, 1234U);
        EXPECT_EQ(run.flags, 0);
        EXPECT_EQ(run.depth, 0);
        EXPECT_EQ(run.stage_count, 0);
        EXPECT_EQ(run.stages_lost, 0);
    }
}

TEST_F(RunRecords, an_open_call_by_frame_says_so) {
    add_event(0, LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NESTING_EACH, Probe::frame);
    kernel.user_words[0x7050] = 0x400555;
    begin(0, thread(101), {.stack_pointer = 0x7050});
    const lagtrap_slot* found = slot_of(lagtrap_run_tag(0x7050, 100, 0, 0));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->by_frame, 1U);
    EXPECT_EQ(found->return_address, 0x400555U);
    EXPECT_EQ(found->run.key, 0U);
}

TEST_F(RunRecords, a_call_that_is_looked_at_has_its_return_address) {
    kernel.user_words[0x7050] = 0x400555;
    const auto address_with = [&](std::uint32_t flags, std::uint64_t look_after_ns) {
        add_event(0, flags).look_after_ns = look_after_ns;
        begin(0, thread(101), {.stack_pointer = 0x7050});
        const std::uint64_t found = slot_of_thread().return_address;
        end(0, thread(101), {.stack_pointer = 0x7050});
        return found;
    };
    EXPECT_EQ(address_with(LAGTRAP_EVENT_MATCH_STACK, 10), 0x400555U);
    EXPECT_EQ(address_with(LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NEVER_NS), 0U);
    EXPECT_EQ(address_with(LAGTRAP_EVENT_STACK_ORDER, 10), 0U);
}

TEST_F(RunRecords, runs_whose_stages_are_not_watched_all_the_time_have_none) {
    auto& config = add_event(0, LAGTRAP_EVENT_WITHOUT_STAGES);
    watch.recording = 1;
    begin(0, thread(101));
    EXPECT_EQ(slot_of_thread().run.flags, LAGTRAP_RUN_WITHOUT_STAGES);
    config.flags = 0;
    stage(0, thread(101), 3);
    end(0, thread(101));
    begin(0, thread(101));
    stage(0, thread(101), 3);
    config.flags = LAGTRAP_EVENT_WITHOUT_STAGES;
    end(0, thread(101));
    config.flags = LAGTRAP_EVENT_RECORD_RUNS;
    begin(0, thread(101));
    stage(0, thread(101), 3);
    end(0, thread(101));
    const auto found = take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
    ASSERT_EQ(found.size(), 3U);
    for (const lagtrap_run& run : {found[0], found[1]}) {
        EXPECT_EQ(run.flags, LAGTRAP_RUN_WITHOUT_STAGES);
        EXPECT_EQ(run.stage_count, 0);
        EXPECT_EQ(run.stages_lost, 0);
    }
    EXPECT_EQ(found[2].flags, 0);
    EXPECT_EQ(found[2].stage_count, 1);
}

TEST_F(RunRecords, of_many_stages_those_without_room_are_counted) {
    add_event(0);
    watch.recording = 1;
    for (const auto& [stages, lost] :
         {std::pair(LAGTRAP_MAX_STAGES, 0), std::pair(17, 1), std::pair(260, 244),
          std::pair(271, 255), std::pair(272, 255)}) {
        begin(0, thread(101));
        for (int i = 0; i < stages; ++i) stage(0, thread(101), 0);
        end(0, thread(101));
        const auto found = take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].stage_count, LAGTRAP_MAX_STAGES);
        EXPECT_EQ(found[0].stages_lost, lost) << stages;
    }
}

TEST_F(RunRecords, a_trace_id_is_reported_with_a_breach_but_not_with_other_runs) {
    add_event(0, LAGTRAP_EVENT_TRACE_TEXT | LAGTRAP_EVENT_RECORD_RUNS).threshold_ns = 100;
    add_event(1, LAGTRAP_EVENT_RECORD_RUNS).threshold_ns = 100;
    kernel.user_texts[0x1000] = "00-0af7";
    const auto texts_of = [&](std::uint32_t event, std::uint64_t elapsed_ns) {
        begin(event, thread(101), {.text_address = 0x1000});
        pass(elapsed_ns);
        end(event, thread(101));
        return take_records<lagtrap_trace_text>(native_maps.recorded_runs,
                                                LAGTRAP_RECORD_TRACE_TEXT)
            .size();
    };
    EXPECT_EQ(texts_of(0, 150), 0U) << "no recording begins";
    watch.breach_wanted = 1;
    EXPECT_EQ(texts_of(0, 50), 0U);
    EXPECT_EQ(texts_of(0, 150), 1U);
    watch.recording = 1;
    EXPECT_EQ(texts_of(1, 150), 0U) << "its markers have none";
}

TEST_F(RunRecords, a_run_that_was_reported_too_early_is_no_delay) {
    auto& config = add_event(0);
    config.threshold_ns = 100;
    begin(0, thread(101));
    slot_of_thread().deadline_ns |= LAGTRAP_DEADLINE_REPORTED;
    config.threshold_ns = 1000;
    pass(150);
    end(0, thread(101));
    EXPECT_EQ(counters(0).delays, 0U);
    EXPECT_EQ(counters(0).reported_delays, 0U);
    const auto found = take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
    ASSERT_EQ(found.size(), 1U) << "a recording began for it";
    EXPECT_EQ(found[0].flags, LAGTRAP_RUN_REPORTED);
}

TEST_F(RunRecords, a_recorded_run_has_both_ends) {
    auto& config = add_event(2, LAGTRAP_EVENT_KEY_ARGUMENT);
    config.threshold_ns = 100;
    watch.recording = 1;
    kernel.cpu = 1;
    const std::uint64_t begin_ns = kernel.now_ns;
    begin(2, thread(101), {.key = 7, .begin_ns = begin_ns - 50});
    pass(30);
    stage(2, thread(101), 4, {.key = 7});
    pass(40);
    kernel.cpu = 3;
    end(2, thread(102), {.key = 7});
    begin(2, thread(101), {.key = 7});
    end(2, thread(101), {.key = 7});
    const auto found = take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
    ASSERT_EQ(found.size(), 2U);
    const lagtrap_run& run = found[0];
    EXPECT_EQ(run.header.size_bytes, offsetof(lagtrap_run, stages) + sizeof(lagtrap_stage_hit));
    EXPECT_EQ(run.header.cpu, 3);
    EXPECT_EQ(run.header.at_ns, kernel.now_ns);
    EXPECT_EQ(run.begin_ns, begin_ns - 50);
    EXPECT_EQ(run.begin_hit_ns, begin_ns);
    EXPECT_EQ(run.end_ns, kernel.now_ns);
    EXPECT_EQ(run.key, 7U);
    EXPECT_EQ(run.event, 2U);
    EXPECT_EQ(run.begin_pid, 100U);
    EXPECT_EQ(run.begin_tid, 101U);
    EXPECT_EQ(run.end_pid, 100U);
    EXPECT_EQ(run.end_tid, 102U);
    EXPECT_EQ(run.begin_cpu, 1);
    EXPECT_EQ(run.end_cpu, 3);
    EXPECT_EQ(run.flags, LAGTRAP_RUN_DELAY | LAGTRAP_RUN_EARLIER_BEGIN);
    EXPECT_EQ(run.begin_party, 1000U);
    EXPECT_STREQ(run.comm, "");
    EXPECT_EQ(run.stage_count, 1);
    EXPECT_EQ(run.stages[0].at_ns, begin_ns + 30);
    EXPECT_EQ(run.stages[0].stage, 4);
    EXPECT_STREQ(found[1].comm, "thread-101");
    EXPECT_EQ(found[1].flags, 0);
    EXPECT_EQ(found[1].stage_count, 0);
}

TEST_F(RunRecords, a_process_is_described_before_its_stack_and_its_runs) {
    native_want_stacks(4);
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_STACKS);
    native_thread& one = thread(101);
    one.program_counter = 0x401000;
    one.process_started_ns = 77;
    one.program_inode = 12;
    one.program_device = 3;
    one.uid = 1234;
    kernel.cpu = 2;
    const auto types = [&](const std::vector<Bytes>& records) {
        std::vector<int> found;
        for (const Bytes& bytes : records) {
            lagtrap_record header{};
            std::memcpy(&header, bytes.data(), sizeof(header));
            found.push_back(header.type);
        }
        return found;
    };
    kernel.map(native_maps.reported_runs).room_bytes = 0;
    begin(0, one);
    end(0, one);
    EXPECT_TRUE(kernel.take_records(native_maps.reported_runs).empty());
    begin(0, one);
    const auto at_begin = kernel.take_records(native_maps.reported_runs);
    ASSERT_EQ(types(at_begin), (std::vector<int>{LAGTRAP_REPORT_PROCESS, LAGTRAP_RECORD_STACK}));
    lagtrap_process_report process{};
    std::memcpy(&process, at_begin[0].data(), sizeof(process));
    EXPECT_EQ(process.header.size_bytes, sizeof(process));
    EXPECT_EQ(process.header.cpu, 2);
    EXPECT_EQ(process.header.at_ns, kernel.now_ns);
    EXPECT_NE(process.process, 0U);
    EXPECT_EQ(process.started_ns, 77U);
    EXPECT_EQ(process.pid, 100U);
    EXPECT_EQ(process.uid, 1234U);
    EXPECT_STREQ(process.comm, "thread-101");
    EXPECT_EQ(process.program_inode, 12U);
    EXPECT_EQ(process.program_device, 3U);
    pass(5);
    end(0, one);
    auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].report.process, process.process);
    EXPECT_EQ(reported[0].report.header.at_ns, kernel.now_ns);
    EXPECT_EQ(reported[0].report.header.size_bytes,
              offsetof(lagtrap_slot, run) + offsetof(lagtrap_run, stages));
    EXPECT_EQ(reported[0].report.weight, 2U) << "with the one that found no room";
    begin(0, one);
    EXPECT_TRUE(kernel.take_records(native_maps.reported_runs).empty()) << "it is known";
    end(0, one);
    reported = take_reports();
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].report.process, process.process);
    one.program_inode = 13;
    begin(0, one);
    EXPECT_EQ(types(kernel.take_records(native_maps.reported_runs)),
              std::vector<int>{LAGTRAP_REPORT_PROCESS})
        << "it runs another program";
}

TEST_F(RunRecords, an_end_of_nested_runs_is_of_the_innermost_wherever_the_stack_is) {
    add_event(0, 0, LAGTRAP_NESTING_OUTERMOST);
    begin(0, thread(101), {.stack_pointer = 0x7000});
    begin(0, thread(101), {.stack_pointer = 0x6000});
    end(0, thread(101), {.stack_pointer = 0x7000});
    EXPECT_EQ(runs(0), 0U);
    end(0, thread(101), {.stack_pointer = 0x7000});
    EXPECT_EQ(runs(0), 1U);
}

TEST_F(RunRecords, a_breach_is_recorded_as_well_during_a_recording) {
    add_event(0).threshold_ns = 100;
    watch.breach_wanted = 1;
    watch.recording = 1;
    begin(0, thread(101));
    pass(150);
    end(0, thread(101));
    const auto breaches = take_records<lagtrap_run>(native_maps.notices, LAGTRAP_RECORD_BREACH);
    ASSERT_EQ(breaches.size(), 1U);
    EXPECT_EQ(breaches[0].header.type, LAGTRAP_RECORD_BREACH);
    EXPECT_EQ(breaches[0].event, 0U);
    EXPECT_EQ(take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN).size(), 1U);
}

TEST_F(RunRecords, a_begin_time_counts_if_it_is_within_the_last_hour) {
    kernel.now_ns = 10 * hour;
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    std::uint64_t key = 0;
    const auto begin_of = [&](std::uint64_t claimed_ns) {
        begin(0, thread(101), {.key = ++key, .begin_ns = claimed_ns});
        const lagtrap_slot* found = slot_of(lagtrap_run_tag(key, 100, 0, 0));
        return found != nullptr ? found->run.begin_ns : 0;
    };
    EXPECT_EQ(begin_of(kernel.now_ns - hour + 1), kernel.now_ns - hour + 1);
    EXPECT_EQ(begin_of(kernel.now_ns - hour), kernel.now_ns);
    EXPECT_EQ(begin_of(kernel.now_ns + 1), kernel.now_ns);
    EXPECT_EQ(begin_of(0), kernel.now_ns);
}

TEST_F(RunRecords, functions_have_begin_times_and_trace_ids_among_their_parameters) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_TRACE_TEXT, LAGTRAP_NESTING_EACH,
              Probe::function);
    kernel.user_texts[0x1000] = "00-0af7";
    begin(0, thread(101), {.key = 7, .begin_ns = kernel.now_ns - 9, .text_address = 0x1000});
    const lagtrap_slot* found = slot_of(lagtrap_run_tag(7, 100, 0, 0));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->run.begin_ns, kernel.now_ns - 9);
    EXPECT_STREQ(found->trace_text, "00-0af7");
    EXPECT_EQ(found->trace_text_bytes, 8);
}

TEST_F(RunRecords, a_reported_trace_id_names_its_run) {
    add_event(5, LAGTRAP_EVENT_TRACE_TEXT).threshold_ns = 100;
    kernel.user_texts[0x1000] = "00-0af7";
    watch.recording = 1;
    const std::uint64_t begin_ns = kernel.now_ns;
    begin(5, thread(101), {.text_address = 0x1000});
    pass(150);
    kernel.cpu = 2;
    end(5, thread(101));
    const auto found =
        take_records<lagtrap_trace_text>(native_maps.recorded_runs, LAGTRAP_RECORD_TRACE_TEXT);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].header.cpu, 2);
    EXPECT_EQ(found[0].header.at_ns, kernel.now_ns);
    EXPECT_EQ(found[0].begin_hit_ns, begin_ns);
    EXPECT_EQ(found[0].event, 5U);
    EXPECT_EQ(found[0].begin_tid, 101U);
    EXPECT_EQ(found[0].bytes, 8);
    EXPECT_EQ(found[0].padding, 0U);
    // A run without one.
    begin(5, thread(101));
    pass(150);
    end(5, thread(101));
    const auto without =
        take_records<lagtrap_trace_text>(native_maps.recorded_runs, LAGTRAP_RECORD_TRACE_TEXT);
    ASSERT_EQ(without.size(), 1U);
    EXPECT_EQ(without[0].bytes, 0);
    EXPECT_EQ(counters(5).texts_lost, 0U);
    // There is no room for one.
    begin(5, thread(101), {.text_address = 0x1000});
    pass(150);
    kernel.map(native_maps.recorded_runs).room_bytes = 0;
    end(5, thread(101));
    EXPECT_EQ(counters(5).texts_lost, 1U);
}

TEST_F(RunRecords, the_cost_of_one_hit_in_64_is_counted_outside_of_recordings) {
    add_event(0);
    for (int i = 0; i < LAGTRAP_COST_EVERY; ++i) begin(0, thread(101));
    EXPECT_EQ(costs(), 1U);
    kernel.at_clock = [&] { kernel.at_clock = [&] { kernel.now_ns += 1'000; }; };
    begin(0, thread(101));
    EXPECT_EQ(costs(), 2U);
    EXPECT_EQ(counters(0).costs[0], 1U);
    EXPECT_EQ(counters(0).costs[lagtrap_histogram_bucket(1'000)], 1U);
    for (int i = 1; i < LAGTRAP_COST_EVERY; ++i) begin(0, thread(101));
    kernel.at_clock = [&] { kernel.at_clock = [&] { kernel.now_ns += hour; }; };
    begin(0, thread(101));
    EXPECT_EQ(counters(0).costs[LAGTRAP_COST_BUCKETS - 1], 1U) << "it was preempted";
    watch.recording = 1;
    for (int i = 0; i < LAGTRAP_COST_EVERY; ++i) begin(0, thread(101));
    EXPECT_EQ(costs(), 3U);
    watch.recording = 0;
    end(0, thread(101));
    EXPECT_EQ(costs(), 4U) << "each marker has its own count";
}

TEST_F(RunRecords, each_marker_has_the_time_of_its_last_hit) {
    add_event(0);
    begin(0, thread(101));
    const std::uint64_t begin_ns = kernel.now_ns;
    pass(10);
    stage(0, thread(101), 3);
    pass(10);
    end(0, thread(101));
    const auto& markers = counters(0).markers;
    EXPECT_EQ(markers[LAGTRAP_PLACE_BEGIN].last_ns, begin_ns);
    EXPECT_EQ(markers[LAGTRAP_PLACE_STAGE + 3].last_ns, begin_ns + 10);
    EXPECT_EQ(markers[LAGTRAP_PLACE_END].last_ns, begin_ns + 20);
    EXPECT_EQ(markers[LAGTRAP_PLACE_STAGE + 3].hits, 1U);
    EXPECT_EQ(markers[LAGTRAP_PLACE_STAGE].hits, 0U);
}

TEST_F(RunRecords, limits_of_parties_hold_for_events_that_have_some) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    const lagtrap_hitter limited{0, 1000, 0};
    const std::uint32_t yes = 1;
    ASSERT_EQ(native_update(native_maps.limited_parties, &limited, &yes), 0);
    begin(0, thread(101));
    EXPECT_EQ(open_runs(), 1U);
    EXPECT_EQ(counters(0).limited, 0U);
    add_event(1, LAGTRAP_EVENT_LIMITED);
    begin(1, thread(101));
    EXPECT_EQ(open_runs(), 2U) << "the limit of another event";
    EXPECT_EQ(counters(1).limited, 0U);
}

TEST_F(RunRecords, runs_are_reported_for_events_that_want_them) {
    add_event(0, LAGTRAP_EVENT_LIMITED | LAGTRAP_EVENT_TIMES);
    begin(0, thread(101));
    end(0, thread(101));
    EXPECT_TRUE(kernel.take_records(native_maps.reported_runs).empty());
    EXPECT_TRUE(kernel.take_records(native_maps.recorded_runs).empty());
}

TEST_F(RunRecords, hits_of_parties_are_those_of_their_event) {
    add_event(4);
    begin(4, thread(101));
    const lagtrap_hitter party{4, 1000, 0}, process{4, 1000, 100};
    EXPECT_NE(kernel.lookup(kernel.map(native_maps.hits_by_party), &party), nullptr);
    EXPECT_NE(kernel.lookup(kernel.map(native_maps.hits_by_process), &process), nullptr);
}

TEST_F(RunRecords, no_stacks_are_taken_if_there_is_no_room_to_walk_them) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_STACKS);
    thread(101).program_counter = 0x401000;
    kernel.at_clock = [&] { kernel.at_clock = [&] { kernel.now_ns += 10; }; };
    begin(0, thread(101));
    EXPECT_EQ(counters(0).stack_ns, 0U);
    EXPECT_TRUE(
        take_records<lagtrap_stack>(native_maps.reported_runs, LAGTRAP_RECORD_STACK).empty());
}

TEST_F(RunRecords, what_is_known_of_a_breach_so_far_is_reported_whole) {
    add_event(6, LAGTRAP_EVENT_TIMES).threshold_ns = 100;
    watch.breach_wanted = 1;
    const native_thread idle = idle_thread();
    const std::uint64_t begin_ns = kernel.now_ns;
    begin(6, thread(101));
    pass(10);
    block(thread(101), idle);
    pass(200);
    wake(thread(101), thread(201));
    pass(20);
    preempt(idle, thread(101));
    pass(5);
    kernel.cpu = 1;
    end(6, thread(101));
    const auto found =
        take_records<lagtrap_run_so_far>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN_SO_FAR);
    ASSERT_EQ(found.size(), 1U);
    const lagtrap_run_so_far& one = found[0];
    EXPECT_EQ(one.header.cpu, 1);
    EXPECT_EQ(one.header.at_ns, kernel.now_ns);
    EXPECT_EQ(one.begin_hit_ns, begin_ns);
    EXPECT_EQ(one.from_ns, begin_ns);
    EXPECT_EQ(one.until_ns, kernel.now_ns);
    EXPECT_EQ(one.event, 6U);
    EXPECT_EQ(one.begin_tid, 101U);
    EXPECT_EQ(one.tid, 101U);
    EXPECT_EQ(one.wait_count, static_cast<std::uint32_t>(LAGTRAP_KEPT_WAITS));
    EXPECT_EQ(one.parts.on_cpu_ns, 15U);
    EXPECT_EQ(one.parts.runnable_ns, 20U);
    EXPECT_EQ(one.parts.blocked_ns[LAGTRAP_WAIT_PAGE], 200U);
    EXPECT_EQ(sum_of(one.earlier), 0U);
    __u64 longest_ns = 0;
    for (const lagtrap_wait& wait : one.waits) longest_ns = std::max(longest_ns, wait.length_ns);
    EXPECT_EQ(longest_ns, 200U);
}

TEST_F(RunRecords, what_is_known_of_a_run_with_a_key_is_what_its_threads_did_before) {
    add_event(0, LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_KEY_ARGUMENT).threshold_ns = 100;
    watch.breach_wanted = 1;
    begin(0, thread(101), {.key = 7});
    pass(150);
    end(0, thread(101), {.key = 7});
    const auto found =
        take_records<lagtrap_run_so_far>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN_SO_FAR);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].from_ns, kernel.now_ns);
    EXPECT_EQ(sum_of(found[0].parts), 0U);
    EXPECT_EQ(found[0].earlier.on_cpu_ns, 150U);
}

}  // namespace

}  // namespace lagtrap::native::run_records_test
