// States of threads and tenures of CPUs from switches, wakeups and stacks made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis::timeline_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Times are microseconds after the recording's begin.
class Timelines : public testing::Test {
  protected:
    static constexpr std::uint64_t begin_ns = 5'000'000'000, us = 1000;

    Timelines() {
        recording_.begin_ns = begin_ns;
        recording_.end_ns = begin_ns + 1'000'000 * us;
    }
    static std::uint64_t at(std::int64_t time_us) {
        return begin_ns + static_cast<std::uint64_t>(time_us * 1000);
    }
    RawSwitch& switched(std::int64_t time_us, std::uint32_t prev, std::uint32_t next,
                        SwitchOut out = SwitchOut::Blocked, std::uint32_t cpu = 0) {
        RawSwitch change;
        change.at_ns = at(time_us);
        change.prev_tid = prev;
        change.next_tid = next;
        change.out = out;
        raw_.switches[cpu].push_back(change);
        return raw_.switches[cpu].back();
    }
    RawWaking& woken(std::int64_t time_us, std::uint32_t waker, std::uint32_t wakee) {
        RawWaking waking;
        waking.at_ns = at(time_us);
        waking.waker_tid = waker;
        waking.wakee_tid = wakee;
        raw_.wakings.push_back(waking);
        return raw_.wakings.back();
    }
    RawSample& stopped(std::int64_t time_us, std::uint32_t tid, StackId stack) {
        RawSample sample;
        sample.at_ns = at(time_us);
        sample.tid = tid;
        sample.pid = 10;
        sample.stack = stack;
        raw_.off_cpu.push_back(sample);
        return raw_.off_cpu.back();
    }
    void sampled(std::int64_t time_us, std::uint32_t tid, std::uint32_t cpu = 0,
                 StackId stack = 0) {
        RawSample sample;
        sample.at_ns = at(time_us);
        sample.tid = tid;
        sample.pid = 10;
        sample.cpu = cpu;
        sample.stack = stack;
        raw_.samples.push_back(sample);
    }
    void waits_for(std::int64_t time_us, std::uint32_t tid, WaitFileKind kind,
                   const std::string& path) {
        RawWaitFile wait;
        wait.at_ns = at(time_us);
        wait.tid = tid;
        wait.file.kind = kind;
        wait.file.path = raw_.intern(path);
        raw_.wait_files.push_back(wait);
    }
    void known(std::uint32_t tid, std::uint64_t first_seen_ns = begin_ns) {
        raw_.threads[tid] = {10, raw_.intern("thread " + std::to_string(tid)), first_seen_ns, {}};
    }
    void build() { build_timelines(raw_, recording_); }

    const Thread& thread(std::uint32_t tid) const {
        const Thread* const found = recording_.find_thread(tid);
        EXPECT_NE(found, nullptr);
        static const Thread none;
        return found == nullptr ? none : *found;
    }
    const StateChange& change(std::uint32_t tid, std::size_t index) const {
        return thread(tid).changes.at(index);
    }
    // "0 runnable", "10 running", ...
    std::vector<std::string> states(std::uint32_t tid) const {
        static const std::vector<std::string> words{"unknown", "running", "runnable", "blocked",
                                                    "exited"};
        std::vector<std::string> found;
        for (const StateChange& one : thread(tid).changes)
            found.push_back(std::to_string((one.at_ns - begin_ns) / us) + " " +
                            words.at(static_cast<std::size_t>(one.state)));
        return found;
    }
    // "10-> 7", with "?" for an unknown thread.
    std::vector<std::string> tenures(std::uint32_t cpu) const {
        std::vector<std::string> found;
        for (const CpuTenure& tenure : recording_.cpus.at(cpu))
            found.push_back(
                std::to_string(static_cast<std::int64_t>(tenure.at_ns - begin_ns) / 1000) + " " +
                (tenure.known ? std::to_string(tenure.tid) : "?"));
        return found;
    }

    RawTrace raw_;
    Recording recording_;
};

TEST_F(Timelines, AThreadRunsWaitsIsWokenAndRunsAgain) {
    known(7);
    switched(100, 0, 7);
    switched(200, 7, 0);
    RawWaking& waking = woken(300, 8, 7);
    waking.cause = WakeCause::Packet;
    waking.device = 3;
    switched(400, 0, 7).prev_tid = 0;
    switched(500, 7, 0, SwitchOut::Exited);
    stopped(200, 7, 5);
    build();
    EXPECT_THAT(states(7), ElementsAre("0 runnable", "100 running", "200 blocked", "300 runnable",
                                       "400 running", "500 exited"));
    EXPECT_EQ(change(7, 2).stack, 5U);
    const StateChange& woken_up = change(7, 3);
    EXPECT_TRUE(woken_up.woken);
    EXPECT_EQ(woken_up.waker_tid, 8U);
    EXPECT_EQ(woken_up.wake_cause, WakeCause::Packet);
    EXPECT_EQ(woken_up.wake_device, 3U);
    EXPECT_FALSE(woken_up.by_interrupt);
    EXPECT_EQ(recording_.switch_gaps, 0U);
    EXPECT_TRUE(recording_.has_scheduling);
    EXPECT_THAT(tenures(0), ElementsAre("0 0", "100 7", "200 0", "400 7", "500 0"));
}

TEST_F(Timelines, AnInterruptIsKeptAsOne) {
    switched(100, 7, 0);
    woken(300, 8, 7).by_interrupt = true;
    woken(300, 8, 0);
    build();
    EXPECT_THAT(states(7), ElementsAre("0 running", "100 blocked", "300 runnable"));
    EXPECT_TRUE(change(7, 2).by_interrupt);
    EXPECT_EQ(recording_.find_thread(0), nullptr);
}

TEST_F(Timelines, AThreadThatIsPreemptedWaitsForACpu) {
    RawSwitch& yielding = switched(100, 7, 8, SwitchOut::Runnable);
    yielding.prev_yielded = yielding.prev_throttled = true;
    RawSwitch& stopping = switched(200, 8, 7);
    stopping.prev_yielded = stopping.prev_throttled = true;
    build();
    EXPECT_THAT(states(7), ElementsAre("0 running", "100 runnable", "200 running"));
    EXPECT_TRUE(change(7, 1).yielded);
    EXPECT_TRUE(change(7, 1).throttled);
    EXPECT_FALSE(change(7, 1).woken);
    // Only who could run is held back.
    EXPECT_EQ(thread(8).changes.back().state, ThreadState::Blocked);
    EXPECT_FALSE(thread(8).changes.back().yielded);
    EXPECT_FALSE(thread(8).changes.back().throttled);
}

TEST_F(Timelines, SwitchesAreSortedByTime) {
    switched(200, 7, 0);
    switched(100, 0, 7);
    build();
    EXPECT_THAT(tenures(0), ElementsAre("0 0", "100 7", "200 0"));
    EXPECT_EQ(recording_.switch_gaps, 0U);
}

TEST_F(Timelines, WhatAThreadDidAtTheBeginIsConcluded) {
    known(1);
    known(2, begin_ns + 1);
    for (const std::uint32_t tid : {1U, 2U}) switched(100, 0, tid, SwitchOut::Blocked, tid);
    switched(100, 3, 0, SwitchOut::Blocked, 3);
    woken(100, 1, 4);
    stopped(50, 5, 9).lock = 6;
    switched(100, 0, 5, SwitchOut::Blocked, 4);
    stopped(100, 6, 9);
    switched(100, 0, 6, SwitchOut::Blocked, 5);
    build();
    EXPECT_THAT(states(1), ElementsAre("0 runnable", "100 running"));
    EXPECT_THAT(states(2), ElementsAre("0 unknown", "100 running")) << "it may have begun later";
    EXPECT_THAT(states(3), ElementsAre("0 running", "100 blocked"));
    EXPECT_THAT(states(4), ElementsAre("0 blocked", "100 runnable"));
    EXPECT_THAT(states(5), ElementsAre("0 blocked", "100 running"));
    EXPECT_EQ(change(5, 0).stack, 9U);
    EXPECT_EQ(change(5, 0).lock, 6U);
    EXPECT_THAT(states(6), ElementsAre("0 unknown", "100 running")) << "a stack of its first stop";
}

TEST_F(Timelines, AThreadThatOnlyWaitsIsBlocked) {
    switched(100, 0, 1);
    stopped(0, 7, 9);
    waits_for(0, 7, WaitFileKind::Pipe, "/run/fifo");
    known(8);
    waits_for(0, 8, WaitFileKind::Pipe, "/run/fifo");
    build();
    EXPECT_THAT(states(7), ElementsAre("0 blocked"));
    EXPECT_EQ(change(7, 0).file, 1U);
    EXPECT_THAT(states(8), ElementsAre("0 unknown"));
    EXPECT_EQ(change(8, 0).file, 0U);
}

TEST_F(Timelines, StacksAndFilesBelongToStopsAtTheirTime) {
    switched(100, 7, 0);
    switched(200, 0, 7);
    switched(300, 7, 0);
    switched(400, 0, 7);
    switched(500, 7, 0);
    stopped(500, 7, 5).lock = 9;
    stopped(300, 7, 3);
    stopped(99, 7, 1);
    waits_for(500, 7, WaitFileKind::Pipe, "/b");
    waits_for(100, 7, WaitFileKind::Pipe, "/a");
    waits_for(250, 7, WaitFileKind::Pipe, "/c");
    build();
    EXPECT_EQ(change(7, 1).stack, 0U);
    EXPECT_EQ(change(7, 3).stack, 3U);
    EXPECT_EQ(change(7, 5).stack, 5U);
    EXPECT_EQ(change(7, 3).lock, 0U);
    EXPECT_EQ(change(7, 5).lock, 9U);
    EXPECT_EQ(change(7, 1).file, 2U);
    EXPECT_EQ(change(7, 3).file, 0U);
    EXPECT_EQ(change(7, 5).file, 1U);
}

TEST_F(Timelines, FileLocksAreTheSameForTheSameFile) {
    switched(100, 7, 8);
    switched(200, 8, 0);
    switched(100, 9, 0, SwitchOut::Blocked, 1);
    waits_for(100, 7, WaitFileKind::Lock, "/data");
    waits_for(200, 8, WaitFileKind::Lock, "/data");
    waits_for(100, 9, WaitFileKind::OfCall, "/data");
    build();
    const std::uint32_t lock = thread(7).changes.back().lock;
    EXPECT_NE(lock, 0U);
    EXPECT_EQ(thread(8).changes.back().lock, lock);
    EXPECT_EQ(thread(9).changes.back().lock, 0U);
    EXPECT_EQ(recording_.waited_files.size(), 3U);
}

// The kernel reports a wakeup before the thread has left its CPU.
TEST_F(Timelines, AWakeupJustBeforeAStopEndedIt) {
    const auto states_after = [this](std::int64_t before_ns, bool runs_next, bool again) {
        raw_ = {};
        recording_.threads.clear();
        recording_.cpus.clear();
        switched(0, 0, 7);
        switched(100, 7, 0);
        RawWaking& waking = woken(100, 8, 7);
        waking.at_ns -= static_cast<std::uint64_t>(before_ns);
        if (again) woken(200, 8, 7);
        if (runs_next) switched(300, 0, 7);
        build();
        return states(7);
    };
    EXPECT_THAT(states_after(49'999, true, false),
                ElementsAre("0 running", "100 runnable", "300 running"));
    EXPECT_TRUE(change(7, 1).woken);
    EXPECT_EQ(change(7, 1).waker_tid, 8U);
    EXPECT_THAT(states_after(50'000, true, false),
                ElementsAre("0 running", "100 blocked", "300 running"));
    EXPECT_THAT(states_after(1'000, true, true),
                ElementsAre("0 running", "100 blocked", "200 runnable", "300 running"));
    EXPECT_THAT(states_after(1'000, false, false), ElementsAre("0 running", "100 blocked"));
    // At the same time, the stop comes first.
    EXPECT_THAT(states_after(0, true, false),
                ElementsAre("0 running", "100 blocked", "100 runnable", "300 running"));
}

TEST_F(Timelines, AWakeupOfAnEarlierRunEndsNoStop) {
    switched(0, 0, 7);
    woken(10, 8, 7);
    switched(20, 7, 0, SwitchOut::Runnable);
    switched(30, 0, 7);
    switched(40, 7, 0);
    switched(300, 0, 7);
    build();
    EXPECT_THAT(states(7),
                ElementsAre("0 running", "20 runnable", "30 running", "40 blocked", "300 running"));
}

TEST_F(Timelines, AQuotaHoldsBackAPartOfTheWait) {
    const auto wait = [this](std::int64_t from_us, std::int64_t to_us) {
        raw_ = {};
        recording_.threads.clear();
        recording_.cpus.clear();
        switched(100, 7, 0, SwitchOut::Runnable);
        switched(500, 0, 7).throttling = 1;
        raw_.throttlings = {{at(from_us), at(to_us)}};
        build();
        std::vector<std::string> found;
        for (const StateChange& one : thread(7).changes)
            if (one.state == ThreadState::Runnable)
                found.push_back(std::to_string((one.at_ns - begin_ns) / us) +
                                (one.throttled ? " throttled" : " free"));
        EXPECT_EQ(thread(7).changes.back().state, ThreadState::Running);
        return found;
    };
    EXPECT_THAT(wait(100, 500), ElementsAre("100 throttled"));
    EXPECT_THAT(wait(50, 600), ElementsAre("100 throttled"));
    EXPECT_THAT(wait(200, 500), ElementsAre("100 free", "200 throttled"));
    EXPECT_THAT(wait(50, 300), ElementsAre("100 throttled", "300 free"));
    EXPECT_THAT(wait(200, 300), ElementsAre("100 free", "200 throttled", "300 free"));
    EXPECT_THAT(wait(300, 300), ElementsAre("100 free"));
    EXPECT_THAT(wait(500, 600), ElementsAre("100 free"));
    EXPECT_THAT(wait(50, 100), ElementsAre("100 free"));
}

TEST_F(Timelines, AQuotaHoldsBackNobodyWhoIsBlocked) {
    switched(100, 7, 0);
    switched(500, 0, 7).throttling = 1;
    raw_.throttlings = {{at(100), at(400)}};
    build();
    EXPECT_THAT(states(7), ElementsAre("0 running", "100 blocked", "500 running"));
    EXPECT_FALSE(change(7, 1).throttled);
}

TEST_F(Timelines, AMissingSwitchLeavesUnknownTime) {
    switched(100, 0, 7);
    switched(300, 8, 9);
    switched(400, 9, 0);
    build();
    EXPECT_EQ(recording_.switch_gaps, 1U);
    EXPECT_THAT(tenures(0), ElementsAre("0 0", "100 ?", "300 9", "400 0"));
    EXPECT_THAT(states(7), ElementsAre("0 unknown", "100 unknown"));
    EXPECT_THAT(states(8), ElementsAre("0 unknown", "100 unknown", "300 blocked"));
    EXPECT_THAT(states(9), ElementsAre("0 unknown", "300 running", "400 blocked"));
}

TEST_F(Timelines, AThreadKeepsTheIdlePriorityWithWhichItCame) {
    switched(100, 0, 7).next_priority = idle_priority;
    switched(200, 7, 8).prev_priority = 120;
    build();
    EXPECT_EQ(recording_.cpus[0].at(1).priority, idle_priority);
}

TEST_F(Timelines, HowAThreadStoppedIsUnknownIfItsSwitchWasConcluded) {
    switched(100, 7, 8).concluded = true;
    switched(200, 8, 0);
    build();
    EXPECT_EQ(recording_.switch_gaps, 1U);
    EXPECT_THAT(states(7), ElementsAre("0 running", "100 blocked", "100 unknown"));
    EXPECT_THAT(tenures(0), ElementsAre("0 7", "100 8", "200 0"));
}

TEST_F(Timelines, ASwitchThatTheMergeMadeUpIsLeftOut) {
    switched(100, 7, 8);
    switched(100, 8, 9);
    switched(100, 7, 0, SwitchOut::Blocked, 1);
    switched(100, 5, 6, SwitchOut::Blocked, 1);
    build();
    EXPECT_THAT(tenures(0), ElementsAre("0 ?", "100 9"));
    EXPECT_EQ(thread(8).changes.back().state, ThreadState::Blocked);
    // Two switches that are no chain both happened.
    EXPECT_THAT(tenures(1), ElementsAre("0 7", "100 ?", "100 6"));
}

TEST_F(Timelines, TheMostUrgentPriorityOfATenureCounts) {
    RawSwitch& first = switched(100, 7, 8);
    first.prev_priority = 120;
    first.next_priority = 110;
    RawSwitch& second = switched(200, 8, 9);
    second.prev_priority = 49;
    second.next_priority = 98;
    RawSwitch& third = switched(300, 9, 0);
    third.prev_priority = 120;
    third.next_priority = -1;
    build();
    const auto& tenures = recording_.cpus.at(0);
    EXPECT_EQ(tenures.at(0).priority, 120);
    EXPECT_EQ(tenures.at(1).priority, 49);
    EXPECT_EQ(tenures.at(2).priority, 98);
    EXPECT_EQ(tenures.at(3).priority, no_priority);
}

// CPUs begin to record one after the other.
TEST_F(Timelines, ASwitchBeforeTheBeginCountsFromTheBegin) {
    known(7);
    switched(-20, 8, 7);
    switched(100, 7, 0);
    build();
    EXPECT_THAT(tenures(0), ElementsAre("-20 8", "-20 7", "100 0"));
    EXPECT_THAT(states(7), ElementsAre("0 running", "100 blocked"));
    EXPECT_THAT(states(8), ElementsAre("0 blocked"));
}

TEST_F(Timelines, ACpuWithoutSwitchesRanTheOnlyThreadThatWasSampledThere) {
    switched(100, 0, 1);
    sampled(10, 7, 1);
    sampled(20, 7, 1);
    sampled(10, 8, 2);
    sampled(20, 9, 2);
    sampled(10, 5, 0);
    build();
    EXPECT_THAT(states(7), ElementsAre("0 running"));
    EXPECT_THAT(tenures(1), ElementsAre("0 7"));
    EXPECT_EQ(recording_.cpus.size(), 2U);
    EXPECT_THAT(states(8), ElementsAre("0 unknown"));
    EXPECT_THAT(states(5), ElementsAre("0 unknown"));
}

TEST_F(Timelines, WithoutSwitchesThereAreOnlySamples) {
    known(7);
    sampled(20, 7, 3, 2);
    sampled(10, 7, 1, 1);
    sampled(10, 0, 1, 1);
    build();
    EXPECT_FALSE(recording_.has_scheduling);
    EXPECT_THAT(thread(7).changes, IsEmpty());
    ASSERT_EQ(thread(7).samples.size(), 2U);
    EXPECT_EQ(thread(7).samples[0].at_ns, at(10));
    EXPECT_EQ(thread(7).samples[0].stack, 1U);
    EXPECT_EQ(thread(7).samples[1].cpu, 3U);
    EXPECT_EQ(recording_.threads.size(), 1U);
}

TEST_F(Timelines, ThreadsAreSortedAndHaveTheirFirstProcess) {
    known(9);
    sampled(10, 3);
    sampled(20, 9);
    raw_.samples.back().pid = 99;
    known(0);
    build();
    ASSERT_EQ(recording_.threads.size(), 2U);
    EXPECT_EQ(recording_.threads[0].tid, 3U);
    EXPECT_EQ(recording_.threads[1].tid, 9U);
    EXPECT_EQ(recording_.threads[1].pid, 10U);
    EXPECT_EQ(raw_.names.at(recording_.threads[1].name), "thread 9");
    EXPECT_TRUE(recording_.threads[1].alive_at_start);
    EXPECT_FALSE(recording_.threads[0].alive_at_start);
}

TEST_F(Timelines, OwnersOfLocksAreSeenWhenOthersStop) {
    RawSample& seen = stopped(100, 7, 1);
    seen.lock = 4;
    seen.lock_owner = 12;
    stopped(110, 7, 1).lock = 4;
    stopped(120, 7, 1).lock_owner = 12;
    build();
    ASSERT_EQ(recording_.lock_sightings.size(), 1U);
    EXPECT_EQ(recording_.lock_sightings[0].at_ns, at(100));
    EXPECT_EQ(recording_.lock_sightings[0].lock, 4U);
    EXPECT_EQ(recording_.lock_sightings[0].owner_tid, 12U);
}

TEST_F(Timelines, WhatIsOfNoThreadIsPassedOn) {
    raw_.repeated_syns.resize(1);
    raw_.refused_connects.resize(2);
    raw_.socket_owners.resize(3);
    raw_.written_files.resize(4);
    raw_.file_writers.resize(5);
    raw_.group_memory.pid = 6;
    build();
    EXPECT_EQ(recording_.repeated_syns.size(), 1U);
    EXPECT_EQ(recording_.refused_connects.size(), 2U);
    EXPECT_EQ(recording_.socket_owners.size(), 3U);
    EXPECT_EQ(recording_.written_files.size(), 4U);
    EXPECT_EQ(recording_.file_writers.size(), 5U);
    EXPECT_EQ(recording_.group_memory.pid, 6U);
}

TEST_F(Timelines, AThreadThatRunsTwiceAtOnceRanInBetweenOnlyPerhaps) {
    switched(100, 0, 7);
    switched(200, 0, 7, SwitchOut::Blocked, 1);
    switched(300, 7, 0, SwitchOut::Blocked, 1);
    build();
    EXPECT_THAT(states(7), ElementsAre("0 unknown", "100 unknown", "200 running", "300 blocked"));
    EXPECT_EQ(change(7, 2).cpu, 1);
}

TEST_F(Timelines, AThreadThatStopsWithoutHavingRunDidSomethingUnknown) {
    switched(100, 7, 0);
    switched(200, 7, 0, SwitchOut::Blocked, 1);
    build();
    EXPECT_THAT(states(7), testing::Contains("200 blocked"));
    EXPECT_THAT(states(7), testing::Not(testing::Contains("100 blocked")));
}

}  // namespace
}  // namespace lagtrap::analysis::timeline_test
