#include "daemon/budget/budget_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::budget_texts_test {
namespace {

using namespace std::chrono_literals;
using Action = BudgetStep::Action;
using testing::ElementsAre;
using testing::IsEmpty;

BudgetStep step_of(Action action) {
    BudgetStep step;
    step.action = action;
    step.reason = "too dear";
    return step;
}

// "warn: " or "inform: " and the text; empty if it is no news.
std::string said(const BudgetStep& step) {
    const auto message = message_about(step, "query", 250'000, 90s);
    if (!message) return "";
    return (message->is_warning ? "warn: " : "inform: ") + message->text;
}
std::string said(Action action) { return said(step_of(action)); }

TEST(BudgetTexts, EachStepIsReported) {
    EXPECT_EQ(said(Action::DropHistory),
              "warn: the time before a breach is not kept: too dear; retry in 90.0 s");
    EXPECT_EQ(said(Action::KeepHistory), "inform: the time before a breach is kept again");
    EXPECT_EQ(said(Action::DropTimes),
              "warn: the time of runs is not broken down: too dear; retry in 90.0 s");
    EXPECT_EQ(said(Action::CountTimes), "inform: the time of runs is broken down again");
    EXPECT_EQ(said(Action::DropStacks),
              "warn: event query has no stacks at its markers: too dear; retry in 90.0 s");
    EXPECT_EQ(said(Action::TakeStacks), "inform: event query has stacks at its markers again");
    EXPECT_EQ(said(Action::DropStages),
              "warn: event query has no stages: too dear; retry in 90.0 s");
    EXPECT_EQ(said(Action::WatchStages), "inform: event query has its stages again");
    EXPECT_EQ(said(Action::Detach), "warn: event query is disabled: too dear; retry in 90.0 s");
    EXPECT_EQ(said(Action::StopCount), "warn: event query is no longer counted: too dear");
    EXPECT_EQ(said(Action::WatchPart), "warn: event query is watched 25 % of the time: too dear");
    EXPECT_EQ(said(Action::WatchWhole), "inform: event query is watched all the time again");
    EXPECT_EQ(said(Action::Attach), "") << "arming reports it";
}

TEST(BudgetTexts, BeginsThatAreStillCountedAreMentioned) {
    BudgetStep step = step_of(Action::Detach);
    step.counted = true;
    EXPECT_EQ(said(step), "warn: event query is counted, not timed: too dear; retry in 90.0 s");
    EXPECT_EQ(disabled_problem(step, 0), "counted, not timed: too dear");
    step.action = Action::WatchPart;
    EXPECT_EQ(said(step),
              "warn: event query is watched 25 % of the time and counted in between: too dear");
    EXPECT_EQ(disabled_problem(step, 250'000), "watched 25 % of the time, currently off: too dear");
    step.action = Action::StopCount;
    EXPECT_EQ(disabled_problem(step, 0), "disabled: too dear");
    EXPECT_EQ(disabled_problem(step_of(Action::Detach), 0), "disabled: too dear");
}

TEST(BudgetTexts, ARepeatedPauseIsNoNews) {
    BudgetStep step = step_of(Action::WatchPart);
    step.news = false;
    EXPECT_EQ(said(step), "");
}

TEST(BudgetTexts, LimitsNameTheUserOrTheProcess) {
    BudgetStep step = step_of(Action::Limit);
    step.party = {1000, 0};
    EXPECT_EQ(said(step),
              "warn: event query is not watched for user 1000: too dear; other users are");
    step.party = {1000, 7};
    EXPECT_EQ(said(step),
              "warn: event query is not watched for process 7 of user 1000: too dear; "
              "other users are");
    step.action = Action::Release;
    EXPECT_EQ(said(step), "inform: event query is watched for process 7 of user 1000 again");
}

TEST(BudgetTexts, OnlyHistoryAndTimesConcernAllEvents) {
    for (const Action action :
         {Action::DropHistory, Action::KeepHistory, Action::DropTimes, Action::CountTimes})
        EXPECT_TRUE(is_whole(action));
    for (const Action action :
         {Action::DropStacks, Action::TakeStacks, Action::DropStages, Action::WatchStages,
          Action::Limit, Action::Release, Action::Detach, Action::WatchPart, Action::StopCount,
          Action::Attach, Action::WatchWhole})
        EXPECT_FALSE(is_whole(action));
}

TEST(BudgetTexts, ARunRepresentsThoseOfThePauses) {
    EXPECT_EQ(weight_of_part(1'000'000), 1U);
    EXPECT_EQ(weight_of_part(250'000), 4U);
    EXPECT_EQ(weight_of_part(300'000), 3U);
}

TEST(BudgetTexts, APauseThatIsOverLastsUntilACheckEndsIt) {
    EXPECT_EQ(until_back(0, 5'000'000), 0ns);
    EXPECT_EQ(until_back(7'000'000, 5'000'000), 2ms);
    EXPECT_EQ(until_back(5'500'000, 5'000'000), 1ms);
    EXPECT_EQ(until_back(1, 5'000'000), 1ms);
}

TEST(BudgetTexts, EachDisabledPartHasItsSentence) {
    EventStatus event;
    event.name = "query";
    event.problem = "too dear";
    EXPECT_THAT(disabled_sentences(false, false, {event}), IsEmpty());
    EXPECT_THAT(disabled_sentences(true, false, {}),
                ElementsAre("the time before a breach is not kept"));
    EXPECT_THAT(disabled_sentences(false, true, {}),
                ElementsAre("the time of runs is not broken down"));
    EventStatus stages = event, stacks = event;
    event.disabled = true;
    stages.stages_disabled = true;
    stages.name = "insert";
    stacks.stacks_disabled = true;
    stacks.name = "update";
    EXPECT_THAT(disabled_sentences(false, false, {event, stages, stacks}),
                ElementsAre("event query is not watched: too dear", "event insert has no stages",
                            "event update has no stacks at its markers"));
}

}  // namespace
}  // namespace lagtrap::daemon::budget_texts_test
