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

TEST(HoldUps, BeginAnewOnlyAfterMoreThanTheLongestPause) {
    const auto begin = HoldUps::Clock::now();
    for (const bool longer : {false, true}) {
        HoldUps hold_ups;
        hold_ups.note({7, {}, {}}, begin);
        const auto again = begin + 10s + 600s + (longer ? 1ns : 0ns);
        hold_ups.note({7, {}, {}}, again);
        EXPECT_EQ(hold_ups.avoids_process(7, again + 10s), !longer);
        EXPECT_TRUE(hold_ups.avoids_process(7, again + 10s - 1ns));
    }
}

TEST(HoldUps, PausesDoubleUpToTenMinutes) {
    HoldUps hold_ups;
    auto now = HoldUps::Clock::now();
    for (const auto pause : {10s, 20s, 40s, 80s, 160s, 320s, 600s, 600s}) {
        hold_ups.note({7, 1000, 42}, now);
        EXPECT_TRUE(hold_ups.avoids_process(7, now + pause - 1ns)) << pause.count();
        EXPECT_FALSE(hold_ups.avoids_process(7, now + pause)) << pause.count();
        EXPECT_EQ(hold_ups.avoided_devices(now + pause - 1ns).size(), 1U);
        EXPECT_TRUE(hold_ups.avoided_devices(now + pause).empty());
        now += pause;
    }
}

TEST(HoldUps, APartysPauseBeginsWithItsThird) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (std::uint32_t pid = 1; pid <= 3; ++pid) hold_ups.note({pid, 1000, {}}, begin);
    EXPECT_EQ(hold_ups.avoided_parties(begin + 10s - 1ns).size(), 1U);
    EXPECT_TRUE(hold_ups.avoided_parties(begin + 10s).empty());
    hold_ups.note({4, 1000, {}}, begin + 10s);
    EXPECT_EQ(hold_ups.avoided_parties(begin + 30s - 1ns).size(), 1U);
    EXPECT_TRUE(hold_ups.avoided_parties(begin + 30s).empty());
}

TEST(HoldUps, CountKnownPartiesWhenThereAreTooMany) {
    HoldUps hold_ups;
    const auto begin = HoldUps::Clock::now();
    for (std::uint32_t party = 1; party <= HoldUps::limit + 1; ++party)
        hold_ups.note({party, party, {}}, begin);
    hold_ups.note({1, 1, {}}, begin);
    EXPECT_EQ(hold_ups.by_party().size(), HoldUps::limit);
    EXPECT_EQ(hold_ups.by_party().at(1), 2U);
    EXPECT_FALSE(hold_ups.by_party().contains(HoldUps::limit + 1));
}

}  // namespace
}  // namespace lagtrap::daemon::hold_ups_test
