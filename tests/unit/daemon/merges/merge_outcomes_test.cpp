#include "daemon/merges/merge_outcomes.hpp"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace lagtrap::daemon::merge_outcomes_test {
namespace {

using namespace std::chrono_literals;

TEST(MergeOutcomes, WaitLongerAfterEachFailureUntilABundleIsMade) {
    MergeOutcomes outcomes;
    for (const auto pause : {1000ms, 4000ms, 16'000ms, 64'000ms, 256'000ms, 600'000ms, 600'000ms}) {
        EXPECT_EQ(outcomes.pause_after_failure(1000ms, 600'000ms), pause);
        EXPECT_EQ(outcomes.failed(1000ms, 600'000ms), pause);
    }
    EXPECT_EQ(outcomes.counts().failed, 7U);
    EXPECT_EQ(outcomes.counts().waiting, 7U);
    outcomes.merged({"a.tar.zst", "d1", "s1", "open"}, true);
    EXPECT_EQ(outcomes.failed(1000ms, 600'000ms), 1000ms);
}

TEST(MergeOutcomes, KeepTheLastBundleAndTheLastFileThatHeldOneUp) {
    MergeOutcomes outcomes;
    EXPECT_FALSE(outcomes.last_bundle());
    outcomes.took_too_long(std::nullopt);
    EXPECT_FALSE(outcomes.held_up());
    outcomes.took_too_long(HeldUp{"s1", {}});
    outcomes.took_too_long(std::nullopt);
    ASSERT_TRUE(outcomes.held_up());
    EXPECT_EQ(outcomes.held_up()->session, "s1");
    outcomes.merged({"a", "d1", "s1", "open"}, false);
    outcomes.merged({"b", "d2", "s2", "open"}, true);
    EXPECT_EQ(outcomes.last_bundle()->path, "b");
    EXPECT_EQ(outcomes.counts().failed, 3U);
    EXPECT_EQ(outcomes.counts().over_limit, 3U);
    EXPECT_EQ(outcomes.counts().waiting, 0U) << "they are merged without names at once";
    EXPECT_EQ(outcomes.counts().done, 2U);
    EXPECT_EQ(outcomes.counts().without_names, 1U);
}

TEST(MergeOutcomes, CountWhatWaitsAgain) {
    MergeOutcomes outcomes;
    outcomes.waits();
    outcomes.set_aside();
    outcomes.removed();
    EXPECT_EQ(outcomes.counts().waiting + outcomes.counts().set_aside, 2U);
    outcomes.count_again();
    EXPECT_EQ(outcomes.counts().waiting + outcomes.counts().set_aside, 0U);
    EXPECT_EQ(outcomes.counts().removed, 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::merge_outcomes_test
