// Functions that are called too often are detached.
#include "daemon/calls/call_thinning.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::call_thinning_test {
namespace {

using std::chrono::milliseconds;

class CallThinningTest : public ::testing::Test {
  protected:
    CallThinningTest() {
        functions_.resize(4);
        for (std::uint32_t i = 0; i < 4; ++i) functions_[i].level = i == 0 ? 0 : 1;
        for (calls::Function& function : functions_) function.cost = {500, 500};
        hits_.resize(4);
        (void)thinning_.look(now_, hits_, functions_);
    }
    // This many more calls in the next 20 ms.
    std::vector<std::uint32_t> after(const std::vector<std::uint64_t>& more) {
        now_ += milliseconds(20);
        if (cpu_) *cpu_ += cpu_of_look_;
        for (std::size_t i = 0; i < more.size(); ++i) hits_[i] += more[i];
        std::vector<std::uint32_t> out;
        for (const calls::DetachedFunction& one : thinning_.look(now_, hits_, functions_, cpu_)) {
            out.push_back(one.function);
            rates_.push_back(one.calls_per_second);
        }
        return out;
    }

    std::chrono::nanoseconds now_{std::chrono::hours(1)};
    std::optional<std::chrono::nanoseconds> cpu_;
    milliseconds cpu_of_look_{20};
    CallThinning thinning_{0.1};
    std::vector<calls::Function> functions_;
    std::vector<std::uint64_t> hits_, rates_;
};

TEST_F(CallThinningTest, WhatStaysBelowTheShareStays) {
    // 2,000 calls of 1 us in 20 ms are a tenth of a CPU.
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(after({10, 900, 500, 500}).empty());
}

TEST_F(CallThinningTest, SmallerShareHoldsFromTheNextLookOn) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(after({10, 900, 500, 500}).empty());
    thinning_.set_share(0.025);
    std::vector<std::uint32_t> out;
    for (int i = 0; out.empty() && i < 100; ++i) out = after({10, 900, 500, 500});
    EXPECT_EQ(out.front(), 1U);
}

TEST_F(CallThinningTest, DearestGoesWithinATenthOfASecond) {
    std::vector<std::uint32_t> out;
    int looks = 0;
    while (out.empty() && looks < 100) {
        out = after({1, 15'000, 100, 100});
        ++looks;
    }
    EXPECT_EQ(out, std::vector<std::uint32_t>{1});
    EXPECT_LE(looks, 5);
    EXPECT_EQ(rates_.front(), 750'000U);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(after({1, 0, 1'000, 500}).empty());
}

TEST_F(CallThinningTest, AsManyGoAsNeeded) {
    std::vector<std::uint32_t> out;
    for (int i = 0; out.empty() && i < 100; ++i) out = after({1, 8'000, 9'000, 100});
    EXPECT_EQ(out, (std::vector<std::uint32_t>{2, 1}));
}

// The program gets a quarter of a CPU, nearly all of it for probes: without them, the other
// functions are hit far more often.
TEST_F(CallThinningTest, ProgramThatWaitsForCpusIsNotTakenForFast) {
    cpu_ = std::chrono::seconds(5);
    cpu_of_look_ = milliseconds(5);
    for (int i = 0; i < 50; ++i) (void)after({0, 0, 0, 0});
    std::vector<std::uint32_t> out;
    for (int i = 0; out.empty() && i < 100; ++i) out = after({1, 4'500, 300, 10});
    EXPECT_EQ(out, (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(CallThinningTest, ThreadsOnMoreThanOneCpuAreNotTakenForSlow) {
    cpu_ = std::chrono::seconds(5);
    cpu_of_look_ = milliseconds(80);
    for (int i = 0; i < 50; ++i) (void)after({0, 0, 0, 0});
    std::vector<std::uint32_t> out;
    for (int i = 0; out.empty() && i < 100; ++i) out = after({1, 20'000, 500, 100});
    EXPECT_EQ(out, std::vector<std::uint32_t>{1});
}

TEST_F(CallThinningTest, ShortBurstTakesNothingOut) {
    EXPECT_TRUE(after({1, 15'000, 15'000, 0}).empty());
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(after({1, 100, 100, 0}).empty());
}

// A program that only calls its functions in turn, with probes three times as expensive as
// measured. Returns when it became nearly as fast as without probes.
std::chrono::milliseconds time_until_fast(std::size_t count, double own_ns, double share) {
    constexpr double measured_ns = 1'000, true_ns = 3'000;
    CallThinning thinning(share);
    std::vector<calls::Function> functions(count);
    for (calls::Function& function : functions) {
        function.level = 1;
        function.cost = {500, 500};
    }
    std::vector<std::uint64_t> hits(count);
    std::vector<bool> out(count);
    std::chrono::nanoseconds now = std::chrono::hours(1);
    (void)thinning.look(now, hits, functions);
    double probed = static_cast<double>(count);
    milliseconds slow_until{0};
    for (milliseconds at{20}; at < std::chrono::seconds(10); at += milliseconds(20)) {
        now += milliseconds(20);
        const double rounds = 20e6 / (static_cast<double>(count) * own_ns + probed * true_ns);
        // Functions differ slightly, so that they are detached one after the other.
        for (std::size_t i = 0; i < count; ++i)
            if (!out[i])
                hits[i] +=
                    static_cast<std::uint64_t>(rounds * (1 + static_cast<double>(i) / 1e4) + 0.5);
        for (const calls::DetachedFunction& one : thinning.look(now, hits, functions)) {
            out[one.function] = true;
            --probed;
        }
        const double speed = static_cast<double>(count) * own_ns /
                             (static_cast<double>(count) * own_ns + probed * true_ns);
        // As fast as the share allows, by the true cost of probes.
        if (speed < 1 - share * true_ns / measured_ns) slow_until = at;
    }
    return slow_until;
}

TEST(CallThinningSpeedTest, BusyProgramsAreFastAgainWithinASecond) {
    EXPECT_LE(time_until_fast(5'000, 50, 0.1), milliseconds(500));
    EXPECT_LE(time_until_fast(500, 50, 0.1), milliseconds(500));
    EXPECT_LE(time_until_fast(5'000, 500, 0.1), milliseconds(500));
    EXPECT_LE(time_until_fast(500, 20, 0.1), milliseconds(500));
}

TEST_F(CallThinningTest, NextLookIsUrgentAtFirstAndWhileMuchIsOwed) {
    EXPECT_TRUE(thinning_.is_urgent());
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(after({1, 10, 10, 10}).empty());
    EXPECT_FALSE(thinning_.is_urgent());
    EXPECT_TRUE(after({1, 10'000, 10, 10}).empty());
    EXPECT_TRUE(thinning_.is_urgent());
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(after({1, 10, 10, 10}).empty());
    EXPECT_FALSE(thinning_.is_urgent());
}

// Number of 20 ms checks until a thousand functions with ten hits in each are too many, if the
// process has this much CPU time in each.
int looks_at_a_thousand(milliseconds cpu_of_look) {
    CallThinning thinning(0.1);
    std::vector<calls::Function> functions(1000);
    for (calls::Function& function : functions) {
        function.level = 1;
        function.cost = {500, 500};
    }
    std::vector<std::uint64_t> hits(functions.size());
    std::chrono::nanoseconds now = std::chrono::hours(1), cpu = std::chrono::hours(0);
    (void)thinning.look(now, hits, functions, cpu);
    for (int looks = 1; looks < 100; ++looks) {
        now += milliseconds(20);
        cpu += cpu_of_look;
        for (std::uint64_t& one : hits) one += 10;
        if (!thinning.look(now, hits, functions, cpu).empty()) return looks;
    }
    return 0;
}

TEST(ColdThinningTest, ProbesOfManyFunctionsOweWhatTheyTakeWithColdCaches) {
    // 10 ms as measured are 30 ms with cold caches, of which 20 ms are possible.
    EXPECT_EQ(looks_at_a_thousand(milliseconds(20)), 2);
}

TEST(ColdThinningTest, NoMoreIsOwedThanTheProcessHadOfCpus) {
    EXPECT_EQ(looks_at_a_thousand(milliseconds(10)), 4);
}

TEST_F(CallThinningTest, TargetStays) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(after({18'000, 0, 0, 0}).empty());
}

}  // namespace
}  // namespace lagtrap::daemon::call_thinning_test
