#include "daemon/calls/indirect_looks.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::indirect_looks_test {
namespace {

using Step = IndirectLooks::Step;
constexpr std::uint64_t s = 1'000'000'000;

class IndirectCalls : public testing::Test {
  protected:
    [[nodiscard]] Step step(std::uint64_t now_ns, std::uint64_t hits = 0) {
        return looks_.step(now_ns, hits, 1'000);
    }
    IndirectLooks looks_{0.1};
};

TEST_F(IndirectCalls, AreLookedAtForASecondAndSoonAgain) {
    EXPECT_EQ(step(5 * s), Step::Begin);
    EXPECT_EQ(step(6 * s - 1), Step::Wait);
    EXPECT_EQ(step(6 * s), Step::End);
    EXPECT_EQ(step(6 * s + s / 2 - 1), Step::Wait);
    EXPECT_EQ(step(6 * s + s / 2), Step::Begin);
}

TEST_F(IndirectCalls, AreLookedAtLaterIfNothingNewWasFound) {
    EXPECT_EQ(step(0), Step::Begin);
    EXPECT_EQ(step(s), Step::End);
    looks_.note_nothing_new(2 * s);
    EXPECT_EQ(step(12 * s - 1), Step::Wait);
    EXPECT_EQ(step(12 * s), Step::Begin);
}

TEST_F(IndirectCalls, AreLeftAtOnceWhenTheirProbesCostMoreThanTheBudget) {
    EXPECT_EQ(step(0, 50), Step::Begin);
    EXPECT_EQ(step(1, 50 + 100'000), Step::Wait) << "a tenth of a second, as the budget allows";
    EXPECT_EQ(step(2, 50 + 100'001), Step::End);
    looks_.note_nothing_new(3);
    EXPECT_EQ(step(10 * s + 2, 0), Step::Wait) << "the later of both pauses counts";
    EXPECT_EQ(step(10 * s + 3, 0), Step::Begin);
}

TEST_F(IndirectCalls, AreNeverLookedAtAgainAfterStop) {
    EXPECT_EQ(step(0), Step::Begin);
    looks_.stop();
    EXPECT_EQ(step(1'000'000 * s), Step::Wait);
}

}  // namespace
}  // namespace lagtrap::daemon::indirect_looks_test
