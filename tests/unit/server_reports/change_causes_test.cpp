#include "server/reports/change_causes.hpp"

#include <gmock/gmock.h>

namespace lagtrap::server::reports::change_causes_test {
namespace {

TEST(ChangeCauses, TheNewCauseStandsBeforeTheEternalOneWithMoreDelays) {
    // 1.8 % of the runs were delays, and 3.6 % are.
    const std::vector<CauseCounts> causes{{1, 300, 155}, {2, 5, 95}, {3, 0, 8}};
    const auto shifts = cause_shifts({100'000, 1800, 900}, {100'000, 3600, 900}, causes);
    EXPECT_EQ(shifts[0].cause, 2U);
    EXPECT_TRUE(shifts[0].came);
    EXPECT_NEAR(shifts[0].before, 0.0001, 1e-6);
    EXPECT_NEAR(shifts[0].after, 0.0038, 1e-6);
    EXPECT_NEAR(shifts[0].part, 0.0037 / 0.018, 1e-3);
    // A recorded delay stands for twice as many as before, so this is not a fall.
    EXPECT_EQ(shifts[1].cause, 1U);
    EXPECT_FALSE(shifts[1].came);
    EXPECT_FALSE(shifts[2].came);  // too small a part
}

TEST(ChangeCauses, MoreRecordingsAreNotMoreDelays) {
    // All figures are the same, but ten times as many delays were recorded.
    const std::vector<CauseCounts> causes{{1, 10, 100}};
    const auto shifts = cause_shifts({100'000, 1800, 20}, {100'000, 1800, 200}, causes);
    EXPECT_FALSE(shifts[0].came);
    EXPECT_NEAR(shifts[0].before, shifts[0].after, 1e-9);
    EXPECT_GT(shifts[0].p_value, 0.3);
}

TEST(ChangeCauses, LongerRunsHaveANewCauseEvenIfDelaysAreNoMoreFrequent) {
    const std::vector<CauseCounts> causes{{1, 40, 20}, {2, 0, 30}};
    const DelayCounts before{100'000, 1800, 40}, after{100'000, 1790, 50};
    EXPECT_FALSE(cause_shifts(before, after, causes)[0].came);
    const auto shifts = cause_shifts(before, after, causes, Figure::P99);
    EXPECT_EQ(shifts[0].cause, 2U);
    EXPECT_TRUE(shifts[0].came);
    EXPECT_NEAR(shifts[0].part, 0.6, 1e-9);
    EXPECT_EQ(shifts[1].part, 0);
}

TEST(ChangeCauses, WithoutDelaysBeforeEveryCauseIsNew) {
    const std::vector<CauseCounts> causes{{1, 0, 40}};
    const auto shifts = cause_shifts({100'000, 0, 0}, {50'000, 500, 60}, causes);
    EXPECT_TRUE(shifts[0].came);
    EXPECT_EQ(shifts[0].before, 0);
    // Unknown rates are not guessed.
    const auto unknown = cause_shifts({100'000, 50, 0}, {50'000, 500, 0}, causes);
    EXPECT_FALSE(unknown[0].came);
    EXPECT_EQ(unknown[0].after, 0);
    EXPECT_TRUE(cause_shifts({}, {}, {}).empty());
}

}  // namespace
}  // namespace lagtrap::server::reports::change_causes_test
