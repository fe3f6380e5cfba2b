// Every field of the parts of a report, and how many of each there are.
#include <gtest/gtest.h>

#include "analysis/delay_report.hpp"
#include "analysis/run_profile.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::report_parts_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

Recording decoded(const TraceBuilder& builder) {
    auto recording = builder.decode();
    EXPECT_TRUE(recording) << recording.error().message;
    return recording ? std::move(recording).value() : Recording();
}

trace::Delay delay_at(std::int64_t at_ms, std::uint64_t length_ms) {
    return TraceBuilder::delay(7, "work", at_ms * static_cast<std::int64_t>(ms), length_ms * ms,
                               10 * ms, 10, 11);
}

// Thread 11 of process 10 waits for each of `count` threads of process 20: 5 ms, 6 ms, ...
TraceBuilder waits_for(std::uint32_t count) {
    TraceBuilder builder(1000 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").process(20, "/usr/bin/server");
    builder.switched(1 * ms, 0, 0, 0, 11);
    std::uint64_t at = 20 * ms;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t tid = 21 + i;
        const std::uint64_t until = at + (5 + i) * ms;
        builder.thread(20, tid, "answers-" + std::to_string(i));
        builder.switched(at, 1, i == 0 ? 0 : tid - 1, 1, tid);
        builder.samples(at, until, 1, 20, tid, {"main", "answer", "k:do_syscall_64", "k:getpid"});
        builder.switched(at, 0, 11, 1, 0)
            .off_cpu(at, 10, 11, {"main", "ask", "k:unix_stream_read_generic", "k:schedule"});
        builder.waking(until, 1, tid, 11).switched(until, 0, 0, 0, 11);
        at = until + ms;
    }
    builder.run(delay_at(15, 600));
    return builder;
}

TEST(ReportParts, AWakerHasAllThatItDid) {
    const Recording recording = decoded(waits_for(1));
    const DelayReport report = report_delay(recording, recording.system.delays.at(0));
    ASSERT_EQ(report.wakers.size(), 1U);
    const WakerReport& waker = report.wakers[0];
    EXPECT_FALSE(waker.interrupt);
    EXPECT_EQ(waker.cause, WakeCause::Thread);
    EXPECT_EQ(waker.device, "");
    EXPECT_EQ(waker.shortest_ns, 5 * ms);
    EXPECT_EQ(waker.longest_ns, 5 * ms);
    EXPECT_FALSE(waker.longest_is_cut);
    EXPECT_EQ(waker.pid, 20U);
    EXPECT_EQ(waker.tid, 21U);
    EXPECT_EQ(waker.process, "server");
    EXPECT_EQ(waker.thread, "answers-0");
    EXPECT_EQ(waker.blocked_ns, 5 * ms);
    EXPECT_EQ(waker.count, 1U);
    EXPECT_EQ(waker.reason, "local socket");
    EXPECT_EQ(waker.split.wall_ns, 5 * ms);
    EXPECT_EQ(waker.split.on_cpu_ns, 5 * ms);
    ASSERT_EQ(waker.functions.size(), 2U) << "without the kernel's";
    EXPECT_EQ(waker.functions[0].name, "answer");
    EXPECT_EQ(waker.functions[1].name, "main");
    ASSERT_EQ(waker.calls.size(), 1U);
    EXPECT_EQ(waker.calls[0].functions, (std::vector<std::string>{"main", "answer"}));
}

TEST(ReportParts, TheTenThatWereWaitedForLongestAreWakers) {
    const Recording recording = decoded(waits_for(12));
    const DelayReport report = report_delay(recording, recording.system.delays.at(0));
    ASSERT_EQ(report.wakers.size(), 10U);
    for (std::uint32_t i = 0; i < 10; ++i) {
        EXPECT_EQ(report.wakers[i].tid, 32 - i);
        EXPECT_EQ(report.wakers[i].blocked_ns, (16 - i) * ms);
    }
}

TEST(ReportParts, ShortestAndLongestWaitsOfAWakerAreTold) {
    TraceBuilder builder(200 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").thread(10, 12, "helper");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 12);
    const TraceBuilder::Stack stack{"main", "ask", "k:unix_stream_read_generic", "k:schedule"};
    for (const auto& [from, to] : {std::pair(30, 33), std::pair(40, 52), std::pair(60, 64)}) {
        builder.switched(static_cast<std::uint64_t>(from) * ms, 0, 11, 1, 0)
            .off_cpu(static_cast<std::uint64_t>(from) * ms, 10, 11, stack);
        builder.waking(static_cast<std::uint64_t>(to) * ms, 1, 12, 11)
            .switched(static_cast<std::uint64_t>(to) * ms, 0, 0, 0, 11);
    }
    builder.run(delay_at(20, 100));
    const Recording recording = decoded(builder);
    const DelayReport report = report_delay(recording, recording.system.delays.at(0));
    ASSERT_EQ(report.wakers.size(), 1U);
    EXPECT_EQ(report.wakers[0].count, 3U);
    EXPECT_EQ(report.wakers[0].shortest_ns, 3 * ms);
    EXPECT_EQ(report.wakers[0].longest_ns, 12 * ms);
    EXPECT_EQ(report.wakers[0].blocked_ns, 19 * ms);
    EXPECT_FALSE(report.wakers[0].longest_is_cut);
    // In a delay that begins within the longest wait, that wait is only a part.
    const DelayReport later = report_delay(recording, delay_at(42, 50));
    ASSERT_EQ(later.wakers.size(), 1U);
    EXPECT_EQ(later.wakers[0].longest_ns, 10 * ms);
    EXPECT_TRUE(later.wakers[0].longest_is_cut);
}

TEST(ReportParts, AReceiverHasItsTimeAndCalls) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").thread(10, 12, "helper");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(2 * ms, 1, 0, 0, 12);
    builder.samples(3 * ms, 300 * ms, 1, 10, 12, {"start_thread", "resize_image"});
    auto delay = delay_at(20, 200);
    delay.end_tid = 12;
    builder.run(delay);
    const Recording recording = decoded(builder);
    const ReceiverReport receiver = report_delay(recording, delay).receiver;
    EXPECT_EQ(receiver.tid, 12U);
    EXPECT_EQ(receiver.thread, "helper");
    EXPECT_EQ(receiver.split.wall_ns, 200 * ms);
    EXPECT_EQ(receiver.split.on_cpu_ns, 200 * ms);
    ASSERT_EQ(receiver.calls.size(), 1U);
    EXPECT_EQ(receiver.calls[0].functions, std::vector<std::string>{"resize_image"});
    EXPECT_EQ(receiver.calls[0].on_cpu_ns, 200 * ms);

    const auto tid_of = [&](const trace::Delay& other) {
        return report_delay(recording, other).receiver.tid;
    };
    auto open = delay;
    open.open = true;
    EXPECT_EQ(tid_of(open), 0U);
    auto unknown = delay;
    unknown.end_tid = 99;
    EXPECT_EQ(tid_of(unknown), 0U);
    auto own = delay;
    own.end_tid = own.begin_tid;
    EXPECT_EQ(tid_of(own), 0U);
    auto before = delay;
    before.begin_ns = begin - 300 * ms;
    EXPECT_EQ(tid_of(before), 0U) << "nothing of it was recorded";
}

TEST(ReportParts, StagesAreInTheirOrderAndEndWithTheDelay) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 11, "worker").switched(1 * ms, 0, 0, 0, 11);
    auto delay = delay_at(20, 100);
    delay.stages = {{"late", 120 * ms, 13}, {"second", 30 * ms, 12}, {"first", 10 * ms, 11}};
    builder.run(delay);
    const std::vector<StageReport> stages = report_delay(decoded(builder), delay).stages;
    ASSERT_EQ(stages.size(), 4U);
    const auto expect = [&](std::size_t number, const std::string& name, std::uint64_t offset_ms,
                            std::uint64_t length_ms, std::uint32_t tid) {
        EXPECT_EQ(stages[number].name, name);
        EXPECT_EQ(stages[number].offset_ns, offset_ms * ms);
        EXPECT_EQ(stages[number].duration_ns, length_ms * ms);
        EXPECT_EQ(stages[number].split.wall_ns, length_ms * ms);
        EXPECT_EQ(stages[number].tid, tid);
    };
    expect(0, "", 0, 10, 11);
    expect(1, "first", 10, 20, 11);
    expect(2, "second", 30, 70, 12);
    expect(3, "late", 100, 0, 13);
    EXPECT_TRUE(report_delay(decoded(builder), delay_at(20, 100)).stages.empty());
}

TEST(ReportParts, ListsHaveLimits) {
    TraceBuilder builder(1000 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").switched(1 * ms, 0, 0, 0, 11);
    for (std::uint64_t i = 0; i < 600; ++i)
        builder.sample((10 + i) * ms, 0, 10, 11,
                       {"main", "work_" + std::to_string(i), "k:call_" + std::to_string(i)});
    builder.run(delay_at(10, 600));
    const Recording recording = decoded(builder);
    const DelayReport report = report_delay(recording, recording.system.delays.at(0));
    EXPECT_EQ(report.samples, 600U);
    EXPECT_EQ(report.functions.size(), 50U);
    EXPECT_EQ(report.kernel_functions.size(), 50U);
    EXPECT_EQ(report.stacks.size(), 500U);
    EXPECT_EQ(report.innermost.size(), 50U);
    for (const FunctionTime& function : report.functions) EXPECT_FALSE(function.kernel);
    for (const FunctionTime& function : report.kernel_functions) EXPECT_TRUE(function.kernel);
    EXPECT_EQ(report.delay.run_id, 7U);
    EXPECT_EQ(report.causes.wall_ns, 600 * ms);
    // A line is of at least half a percent.
    EXPECT_EQ(report.calls.size(), 1U);
}

TEST(ReportParts, TheBusiestTwentyProcessesAreListed) {
    TraceBuilder builder(1000 * ms, 2);
    std::uint64_t at = 10 * ms;
    for (std::uint32_t i = 0; i < 25; ++i) {
        const std::uint32_t pid = 100 + i;
        builder.process(pid, "/usr/bin/app-" + std::to_string(i)).thread(pid, pid, "main");
        builder.switched(at, 0, 0, 0, pid).switched(at + (1 + i) * ms, 0, pid, 1, 0);
        at += (2 + i) * ms;
    }
    const MachineReport machine = report_machine(decoded(builder));
    EXPECT_EQ(machine.length_ns, 1000 * ms);
    EXPECT_EQ(machine.cpu_count, 2U);
    EXPECT_EQ(machine.busy_ns, 325 * ms);
    ASSERT_EQ(machine.processes.size(), 20U);
    for (std::uint32_t i = 0; i < 20; ++i) {
        EXPECT_EQ(machine.processes[i].pid, 124 - i);
        EXPECT_EQ(machine.processes[i].cpu_ns, (25 - i) * ms);
    }
    EXPECT_DOUBLE_EQ(machine.share(machine.busy_ns), 0.1625);
}

TEST(ReportParts, WithoutSwitchesTheMachineIsAsBusyAsItsSamplesSay) {
    TraceBuilder builder(100 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "app");
    builder.samples(10 * ms, 40 * ms, 0, 10, 10, {"main"}).samples(40 * ms, 50 * ms, 0, 10, 11, {});
    MachineReport machine = report_machine(decoded(builder));
    EXPECT_EQ(machine.busy_ns, 40 * ms);
    ASSERT_EQ(machine.processes.size(), 1U);
    EXPECT_EQ(machine.processes[0].cpu_ns, 40 * ms);
    // Longer intervals than there can be: a CPU is busy at most all the time.
    builder.system.sample_interval_ns = 10 * ms;
    machine = report_machine(decoded(builder));
    EXPECT_EQ(machine.busy_ns, 100 * ms);
    EXPECT_EQ(machine.processes[0].cpu_ns, 400 * ms);
}

TEST(ReportParts, AProfileKeepsWhatTheDelayWas) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker");
    builder.process(20, "/usr/bin/server").thread(20, 20, "server").thread(20, 21, "answers");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 21);
    builder.switched(30 * ms, 0, 11, 1, 0)
        .off_cpu(30 * ms, 10, 11, {"main", "ask", "k:unix_stream_read_generic", "k:schedule"});
    builder.samples(2 * ms, 90 * ms, 1, 20, 21, {"main", "answer"});
    builder.waking(80 * ms, 1, 21, 11).switched(80 * ms, 0, 0, 0, 11);
    auto delay = delay_at(30, 50);
    builder.run(delay);
    const Recording recording = decoded(builder);
    RunProfile profile = profile_of_delay(recording, delay);
    EXPECT_EQ(profile.event, "work");
    EXPECT_EQ(profile.process, "app") << "as its process is called";
    EXPECT_EQ(profile.run_id, 7U);
    EXPECT_EQ(profile.begin_ns, begin + 30 * ms);
    EXPECT_EQ(profile.duration_ns, 50 * ms);
    EXPECT_EQ(profile.threshold_ns, 10 * ms);
    EXPECT_TRUE(profile.delay);
    EXPECT_EQ(profile.pid, 10U);
    EXPECT_EQ(profile.tid, 11U);
    EXPECT_EQ(profile.waits_cut, 0U);
    ASSERT_EQ(profile.entries.size(), 1U);
    ASSERT_EQ(profile.entries[0].links.size(), 2U);
    EXPECT_EQ(profile.entries[0].time_ns, 50 * ms);
    EXPECT_EQ(profile.texts.at(profile.entries[0].links[0].thread), "worker");
    EXPECT_EQ(profile.texts.at(profile.entries[0].links[0].reason), "local socket");
    EXPECT_EQ(profile.texts.at(profile.entries[0].links[1].thread), "server/answers");
    EXPECT_EQ(profile.entries[0].links[1].reason, 0U);
    const auto stack = profile.stack_of(profile.entries[0].links[0].node);
    ASSERT_EQ(stack.size(), 4U);
    EXPECT_EQ(profile.frames[stack[1]].function, "ask");
    EXPECT_EQ(profile.frames[stack[1]].module, "/usr/bin/app");
    EXPECT_FALSE(profile.frames[stack[1]].kernel);
    EXPECT_TRUE(profile.frames[stack[3]].kernel);
    delay.process = "shop";
    EXPECT_EQ(profile_of_delay(recording, delay).process, "shop");
}

TEST(ReportParts, AProfileOfANormalRunKeepsWhatTheRunWas) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 11, "worker").thread(10, 12, "helper");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 12);
    builder.samples(2 * ms, 300 * ms, 0, 10, 11, {"main", "first"});
    builder.samples(2 * ms, 300 * ms, 1, 10, 12, {"main", "second"});
    auto run = delay_at(20, 9);
    run.stages = {{"sent", 3 * ms, 11}, {"taken", 3 * ms, 12}};
    run.end_tid = 12;
    builder.run(run, false);
    const auto profiles = profiles_of_normal_runs(decoded(builder), "work", 10);
    ASSERT_EQ(profiles.size(), 1U);
    EXPECT_FALSE(profiles[0].delay);
    EXPECT_EQ(profiles[0].run_id, 7U);
    EXPECT_EQ(profiles[0].begin_ns, begin + 20 * ms);
    EXPECT_EQ(profiles[0].duration_ns, 9 * ms);
    EXPECT_EQ(profiles[0].threshold_ns, 10 * ms);
    EXPECT_EQ(profiles[0].pid, 10U);
    EXPECT_EQ(profiles[0].tid, 11U);
    // Its stages say which thread had it when.
    std::map<std::string, std::uint64_t> times;
    for (const ProfileEntry& entry : profiles[0].entries) {
        const auto stack = profiles[0].stack_of(entry.links.at(0).node);
        times[stack.empty() ? "" : profiles[0].frames[stack.back()].function] += entry.time_ns;
    }
    EXPECT_EQ(times, (std::map<std::string, std::uint64_t>{{"first", 3 * ms}, {"second", 6 * ms}}));
}

TEST(ReportParts, OnlyLostTimeIsAMissingRecord) {
    for (const char* known :
         {"between its markers", "in a goroutine", "between threads", "thread had ended"})
        EXPECT_FALSE(is_missing_record(known)) << known;
    for (const char* missing : {"not recorded", "outside the recording", ""})
        EXPECT_TRUE(is_missing_record(missing)) << missing;
    EXPECT_EQ(to_text(TimeKind::OnCpu), "on CPU");
    EXPECT_EQ(to_text(TimeKind::Runnable), "runnable");
    EXPECT_EQ(to_text(TimeKind::Blocked), "blocked");
    EXPECT_EQ(to_text(TimeKind::Unknown), "unknown");
}

}  // namespace
}  // namespace lagtrap::analysis::report_parts_test
