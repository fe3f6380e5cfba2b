// How much longer things take because of interruptions.
#include "daemon/calls/interruptions.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::interruptions_test {
namespace {

TEST(InterruptionsTest, NothingWatchedIsNothingInterrupted) {
    Interruptions interruptions;
    EXPECT_EQ(interruptions.factor(), 1);
    interruptions.add({});
    EXPECT_EQ(interruptions.factor(), 1);
}

TEST(InterruptionsTest, WhatTakesSeveralTimesAsLongIsInterrupted) {
    Interruptions interruptions;
    std::vector<std::uint64_t> gaps_ns(99, 100);
    gaps_ns.push_back(1'100);  // 1,000 of them are not its own
    interruptions.add(gaps_ns);
    EXPECT_DOUBLE_EQ(interruptions.factor(), 1.1);
}

TEST(InterruptionsTest, WhatOnlyVariesIsNot) {
    Interruptions interruptions;
    interruptions.add({100, 120, 90, 250, 100});
    EXPECT_EQ(interruptions.factor(), 1);
}

TEST(InterruptionsTest, AllThatWasWatchedCounts) {
    Interruptions interruptions;
    interruptions.add(std::vector<std::uint64_t>(100, 100));
    interruptions.add({10, 10, 10, 10, 1'010});
    EXPECT_DOUBLE_EQ(interruptions.factor(), 1 + 1'000.0 / 10'050);
}

TEST(InterruptionsTest, NoMoreThanHalfOfTheTimeIsBelieved) {
    Interruptions interruptions;
    interruptions.add({10, 10, 10, 100'000});
    EXPECT_EQ(interruptions.factor(), 2);
}

TEST(InterruptionsTest, AThreadSeesItsOwn) {
    Interruptions interruptions;
    interruptions.watch(std::chrono::milliseconds(5));
    EXPECT_GE(interruptions.factor(), 1);
}

}  // namespace
}  // namespace lagtrap::daemon::interruptions_test
