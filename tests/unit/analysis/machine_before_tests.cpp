#include <gtest/gtest.h>

#include "analysis/machine_before.hpp"
#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::machine_before_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

TraceBuilder with_history(std::uint64_t length_ns) {
    TraceBuilder builder(30 * ms, 2);
    builder.system.history_length_ns = length_ns;
    builder.system.history_interval_ns = 20 * ms;
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    return builder;
}

trace::Delay delay_at(std::int64_t offset_ns) {
    trace::Delay delay;
    delay.begin_ns = begin + static_cast<std::uint64_t>(offset_ns);
    delay.duration_ns = 10 * ms;
    return delay;
}

TEST(MachineBefore, AddsUpWhoHadTheCpus) {
    TraceBuilder builder = with_history(1000 * ms);
    builder.thread(20, 20, "cc1plus").thread(21, 21, "cc1plus");
    // 25 of 50 samples of one CPU, and one from before the window.
    for (std::uint64_t i = 1; i <= 15; ++i)
        builder.earlier_sample(i * 20 * ms, 20, 20, {"main", "parse"});
    for (std::uint64_t i = 16; i <= 25; ++i)
        builder.earlier_sample(i * 20 * ms, 21, 21, {"main", "emit"});
    builder.earlier_sample(1500 * ms, 10, 10, {"main"});
    builder.earlier_wait(300 * ms, 200 * ms, 10, 10, 0, {"main", "k:io_schedule"}, false);
    builder.earlier_wait(100 * ms, 50 * ms, 10, 10, 0, {"main", "k:io_schedule"}, false);
    builder.earlier_wait(90 * ms, 5 * ms, 10, 10, 0, {"main", "k:futex_wait"}, true);
    const auto before = machine_before(builder.decode().value(), delay_at(0));
    ASSERT_TRUE(before);
    EXPECT_EQ(before->length_ns, 1000 * ms);
    EXPECT_EQ(before->samples, 25U);
    EXPECT_DOUBLE_EQ(before->busy_share, 0.25);
    ASSERT_EQ(before->processes.size(), 1U);
    EXPECT_EQ(before->processes[0].name, "cc1plus");
    EXPECT_EQ(before->processes[0].processes, 2U);
    EXPECT_EQ(before->processes[0].pid, 0U);
    EXPECT_DOUBLE_EQ(before->processes[0].share, 0.25);
    EXPECT_EQ(before->processes[0].function, "parse");
    EXPECT_DOUBLE_EQ(before->processes[0].function_share, 0.6);
    ASSERT_EQ(before->disk_waits.size(), 1U);
    EXPECT_EQ(before->disk_waits[0].count, 2U);
    EXPECT_EQ(before->disk_waits[0].longest_ns, 200 * ms);
    EXPECT_EQ(before->disk_waits[0].total_ns, 250 * ms);
}

TEST(MachineBefore, EndsWhereTheDelayBegins) {
    TraceBuilder builder = with_history(1000 * ms);
    for (std::uint64_t i = 1; i <= 40; ++i) builder.earlier_sample(i * 20 * ms, 10, 10, {"main"});
    const auto before =
        machine_before(builder.decode().value(), delay_at(-static_cast<std::int64_t>(400 * ms)));
    ASSERT_TRUE(before);
    EXPECT_EQ(before->length_ns, 600 * ms);
    EXPECT_EQ(before->samples, 20U);
}

TEST(MachineBefore, IsNothingWithoutHistory) {
    EXPECT_FALSE(machine_before(with_history(0).decode().value(), delay_at(0)));
    const auto recording = with_history(1000 * ms).decode().value();
    EXPECT_FALSE(machine_before(recording, delay_at(-static_cast<std::int64_t>(990 * ms))))
        << "too short to say";
    const auto idle = machine_before(recording, delay_at(0));
    ASSERT_TRUE(idle);
    EXPECT_EQ(idle->samples, 0U);
    EXPECT_TRUE(idle->processes.empty());
}

// The second before a recording that begins at 10 s, with a sample of each CPU every 20 ms.
class MachineBeforeRecording : public ::testing::Test {
  protected:
    MachineBeforeRecording() {
        made_.recording.begin_ns = start;
        made_.recording.end_ns = start + 30 * ms;
        made_.recording.cpu_count = 1;
        made_.recording.system.history_length_ns = 1000 * ms;
        made_.recording.system.history_interval_ns = 20 * ms;
        delay_.begin_ns = start;
    }
    void process(std::uint32_t pid, const std::string& name, const std::string& unit = "") {
        made_.process(pid, 1);
        made_.recording.processes[pid].name = made_.name(name);
        made_.recording.processes[pid].unit = made_.name(unit);
        made_.thread(pid, pid, name);
    }
    void samples(std::uint32_t pid, int count, const std::vector<std::string>& frames,
                 std::uint64_t before_ms = 500) {
        const StackId stack = made_.stack(frames);
        for (int i = 0; i < count; ++i)
            made_.recording.earlier_samples.push_back({start - before_ms * ms, pid, pid, stack});
    }
    void wait(std::uint32_t tid, std::uint64_t before_ms, std::uint64_t length_ms) {
        EarlierWait& one = made_.recording.earlier_waits.emplace_back();
        one.tid = tid;
        one.begin_ns = start - before_ms * ms;
        one.end_ns = one.begin_ns + length_ms * ms;
    }
    [[nodiscard]] MachineBefore before() const {
        const auto found = machine_before(made_.recording, delay_);
        EXPECT_TRUE(found);
        return found.value_or(MachineBefore());
    }
    static constexpr std::uint64_t start = 10'000 * ms;
    test::MadeRecording made_;
    trace::Delay delay_;
};

TEST_F(MachineBeforeRecording, AScriptsFunctionIsMoreThanTheInterpreters) {
    process(20, "node");
    samples(20, 6, {"![jit]!handle", "!/usr/bin/node!Builtins_JSRun", "k:getpid"});
    ASSERT_EQ(before().processes.size(), 1U);
    EXPECT_EQ(before().processes[0].function, "handle");
}

TEST_F(MachineBeforeRecording, AProcessHasItsNumberUnitAndFunction) {
    process(20, "cc1plus", "build.service");
    samples(20, 6, {"main", "parse", "k:getpid"});
    samples(20, 4, {"main", "emit"});
    samples(30, 5, {"main", "?:/usr/bin/app"});
    const MachineBefore found = before();
    EXPECT_EQ(found.samples, 15U);
    EXPECT_DOUBLE_EQ(found.busy_share, 0.3);
    ASSERT_EQ(found.processes.size(), 2U);
    EXPECT_EQ(found.processes[0].name, "cc1plus");
    EXPECT_EQ(found.processes[0].processes, 1U);
    EXPECT_EQ(found.processes[0].pid, 20U);
    EXPECT_EQ(found.processes[0].unit, "build.service");
    EXPECT_DOUBLE_EQ(found.processes[0].share, 0.2);
    EXPECT_EQ(found.processes[0].function, "parse");
    EXPECT_DOUBLE_EQ(found.processes[0].function_share, 0.6);
    EXPECT_EQ(found.processes[1].name, "unknown");
    EXPECT_EQ(found.processes[1].function, "") << "without a name";
    EXPECT_DOUBLE_EQ(found.processes[1].function_share, 0);
}

TEST_F(MachineBeforeRecording, ProcessesOfOneNameHaveTheUnitThatTheyShare) {
    for (const std::uint32_t pid : {20U, 21U}) {
        process(pid, "cc1plus", "build.service");
        samples(pid, 2, {"main"});
    }
    EXPECT_EQ(before().processes.at(0).processes, 2U);
    EXPECT_EQ(before().processes.at(0).unit, "build.service");
    made_.recording.processes[21].unit = made_.name("other.service");
    EXPECT_EQ(before().processes.at(0).unit, "");
}

TEST_F(MachineBeforeRecording, TheBusiestTwentyAreListed) {
    for (std::uint32_t i = 0; i < 25; ++i) {
        process(100 + i, "app-" + std::to_string(i));
        samples(100 + i, 1 + static_cast<int>(i), {"main"});
    }
    const MachineBefore found = before();
    ASSERT_EQ(found.processes.size(), 20U);
    EXPECT_EQ(found.processes[0].name, "app-24");
    EXPECT_EQ(found.processes[19].name, "app-5");
    EXPECT_DOUBLE_EQ(found.busy_share, 1.0) << "more samples than there can be";
}

TEST_F(MachineBeforeRecording, OnlyTheTimeBeforeTheDelayCounts) {
    process(20, "app");
    for (const std::uint64_t before_ms : {1001, 1000, 999, 201, 200, 199})
        samples(20, 1, {"main"}, before_ms);
    EXPECT_EQ(before().samples, 5U);
    delay_.begin_ns = start - 200 * ms;
    EXPECT_EQ(before().samples, 3U);
    EXPECT_EQ(before().length_ns, 800 * ms);
    delay_.begin_ns = start + 20 * ms;
    EXPECT_EQ(before().length_ns, 1000 * ms) << "up to the recording";
    delay_.begin_ns = start - 900 * ms;
    EXPECT_EQ(before().length_ns, 100 * ms);
    delay_.begin_ns -= 1;
    EXPECT_FALSE(machine_before(made_.recording, delay_));
    delay_.begin_ns = start;
    made_.recording.system.history_interval_ns = 0;
    EXPECT_FALSE(machine_before(made_.recording, delay_));
}

TEST_F(MachineBeforeRecording, DiskWaitsAreByProcess) {
    process(20, "db", "db.service");
    process(21, "log");
    wait(20, 500, 30);
    wait(20, 400, 10);
    wait(21, 300, 35);
    wait(21, 200, 1);
    made_.recording.earlier_waits.back().in_run = true;
    wait(21, 1100, 100);  // ends where the history begins
    wait(99, 100, 20);
    const MachineBefore found = before();
    ASSERT_EQ(found.disk_waits.size(), 3U);
    EXPECT_EQ(found.disk_waits[0].process, "log");
    EXPECT_EQ(found.disk_waits[0].pid, 21U);
    EXPECT_EQ(found.disk_waits[0].unit, "");
    EXPECT_EQ(found.disk_waits[0].count, 1U);
    EXPECT_EQ(found.disk_waits[0].longest_ns, 35 * ms);
    EXPECT_EQ(found.disk_waits[1].process, "db");
    EXPECT_EQ(found.disk_waits[1].unit, "db.service");
    EXPECT_EQ(found.disk_waits[1].count, 2U);
    EXPECT_EQ(found.disk_waits[1].total_ns, 40 * ms);
    EXPECT_EQ(found.disk_waits[1].longest_ns, 30 * ms);
    EXPECT_EQ(found.disk_waits[2].process, "");
    EXPECT_EQ(found.disk_waits[2].pid, 0U);
    delay_.begin_ns = start - 300 * ms;
    EXPECT_EQ(before().disk_waits.size(), 1U) << "those that began before the delay";
}

TEST_F(MachineBeforeRecording, TheTwentyWithTheLongestDiskWaitsAreListed) {
    for (std::uint32_t i = 0; i < 25; ++i) {
        process(100 + i, "app-" + std::to_string(i));
        wait(100 + i, 500, 1 + i);
    }
    const MachineBefore found = before();
    ASSERT_EQ(found.disk_waits.size(), 20U);
    EXPECT_EQ(found.disk_waits[0].process, "app-24");
    EXPECT_EQ(found.disk_waits[19].process, "app-5");
}

}  // namespace
}  // namespace lagtrap::analysis::machine_before_tests
