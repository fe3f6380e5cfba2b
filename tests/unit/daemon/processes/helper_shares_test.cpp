#include "daemon/processes/helper_shares.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::helper_shares_test {
namespace {

using Turn = HelperShares::Turn;

constexpr Looker root{0, false}, joe{1000, false}, watched_joe{1000, true}, ann{1001, false};

class HelperSharesTest : public testing::Test {
  protected:
    void get_stuck(std::uint32_t uid) {
        shares_.begin(uid);
        shares_.end_stuck(uid);
    }
    HelperShares shares_{
        {.helpers = 4, .stuck = 4, .per_party = 2, .reserved_helpers = 1, .reserved_stuck = 2}};
};

TEST_F(HelperSharesTest, AUserHasTwoAtOnce) {
    shares_.begin(joe.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Now);
    shares_.begin(joe.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Later);
    EXPECT_EQ(shares_.turn_of(ann), Turn::Now);
    shares_.end(joe.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Now);
}

TEST_F(HelperSharesTest, TheLastOneIsForRootAndForWatchedPrograms) {
    for (const std::uint32_t uid : {1U, 2U, 3U}) shares_.begin(uid);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Later);
    EXPECT_EQ(shares_.turn_of(root), Turn::Now);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Now);
    shares_.begin(root.party);
    EXPECT_EQ(shares_.turn_of(root), Turn::Later);
}

TEST_F(HelperSharesTest, WhoHasAStuckOneWaitsUntilItEnds) {
    get_stuck(joe.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Refused);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Now);
    EXPECT_EQ(shares_.turn_of(ann), Turn::Now);
    get_stuck(joe.party);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Refused) << "no user has more than two stuck";
    shares_.release_stuck(joe.party);
    shares_.release_stuck(joe.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Now);
}

TEST_F(HelperSharesTest, ManyUsersLeaveTheReserve) {
    for (const std::uint32_t uid : {1U, 2U, 3U, 4U}) get_stuck(uid);
    EXPECT_EQ(shares_.turn_of(ann), Turn::Refused);
    EXPECT_EQ(shares_.turn_of(root), Turn::Now);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Now);
    get_stuck(root.party);
    EXPECT_EQ(shares_.turn_of(root), Turn::Now) << "another of root's processes is not to blame";
    get_stuck(root.party);
    EXPECT_EQ(shares_.turn_of(root), Turn::Refused);
}

TEST_F(HelperSharesTest, WorkingAndStuckOnesCountTogether) {
    shares_.begin(joe.party);
    get_stuck(joe.party);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Later) << "one works and one is stuck";
    shares_.end(joe.party);
    EXPECT_EQ(shares_.turn_of(watched_joe), Turn::Now);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Refused);
}

TEST_F(HelperSharesTest, StuckOnesDoNotOccupyThoseThatWork) {
    for (const std::uint32_t uid : {1U, 2U, 3U}) get_stuck(uid);
    for (const std::uint32_t uid : {4U, 5U}) shares_.begin(uid);
    EXPECT_EQ(shares_.turn_of(ann), Turn::Now) << "two of three work";
    shares_.begin(ann.party);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Later);
    shares_.release_stuck(1);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Later) << "still three work";
    shares_.end(4);
    EXPECT_EQ(shares_.turn_of(joe), Turn::Now);
}

TEST(HelperSharesOfOne, OneHelperIsNeverReserved) {
    HelperShares shares(
        {.helpers = 1, .stuck = 1, .per_party = 2, .reserved_helpers = 1, .reserved_stuck = 0});
    EXPECT_EQ(shares.turn_of(joe), Turn::Now);
    shares.begin(joe.party);
    EXPECT_EQ(shares.turn_of(root), Turn::Later);
    shares.end_stuck(joe.party);
    EXPECT_EQ(shares.turn_of(root), Turn::Refused);
    shares.release_stuck(joe.party);
    EXPECT_EQ(shares.turn_of(root), Turn::Now);
}

}  // namespace
}  // namespace lagtrap::daemon::helper_shares_test
