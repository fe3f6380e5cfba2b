#include "analysis/wait_chain.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::wait_chain_test {
namespace {

class WaitEnds : public testing::Test {
  protected:
    WaitEnds() {
        made_.thread(10, 11);
        made_.thread(20, 20);
        made_.thread(40, 40, "kworker/0:1");
        made_.process(40, 2);
        wait_.state = ThreadState::Blocked;
        wait_.tid = 11;
        wait_.woken = true;
        wait_.waker_tid = 20;
        wait_.stack = made_.stack({"main", "k:pipe_read"});
    }
    bool by_nobody(const std::string& function) {
        wait_.stack = made_.stack({"main", "k:" + function});
        return ended_by_nobody(made_.recording, wait_);
    }
    test::MadeRecording made_;
    Interval wait_;
};

TEST_F(WaitEnds, AThreadEndsAWaitUnlessItIsAnInterrupt) {
    EXPECT_FALSE(ended_by_nobody(made_.recording, wait_));
    Interval wait = wait_;
    wait.woken = false;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
    wait = wait_;
    wait.by_interrupt = true;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
    wait = wait_;
    wait.waker_tid = 0;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
}

TEST_F(WaitEnds, NobodyEndsWaitsForMemoryAndGracePeriods) {
    wait_.wake_cause = WakeCause::Thread;
    for (const char* function :
         {"try_to_free_pages", "try_to_free_mem_cgroup_pages", "synchronize_rcu", "__wait_rcu_gp"})
        EXPECT_TRUE(by_nobody(function)) << function;
    EXPECT_FALSE(by_nobody("io_schedule")) << "its cause is known";
}

// Older recordings name whatever thread the interrupt hit.
TEST_F(WaitEnds, OfWaitsThatDevicesEndOnlyAThreadOfTheKernelIsBelieved) {
    for (const char* function : {"io_schedule", "do_nanosleep", "filemap_fault"}) {
        wait_.waker_tid = 20;
        EXPECT_TRUE(by_nobody(function)) << function;
        wait_.waker_tid = 40;
        EXPECT_FALSE(by_nobody(function)) << function;
    }
}

// Times are in milliseconds.
class WaitChains : public testing::Test {
  protected:
    WaitChains() {
        made_.recording.begin_ns = 0;
        made_.recording.end_ns = 1000 * ms;
        made_.thread(10, 11);
        made_.thread(10, 12);
        first_ = made_.stack({"main", "first"});
        second_ = made_.stack({"main", "second"});
        wait_ = made_.stack({"main", "k:pipe_read"});
    }
    void sample(double at, StackId stack, std::size_t thread = 0) {
        made_.recording.threads[thread].samples.push_back({in_ns(at), stack, 0});
    }
    static Interval interval(double begin, double end, ThreadState state, std::uint32_t tid = 11) {
        Interval made;
        made.begin_ns = in_ns(begin);
        made.end_ns = in_ns(end);
        made.tid = tid;
        made.state = state;
        return made;
    }
    static Interval unknown(double begin, double end, Interval::Gap gap) {
        Interval made = interval(begin, end, ThreadState::NotRecorded);
        made.gap = gap;
        return made;
    }
    Interval blocked(double begin, double end, std::uint32_t waker) const {
        Interval made = interval(begin, end, ThreadState::Blocked);
        made.stack = wait_;
        made.woken = waker != 0;
        made.waker_tid = waker;
        return made;
    }
    // "11 on CPU first: 2.0", for each part.
    std::vector<std::string> parts(const std::vector<Interval>& intervals) const {
        ChainWalk walk(made_.recording);
        walk.walk(intervals);
        std::vector<std::string> found;
        std::uint64_t sum_ns = 0, whole_ns = 0;
        for (const Interval& one : intervals) whole_ns += one.length_ns();
        for (const ChainTime& time : walk.times()) {
            sum_ns += time.time_ns;
            std::string text = std::to_string(time.tid) + " " + std::string(to_text(time.kind));
            for (const auto& [stack, name] :
                 {std::pair(first_, " first"), std::pair(second_, " second"),
                  std::pair(wait_, " wait")})
                if (time.stack == stack && stack != 0) text += name;
            if (!time.unknown_because.empty()) text += " " + std::string(time.unknown_because);
            found.push_back(text + ": " + fmt::format("{:.1f}", time.time_ns / double(ms)));
        }
        EXPECT_EQ(sum_ns, whole_ns);
        return found;
    }
    static std::uint64_t in_ns(double at) { return static_cast<std::uint64_t>(at * double(ms)); }

    static constexpr std::uint64_t ms = 1'000'000;
    test::MadeRecording made_;
    StackId first_ = 0, second_ = 0, wait_ = 0;
};

using testing::UnorderedElementsAre;

TEST_F(WaitChains, OfLostTimeEachSampleShowsAnIntervalOnTheCpu) {
    made_.recording.system.sample_interval_ns = ms;
    for (const double at : {1, 2}) sample(at, first_);
    sample(3, second_);
    const Interval lost = unknown(0, 10, Interval::Gap::Lost);
    EXPECT_THAT(parts({lost}),
                UnorderedElementsAre("11 on CPU first: 2.0", "11 on CPU second: 1.0",
                                     "11 unknown " + std::string(to_text(lost)) + ": 7.0"));
    // No more than it is long.
    EXPECT_THAT(parts({unknown(0.5, 2.5, Interval::Gap::Lost)}),
                UnorderedElementsAre("11 on CPU first: 2.0"));
    EXPECT_THAT(parts({unknown(1, 3.5, Interval::Gap::Lost)}),
                UnorderedElementsAre("11 on CPU first: 1.7", "11 on CPU second: 0.8"));
    const Interval outside = unknown(0, 10, Interval::Gap::Outside);
    EXPECT_THAT(parts({outside}), UnorderedElementsAre("11 unknown outside the recording: 10.0"));
}

TEST_F(WaitChains, TimeOnTheCpuIsDividedBySamples) {
    for (const double at : {1, 4, 7}) sample(at, first_);
    sample(9, second_);
    EXPECT_THAT(parts({interval(0, 10, ThreadState::Running)}),
                UnorderedElementsAre("11 on CPU first: 7.5", "11 on CPU second: 2.5"));
    EXPECT_THAT(parts({interval(20, 30, ThreadState::Running)}),
                UnorderedElementsAre("11 on CPU: 10.0"));
    EXPECT_THAT(parts({interval(0, 10, ThreadState::Running, 99)}),
                UnorderedElementsAre("99 on CPU: 10.0"));
}

TEST_F(WaitChains, WaitsForACpuBelongToTheNearestPlace) {
    const auto runnable = [&](double begin, double end) {
        return interval(begin, end, ThreadState::Runnable);
    };
    const auto running = [&](double begin, double end) {
        return interval(begin, end, ThreadState::Running);
    };
    EXPECT_THAT(parts({runnable(0, 3)}), UnorderedElementsAre("11 runnable: 3.0"));
    // Only time on the CPU counts as distance; of two equally near, the earlier one.
    sample(6, first_);
    sample(34, second_);
    EXPECT_THAT(parts({running(0, 10), runnable(10, 30), running(30, 40)}),
                UnorderedElementsAre("11 on CPU first: 10.0", "11 on CPU second: 10.0",
                                     "11 runnable first: 20.0"));
    EXPECT_THAT(parts({running(0, 11), runnable(11, 30), running(30, 41)}),
                testing::Contains("11 runnable second: 19.0"));
    EXPECT_THAT(parts({runnable(0, 5), running(5, 10), running(30, 40), runnable(40, 42)}),
                testing::IsSupersetOf({"11 runnable first: 5.0", "11 runnable second: 2.0"}));
}

TEST_F(WaitChains, OnlyWaitsThatARecordedThreadEndedLeadToIt) {
    made_.recording.threads[1].changes = {{.at_ns = 0, .state = ThreadState::Running}};
    EXPECT_THAT(parts({blocked(10, 20, 12)}), UnorderedElementsAre("12 on CPU: 10.0"));
    for (const std::uint32_t waker : {0, 11, 99})
        EXPECT_THAT(parts({blocked(10, 20, waker)}), UnorderedElementsAre("11 blocked wait: 10.0"))
            << waker;
    made_.recording.begin_ns = 20 * ms;
    EXPECT_THAT(parts({blocked(10, 20, 12)}), UnorderedElementsAre("11 blocked wait: 10.0"));
}

}  // namespace
}  // namespace lagtrap::analysis::wait_chain_test
