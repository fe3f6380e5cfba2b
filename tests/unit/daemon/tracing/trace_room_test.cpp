#include "daemon/tracing/trace_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::trace_room_test {
namespace {

using testing::HasSubstr;

constexpr uid_t ann = 1000, ben = 1001, cat = 1002;

std::string refusal(const std::vector<std::optional<uid_t>>& running, std::optional<uid_t> owner) {
    const Status room = check_trace_room(running, owner);
    if (room) return "";
    EXPECT_EQ(room.error().kind, ErrorKind::Busy);
    return room.error().message;
}

TEST(TraceRoom, IsForThreeTracesAtOnce) {
    EXPECT_EQ(refusal({}, std::nullopt), "");
    EXPECT_EQ(refusal({std::nullopt, std::nullopt}, std::nullopt), "");
    EXPECT_EQ(refusal({std::nullopt, std::nullopt, std::nullopt}, std::nullopt),
              "3 call traces are already running; wait for one to end");
    EXPECT_THAT(refusal({std::nullopt, std::nullopt, ann}, ben), HasSubstr("3 call traces"));
}

TEST(TraceRoom, AUserHasOneTrace) {
    EXPECT_EQ(refusal({}, ann), "");
    EXPECT_EQ(refusal({ben}, ann), "");
    EXPECT_EQ(refusal({ann}, ann), "you already have a trace running; wait for it to end");
}

TEST(TraceRoom, UsersLeaveRoomForWhoMayTraceEverything) {
    EXPECT_EQ(refusal({ann, ben}, cat), "traces of other users are running; wait for one to end");
    EXPECT_EQ(refusal({ann, ben}, std::nullopt), "");
    EXPECT_EQ(refusal({std::nullopt, ann}, ben), "");
}

}  // namespace
}  // namespace lagtrap::daemon::trace_room_test
