#include "daemon/probes/rearm_pauses.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::rearm_pauses_test {
namespace {

using namespace std::chrono_literals;

constexpr RearmPauses::Clock::time_point start{1000h};

TEST(RearmPauses, LetTheFirstChangePassAtOnce) {
    const RearmPauses pauses;
    EXPECT_TRUE(pauses.over(start));
    EXPECT_EQ(pauses.left(start), 0s);
}

TEST(RearmPauses, DoubleUpToTheLongest) {
    RearmPauses pauses;
    auto now = start;
    std::vector<std::chrono::seconds> seen;
    for (int change = 0; change < 10; ++change) {
        pauses.begin(now);
        seen.push_back(pauses.left(now));
        now += pauses.left(now);
        EXPECT_TRUE(pauses.over(now));
        EXPECT_FALSE(pauses.over(now - 1ns));
    }
    EXPECT_EQ(seen, (std::vector<std::chrono::seconds>{20s, 40s, 80s, 160s, 320s, 640s, 1280s,
                                                       2560s, 3600s, 3600s}));
    EXPECT_EQ(pauses.count(), 10U);
}

TEST(RearmPauses, AreShortAgainAfterACalmTime) {
    RearmPauses pauses;
    pauses.begin(start);
    pauses.begin(start + 20s);
    EXPECT_EQ(pauses.left(start + 20s), 40s);
    pauses.begin(start + 60s + 39s);
    EXPECT_EQ(pauses.left(start + 99s), 80s) << "not calm for as long as the last pause";
    pauses.begin(start + 99s + 80s + 80s);
    EXPECT_EQ(pauses.left(start + 259s), 20s);
}

}  // namespace
}  // namespace lagtrap::daemon::rearm_pauses_test
