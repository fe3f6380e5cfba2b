#include "analysis/stack_times.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::stack_times_test {
namespace {

using Names = std::vector<std::string>;

Interval interval(ThreadState state, std::uint64_t begin_ns, std::uint64_t end_ns,
                  StackId stack = 0) {
    Interval made;
    made.state = state;
    made.begin_ns = begin_ns;
    made.end_ns = end_ns;
    made.tid = 11;
    made.stack = stack;
    return made;
}

TimeSplit computed(std::uint64_t on_cpu_ns) {
    TimeSplit split;
    split.on_cpu_ns = on_cpu_ns;
    return split;
}

struct Times {
    test::MadeRecording made;
    StackId a = made.stack({"main", "a"});
    StackId b = made.stack({"main", "b"});
    StackId c = made.stack({"main", "c"});

    StackTimes of(const std::vector<Interval>& intervals, std::uint64_t on_cpu_ns = 0,
                  std::vector<Sample> samples = {}) {
        if (made.recording.threads.empty()) made.thread(10, 11);
        made.recording.threads[0].samples = std::move(samples);
        return StackTimes::of(made.recording, intervals, computed(on_cpu_ns));
    }
};

TEST(StackTimes, DistributeTimeOnACpuOverTheSamplesExactly) {
    Times times;
    const std::vector<Sample> samples{
        {0, times.a, 0}, {5, times.b, 0}, {9, times.b, 0}, {10, times.c, 0}};
    const StackTimes result = times.of({interval(ThreadState::Running, 0, 10)}, 100, samples);
    EXPECT_EQ(result.samples(), 3U);
    EXPECT_EQ(result.by_stack().at(times.a).on_cpu_ns, 33U);
    EXPECT_EQ(result.by_stack().at(times.b).on_cpu_ns, 67U);
    EXPECT_FALSE(result.by_stack().contains(times.c));
}

TEST(StackTimes, WithoutSamplesThePlaceIsUnknown) {
    Times times;
    EXPECT_EQ(times.of({interval(ThreadState::Running, 0, 10)}, 10).by_stack().at(0).on_cpu_ns,
              10U);
    EXPECT_TRUE(times.of({interval(ThreadState::Running, 0, 10)}, 0).by_stack().empty());
    TimeSplit split = computed(30);
    split.counted.on_cpu_ns = 20;
    Interval counted = interval(ThreadState::Running, 0, 20);
    counted.counted = true;
    times.made.recording.threads[0].samples = {{5, times.a, 0}};
    const StackTimes result = StackTimes::of(times.made.recording, {counted}, split);
    EXPECT_EQ(result.samples(), 0U);
    EXPECT_EQ(result.by_stack().at(0).on_cpu_ns, 10U);
}

TEST(StackTimes, BlockedTimeCountsAtItsStackUnlessTheRunIsInAQueue) {
    Times times;
    Interval queued = interval(ThreadState::Blocked, 20, 50, times.b);
    queued.queue = "disk";
    const StackTimes result = times.of({interval(ThreadState::Blocked, 0, 7, times.a),
                                        interval(ThreadState::Blocked, 10, 20, times.a), queued});
    EXPECT_EQ(result.by_stack().at(times.a).blocked_ns, 17U);
    EXPECT_FALSE(result.by_stack().contains(times.b));
}

TEST(StackTimes, WaitingForACpuCountsWhereTheThreadWasSeenNearest) {
    Times times;
    const std::vector<Interval> intervals{interval(ThreadState::Running, 0, 10),
                                          interval(ThreadState::Runnable, 10, 15),
                                          interval(ThreadState::Running, 15, 25)};
    const auto place = [&](std::vector<Sample> samples) -> StackId {
        const StackTimes result = times.of(intervals, 0, std::move(samples));
        for (const auto& [stack, time] : result.by_stack())
            if (time.waiting_ns == 5) return stack;
        return 99;
    };
    EXPECT_EQ(place({{8, times.a, 0}, {16, times.b, 0}}), times.b);
    EXPECT_EQ(place({{8, times.a, 0}, {17, times.b, 0}}), times.a);
    EXPECT_EQ(place({{8, times.a, 0}, {18, times.b, 0}}), times.a);
    EXPECT_EQ(place({{2, times.a, 0}}), times.a);
    EXPECT_EQ(place({{24, times.a, 0}}), times.a);
    EXPECT_EQ(place({{9, times.a, 0}, {15, times.b, 0}}), times.b);
    EXPECT_EQ(place({}), 0U);
}

TEST(StackTimes, AThreadWasAlsoSeenWhereItBlockedOrYielded) {
    Times times;
    StackTimes result = times.of(
        {interval(ThreadState::Blocked, 0, 7, times.a), interval(ThreadState::Runnable, 7, 9)});
    EXPECT_EQ(result.by_stack().at(times.a).waiting_ns, 2U);
    Interval yielded = interval(ThreadState::Runnable, 0, 4, times.b);
    yielded.yielded = true;
    EXPECT_EQ(times.of({yielded}).by_stack().at(times.b).waiting_ns, 4U);
    yielded.yielded = false;
    EXPECT_EQ(times.of({yielded}).by_stack().at(0).waiting_ns, 4U);
}

TEST(StackTimes, AFunctionHasTheTimeOfWhatItCallsOncePerStack) {
    Times times;
    const StackId recursive = times.made.stack({"_start", "main", "walk", "walk"});
    const StackId waits =
        times.made.stack({"_start", "main", "walk", "k:futex_wait", "k:schedule"});
    const auto functions = times
                               .of({interval(ThreadState::Running, 0, 10),
                                    interval(ThreadState::Blocked, 10, 40, waits)},
                                   60, {{5, recursive, 0}})
                               .functions(times.made.recording);
    Names names;
    for (const FunctionTime& function : functions) names.push_back(function.name);
    EXPECT_EQ(names, (Names{"walk", "main", "futex_wait"}));
    const FunctionTime& walk = functions.at(0);
    EXPECT_EQ(walk.on_cpu_ns, 60U);
    EXPECT_EQ(walk.self_on_cpu_ns, 60U);
    EXPECT_EQ(walk.blocked_ns, 30U);
    EXPECT_EQ(walk.reason, "lock (futex)");
    EXPECT_EQ(walk.reason_ns, 30U);
    EXPECT_EQ(walk.module, "/usr/bin/app");
    EXPECT_FALSE(walk.kernel);
    EXPECT_DOUBLE_EQ(walk.depth, 2.0);
    EXPECT_EQ(functions.at(1).self_on_cpu_ns, 0U);
    EXPECT_TRUE(functions.at(2).kernel);
    EXPECT_EQ(functions.at(2).on_cpu_ns, 0U);
}

TEST(StackTimes, FunctionsWithinTwoPercentAreOrderedByDepthThenByName) {
    Times times;
    const StackId deep = times.made.stack({"main", "x", "deep"});
    const auto names = [&](std::uint64_t deep_ns) {
        Names found;
        for (const FunctionTime& function :
             times
                 .of({interval(ThreadState::Blocked, 0, 20, times.b),
                      interval(ThreadState::Blocked, 20, 40, times.a),
                      interval(ThreadState::Blocked, 40, 40 + deep_ns, deep)})
                 .functions(times.made.recording))
            found.push_back(function.name);
        return found;
    };
    EXPECT_EQ(names(960), (Names{"main", "deep", "x", "a", "b"}));
    EXPECT_EQ(names(20), (Names{"main", "deep", "a", "b", "x"}));
    EXPECT_EQ(names(18), (Names{"main", "a", "b", "deep", "x"}));
}

TEST(StackTimes, RanksHaveStepsOfTwoPercentOfTheWhole) {
    Times times;
    const StackId outer = times.made.stack({"main", "outer"});
    const StackId inner = times.made.stack({"main", "outer", "inner"});
    const auto names = [&](std::uint64_t inner_ns) {
        Names found;
        for (const FunctionTime& function :
             times
                 .of({interval(ThreadState::Blocked, 0, 1060 - inner_ns, outer),
                      interval(ThreadState::Blocked, 1060 - inner_ns, 1060, inner)})
                 .functions(times.made.recording))
            found.push_back(function.name);
        return found;
    };
    EXPECT_EQ(names(1050), (Names{"inner", "outer", "main"}));
    EXPECT_EQ(names(1049), (Names{"outer", "main", "inner"}));
}

TEST(StackTimes, AFunctionIsWhereMostOfItsTimeWent) {
    Times times;
    const auto at_line = [&](std::uint32_t line) {
        const StackId stack = times.made.stack({"main"});
        Frame& frame = times.made.recording.frames.back();
        frame.source = times.made.name("main.cpp");
        frame.line = line;
        return stack;
    };
    const StackId few = at_line(3), many = at_line(9), again = at_line(3);
    const auto functions = times
                               .of({interval(ThreadState::Blocked, 0, 5, few),
                                    interval(ThreadState::Blocked, 5, 13, many),
                                    interval(ThreadState::Blocked, 13, 17, again)})
                               .functions(times.made.recording);
    ASSERT_EQ(functions.size(), 1U);
    EXPECT_EQ(functions[0].source, "main.cpp");
    EXPECT_EQ(functions[0].line, 3U);
}

TEST(StackTimes, StacksOfTheSameFunctionsAreMergedAndTheLongestComesFirst) {
    Times times;
    const StackId one = times.made.stack({"main", "wait", "k:futex_wait"});
    const StackId two = times.made.stack({"main", "wait", "k:futex_wait"});
    const auto stacks = times
                            .of({interval(ThreadState::Blocked, 0, 9, times.a),
                                 interval(ThreadState::Blocked, 9, 14, one),
                                 interval(ThreadState::Blocked, 14, 19, two)})
                            .stacks(times.made.recording);
    ASSERT_EQ(stacks.size(), 2U);
    EXPECT_EQ(stacks[0].frames, (Names{"main", "wait", "futex_wait"}));
    EXPECT_EQ(stacks[0].kernel_from, 2U);
    EXPECT_EQ(stacks[0].blocked_ns, 10U);
    EXPECT_EQ(stacks[0].reason, "lock (futex)");
    EXPECT_EQ(stacks[1].kernel_from, 2U);
    EXPECT_EQ(stacks[1].total_ns(), 9U);
}

}  // namespace
}  // namespace lagtrap::analysis::stack_times_test
