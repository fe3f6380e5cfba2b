#include "uploader/spool_pause.hpp"

#include <gtest/gtest.h>

namespace lagtrap::uploader::spool_pause_test {
namespace {

using namespace std::chrono_literals;

TEST(SpoolPause, DoublesFromASecondToAMinute) {
    SpoolPause pause;
    const TimePoint now{100s};
    EXPECT_LE(pause.ends_at(), now) << "no failure yet";
    for (const auto length : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        EXPECT_EQ(pause.note_failure(now), length);
        EXPECT_EQ(pause.ends_at(), now + length);
    }
    pause.note_success();
    EXPECT_EQ(pause.note_failure(now), 1s);
}

TEST(SpoolPause, AFailureMayLeaveAnEntryBehind) {
    SpoolPause pause;
    EXPECT_FALSE(pause.recovery_due());
    (void)pause.note_failure(TimePoint{});
    pause.note_success();
    EXPECT_TRUE(pause.recovery_due());
    pause.note_recovery();
    EXPECT_FALSE(pause.recovery_due());
}

}  // namespace
}  // namespace lagtrap::uploader::spool_pause_test
