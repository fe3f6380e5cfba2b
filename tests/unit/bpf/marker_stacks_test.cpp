// Call stacks at markers, and the record that announces a new process.
#include "bpf/stack_id.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native::marker_stacks_test {

namespace {

constexpr std::uint64_t in_main = 0x401000;

class MarkerStacks : public EventMonitor {
  protected:
    MarkerStacks() {
        native_want_stacks(4);
        add_event(0, LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_STACKS);
        thread(101).program_counter = in_main;
        quota().generation = 3;
    }
    lagtrap_run_quota& quota() { return kernel.at<lagtrap_run_quota>(native_maps.run_quotas, 0); }
    static std::uint64_t id_of(__u64 frame) { return lagtrap_stack_id(100, &frame, 1); }
    // What a hit that does nothing else sent of its stack.
    std::size_t stacks_of_hit() {
        begin(0, thread(101));
        return take_records<lagtrap_stack>(native_maps.reported_runs, LAGTRAP_RECORD_STACK).size();
    }
};

TEST_F(MarkerStacks, are_sent_once_and_named_by_the_run) {
    kernel.cpu = 1;
    begin(0, thread(101));
    pass(5);
    const auto stacks =
        take_records<lagtrap_stack>(native_maps.reported_runs, LAGTRAP_RECORD_STACK);
    ASSERT_EQ(stacks.size(), 1U);
    EXPECT_EQ(stacks[0].stack_id, id_of(in_main));
    EXPECT_EQ(stacks[0].pid, 100U);
    EXPECT_EQ(stacks[0].frame_count, 1U);
    EXPECT_EQ(stacks[0].kind, LAGTRAP_STACK_USER);
    EXPECT_EQ(stacks[0].end, LAGTRAP_STACK_END_NO_PROCESS);
    EXPECT_EQ(stacks[0].header.at_ns, kernel.now_ns - 5);
    EXPECT_EQ(stacks[0].header.cpu, 1);
    EXPECT_EQ(stacks[0].header.size_bytes, sizeof(lagtrap_stack) + sizeof(in_main));
    thread(101).program_counter = in_main + 8;
    stage(0, thread(101), 0);
    thread(101).program_counter = in_main;
    kernel.cpu = 2;
    end(0, thread(101));
    const auto runs_and_stacks = kernel.take_records(native_maps.reported_runs);
    ASSERT_EQ(runs_and_stacks.size(), 2U) << "one stack is new";
    begin(0, thread(101));
    stage(0, thread(101), 0);
    end(0, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].report.begin_stack, id_of(in_main));
    EXPECT_EQ(reported[0].report.stage_stacks[0], id_of(in_main));
    EXPECT_EQ(reported[0].report.end_stack, id_of(in_main));
    EXPECT_EQ(reported[0].report.uid, 1000U);
    EXPECT_EQ(reported[0].report.header.cpu, 2U);
    EXPECT_EQ(reported[0].run.begin_cpu, 2U);
    EXPECT_EQ(reported[0].run.end_cpu, 2U);
    EXPECT_EQ(reported[0].run.stages[0].cpu, 2U);
    EXPECT_EQ(quota().stacks_lost, 0U);
    EXPECT_EQ(quota().reported, 2U);
}

TEST_F(MarkerStacks, are_sent_again_when_they_have_been_forgotten) {
    EXPECT_EQ(stacks_of_hit(), 1U);
    EXPECT_EQ(stacks_of_hit(), 0U);
    quota().generation++;
    EXPECT_EQ(stacks_of_hit(), 1U);
}

TEST_F(MarkerStacks, are_only_taken_for_events_that_want_them) {
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS);
    EXPECT_EQ(stacks_of_hit(), 0U);
    add_event(0, LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_STACKS);
    quota().next_ns = kernel.now_ns + LAGTRAP_RUN_BURST_NS + 1;
    EXPECT_EQ(stacks_of_hit(), 0U) << "the run would exceed the limit";
    EXPECT_EQ(quota().stacks_lost, 0U);
    quota().next_ns--;
    EXPECT_EQ(stacks_of_hit(), 1U);
    EXPECT_EQ(counters(0).stack_ns, 0U);
}

TEST_F(MarkerStacks, that_are_lost_are_counted) {
    struct Scratch {
        std::uint64_t taken;
    };
    for (std::uint32_t i = 0; i < 4; ++i)
        kernel.at<Scratch>(native_maps.walk_scratches, i).taken = 1;
    EXPECT_EQ(stacks_of_hit(), 0U);
    EXPECT_EQ(quota().stacks_lost, 1U);
    kernel.at<Scratch>(native_maps.walk_scratches, 2).taken = 0;
    EXPECT_EQ(stacks_of_hit(), 1U);
    EXPECT_EQ(kernel.at<Scratch>(native_maps.walk_scratches, 2).taken, 0U);
    thread(101).program_counter = 0;
    EXPECT_EQ(stacks_of_hit(), 0U);
    EXPECT_EQ(quota().stacks_lost, 2U) << "there is no user stack";
    thread(101).program_counter = in_main + 1;
    kernel.map(native_maps.reported_runs).room_bytes = 0;
    EXPECT_EQ(stacks_of_hit(), 0U);
    EXPECT_EQ(quota().stacks_lost, 3U);
    EXPECT_EQ(stacks_of_hit(), 1U) << "it is tried again";
}

TEST_F(MarkerStacks, cost_what_is_no_cost_of_the_hit_up_to_a_limit) {
    kernel.at_clock = [this] { kernel.at_clock = [this] { pass(70'000); }; };
    begin(0, thread(101));
    EXPECT_EQ(counters(0).stack_ns, 50'000U) << "it was preempted";
    EXPECT_EQ(counters(0).costs[0], 1U);
    kernel.at_clock = [this] { kernel.at_clock = [this] { pass(30'000); }; };
    begin(0, thread(101));
    EXPECT_EQ(counters(0).stack_ns, 80'000U);
}

TEST_F(MarkerStacks, hits_count_with_their_time_and_their_cost) {
    pass(100);
    begin(0, thread(101));
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].hits, 1U);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].last_ns, kernel.now_ns);
    EXPECT_EQ(counters(0).costs[0], 1U);
    watch.recording = 1;
    for (int i = 0; i < LAGTRAP_COST_EVERY; ++i) begin(0, thread(101));
    EXPECT_EQ(counters(0).costs[0], 1U) << "a recording costs more";
}

TEST_F(MarkerStacks, the_process_is_told_at_its_first_run) {
    native_thread& own = thread(101);
    own.process_started_ns = 77;
    own.program_inode = 12;
    own.program_device = 3;
    kernel.cpu = 1;
    const auto told = [&] {
        begin(0, own);
        return take_records<lagtrap_process_report>(native_maps.reported_runs,
                                                    LAGTRAP_REPORT_PROCESS);
    };
    const auto first = told();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].pid, 100U);
    EXPECT_EQ(first[0].uid, 1000U);
    EXPECT_EQ(first[0].started_ns, 77U);
    EXPECT_EQ(first[0].program_inode, 12U);
    EXPECT_EQ(first[0].program_device, 3U);
    EXPECT_STREQ(first[0].comm, "thread-101");
    EXPECT_EQ(first[0].header.cpu, 1U);
    EXPECT_EQ(first[0].header.at_ns, kernel.now_ns);
    EXPECT_TRUE(told().empty());
    own.program_inode = 13;
    const auto next = told();
    ASSERT_EQ(next.size(), 1U) << "it runs another program now";
    EXPECT_NE(next[0].process, first[0].process);
    own.process_started_ns = 78;
    EXPECT_EQ(told().size(), 1U) << "its number was reused";
}

}  // namespace

}  // namespace lagtrap::native::marker_stacks_test
