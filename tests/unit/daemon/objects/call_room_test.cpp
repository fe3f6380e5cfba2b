#include "daemon/objects/call_room.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::call_room_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(CallRoom, GrowsWithTheTimeUpToASecondsShare) {
    CallRoom room(500, 7 * ms);
    EXPECT_EQ(room.refill(8 * ms, 3), std::nullopt) << "not one call more";
    EXPECT_EQ(room.refill(9 * ms, 3), 4U);
    EXPECT_EQ(room.refill(109 * ms, 4), 54U);
    EXPECT_EQ(room.refill(209 * ms, 480), 500U);
    EXPECT_EQ(room.refill(9'000 * ms, 0), 500U);
}

TEST(CallRoom, HasNoDebts) {
    CallRoom room(1'000, 0);
    EXPECT_EQ(room.refill(10 * ms, -70), 10U);
}

}  // namespace
}  // namespace lagtrap::daemon::call_room_test
