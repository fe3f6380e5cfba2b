// What the budget disables: in which order, and when it ends.
#include "daemon/budget/overhead_budget.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::overhead_budget_test {
namespace {

using Action = BudgetStep::Action;
using settings::BudgetPart;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t interval = 2 * second;
constexpr std::uint64_t cpu_percent = interval / 100;

settings::Budget budget_of(std::uint64_t percent, std::vector<BudgetPart> disabled = {
                                                      BudgetPart::Stacks, BudgetPart::Events}) {
    settings::Budget budget;
    budget.share_ppm = percent * 10'000;
    budget.disable = std::move(disabled);
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
    const auto steps =
        budget.look(use_of({event_taking(4), event_taking(40), event_taking(5)}), second);
    EXPECT_THAT(steps_of(steps), ElementsAre(Pair(Action::Detach, 1)));
    EXPECT_THAT(steps[0].reason, HasSubstr("its markers took 40 % of a CPU with 500 hits per "
                                           "second, other events 9 %; the limit is 10 %"));
    EXPECT_EQ(budget.again_ns(1), second + 60 * second);
    EXPECT_EQ(budget.again_ns(0), 0);
    EXPECT_EQ(budget.disabled_count(), 1);
}

TEST(OverheadBudget, StacksGoBeforeEventsWhereTheSettingsSaySo) {
    OverheadBudget stacks_first(budget_of(10), 2);
    EXPECT_THAT(steps_of(stacks_first.look(use_of({event_taking(2, 20), event_taking(7)}), second)),
                ElementsAre(Pair(Action::DropStacks, 0)));
    OverheadBudget events_first(budget_of(10, {BudgetPart::Events, BudgetPart::Stacks}), 2);
    EXPECT_THAT(steps_of(events_first.look(use_of({event_taking(2, 20), event_taking(7)}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, StacksMayNotBeEnough) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(15, 20)}), second)),
                ElementsAre(Pair(Action::DropStacks, 0), Pair(Action::WatchPart, 0)));
}

TEST(OverheadBudget, WhatIsNotNamedIsKeptAndSaid) {
    OverheadBudget budget(budget_of(10, {}), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(90)}), second), IsEmpty());
    EXPECT_TRUE(budget.exhausted());
}

TEST(OverheadBudget, WhatCostsLittleIsNotTakenForAnothersCost) {
    OverheadBudget budget(budget_of(10, {BudgetPart::Stacks}), 2);
    EXPECT_THAT(budget.look(use_of({event_taking(60, 0), {10, 0, cpu_percent / 10, true}}), second),
                IsEmpty());
    EXPECT_TRUE(budget.exhausted());
}

TEST(OverheadBudget, ACostThatIsAssumedIsMeasuredBeforeItCounts) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(15)}, 0, false), second), IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(15)}, 0, true), 3 * second)),
                ElementsAre(Pair(Action::WatchPart, 0)));
}

TEST(OverheadBudget, TwiceTheShareIsNotWaitedFor) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(21)}, 0, false), second)),
                ElementsAre(Pair(Action::WatchPart, 0)));
}

TEST(OverheadBudget, TheDaemonsOwnUseCountsForHalfAtMost) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({event_taking(4)}, 80), second), IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(6)}, 80), second)),
                ElementsAre(Pair(Action::WatchPart, 0)));
}

// 9.5 % of 10 % is within the budget, but not together with the rest.
TEST(OverheadBudget, TheReasonNamesAllThatCounted) {
    OverheadBudget budget(budget_of(10), 2);
    const EventUse nine_and_a_half{24'000, 95 * cpu_percent / 10, 0, true};
    const auto steps =
        budget.look({interval, 3 * cpu_percent, true, {nine_and_a_half, event_taking(1)}}, second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::WatchPart, 0)));
    EXPECT_EQ(steps[0].reason,
              "its markers took 9.5 % of a CPU with 12000 hits per second, other events 1 %, "
              "lagtrapd itself 3 %; the limit is 10 %");
    OverheadBudget busy(budget_of(10), 1);
    EXPECT_THAT(busy.look(use_of({event_taking(6)}, 80), second)[0].reason,
                HasSubstr("lagtrapd itself 80 % (counted as 5 %)"));
}

// Probes are removed one by one, and are hit until then.
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
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(90)}), now)),
                ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_THAT(budget.look(use_of({quiet}), now + 59 * second), IsEmpty());
    now += 60 * second;
    EXPECT_THAT(steps_of(budget.look(use_of({quiet}), now)), ElementsAre(Pair(Action::Attach, 0)));
    EXPECT_EQ(budget.again_ns(0), 0);
    now += 2 * second;
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(90)}), now)),
                ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_EQ(budget.again_ns(0), now + 120 * second);
}

// Twice its share: watched in every second interval, without a growing pause.
TEST(OverheadBudget, WhatIsNotFarTooDearIsWatchedAPartOfTheTime) {
    OverheadBudget budget(budget_of(10), 2);
    const EventUse quiet{0, 0, 0, true};
    std::uint64_t now = second;
    for (const bool news : {true, false, false}) {
        const auto off = budget.look(use_of({event_taking(23), event_taking(1)}), now);
        ASSERT_THAT(steps_of(off), ElementsAre(Pair(Action::WatchPart, 0)));
        EXPECT_EQ(off[0].news, news);
        EXPECT_EQ(budget.watched_ppm(0), 333'333);
        EXPECT_EQ(budget.watched_ppm(1), 1'000'000);
        EXPECT_THAT(budget.look(use_of({quiet, event_taking(1)}), now += interval), IsEmpty());
        const auto on = budget.look(use_of({quiet, event_taking(1)}), now += interval);
        ASSERT_THAT(steps_of(on), ElementsAre(Pair(Action::Attach, 0)));
        EXPECT_FALSE(on[0].news);
        now += interval;
    }
    EXPECT_EQ(budget.disabled_count(), 1);
    for (int look = 0; look < 9; ++look)
        EXPECT_THAT(budget.look(use_of({event_taking(2), event_taking(1)}), now += interval),
                    IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(2), event_taking(1)}), now += interval)),
                ElementsAre(Pair(Action::WatchWhole, 0)));
    EXPECT_EQ(budget.watched_ppm(0), 1'000'000);
}

TEST(OverheadBudget, OfTwoThatAreTooDearTogetherBothAreWatchedInPart) {
    OverheadBudget budget(budget_of(10), 2);
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(10), event_taking(9)}), second)),
                ElementsAre(Pair(Action::WatchPart, 0), Pair(Action::WatchPart, 1)));
    EXPECT_LT(10 * budget.watched_ppm(0) + 9 * budget.watched_ppm(1), 10'000'000);
    EXPECT_GE(budget.watched_ppm(0), 200'000);
    OverheadBudget each_too_much(budget_of(5), 2);
    EXPECT_THAT(steps_of(each_too_much.look(use_of({event_taking(7), event_taking(6)}), second)),
                ElementsAre(Pair(Action::WatchPart, 0), Pair(Action::WatchPart, 1)));
    EXPECT_LT(7 * each_too_much.watched_ppm(0) + 6 * each_too_much.watched_ppm(1), 5'000'000);
}

TEST(OverheadBudget, WhatIsFarTooDearIsNotWatchedInPartAnyMore) {
    OverheadBudget budget(budget_of(10), 1);
    ASSERT_THAT(steps_of(budget.look(use_of({event_taking(20)}), second)),
                ElementsAre(Pair(Action::WatchPart, 0)));
    ASSERT_THAT(budget.look(use_of({EventUse{0, 0, 0, true}}), 3 * second), testing::SizeIs(1));
    EXPECT_THAT(steps_of(budget.look(use_of({event_taking(80)}), 5 * second)),
                ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_EQ(budget.watched_ppm(0), 1'000'000);
    EXPECT_EQ(budget.again_ns(0), 65 * second);
}

EventUse event_with(std::uint64_t percent, std::uint64_t stages_percent,
                    std::uint64_t count_percent) {
    EventUse use = event_taking(percent);
    use.stage_ns = stages_percent * cpu_percent;
    use.count_ns = count_percent * cpu_percent;
    return use;
}

const std::vector<BudgetPart> stages_and_events{BudgetPart::Stages, BudgetPart::Events};

TEST(OverheadBudget, StagesGoBeforeTheEventIsWatchedInPartAndComeBack) {
    OverheadBudget budget(budget_of(10, stages_and_events), 1);
    const auto steps = budget.look(use_of({event_with(20, 12, 3)}), second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::DropStages, 0)));
    EXPECT_THAT(steps[0].reason, HasSubstr("the markers of its stages took 12 % of a CPU"));
    EXPECT_EQ(budget.watched_ppm(0), 1'000'000);
    EXPECT_EQ(budget.stages_again_ns(0), 61 * second);
    EXPECT_EQ(budget.stages_since_ns(0), second);
    EXPECT_TRUE(budget.counts_all(0));
    EXPECT_THAT(budget.look(use_of({event_with(8, 0, 3)}), 3 * second), IsEmpty());
    EXPECT_THAT(steps_of(budget.look(use_of({event_with(2, 0, 1)}), 61 * second)),
                ElementsAre(Pair(Action::WatchStages, 0)));
    EXPECT_EQ(budget.stages_since_ns(0), 0);
    ASSERT_THAT(steps_of(budget.look(use_of({event_with(20, 12, 3)}), 63 * second)),
                ElementsAre(Pair(Action::DropStages, 0)));
    EXPECT_EQ(budget.stages_again_ns(0), (63 + 120) * second);
}

TEST(OverheadBudget, WhatStagesDoNotSaveIsWatchedInPartWithoutThem) {
    OverheadBudget budget(budget_of(10, stages_and_events), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_with(40, 20, 9)}), second)),
                ElementsAre(Pair(Action::DropStages, 0), Pair(Action::WatchPart, 0)));
    EXPECT_EQ(budget.watched_ppm(0), 500'000);
}

TEST(OverheadBudget, StagesOfAnEventThatGoesAnywayAreNotGivenUpFirst) {
    OverheadBudget budget(budget_of(10, stages_and_events), 2);
    EXPECT_THAT(
        steps_of(budget.look(use_of({event_with(200, 20, 60), event_with(2, 1, 1)}), second)),
        ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, AnEventThatGoesIsCountedWhereItsBeginsFit) {
    OverheadBudget budget(budget_of(10), 2);
    const auto steps = budget.look(use_of({event_with(90, 0, 6), event_taking(2)}), second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_TRUE(steps[0].counted);
    EXPECT_THAT(budget.look(use_of({event_with(7, 0, 6), event_taking(3)}), 3 * second), IsEmpty());
    EXPECT_EQ(budget.used_ppm(), 90'000) << "counting costs too";
    // Others need the room, so the count is stopped instead of them.
    const auto full = budget.look(use_of({event_with(7, 0, 6), event_taking(8)}), 5 * second);
    ASSERT_THAT(steps_of(full), ElementsAre(Pair(Action::StopCount, 0)));
    EXPECT_FALSE(budget.counts_all(0));
    EXPECT_THAT(full[0].reason,
                HasSubstr("counting its begins took 6 % of a CPU, watching 14 % in total"));
    EXPECT_THAT(budget.look(use_of({event_with(7, 0, 6), event_taking(8)}), 7 * second), IsEmpty());
}

TEST(OverheadBudget, WhereItsBeginsDoNotFitThatIsSaid) {
    OverheadBudget budget(budget_of(10), 1);
    const auto steps = budget.look(use_of({event_with(90, 0, 40)}), second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Detach, 0)));
    EXPECT_FALSE(steps[0].counted);
    EXPECT_THAT(steps[0].reason, HasSubstr("counting its begins alone would take 40 %"));
}

// Counting between turns does not reduce the number of turns.
TEST(OverheadBudget, BetweenTurnsAnEventIsCountedWhereThatCostsNoTurn) {
    for (const auto& [count_percent, counted] :
         {std::pair(4U, true), std::pair(9U, false), std::pair(0U, false)}) {
        OverheadBudget budget(budget_of(10), 1);
        const auto steps = budget.look(use_of({event_with(15, 0, count_percent)}), second);
        ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::WatchPart, 0)));
        EXPECT_EQ(steps[0].counted, counted) << count_percent;
        EXPECT_EQ(budget.counts_all(0), counted) << count_percent;
        EXPECT_EQ(budget.watched_ppm(0), 500'000);
    }
}

TEST(OverheadBudget, WhatBehavesForLongBeginsAnew) {
    OverheadBudget budget(budget_of(10), 1);
    const EventUse quiet{0, 0, 0, true};
    ASSERT_THAT(budget.look(use_of({event_taking(90)}), second), testing::SizeIs(1));
    ASSERT_THAT(budget.look(use_of({quiet}), 61 * second), testing::SizeIs(1));
    ASSERT_THAT(budget.look(use_of({quiet}), 200 * second), IsEmpty());
    ASSERT_THAT(budget.look(use_of({event_taking(90)}), 202 * second), testing::SizeIs(1));
    EXPECT_EQ(budget.again_ns(0), 262 * second);
}

TEST(OverheadBudget, ThePauseIsADayAtMost) {
    auto settings = budget_of(10);
    settings.pause = std::chrono::hours(20);
    OverheadBudget budget(settings, 1);
    std::uint64_t now = second;
    for (int time = 0; time < 70; ++time) {
        ASSERT_THAT(steps_of(budget.look(use_of({event_taking(90)}), now)),
                    ElementsAre(Pair(Action::Detach, 0)));
        ASSERT_LE(budget.again_ns(0), now + 86'400 * second);
        now = budget.again_ns(0);
        ASSERT_THAT(steps_of(budget.look(use_of({EventUse{0, 0, 0, true}}), now)),
                    ElementsAre(Pair(Action::Attach, 0)));
    }
}

TEST(OverheadBudget, AnEventThatWasNeverArmedIsLeftAlone) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({EventUse{1000, 50 * cpu_percent, 0, false}}), second),
                IsEmpty());
}

// An event of users whose hits take these percentages of a CPU: hits that are paired, and hits that
// are only passed.
struct UserShare {
    std::uint32_t uid = 0;
    std::uint64_t paired = 0, passed = 0;
};

EventUse event_of(const std::vector<UserShare>& users, std::optional<Party> also_seen = {}) {
    EventUse use{1000, 0, 0, true};
    if (also_seen) use.seen.add(*also_seen);
    for (const UserShare& user : users) {
        use.probe_ns += user.paired * cpu_percent;
        use.users.push_back({{user.uid, 0}, user.paired * cpu_percent, user.passed * cpu_percent});
        use.processes.push_back(
            {{user.uid, 100 + user.uid}, user.paired * cpu_percent, user.passed * cpu_percent});
        if (user.paired > 0) use.seen.add(user.uid);
    }
    return use;
}

TEST(OverheadBudget, TheCostliestUserGoesBeforeTheEvent) {
    OverheadBudget budget(budget_of(10), 1);
    const auto steps = budget.look(use_of({event_of({{7, 2}, {9, 40}})}), second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Limit, 0)));
    EXPECT_EQ(steps[0].party, (HitParty{9, 0}));
    EXPECT_EQ(steps[0].reason, "it took 40 % of a CPU at its markers; the limit is 10 %");
    ASSERT_EQ(budget.limits(0).size(), 1U);
    EXPECT_EQ(budget.limits(0)[0].again_ns, second + 60 * second);
    EXPECT_EQ(budget.again_ns(0), 0U) << "the event itself is not given up";
}

TEST(OverheadBudget, AUserWhoIsSeldomThereKeepsTheEvent) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_of({{9, 40}}, 7)}), second)),
                ElementsAre(Pair(Action::Limit, 0)));
}

TEST(OverheadBudget, TheEventGoesWhereNobodyElseIsWatched) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(steps_of(budget.look(use_of({event_of({{9, 90}})}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
    OverheadBudget both_hot(budget_of(10), 1);
    EXPECT_THAT(steps_of(both_hot.look(use_of({event_of({{7, 80}, {9, 90}})}), second)),
                ElementsAre(Pair(Action::Limit, 0), Pair(Action::Detach, 0)));
    EXPECT_TRUE(both_hot.limits(0).empty());
}

TEST(OverheadBudget, WhatALimitedUserPaysAtTheProbesDisablesNothing) {
    OverheadBudget budget(budget_of(10), 1);
    ASSERT_THAT(budget.look(use_of({event_of({{7, 2}, {9, 40}})}), second), testing::SizeIs(1));
    EXPECT_THAT(budget.look(use_of({event_of({{7, 2}, {9, 0, 30}})}), 3 * second), IsEmpty());
    EXPECT_EQ(budget.used_ppm(), 45'000U) << "a quarter of the share, and the other's";
}

TEST(OverheadBudget, WhatIsOutOfScopeDisablesNothingEither) {
    OverheadBudget budget(budget_of(10), 1);
    EXPECT_THAT(budget.look(use_of({event_of({{7, 2}, {9, 0, 60}})}), second), IsEmpty());
}

TEST(OverheadBudget, WhatRootOrOnlyOnePaysForNothingCountsInFull) {
    OverheadBudget of_root(budget_of(10), 1);
    EXPECT_THAT(steps_of(of_root.look(use_of({event_of({{7, 0}, {0, 0, 60}}, 7)}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
    OverheadBudget alone(budget_of(10), 1);
    EXPECT_THAT(steps_of(alone.look(use_of({event_of({{9, 0, 60}})}), second)),
                ElementsAre(Pair(Action::Detach, 0)));
}

TEST(OverheadBudget, OfOneUserTheHotProcessGoesFirst) {
    OverheadBudget budget(budget_of(10), 1);
    EventUse use = event_of({{9, 40}});
    use.processes = {{{9, 501}, 39 * cpu_percent, 0}, {{9, 502}, cpu_percent, 0}};
    const auto steps = budget.look(use_of({use}), second);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Limit, 0)));
    EXPECT_EQ(steps[0].party, (HitParty{9, 501}));
}

TEST(OverheadBudget, ALimitEndsAfterAPauseThatDoubles) {
    OverheadBudget budget(budget_of(10), 1);
    std::uint64_t now = second;
    ASSERT_THAT(budget.look(use_of({event_of({{7, 2}, {9, 40}})}), now), testing::SizeIs(1));
    now += 60 * second;
    const auto steps = budget.look(use_of({event_of({{7, 2}})}), now);
    ASSERT_THAT(steps_of(steps), ElementsAre(Pair(Action::Release, 0)));
    EXPECT_EQ(steps[0].party, (HitParty{9, 0}));
    EXPECT_TRUE(budget.limits(0).empty());
    now += 2 * second;
    ASSERT_THAT(budget.look(use_of({event_of({{7, 2}, {9, 40}})}), now), testing::SizeIs(1));
    EXPECT_EQ(budget.limits(0)[0].again_ns, now + 120 * second);
}

// No event or stack is disabled for the sake of the history, which only adds explanations.
TEST(OverheadBudget, TheHistoryGoesFirstAndComesBack) {
    OverheadBudget budget(settings::Budget{}, 1);
    WatchUse use = use_of({event_taking(8)}, 0, true);
    use.history_ns = 4 * cpu_percent;
    auto steps = budget.look(use, second);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].action, BudgetStep::Action::DropHistory);
    EXPECT_THAT(steps[0].reason, testing::HasSubstr("took 4 % of a CPU, watching 12 % in total"));
    EXPECT_GT(budget.history_again_ns(), second);
    use.history_ns = 0;
    EXPECT_TRUE(budget.look(use, 3 * second).empty());
    steps = budget.look(use, budget.history_again_ns());
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].action, BudgetStep::Action::KeepHistory);
    EXPECT_EQ(budget.history_again_ns(), 0U);
}

// Layer by layer: the window and early recordings, then the times of runs, then stacks, then
// events.
TEST(OverheadBudget, GivesUpLayerByLayerInTheOrderOfTheSettings) {
    OverheadBudget budget(settings::Budget{}, 1);
    WatchUse use = use_of({event_taking(20)}, 0, true);
    use.events[0].stack_ns = 15 * cpu_percent;
    use.history_ns = 4 * cpu_percent;
    use.times_ns = 3 * cpu_percent;
    using Kind = BudgetStep::Action;
    std::vector<Kind> given_up;
    for (const BudgetStep& step : budget.look(use, second)) given_up.push_back(step.action);
    EXPECT_THAT(given_up, testing::ElementsAre(Kind::DropHistory, Kind::DropTimes, Kind::DropStacks,
                                               Kind::WatchPart));
    EXPECT_GT(budget.times_again_ns(), second);
    std::vector<Kind> again;
    for (const BudgetStep& step :
         budget.look(WatchUse{second, 0, true, {EventUse{}}}, budget.times_again_ns()))
        again.push_back(step.action);
    EXPECT_THAT(again, testing::UnorderedElementsAre(Kind::KeepHistory, Kind::CountTimes,
                                                     Kind::TakeStacks, Kind::Attach));
    EXPECT_EQ(budget.times_again_ns(), 0U);
}

// If a marker takes many times its share, disabling explanations would not help.
TEST(OverheadBudget, WhatWouldHelpNobodyStays) {
    OverheadBudget budget(settings::Budget{}, 1);
    WatchUse use = use_of({event_taking(90)}, 0, true);
    use.history_ns = use.times_ns = cpu_percent;
    const auto steps = budget.look(use, second);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].action, BudgetStep::Action::Detach);
}

TEST(OverheadBudget, TimesStayWhileGivingUpTheHistoryIsEnough) {
    OverheadBudget budget(settings::Budget{}, 1);
    WatchUse use = use_of({event_taking(6)}, 0, true);
    use.history_ns = 4 * cpu_percent;
    use.times_ns = 3 * cpu_percent;
    const auto steps = budget.look(use, second);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].action, BudgetStep::Action::DropHistory);
    EXPECT_EQ(budget.times_again_ns(), 0U);
}

TEST(OverheadBudget, ASmallHistoryIsNotToBlame) {
    OverheadBudget budget(settings::Budget{}, 1);
    WatchUse use = use_of({event_taking(30)}, 0, true);
    use.history_ns = cpu_percent / 100;
    const auto steps = budget.look(use, second);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].action, BudgetStep::Action::WatchPart);
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_budget_test
