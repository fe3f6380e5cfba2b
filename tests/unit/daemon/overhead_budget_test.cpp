// What is given up of watching, in which order, and when it comes back.
#include "daemon/overhead_budget.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon {
namespace {

using Action = BudgetStep::Action;
using settings::Shed;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t interval = 2 * second;
constexpr std::uint64_t cpu_percent = interval / 100;

settings::Budget budget_of(std::uint64_t percent, std::vector<Shed> shed = {Shed::Stacks, Shed::Events}) {
    settings::Budget budget;
    budget.share_ppm = percent * 10'000;
    budget.shed = std::move(shed);
    return budget;
}

EventUse event_taking(std::uint64_t percent, std::uint64_t stacks_percent = 0) {
    return {1000, percent * cpu_percent, stacks_percent * cpu_percent, true};
}

WatchUse use_of(std::vector<EventUse> events, std::uint64_t own_percent = 0, bool exact = true) {
    return {interval, own_percent * cpu_percent, exact, std::move(events)};
}

std::vector<std::pair<Action, std::uint32_t>> steps_of(const std::vector<BudgetStep>& steps) {
    std::vector<std::pair<Action, std::uint32_t>> pairs;
    for (const BudgetStep& step : steps) pairs.emplace_back(step.action, step.event);
    return pairs;
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(OverheadBudget, WithinTheShareNothingIsGivenUp) {
    OverheadBudget budget(budget_of(10), 2);
    EXPECT_THAT(budget.look(use_of({event_taking(4), event_taking(5)}), second), IsEmpty());
    EXPECT_EQ(budget.used_ppm(), 90'000);
    EXPECT_FALSE(budget.exhausted());
}

TEST(OverheadBudget, TheCostliestGoesFirstAndOnlyAsManyAsAreNeeded) {
    OverheadBudget budget(budget_of(10), 3);
    const auto steps = budget.look(use_of({event_taking(4), event_taking(40), event_taking(5)}), second);
    EXPECT_THAT(steps_of(steps), ElementsAre(Pair(Action::Detach, 1)));
    EXPECT_THAT(
        steps[0].reason,
        HasSubstr("its markers took 40 % of a CPU with 500 hits a second, other events 9 %; all that may take 10 %"));
    EXPECT_EQ(budget.again_ns(1), second + 60 * second);
    EXPECT_EQ(budget.again_ns(0), 0);
    EXPECT_EQ(budget.times_shed(), 1);
}

TEST(OverheadBudget, StacksGoBeforeEventsWhereTheSettingsSaySo) {
    OverheadBudget stacks_first(budget_of(10), 2);
    EXPECT_THAT(steps_of(stacks_first.look(use_of({event_taking(2, 20), event_taking(7)}), second)),
                ElementsAre(Pair(Action::DropStacks, 0)));
    OverheadBudget events_first(budget_of(10, {Shed::Events, Shed::Stacks}), 2);
    EXPECT_THAT(steps_of(events_first.look(use_of({event_taking(2, 20), event_taking(7)}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, StacksMayNotBeEnough) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(15, 20)}), second)),
                ElementsAre(Pair(Action::DropStacks, 0), Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, WhatIsNotNamedIsKeptAndSaid) {
    OverheadBudget budget(budget_of(10, {}), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(90)}), second), IsEmpty());
    EXPECT_TRUE(budget.exhausted());
}

TEST(OverheadBudget, WhatCostsLittleIsNotTakenForAnothersCost) {
    OverheadBudget budget(budget_of(10, {Shed::Stacks}), 2);
    EXPECT_THAT(budget.look(use_of({event_taking(60, 0), {10, 0, cpu_percent / 10, true}}), second), IsEmpty());
    EXPECT_TRUE(budget.exhausted());
}

TEST(OverheadBudget, ACostThatIsAssumedIsMeasuredBeforeItCounts) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(15)}, 0, false), second), IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(15)}, 0, true), 3 * second)),
                ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, TwiceTheShareIsNotWaitedFor) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(21)}, 0, false), second)),
                ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, TheDaemonsOwnUseCountsForHalfAtMost) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(4)}, 80), second), IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(6)}, 80), second)), ElementsAre(Pair(Action::Detach, 0)));
}

// 9.5 % of 10 % is no reason; with what else counted it is.
TEST(OverheadBudget, TheReasonNamesAllThatCounted) {
    OverheadBudget budget(budget_of(10), 2);
    const EventUse nine_and_a_half{24'000, 95 * cpu_percent / 10, 0, true};
    const auto steps = budget.look({interval, 3 * cpu_percent, true, {nine_and_a_half, event_taking(1)}}, second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_EQ(
        steps[0].reason,
        "its markers took 9.5 % of a CPU with 12000 hits a second, other events 1 %, lagtrapd itself 3 %; all that may "
        "take 10 %");
    OverheadBudget busy(budget_of(10), 1);
    EXPECT_THAT(busy.look(use_of({event_taking(6)}, 80), second)[0].reason,
                HasSubstr("lagtrapd itself 80 % (of which 5 % count)"));
}

// Probes leave the kernel one by one, and are hit until then.
TEST(OverheadBudget, WhatIsLeftOfAnEventThatWentIsNotChargedToOthers) {
    OverheadBudget budget(budget_of(10), 2);
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(40), event_taking(6)}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_THAT(budget.look(use_of({event_taking(20), event_taking(6)}), 3 * second), IsEmpty());
    EXPECT_EQ(budget.used_ppm(), 60'000);
    EXPECT_FALSE(budget.exhausted());
}

TEST(OverheadBudget, ComesBackAfterAPauseThatDoubles) {
    OverheadBudget budget(budget_of(10), 1);
    const EventUse quiet{0, 0, 0, true};
    std::uint64_t now = second;
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(50)}), now)), ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_THAT(budget.look(use_of({quiet}), now + 59 * second), IsEmpty());
    now += 60 * second;
    EXPECT_THAT(steps_of(budget.look(use_of({quiet}), now)), ElementsAre(Pair(Action::Attach, 0)));
    EXPECT_EQ(budget.again_ns(0), 0);
    now += 2 * second;
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(50)}), now)), ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_EQ(budget.again_ns(0), now + 120 * second);
}

TEST(OverheadBudget, WhatBehavesForLongBeginsAnew) {
    OverheadBudget budget(budget_of(10), 1);
    const EventUse quiet{0, 0, 0, true};
    ASSERT_THAT(budget.look(use_of({event_taking(50)}), second), testing::SizeIs(1));
    ASSERT_THAT(budget.look(use_of({quiet}), 61 * second), testing::SizeIs(1));
    ASSERT_THAT(budget.look(use_of({quiet}), 200 * second), IsEmpty());
    ASSERT_THAT(budget.look(use_of({event_taking(50)}), 202 * second), testing::SizeIs(1));
    EXPECT_EQ(budget.again_ns(0), 262 * second);
}

TEST(OverheadBudget, ThePauseIsADayAtMost) {
    auto settings = budget_of(10);
    settings.pause = std::chrono::hours(20);
    OverheadBudget budget(settings, 1);
    std::uint64_t now = second;
    for (int time = 0; time < 70; ++time) {
        ASSERT_THAT(steps_of(budget.look(use_of({event_taking(50)}), now)), ElementsAre(Pair(Action::Detach, 0)));
        ASSERT_LE(budget.again_ns(0), now + 86'400 * second);
        now = budget.again_ns(0);
        ASSERT_THAT(steps_of(budget.look(use_of({EventUse{0, 0, 0, true}}), now)),
                    ElementsAre(Pair(Action::Attach, 0)));
    }
}

TEST(OverheadBudget, AnEventThatWasNeverArmedIsLeftAlone) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({EventUse{1000, 50 * cpu_percent, 0, false}}), second), IsEmpty());
}

TEST(OverheadBudget, SharesAreWrittenShort) {
    EXPECT_EQ(percent_of_ppm(125'000), "13 %");
    EXPECT_EQ(percent_of_ppm(20'000), "2 %");
    EXPECT_EQ(percent_of_ppm(1'500), "0.1 %");
    EXPECT_EQ(percent_of_ppm(15'000), "1.5 %");
}

}  // namespace
}  // namespace lagtrap::daemon
