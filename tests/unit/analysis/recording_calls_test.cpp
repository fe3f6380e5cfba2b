// Which call tree belongs to a delay, and what else began around one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/meanwhile.hpp"
#include "analysis/recording.hpp"

namespace lagtrap::analysis::recording_calls_test {
namespace {

RunCalls tree_of(std::uint32_t pid, std::uint32_t tid, std::uint64_t begin_ns,
                 std::uint64_t length_ns) {
    RunCalls one;
    one.pid = pid;
    one.begin_ns = begin_ns;
    one.tree.tid = tid;
    calls::Call root;
    root.end_ns = length_ns;
    one.tree.calls = {root};
    return one;
}

TEST(RecordingCalls, BelongToADelayIfMoreThanHalfOfBothIsCommon) {
    trace::Delay delay;
    delay.begin_pid = 10;
    delay.begin_tid = 11;
    delay.begin_ns = 1000;
    delay.duration_ns = 100;
    struct Case {
        std::uint32_t pid, tid;
        std::uint64_t begin_ns, length_ns;
        bool belongs;
    };
    for (const Case& one :
         {Case{10, 11, 1000, 100, true}, Case{10, 11, 990, 120, true}, Case{10, 11, 1010, 80, true},
          Case{9, 11, 1000, 100, false}, Case{10, 10, 1000, 100, false},
          // Exactly half, and a little more.
          Case{10, 11, 1000, 50, false}, Case{10, 11, 1000, 51, true},
          Case{10, 11, 1050, 50, false}, Case{10, 11, 1049, 51, true},
          Case{10, 11, 1000, 200, false}, Case{10, 11, 1000, 199, true},
          Case{10, 11, 900, 200, false}, Case{10, 11, 901, 199, true},
          Case{10, 11, 950, 100, false},
          // Before and after it.
          Case{10, 11, 900, 100, false}, Case{10, 11, 1100, 100, false}, Case{10, 11, 0, 50, false},
          Case{10, 11, 5000, 50, false}}) {
        Recording recording;
        recording.run_calls.push_back(tree_of(one.pid, one.tid, one.begin_ns, one.length_ns));
        EXPECT_EQ(recording.calls_of(delay) != nullptr, one.belongs)
            << one.pid << " " << one.tid << " " << one.begin_ns << " " << one.length_ns;
    }
    Recording recording;
    recording.run_calls.push_back(tree_of(10, 11, 1010, 10));
    recording.run_calls.push_back(tree_of(10, 11, 1001, 98));
    EXPECT_EQ(recording.calls_of(delay), &recording.run_calls[1])
        << "a recursive call is another one";
}

class MeanwhileTest : public testing::Test {
  protected:
    MeanwhileTest() {
        delay_.run_id = 1;
        delay_.begin_pid = 10;
        delay_.begin_ns = 5'000'000'000;
        delay_.duration_ns = 100;
        recording_.system.delays = {delay_};
    }
    void started(std::uint32_t pid, std::int64_t offset_ns, std::uint32_t parent_pid = 1) {
        Process process;
        process.parent_pid = parent_pid;
        process.started_ns = delay_.begin_ns + static_cast<std::uint64_t>(offset_ns);
        recording_.processes[pid] = process;
    }
    [[nodiscard]] std::vector<std::uint32_t> pids() const {
        std::vector<std::uint32_t> list;
        for (const Beginning& one : meanwhile_of(recording_, delay_).beginnings)
            list.push_back(one.pid);
        return list;
    }

    Recording recording_;
    trace::Delay delay_;
};

TEST_F(MeanwhileTest, HasProcessesFromASecondBeforeUntilTheEnd) {
    started(20, -1'000'000'001);
    started(21, -1'000'000'000);
    started(22, 99);
    started(23, 100);
    started(24, 0, 2);   // a kernel thread
    started(25, 0, 10);  // a child of its own
    started(10, -5);
    EXPECT_THAT(pids(), testing::ElementsAre(21, 25, 22));
}

TEST_F(MeanwhileTest, HasDelaysThatOverlap) {
    struct Case {
        std::uint64_t begin_ns, duration_ns;
        bool overlaps;
    };
    for (const Case& one :
         {Case{delay_.begin_ns - 50, 50, false}, Case{delay_.begin_ns - 50, 51, true},
          Case{delay_.begin_ns + 99, 10, true}, Case{delay_.begin_ns + 100, 10, false}}) {
        trace::Delay other = delay_;
        other.run_id = 2;
        other.begin_pid = 77;
        other.begin_ns = one.begin_ns;
        other.duration_ns = one.duration_ns;
        recording_.system.delays = {delay_, other};
        const auto found = meanwhile_of(recording_, delay_).beginnings;
        ASSERT_EQ(found.size(), one.overlaps ? 1U : 0U) << one.begin_ns;
        if (one.overlaps) EXPECT_EQ(found[0].delay_number, 2U);
    }
}

TEST_F(MeanwhileTest, KeepsTwentyNearTheBegin) {
    for (std::uint32_t i = 0; i < 20; ++i) started(100 + i, -100 + static_cast<std::int64_t>(i));
    EXPECT_EQ(pids().size(), 20U);
    EXPECT_EQ(meanwhile_of(recording_, delay_).left_out, 0U);
    for (std::uint32_t i = 0; i < 12; ++i) started(200 + i, static_cast<std::int64_t>(i));
    // 20 before and 12 after: the last 10 before, and the first 10 after.
    const std::vector<std::uint32_t> list = pids();
    ASSERT_EQ(list.size(), 20U);
    EXPECT_EQ(list.front(), 110U);
    EXPECT_EQ(list.back(), 209U);
    EXPECT_EQ(meanwhile_of(recording_, delay_).left_out, 12U);
    // Nothing after: the last 20 before.
    for (std::uint32_t i = 0; i < 12; ++i) recording_.processes.erase(200 + i);
    started(90, -200);
    started(91, -300);
    EXPECT_EQ(pids().front(), 100U);
    EXPECT_EQ(meanwhile_of(recording_, delay_).left_out, 2U);
}

TEST_F(MeanwhileTest, NothingBeforeIsTheFirstTwentyAfter) {
    for (std::uint32_t i = 0; i < 25; ++i) started(100 + i, 2 * i);
    const std::vector<std::uint32_t> list = pids();
    ASSERT_EQ(list.size(), 20U);
    EXPECT_EQ(list.front(), 100U);
    EXPECT_EQ(list.back(), 119U);
}

TEST_F(MeanwhileTest, WhatBeganTogetherIsOrderedByProcess) {
    for (std::uint32_t i = 0; i < 9; ++i) started(20 - i, 3);
    EXPECT_THAT(pids(), testing::ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 20));
}

}  // namespace
}  // namespace lagtrap::analysis::recording_calls_test
