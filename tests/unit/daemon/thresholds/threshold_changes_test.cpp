#include "daemon/thresholds/threshold_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::threshold_changes_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<settings::Event> events() {
    std::vector<settings::Event> made(3);
    made[0].name = "query";
    made[1].name = "insert";
    made[2].name = "update";
    made[0].threshold = 50ms;
    made[1].threshold = settings::max_threshold;
    made[2].threshold = 70ms;
    return made;
}

ThresholdDecision decision_of(std::chrono::nanoseconds threshold) {
    ThresholdDecision decision;
    decision.threshold_ns = static_cast<std::uint64_t>(threshold.count());
    return decision;
}

TEST(ThresholdChanges, OnlyNewThresholdsAreSet) {
    const EventThresholds in_force(events());
    const auto changes = threshold_changes(
        {{0, decision_of(60ms)}, {1, decision_of(80ms)}, {2, decision_of(70ms)}}, in_force);
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].event, 0U);
    EXPECT_EQ(changes[0].threshold, 60ms);
    EXPECT_FALSE(changes[0].is_first);
    EXPECT_EQ(changes[1].event, 1U);
    EXPECT_EQ(changes[1].threshold, 80ms);
    EXPECT_TRUE(changes[1].is_first) << "the longest one means that there was none";
    EXPECT_THAT(threshold_changes({{1, decision_of(settings::max_threshold)}}, in_force),
                IsEmpty());
    EXPECT_THAT(threshold_changes({}, in_force), IsEmpty());
}

class Held : public testing::Test {
  protected:
    HeldEvents::Held look(std::uint64_t now_ns) { return held_.look(decisions_, events(), now_ns); }
    void close(std::uint32_t event, std::uint64_t until_ns) {
        decisions_[event].closed_until_ns = until_ns;
    }
    ThresholdDecisions decisions_{{0, {}}, {2, {}}};
    HeldEvents held_;
};

TEST_F(Held, EventsWithoutALimitAreNot) {
    EXPECT_THAT(look(1'000).left_ns, IsEmpty());
    EXPECT_FALSE(look(1'000).has_changed);
}

TEST_F(Held, AnEventIsNewsOnce) {
    close(0, 5'000);
    const auto first = look(1'000);
    EXPECT_THAT(first.left_ns, ElementsAre(Pair("query", 4'000)));
    EXPECT_THAT(first.news, ElementsAre("query"));
    EXPECT_TRUE(first.has_changed);
    const auto again = look(2'000);
    EXPECT_THAT(again.left_ns, ElementsAre(Pair("query", 3'000)));
    EXPECT_THAT(again.news, IsEmpty());
    EXPECT_FALSE(again.has_changed);
}

TEST_F(Held, AnotherEventChangesThem) {
    close(0, 5'000);
    (void)look(1'000);
    close(2, 9'000);
    const auto both = look(2'000);
    EXPECT_THAT(both.left_ns, ElementsAre(Pair("query", 3'000), Pair("update", 7'000)));
    EXPECT_THAT(both.news, ElementsAre("update"));
    EXPECT_TRUE(both.has_changed);
}

TEST_F(Held, UntilTheirTimeIsOver) {
    close(0, 5'000);
    (void)look(1'000);
    EXPECT_FALSE(look(4'999).has_changed);
    const auto over = look(5'000);
    EXPECT_THAT(over.left_ns, IsEmpty());
    EXPECT_TRUE(over.has_changed);
    close(0, 9'000);
    EXPECT_THAT(look(6'000).news, ElementsAre("query")) << "it is held again";
}

}  // namespace
}  // namespace lagtrap::daemon::threshold_changes_test
