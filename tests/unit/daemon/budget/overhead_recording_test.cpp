// What a recording disables, and its order.
#include "daemon/budget/overhead_recording.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::overhead_recording_test {
namespace {

using settings::BudgetPart;
using namespace std::chrono_literals;

constexpr std::uint64_t ms = 1'000'000;

// Checks a recording on two CPUs every 250 ms.
class Looker {
  public:
    explicit Looker(std::vector<BudgetPart> disabled, bool scheduling = true) {
        settings::Budget budget;
        budget.recording_share_ppm = 200'000;
        budget.disable = std::move(disabled);
        settings::Recording recording;
        recording.scheduling = scheduling;
        use_.at_ns = 1000;
        budget_.begin(budget, recording, 2, use_);
    }
    // The use in the 500 ms that both CPUs have.
    std::optional<RecordingBudget::Step> after(std::uint64_t samples_ms, std::uint64_t switches_ms,
                                               std::uint64_t others_ms = 0,
                                               std::uint64_t elapsed_ms = 250) {
        use_.at_ns += elapsed_ms * ms;
        use_.samples_ns += samples_ms * ms;
        use_.switches_ns += switches_ms * ms;
        use_.others_ns += others_ms * ms;
        return budget_.look(use_);
    }
    RecordingBudget budget_;
    RecordingUse use_;
};

TEST(RecordingBudget, WithinTheShareNothingIsGivenUp) {
    Looker looker({BudgetPart::Switches, BudgetPart::Samples});
    EXPECT_FALSE(looker.after(30, 40, 20));
}

// 100 ms are allowed in 250.
TEST(RecordingBudget, ActsAsSoonAsAWindowIsUsedUp) {
    Looker looker({BudgetPart::Switches, BudgetPart::Samples});
    EXPECT_FALSE(looker.after(0, 45, 0, 25));
    EXPECT_FALSE(looker.after(0, 45, 0, 25));
    const auto step = looker.after(0, 45, 0, 25);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->kind, BudgetPart::Switches);
    EXPECT_THAT(step->sentence, testing::HasSubstr("from 75.0 ms on"));
    EXPECT_THAT(step->sentence, testing::HasSubstr("recording took 90 % of the CPUs"));
}

TEST(RecordingBudget, WhatTheBeginTakesMayBeMadeUpFor) {
    Looker looker({BudgetPart::Switches, BudgetPart::Samples});
    EXPECT_FALSE(looker.after(5, 5, 60, 50));  // 70 ms in a fifth of the window
    EXPECT_FALSE(looker.after(5, 10, 5, 200));
    EXPECT_FALSE(looker.after(30, 40, 20));
}

TEST(RecordingBudget, GivesUpInTheOrderOfTheSettings) {
    Looker switches_first({BudgetPart::Switches, BudgetPart::Samples});
    auto step = switches_first.after(60, 60);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->kind, BudgetPart::Switches);
    EXPECT_THAT(step->sentence,
                testing::HasSubstr("no user-space stacks of blocking threads: recording took 24 % "
                                   "of the CPUs; the limit is 20 %"));
    step = switches_first.after(120, 2);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->kind, BudgetPart::Samples);
    EXPECT_EQ(step->sample_interval, 2ms);
    Looker samples_first({BudgetPart::Samples, BudgetPart::Switches});
    step = samples_first.after(60, 60);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->kind, BudgetPart::Samples);
}

TEST(RecordingBudget, WhatCostsLittleIsKept) {
    Looker looker({BudgetPart::Switches, BudgetPart::Samples});
    const auto step = looker.after(200, 5);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->kind, BudgetPart::Samples);
}

TEST(RecordingBudget, SamplesAreThinnedToASixteenth) {
    Looker looker({BudgetPart::Samples});
    for (const auto interval : {2ms, 4ms, 8ms, 16ms}) {
        const auto step = looker.after(300, 0);
        ASSERT_TRUE(step);
        EXPECT_EQ(step->sample_interval, interval);
    }
    EXPECT_FALSE(looker.after(300, 0));
}

TEST(RecordingBudget, NothingElseIsGivenUp) {
    Looker none({});
    EXPECT_FALSE(none.after(400, 90));
    Looker without_scheduling({BudgetPart::Switches, BudgetPart::Stacks, BudgetPart::Events},
                              false);
    EXPECT_FALSE(without_scheduling.after(400, 90));
}

TEST(RecordingBudget, LooksNoOftenerThanItSays) {
    Looker looker({BudgetPart::Samples});
    looker.use_.samples_ns += 400 * ms;
    EXPECT_FALSE(looker.budget_.due(looker.use_.at_ns + 24 * ms));
    looker.use_.at_ns += 24 * ms;
    EXPECT_FALSE(looker.budget_.look(looker.use_));
    looker.use_.at_ns += 1 * ms;
    EXPECT_TRUE(looker.budget_.due(looker.use_.at_ns));
    EXPECT_TRUE(looker.budget_.look(looker.use_));
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_recording_test
