#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_report.hpp"
#include "analysis/wake_cause.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::delay_report_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

const FunctionTime* find(const std::vector<FunctionTime>& functions, const std::string& name) {
    for (const FunctionTime& function : functions) {
        if (function.name == name) return &function;
    }
    return nullptr;
}

// 90 ms of burning in a delay of 100 ms, and 10 ms of something else.
TraceBuilder burner() {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(20 * ms, 110 * ms, 0, 10, 10,
                    {"_start", "main", "run_once", "planted_cpu_burn"});
    builder.samples(110 * ms, 120 * ms, 0, 10, 10,
                    {"_start", "main", "run_once", "k:do_syscall_64", "k:getpid"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    return builder;
}

TEST(DelayReport, names_the_function_that_used_the_cpu) {
    const TraceBuilder builder = burner();
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(report.samples, 100);
    ASSERT_FALSE(report.functions.empty());
    const FunctionTime* planted = find(report.functions, "planted_cpu_burn");
    ASSERT_NE(planted, nullptr);
    EXPECT_NEAR(report.share(planted->total_ns()), 0.9, 0.001);
    EXPECT_EQ(planted->on_cpu_ns, planted->self_on_cpu_ns);
    // The caller comes before main because it is closer to the work; _start says nothing.
    EXPECT_EQ(report.functions[0].name, "run_once");
    EXPECT_EQ(report.functions[1].name, "main");
    EXPECT_EQ(find(report.functions, "_start"), nullptr);
    ASSERT_EQ(report.kernel_functions.size(), 1);
    EXPECT_EQ(report.kernel_functions[0].name, "getpid");
    EXPECT_NEAR(report.share(report.kernel_functions[0].total_ns()), 0.1, 0.001);
    ASSERT_FALSE(report.stacks.empty());
    EXPECT_EQ(report.stacks[0].frames.back(), "planted_cpu_burn");
    EXPECT_EQ(report.stacks[1].kernel_from, 3);
}

TEST(DelayReport, recursion_counts_once) {
    TraceBuilder builder(100 * ms);
    builder.switched(1 * ms, 0, 0, 0, 10)
        .samples(10 * ms, 20 * ms, 0, 10, 10, {"main", "descend", "descend", "descend"});
    builder.run(TraceBuilder::delay(1, "work", at(10 * ms), 10 * ms, 1 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(find(report.functions, "descend")->total_ns(), 10 * ms);
}

TEST(DelayReport, names_the_function_that_slept) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10).switched(21 * ms, 0, 10, 1, 0);
    builder.off_cpu(21 * ms, 10, 10,
                    {"main", "planted_sleep", "clock_nanosleep", "k:do_nanosleep", "k:schedule"});
    builder.waking(119 * ms, 0, 0, 10, true).switched(119 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    const FunctionTime* planted = find(report.functions, "planted_sleep");
    ASSERT_NE(planted, nullptr);
    EXPECT_NEAR(report.share(planted->total_ns()), 0.98, 0.001);
    EXPECT_EQ(planted->reason, "sleep");
    EXPECT_EQ(planted->on_cpu_ns, 0);
    ASSERT_EQ(report.wakers.size(), 1);
    EXPECT_TRUE(report.wakers[0].interrupt);
}

// A disk's interrupt hits whatever thread is running. Only a kernel thread can have ended such a
// wait itself.
TEST(DelayReport, does_not_blame_whom_an_interrupt_hit) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").thread(20, 20, "bystander").thread(30, 30, "jbd2");
    builder.process(20, "/bin/bystander").process(30, "", 2);
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 20);
    for (const std::uint32_t waker : {20U, 30U}) {
        const std::uint64_t from = waker * ms;
        builder.switched(from, 0, 10, 2, 0)
            .off_cpu(from, 10, 10, {"main", "k:ext4_sync_file", "k:io_schedule"});
        builder.waking(from + 5 * ms, 1, waker, 10).switched(from + 5 * ms, 0, 0, 0, 10);
    }
    builder.run(TraceBuilder::delay(1, "work", at(15 * ms), 50 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    ASSERT_EQ(report.wakers.size(), 2);
    EXPECT_TRUE(report.wakers[0].interrupt);
    EXPECT_EQ(report.wakers[0].blocked_ns, 5 * ms);
    EXPECT_EQ(report.wakers[1].thread, "jbd2");
}

// The thread on the CPU (always 20 here) is innocent, unless the cause is a thread or a packet from
// a thread.
TEST(DelayReport, says_what_ended_waits) {
    struct Wait {
        std::uint32_t cause;
        std::string device, thread, words;
    };
    const std::vector<Wait> waits{
        {1, "", "bystander", ""},
        {2, "", "", "1 wait of 5.00 ms timed out"},
        {3, "", "", "a timer ended 1 wait"},
        {4, "eth0", "", "a packet from the network (eth0) ended 1 wait"},
        {5, "vda", "", "the disk vda ended 1 wait"},
        {6, "usb1", "", "the device usb1 ended 1 wait"},
        {7, "", "", "an interrupt ended 1 wait"},
        {99, "", "", "an interrupt ended 1 wait"},
    };
    for (const Wait& wait : waits) {
        TraceBuilder builder(200 * ms);
        builder.thread(10, 10, "app").thread(20, 20, "bystander").process(20, "/bin/bystander");
        builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 20);
        builder.switched(20 * ms, 0, 10, 1, 0)
            .off_cpu(20 * ms, 10, 10, {"main", "k:futex_wait_queue", "k:schedule"});
        // Only a packet may have no sender; for the other causes some thread was on the CPU.
        const std::uint32_t waker = wait.cause == 4 ? 0 : 20;
        builder.caused_waking(25 * ms, 1, waker, 10, wait.cause, wait.device)
            .switched(25 * ms, 0, 0, 0, 10);
        builder.run(TraceBuilder::delay(1, "work", at(15 * ms), 50 * ms, 10 * ms, 10, 10));
        const auto recording = builder.decode();
        ASSERT_TRUE(recording);
        const auto report = report_delay(*recording, builder.system.delays[0]);
        ASSERT_EQ(report.wakers.size(), 1);
        EXPECT_EQ(report.wakers[0].thread, wait.thread) << wait.cause;
        EXPECT_EQ(report.wakers[0].interrupt, wait.thread.empty()) << wait.cause;
        if (wait.thread.empty()) {
            EXPECT_EQ(to_text(report.wakers[0]), wait.words);
        }
    }
}

TEST(DelayReport, a_packet_of_this_machine_is_its_senders) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").thread(20, 20, "server").process(20, "/bin/server");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 20);
    builder.switched(20 * ms, 0, 10, 1, 0)
        .off_cpu(20 * ms, 10, 10, {"main", "k:tcp_recvmsg", "k:schedule"});
    builder.caused_waking(25 * ms, 1, 20, 10, 4, "lo").switched(25 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(15 * ms), 50 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    ASSERT_EQ(report.wakers.size(), 1);
    EXPECT_EQ(report.wakers[0].thread, "server");
}

TEST(DelayReport, says_how_long_timeouts_were) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app");
    builder.off_cpu(0, 10, 10, {"main", "k:do_epoll_wait", "k:schedule"});
    builder.caused_waking(30 * ms, 0, 0, 10, 2).switched(30 * ms, 0, 0, 0, 10);
    builder.switched(40 * ms, 0, 10, 1, 0)
        .off_cpu(40 * ms, 10, 10, {"main", "k:do_epoll_wait", "k:schedule"});
    builder.caused_waking(50 * ms, 0, 0, 10, 2).switched(50 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(-20 * static_cast<std::int64_t>(ms)), 80 * ms,
                                    10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    ASSERT_EQ(report.wakers.size(), 1);
    EXPECT_EQ(report.wakers[0].count, 2);
    EXPECT_EQ(to_text(report.wakers[0]), "2 waits of 10.0 ms to at least 30.0 ms timed out");
}

TEST(DelayReport, finds_the_holder_of_a_lock) {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "lock-holder");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(2 * ms, 1, 0, 0, 11)
        .switched(25 * ms, 0, 10, 1, 0);
    builder.off_cpu(25 * ms, 10, 10, {"main", "pthread_mutex_lock", "k:futex_wait", "k:schedule"});
    builder.samples(3 * ms, 130 * ms, 1, 10, 11, {"clone3", "start_thread", "planted_lock_holder"});
    builder.waking(115 * ms, 1, 11, 10).switched(116 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    ASSERT_EQ(report.wakers.size(), 1);
    const WakerReport& holder = report.wakers[0];
    EXPECT_EQ(holder.thread, "lock-holder");
    EXPECT_EQ(holder.process, "app");
    EXPECT_EQ(holder.reason, "lock (futex)");
    EXPECT_EQ(holder.blocked_ns, 90 * ms);
    EXPECT_EQ(holder.split.on_cpu_ns, 90 * ms);
    ASSERT_FALSE(holder.functions.empty());
    EXPECT_EQ(holder.functions[0].name, "planted_lock_holder");
    EXPECT_EQ(holder.functions[0].on_cpu_ns, 90 * ms);
}

// 10 burns for 100 ms, and a neighbour takes its CPU for 60 of them: all of it counts as time in
// the function.
TEST(DelayReport, waiting_for_a_cpu_counts_where_the_thread_was) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(20 * ms, 22 * ms, 0, 10, 10, {"main", "prepare"});
    builder.samples(22 * ms, 40 * ms, 0, 10, 10, {"main", "planted_cpu_burn"});
    builder.switched(40 * ms, 0, 10, 0, 12).switched(100 * ms, 0, 12, 0, 10);
    builder.samples(100 * ms, 115 * ms, 0, 10, 10, {"main", "planted_cpu_burn"});
    builder.switched(115 * ms, 0, 10, 1, 0)
        .off_cpu(115 * ms, 10, 10, {"main", "nap", "k:do_nanosleep"});
    builder.waking(117 * ms, 0, 0, 10, true).switched(120 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    const FunctionTime* planted = find(report.functions, "planted_cpu_burn");
    ASSERT_NE(planted, nullptr);
    EXPECT_EQ(planted->waiting_ns, 60 * ms);
    EXPECT_NEAR(report.share(planted->total_ns()), 0.93, 0.001);
    EXPECT_EQ(find(report.functions, "nap")->waiting_ns, 3 * ms);  // woken, but not yet on a CPU
    EXPECT_EQ(find(report.functions, "main")->total_ns(), 100 * ms);
}

TEST(DelayReport, stages_add_up_to_the_delay) {
    TraceBuilder builder(200 * ms);
    builder.switched(1 * ms, 0, 0, 0, 10);
    auto delay = TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10);
    delay.stages = {{"prepare", 5 * ms, 10}, {"execute", 15 * ms, 10}};
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, delay);
    ASSERT_EQ(report.stages.size(), 3);
    EXPECT_EQ(report.stages[0].name, "");
    EXPECT_EQ(report.stages[0].duration_ns, 5 * ms);
    EXPECT_EQ(report.stages[1].duration_ns, 10 * ms);
    EXPECT_EQ(report.stages[2].duration_ns, 85 * ms);
    EXPECT_EQ(report.stages[2].split.on_cpu_ns, 85 * ms);
}

TEST(DelayReport, shares_are_of_what_was_recorded) {
    TraceBuilder builder(200 * ms);
    builder.switched(80 * ms, 0, 10, 1, 0).samples(0, 80 * ms, 0, 10, 10, {"main", "burn"});
    builder.run(TraceBuilder::delay(1, "work", -20 * at(ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(report.split.outside_ns, 20 * ms);
    EXPECT_EQ(report.split.on_cpu_ns, 80 * ms);
    EXPECT_NEAR(report.share(find(report.functions, "burn")->total_ns()), 1.0, 0.001);
}

TEST(MachineReport, counts_cpu_time_of_processes_and_idle) {
    TraceBuilder builder(100 * ms, 2);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "app")
        .thread(20, 20, "other");
    builder.switched(10 * ms, 0, 0, 0, 10).switched(50 * ms, 0, 10, 1, 0);
    builder.switched(10 * ms, 1, 0, 0, 11)
        .switched(20 * ms, 1, 11, 1, 20)
        .switched(30 * ms, 1, 20, 1, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto machine = report_machine(*recording);
    EXPECT_EQ(machine.busy_ns, 60 * ms);
    ASSERT_EQ(machine.processes.size(), 2);
    EXPECT_EQ(machine.processes[0].name, "app");
    EXPECT_EQ(machine.processes[0].cpu_ns, 50 * ms);
    EXPECT_EQ(machine.processes[1].name, "other");
    EXPECT_NEAR(machine.share(machine.busy_ns), 0.3, 0.001);
}

TEST(QualityReport, tells_losses_and_shares) {
    TraceBuilder builder(100 * ms, 2);
    builder.system.quality.samples_lost = 5;
    builder.system.quality.stacks_lost = 7;
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto quality = report_quality(*recording);
    ASSERT_EQ(quality.lost.size(), 2);
    EXPECT_EQ(quality.lost[0].what, "samples");
    EXPECT_EQ(quality.lost[0].count, 5);
    EXPECT_DOUBLE_EQ(quality.stacks_complete, 0.97);
    EXPECT_DOUBLE_EQ(quality.frames_named, 0.99);
    EXPECT_DOUBLE_EQ(quality.own_cost, 0.001);
}

}  // namespace
}  // namespace lagtrap::analysis::delay_report_tests
