#include "daemon/functions/runtime_pauses.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::runtime_pauses_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(RuntimePausesTest, WhatCostsLessThanItsShareIsInAllTheTime) {
    RuntimePauses pauses;
    std::uint64_t spent_ns = 0;
    for (std::uint64_t at = 1; at <= 100; ++at, spent_ns += 9 * ms)
        EXPECT_TRUE(pauses.look(at * 100 * ms, spent_ns, 0.1)) << at;
    EXPECT_EQ(pauses.in_ns(), 99 * 100 * ms);
}

TEST(RuntimePausesTest, WhatCostsMoreIsInForItsShareOfTheTime) {
    RuntimePauses pauses;
    std::uint64_t spent_ns = 0;
    bool in = true;
    // They use half of a CPU while attached.
    for (std::uint64_t at = 1; at <= 10'000; ++at) {
        if (in) spent_ns += 5 * ms;
        in = pauses.look(at * 10 * ms, spent_ns, 0.1);
    }
    const double elapsed_ns = 10'000.0 * 10 * ms;
    EXPECT_NEAR(static_cast<double>(spent_ns) / elapsed_ns, 0.1, 0.005);
    EXPECT_NEAR(static_cast<double>(pauses.in_ns()) / elapsed_ns, 0.2, 0.01);
}

TEST(RuntimePausesTest, TheyComeBackWhenWhatWasTakenIsPaid) {
    RuntimePauses pauses;
    EXPECT_TRUE(pauses.look(100 * ms, 0, 0.1));
    EXPECT_FALSE(pauses.look(200 * ms, 200 * ms, 0.1)) << "190 ms beyond the share, of at most 100";
    EXPECT_FALSE(pauses.look(1'200 * ms, 200 * ms, 0.1)) << "90 ms are left";
    EXPECT_TRUE(pauses.look(2'200 * ms, 200 * ms, 0.1));
    EXPECT_EQ(pauses.in_ns(), 100 * ms) << "pauses do not count";
}

}  // namespace
}  // namespace lagtrap::daemon::runtime_pauses_test
