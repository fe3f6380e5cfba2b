// Rows of threads and CPUs of a recording made by hand, with every number.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/machine_timeline.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::machine_timeline_rows_test {
namespace {

using test::MadeRecording;
using testing::ElementsAre;
constexpr std::uint64_t ms = 1'000'000;

// "0-10 on 3", "10-30 blocked"; "30-40 several 4/2" with the times on a CPU and runnable.
std::string text_of(const MachineCell& cell) {
    std::string text = std::to_string(cell.from_ns / ms) + "-" + std::to_string(cell.to_ns / ms);
    switch (cell.state) {
        case MachineState::OnCpu: return text + " on " + std::to_string(cell.cpu);
        case MachineState::Runnable: return text + " runnable";
        case MachineState::Throttled: return text + " throttled";
        case MachineState::Blocked: return text + " blocked in " + std::to_string(cell.stack);
        case MachineState::Several: break;
    }
    return text + " several " + std::to_string(cell.on_cpu_ns / ms) + "/" +
           std::to_string(cell.runnable_ns / ms);
}

// "0-10 tid 11 busy 10", with "several" if it is of several threads.
std::string text_of(const CpuCell& cell) {
    return std::to_string(cell.from_ns / ms) + "-" + std::to_string(cell.to_ns / ms) + " tid " +
           std::to_string(cell.tid) + " busy " + std::to_string(cell.busy_ns / ms) +
           (cell.several ? " several" : "");
}

template <typename Cell>
std::vector<std::string> texts_of(const std::vector<Cell>& cells) {
    std::vector<std::string> texts;
    for (const Cell& cell : cells) texts.push_back(text_of(cell));
    return texts;
}

// A recording from 0 to 100 ms, with a delay of thread 11 of process 10 at 20 ms.
class MachineRows : public ::testing::Test {
  protected:
    MachineRows() {
        made_.recording.end_ns = 100 * ms;
        made_.recording.has_scheduling = true;
        made_.recording.threads.reserve(16);  // references stay
        delay_.run_id = 5;
        delay_.begin_ns = 20 * ms;
        delay_.duration_ns = 50 * ms;
        delay_.begin_pid = delay_.end_pid = 10;
        delay_.begin_tid = delay_.end_tid = 11;
    }
    static StateChange& change(Thread& thread, std::uint64_t at_ms, ThreadState state) {
        StateChange& one = thread.changes.emplace_back();
        one.at_ns = at_ms * ms;
        one.state = state;
        return one;
    }
    // A thread that runs in this period and sleeps otherwise.
    Thread& runs(std::uint32_t pid, std::uint32_t tid, std::uint64_t from_ms, std::uint64_t to_ms) {
        Thread& thread = made_.thread(pid, tid);
        change(thread, 0, ThreadState::Blocked);
        if (from_ms == to_ms) return thread;
        change(thread, from_ms, ThreadState::Running);
        change(thread, to_ms, ThreadState::Blocked);
        return thread;
    }
    void tenure(std::uint32_t cpu, std::uint64_t at_ms, std::uint32_t tid, bool known = true) {
        if (cpu >= made_.recording.cpus.size()) made_.recording.cpus.resize(cpu + 1);
        made_.recording.cpus[cpu].push_back({at_ms * ms, tid, 120, known});
    }
    // By time after the delay's begin, with columns of a millisecond unless there are fewer.
    [[nodiscard]] MachineTimeline machine(std::int64_t from_ms = -20, std::int64_t to_ms = 80,
                                          std::uint32_t columns = 100,
                                          const MachineLimits& limits = {}) const {
        const auto unit = static_cast<std::int64_t>(ms);
        return machine_timeline(made_.recording, delay_, {from_ms * unit, to_ms * unit, columns},
                                limits);
    }
    static std::vector<std::uint32_t> tids_of(const MachineTimeline& shown) {
        std::vector<std::uint32_t> tids;
        for (const MachineThread& row : shown.threads) tids.push_back(row.thread->tid);
        return tids;
    }
    MadeRecording made_;
    trace::Delay delay_;
};

TEST_F(MachineRows, EachStateIsACell) {
    Thread& thread = made_.thread(10, 11);
    change(thread, 0, ThreadState::Running).cpu = 3;
    change(thread, 10, ThreadState::Runnable);
    change(thread, 20, ThreadState::Runnable).throttled = true;
    change(thread, 30, ThreadState::Running).cpu = 1;
    change(thread, 40, ThreadState::Blocked).stack = 0;
    change(thread, 50, ThreadState::NotRecorded);
    change(thread, 60, ThreadState::Exited);
    const MachineTimeline found = machine();
    EXPECT_EQ(found.begin_ns, 20 * ms);
    EXPECT_EQ(found.from_ns, 0U);
    EXPECT_EQ(found.to_ns, 100 * ms);
    EXPECT_EQ(found.finest_ns, ms);
    ASSERT_EQ(found.threads.size(), 1U);
    EXPECT_THAT(texts_of(found.threads[0].cells),
                ElementsAre("0-10 on 3", "10-20 runnable", "20-30 throttled", "30-40 on 1",
                            "40-50 blocked in 0"));
    EXPECT_EQ(found.threads[0].on_cpu_ns, 20 * ms);
    EXPECT_EQ(found.threads[0].runnable_ns, 20 * ms);
    EXPECT_EQ(found.threads[0].blocked_ns, 10 * ms);
    EXPECT_TRUE(found.threads[0].of_delay);
    // A part of it: 25 to 45 ms.
    EXPECT_THAT(texts_of(machine(5, 25).threads.at(0).cells),
                ElementsAre("25-30 throttled", "30-40 on 1", "40-45 blocked in 0"));
}

TEST_F(MachineRows, ShortStatesAreOneCellWithTheirTimes) {
    Thread& thread = made_.thread(10, 11);
    change(thread, 0, ThreadState::Blocked);
    change(thread, 20, ThreadState::Running).cpu = 2;
    change(thread, 24, ThreadState::Runnable);
    change(thread, 27, ThreadState::Blocked).stack = 0;
    change(thread, 28, ThreadState::Running);
    change(thread, 32, ThreadState::Blocked);
    change(thread, 60, ThreadState::Running).cpu = 2;
    change(thread, 63, ThreadState::Blocked);
    // Columns of 10 ms.
    EXPECT_THAT(texts_of(machine(-20, 80, 10).threads.at(0).cells),
                ElementsAre("0-20 blocked in 0", "20-32 several 8/3", "32-60 blocked in 0",
                            "60-63 on 2", "63-100 blocked in 0"));
    EXPECT_EQ(machine(-20, 80, 10).finest_ns, 10 * ms);
    EXPECT_EQ(machine(-20, 80, 0).finest_ns, 100 * ms);
}

TEST_F(MachineRows, OfACpuHaveTheThreadThatHadItLongest) {
    runs(10, 11, 0, 50);
    tenure(0, 0, 11);
    tenure(0, 30, 0);
    tenure(0, 50, 12);
    tenure(0, 54, 0);
    tenure(0, 56, 11);
    tenure(0, 59, 12);
    tenure(0, 61, 0, false);
    tenure(0, 80, 11);
    tenure(0, 83, 0);
    tenure(2, 90, 11);
    const MachineTimeline found = machine(-20, 80, 10);
    ASSERT_EQ(found.cpus.size(), 3U);
    EXPECT_THAT(texts_of(found.cpus[0]), ElementsAre("0-30 tid 11 busy 30", "30-50 tid 0 busy 0",
                                                     "50-61 tid 12 busy 9 several",
                                                     "80-83 tid 11 busy 3", "83-100 tid 0 busy 0"));
    EXPECT_THAT(found.cpus[1], ElementsAre());
    EXPECT_THAT(texts_of(found.cpus[2]), ElementsAre("90-100 tid 11 busy 10"));
    EXPECT_THAT(texts_of(machine(0, 20, 20).cpus[0]),
                ElementsAre("20-30 tid 11 busy 10", "30-40 tid 0 busy 0"));
}

TEST_F(MachineRows, OfTheDelayComeFirstThenItsProcessThenTheBusiest) {
    runs(10, 11, 0, 0);
    runs(10, 12, 10, 20);
    runs(20, 13, 0, 90);
    runs(30, 14, 0, 30);
    runs(30, 15, 0, 60);
    runs(10, 16, 10, 40);
    runs(30, 17, 0, 0);
    runs(30, 18, 0, 0);
    Thread& waits = made_.thread(40, 19);
    change(waits, 0, ThreadState::Blocked);
    change(waits, 10, ThreadState::Runnable);
    change(waits, 50, ThreadState::Blocked);
    made_.thread(50, 20);
    delay_.end_tid = 14;
    delay_.stages = {{"sent", 1 * ms, 15}};
    const MachineTimeline found = machine();
    EXPECT_THAT(tids_of(found), ElementsAre(15, 14, 11, 16, 12, 13, 19));
    EXPECT_EQ(found.asleep, 2U);
    EXPECT_EQ(found.threads_left_out, 0U);
    for (const MachineThread& row : found.threads)
        EXPECT_EQ(row.of_delay,
                  row.thread->tid == 11 || row.thread->tid == 14 || row.thread->tid == 15);
    MachineLimits limits;
    limits.threads = 3;
    EXPECT_THAT(tids_of(machine(-20, 80, 100, limits)), ElementsAre(15, 14, 11));
    EXPECT_EQ(machine(-20, 80, 100, limits).threads_left_out, 4U);
    limits.threads = 7;
    EXPECT_EQ(machine(-20, 80, 100, limits).threads_left_out, 0U);
}

TEST_F(MachineRows, EndsOfWaitsHaveTheirCause) {
    Thread& thread = made_.thread(10, 11);
    const auto wait = [&](std::uint64_t from_ms, std::uint64_t to_ms) -> StateChange& {
        change(thread, from_ms, ThreadState::Blocked);
        StateChange& end = change(thread, to_ms, ThreadState::Running);
        end.woken = true;
        return end;
    };
    wait(0, 10).waker_tid = 12;
    StateChange& by_disk = wait(20, 30);
    by_disk.by_interrupt = true;
    by_disk.waker_tid = 12;
    by_disk.wake_cause = WakeCause::Disk;
    by_disk.wake_device = made_.name("vda");
    wait(40, 50).waker_tid = 11;
    change(thread, 60, ThreadState::Blocked);
    change(thread, 70, ThreadState::Running);
    change(thread, 80, ThreadState::Blocked);
    made_.thread(10, 12);
    const auto wakes = machine().wakes;
    ASSERT_EQ(wakes.size(), 3U);
    EXPECT_EQ(wakes[0].at_ns, 10 * ms);
    EXPECT_EQ(wakes[0].tid, 11U);
    EXPECT_EQ(wakes[0].waker_tid, 12U);
    EXPECT_EQ(wakes[0].cause, WakeCause::Unknown);
    EXPECT_EQ(wakes[0].device, 0U);
    EXPECT_EQ(wakes[1].at_ns, 30 * ms);
    EXPECT_EQ(wakes[1].waker_tid, 0U);
    EXPECT_EQ(wakes[1].cause, WakeCause::Disk);
    EXPECT_EQ(made_.recording.name(wakes[1].device), "vda");
    EXPECT_EQ(wakes[2].at_ns, 50 * ms);
    EXPECT_EQ(wakes[2].waker_tid, 0U) << "nobody wakes itself";
    MachineLimits limits;
    limits.wakes = 2;
    EXPECT_EQ(machine(-20, 80, 100, limits).wakes.size(), 2U);
    EXPECT_EQ(machine(-20, 80, 100, limits).wakes_left_out, 1U);
    EXPECT_TRUE(machine(-20, 80, 9).wakes.empty()) << "waits shorter than a column";
    EXPECT_TRUE(machine(-20, -10).wakes.empty()) << "it ends with the window";
}

TEST_F(MachineRows, SamplesAreAtMostOnePerColumn) {
    Thread& thread = runs(10, 11, 0, 100);
    for (std::uint64_t at = 0; at < 100; ++at) thread.samples.push_back({at * ms, 0, 0});
    MachineTimeline found = machine();
    EXPECT_EQ(found.threads.at(0).samples.size(), 100U);
    EXPECT_EQ(found.samples_left_out, 0U);
    found = machine(-20, 80, 10);
    EXPECT_EQ(found.threads.at(0).samples.size(), 10U);
    EXPECT_EQ(found.threads[0].samples[1].at_ns, 10 * ms);
    EXPECT_EQ(found.samples_left_out, 90U);
    MachineLimits limits;
    limits.samples = 30;
    found = machine(-20, 80, 100, limits);
    EXPECT_EQ(found.threads.at(0).samples.size(), 30U);
    EXPECT_EQ(found.samples_left_out, 70U);
    EXPECT_EQ(machine(0, 10).threads.at(0).samples.size(), 10U);
}

TEST_F(MachineRows, OtherRunsInTheWindowAreListedLongestFirst) {
    runs(10, 11, 0, 100);
    const auto run = [&](std::uint64_t id, std::uint64_t from_ms, std::uint64_t to_ms) {
        analysis::Run& one = made_.recording.runs.emplace_back();
        one.id = id;
        one.begin_ns = from_ms * ms;
        one.end_ns = to_ms * ms;
    };
    run(1, 0, 10);
    run(2, 0, 20);
    run(5, 20, 70);
    run(3, 30, 35);
    run(4, 40, 60);
    run(6, 61, 90);
    const auto ids = [](const MachineTimeline& shown) {
        std::vector<std::uint64_t> found;
        for (const analysis::Run* one : shown.runs) found.push_back(one->id);
        return found;
    };
    EXPECT_THAT(ids(machine()), ElementsAre(6, 2, 4, 1, 3));
    EXPECT_THAT(ids(machine(0, 40)), ElementsAre(2, 4, 3));
    MachineLimits limits;
    limits.runs = 2;
    EXPECT_THAT(ids(machine(-20, 80, 100, limits)), ElementsAre(6, 2));
    EXPECT_EQ(machine(-20, 80, 100, limits).runs_left_out, 3U);
    EXPECT_EQ(machine().runs_left_out, 0U);
}

TEST_F(MachineRows, TooManyCellsMakeColumnsCoarser) {
    Thread& thread = made_.thread(10, 11);
    for (std::uint64_t at = 0; at < 100; at += 2) {
        change(thread, at, ThreadState::Running);
        change(thread, at + 1, ThreadState::Runnable);
    }
    MachineLimits limits;
    EXPECT_EQ(machine(-20, 80, 100, limits).threads.at(0).cells.size(), 100U);
    limits.cells = 99;
    const MachineTimeline coarser = machine(-20, 80, 100, limits);
    EXPECT_EQ(coarser.finest_ns, 2 * ms);
    EXPECT_EQ(coarser.threads.at(0).cells.size(), 50U);
    limits.cells = 100;
    EXPECT_EQ(machine(-20, 80, 100, limits).finest_ns, ms);
    limits.cells = 0;
    EXPECT_GT(machine(-20, 80, 100, limits).finest_ns, 100 * ms) << "it ends";
}

TEST_F(MachineRows, CoarserColumnsRepeatNoEnd) {
    Thread& thread = made_.thread(10, 11);
    change(thread, 0, ThreadState::Blocked);
    change(thread, 30, ThreadState::Running).woken = true;
    change(thread, 50, ThreadState::Blocked);
    change(thread, 80, ThreadState::Running).woken = true;
    Thread& busy = runs(10, 12, 10, 11);
    change(busy, 12, ThreadState::Running);
    change(busy, 13, ThreadState::Blocked);
    MachineLimits limits;
    limits.cells = 8;
    limits.wakes = 2;
    const MachineTimeline found = machine(-20, 80, 100, limits);
    EXPECT_EQ(found.finest_ns, 2 * ms);
    EXPECT_EQ(found.wakes.size(), 2U);
    EXPECT_EQ(found.wakes_left_out, 0U);
    limits.wakes = 1;
    EXPECT_EQ(machine(-20, 80, 100, limits).wakes_left_out, 1U);
}

}  // namespace
}  // namespace lagtrap::analysis::machine_timeline_rows_test
