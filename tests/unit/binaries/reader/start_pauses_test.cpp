#include "binaries/reader/start_pauses.hpp"

#include <gtest/gtest.h>

namespace lagtrap::binaries::start_pauses_test {
namespace {

using namespace std::chrono_literals;

constexpr StartPauses::Clock::time_point now(1h);

TEST(StartPauses, TheFirstStartNeedsNone) { EXPECT_TRUE(StartPauses(1s, 60s).may_start(now)); }

TEST(StartPauses, DoubleUpToTheLongest) {
    StartPauses pauses(1s, 3s);
    auto failed = now;
    for (const auto pause : {1s, 2s, 3s, 3s}) {
        pauses.note_failure(failed);
        EXPECT_FALSE(pauses.may_start(failed + pause - 1ms)) << pause.count();
        failed += pause;
        EXPECT_TRUE(pauses.may_start(failed)) << pause.count();
    }
}

TEST(StartPauses, BeginAgainAfterAStart) {
    StartPauses pauses(1s, 60s);
    pauses.note_failure(now);
    pauses.note_failure(now + 1s);
    pauses.note_success();
    pauses.note_failure(now + 10s);
    EXPECT_FALSE(pauses.may_start(now + 10s));
    EXPECT_TRUE(pauses.may_start(now + 11s));
}

TEST(StartPauses, MayBeNone) {
    StartPauses pauses(1h, 0ms);
    pauses.note_failure(now);
    EXPECT_TRUE(pauses.may_start(now));
}

}  // namespace
}  // namespace lagtrap::binaries::start_pauses_test
