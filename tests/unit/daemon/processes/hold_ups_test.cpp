#include "daemon/processes/hold_ups.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::hold_ups_test {
namespace {

using namespace std::chrono_literals;

TEST(HoldUps, AvoidWhatHeldUpALookForLongerEachTime) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    hold_ups.note({7, 1000, 42}, begin);
    EXPECT_TRUE(hold_ups.avoids_process(7, begin + 9s));
    EXPECT_FALSE(hold_ups.avoids_process(8, begin + 9s));
    EXPECT_EQ(hold_ups.avoided_devices(begin + 9s), std::vector<std::uint64_t>{42});
    EXPECT_FALSE(hold_ups.avoids_process(7, begin + 10s));
    EXPECT_TRUE(hold_ups.avoided_devices(begin + 10s).empty());
    hold_ups.note({7, 1000, 42}, begin + 10s);
    EXPECT_TRUE(hold_ups.avoids_process(7, begin + 29s));
    EXPECT_FALSE(hold_ups.avoids_process(7, begin + 30s));
}

TEST(HoldUps, WhoBehavedForLongBeginsAnew) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (int i = 0; i < 20; ++i) hold_ups.note({7, {}, {}}, begin);
    EXPECT_TRUE(hold_ups.avoids_process(7, begin + 599s));
    EXPECT_FALSE(hold_ups.avoids_process(7, begin + 600s));
    hold_ups.note({7, {}, {}}, begin + 1300s);
    EXPECT_FALSE(hold_ups.avoids_process(7, begin + 1310s));
}

TEST(HoldUps, AUserIsAvoidedOnlyWhereManyOfItsProcessesDoIt) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (std::uint32_t pid = 1; pid <= 2; ++pid) hold_ups.note({pid, 1000, {}}, begin);
    EXPECT_TRUE(hold_ups.avoided_parties(begin).empty());
    hold_ups.note({3, 1000, {}}, begin);
    EXPECT_EQ(hold_ups.avoided_parties(begin), std::vector<std::uint32_t>{1000});
    EXPECT_EQ(hold_ups.by_party().at(1000), 3U);
}

TEST(HoldUps, RootIsNeverAvoided) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (std::uint32_t pid = 1; pid <= 20; ++pid) hold_ups.note({pid, 0, {}}, begin);
    EXPECT_TRUE(hold_ups.avoided_parties(begin).empty());
    EXPECT_EQ(hold_ups.by_party().at(0), 20U);
}

TEST(HoldUps, KeepTheLastOnes) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (std::uint32_t i = 0; i < 2 * HoldUps::limit; ++i)
        hold_ups.note({i, {}, i}, begin + std::chrono::milliseconds(i));
    EXPECT_EQ(hold_ups.avoided_devices(begin + 1s).size(), HoldUps::limit);
    EXPECT_FALSE(hold_ups.avoids_process(0, begin + 1s));
    EXPECT_TRUE(hold_ups.avoids_process(2 * HoldUps::limit - 1, begin + 1s));
}

}  // namespace
}  // namespace lagtrap::daemon::hold_ups_test
