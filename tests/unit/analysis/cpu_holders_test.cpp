#include "analysis/cpu_holders.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::cpu_holders_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

// 10 waits for CPU 0 from 10 to 40 ms.
TEST(CpuHolders, AProcessIsShownWithTheThreadThatRanLongest) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "app").thread(10, 10, "app");
    builder.process(20, "batch")
        .thread(20, 20, "batch")
        .thread(20, 21, "long")
        .thread(20, 22, "short");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(10 * ms, 0, 10, 0, 21)
        .switched(30 * ms, 0, 21, 1, 22)
        .switched(40 * ms, 0, 22, 1, 10);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CpuWaits waits = cpu_waits_of(
        *recording, intervals_of_thread(*recording, 10, {begin + ms, begin + 50 * ms}));
    EXPECT_EQ(waits.time_ns, 30 * ms);
    ASSERT_EQ(waits.holders.size(), 1U);
    EXPECT_EQ(waits.holders[0].process, "batch");
    EXPECT_EQ(waits.holders[0].threads, 2U);
    EXPECT_EQ(waits.holders[0].time_ns, 30 * ms);
    EXPECT_EQ(waits.holders[0].tid, 21U);
    EXPECT_EQ(waits.holders[0].thread, "long");
}

// Thread 11 of process 10 waits; process 20 has threads 21 and 22.
class CpuWaitsOf : public ::testing::Test {
  protected:
    CpuWaitsOf() {
        made_.recording.end_ns = 100 * ms;
        made_.recording.has_scheduling = true;
        made_.recording.threads.reserve(32);
        made_.thread(10, 11, "worker");
        made_.thread(10, 12, "helper");
        made_.thread(10, 13, "other");
        made_.thread(20, 21, "long");
        made_.thread(20, 22, "short");
        made_.process(20, 1);
        made_.recording.processes[20].name = made_.name("batch");
        made_.recording.processes[20].unit = made_.name("batch.service");
    }
    StateChange& change(std::uint64_t at_ms, ThreadState state, std::uint16_t cpu = 0) {
        StateChange& one = made_.recording.threads[0].changes.emplace_back();
        one.at_ns = at_ms * ms;
        one.state = state;
        one.cpu = cpu;
        return one;
    }
    void tenure(std::uint32_t cpu, std::uint64_t at_ms, std::uint32_t tid, bool known = true,
                std::uint16_t priority = 120) {
        if (cpu >= made_.recording.cpus.size()) made_.recording.cpus.resize(cpu + 1);
        made_.recording.cpus[cpu].push_back({at_ms * ms, tid, priority, known});
    }
    [[nodiscard]] CpuWaits waits() const {
        return cpu_waits_of(made_.recording,
                            intervals_of_thread(made_.recording, 11, {0, 100 * ms}));
    }
    test::MadeRecording made_;
};

TEST_F(CpuWaitsOf, APreemptedThreadAreForItsCpu) {
    change(0, ThreadState::Running);
    change(10, ThreadState::Runnable);
    change(40, ThreadState::Running);
    tenure(0, 0, 11);
    tenure(0, 10, 21, true, 49);
    tenure(0, 30, 22);
    tenure(0, 35, 0);
    tenure(0, 37, 99, false);
    tenure(0, 40, 11);
    tenure(1, 0, 12);
    const CpuWaits found = waits();
    EXPECT_EQ(found.time_ns, 30 * ms);
    EXPECT_EQ(found.idle_ns, 2 * ms);
    EXPECT_EQ(found.slow_wakeups_ns, 0U);
    EXPECT_EQ(found.preempted_ns, 30 * ms);
    EXPECT_EQ(found.elsewhere_ns, 0U);
    EXPECT_EQ(found.unknown_ns, 3 * ms);
    EXPECT_EQ(found.cpus, std::vector<std::uint16_t>{0});
    ASSERT_EQ(found.holders.size(), 1U);
    const CpuHolder& batch = found.holders[0];
    EXPECT_EQ(batch.pid, 20U);
    EXPECT_EQ(batch.tid, 21U);
    EXPECT_EQ(batch.process, "batch");
    EXPECT_EQ(batch.thread, "long");
    EXPECT_EQ(batch.unit, "batch.service");
    EXPECT_EQ(batch.threads, 2U);
    EXPECT_EQ(batch.time_ns, 25 * ms);
    EXPECT_EQ(batch.priority, 49U);
    EXPECT_EQ(batch.real_time_priority(), 50U);
}

TEST_F(CpuWaitsOf, AThreadHaveThePriorityWithWhichItCameToACpu) {
    change(0, ThreadState::Running);
    change(10, ThreadState::Runnable);
    change(40, ThreadState::Running, 1);
    tenure(0, 0, 11, true, 120);
    tenure(0, 10, 21, true, 49);
    tenure(1, 0, 12);
    tenure(1, 40, 11, true, 130);
    EXPECT_EQ(waits().priority, 130U);
    made_.recording.cpus[1].back().tid = 12;
    EXPECT_EQ(waits().priority, no_priority) << "another thread came";
}

TEST_F(CpuWaitsOf, AThreadThatRanElsewhereNextAreUncertain) {
    change(0, ThreadState::Running);
    change(10, ThreadState::Runnable);
    change(40, ThreadState::Running, 1);
    tenure(0, 0, 11);
    tenure(0, 10, 21);
    tenure(1, 0, 12);
    const CpuWaits found = waits();
    EXPECT_EQ(found.elsewhere_ns, 30 * ms);
    EXPECT_EQ(found.cpus, std::vector<std::uint16_t>{0});
    EXPECT_EQ(found.holders.at(0).pid, 20U);
}

TEST_F(CpuWaitsOf, AWokenThreadAreForTheCpuThatItRunsOnNext) {
    change(0, ThreadState::Running);
    change(5, ThreadState::Blocked);
    change(10, ThreadState::Runnable).woken = true;
    change(20, ThreadState::Running, 1);
    tenure(0, 0, 11);
    tenure(0, 5, 22);
    tenure(1, 0, 0);
    tenure(1, 14, 21);
    tenure(1, 20, 11);
    const CpuWaits found = waits();
    EXPECT_EQ(found.time_ns, 10 * ms);
    EXPECT_EQ(found.idle_ns, 4 * ms);
    EXPECT_EQ(found.slow_wakeups_ns, 4 * ms);
    EXPECT_EQ(found.elsewhere_ns, 0U);
    EXPECT_EQ(found.cpus, std::vector<std::uint16_t>{1});
    ASSERT_EQ(found.holders.size(), 1U);
    EXPECT_EQ(found.holders[0].tid, 21U);
    EXPECT_EQ(found.holders[0].time_ns, 6 * ms);
}

TEST_F(CpuWaitsOf, AThreadWithoutAKnownCpuAreUnknown) {
    change(10, ThreadState::Runnable);
    tenure(0, 0, 21);
    EXPECT_EQ(waits().unknown_ns, 90 * ms);
    EXPECT_TRUE(waits().holders.empty());
    EXPECT_TRUE(waits().cpus.empty());
    // If only one of the two CPUs is known, it is that one.
    change(40, ThreadState::Running);
    EXPECT_EQ(waits().unknown_ns, 0U);
    EXPECT_EQ(waits().holders.at(0).time_ns, 30 * ms);
    made_.recording.cpus.clear();
    EXPECT_EQ(waits().unknown_ns, 30 * ms) << "a CPU of which nothing is known";
}

TEST_F(CpuWaitsOf, AProcessForItselfNameThreadsThatHadAFifth) {
    change(0, ThreadState::Running);
    change(10, ThreadState::Runnable);
    change(60, ThreadState::Running);
    made_.thread(10, 31, "small");
    made_.thread(10, 32, "tiny");
    tenure(0, 0, 11);
    tenure(0, 10, 12);
    tenure(0, 30, 13);
    tenure(0, 40, 31);
    tenure(0, 48, 32);
    tenure(0, 53, 21);
    tenure(0, 60, 11);
    const CpuWaits found = waits();
    ASSERT_EQ(found.holders.size(), 4U);
    EXPECT_EQ(found.holders[0].tid, 12U);
    EXPECT_EQ(found.holders[0].time_ns, 20 * ms);
    EXPECT_EQ(found.holders[0].threads, 1U);
    EXPECT_EQ(found.holders[1].tid, 31U) << "the rest of the process together";
    EXPECT_EQ(found.holders[1].time_ns, 13 * ms);
    EXPECT_EQ(found.holders[1].threads, 2U);
    EXPECT_EQ(found.holders[2].tid, 13U) << "exactly a fifth";
    EXPECT_EQ(found.holders[2].time_ns, 10 * ms);
    EXPECT_EQ(found.holders[3].tid, 21U);
}

TEST_F(CpuWaitsOf, AThreadHaveAtMostTenHolders) {
    change(0, ThreadState::Running);
    change(10, ThreadState::Runnable);
    change(90, ThreadState::Running);
    tenure(0, 0, 11);
    std::uint64_t at = 10;
    for (std::uint32_t i = 0; i < 12; ++i) {
        made_.thread(100 + i, 100 + i);
        tenure(0, at, 100 + i);
        at += 1 + i;
    }
    tenure(0, at, 11);
    const CpuWaits found = waits();
    ASSERT_EQ(found.holders.size(), 10U);
    EXPECT_EQ(found.holders[0].pid, 111U);
    EXPECT_EQ(found.holders[0].time_ns, 12 * ms);
    EXPECT_EQ(found.holders[9].pid, 102U);
}

}  // namespace
}  // namespace lagtrap::analysis::cpu_holders_test
