#include "daemon/budget/overhead_use.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::overhead_use_test {
namespace {

constexpr std::uint64_t guessed_ns = 250, counting_ns = 120;

// One event with a begin at a nop, an end at another instruction, and 100 ns for each hit's stack.
class AnOverheadUse : public testing::Test {
  protected:
    AnOverheadUse() {
        use_.restart(1);
        before_.at_ns = 10'000;
        before_.hits.resize(1);
        before_.hits[0].kinds = {ProbeKind::Stepped, ProbeKind::Simple};
        now_ = before_;
        now_.at_ns = 12'000;
    }
    static ProbeCosts probe_costs() {
        ProbeCosts costs;
        costs.simple_ns = 100;
        costs.stepped_ns = 1'000;
        costs.return_ns = 10;
        costs.scheduler_ns = 20;
        return costs;
    }
    EventMonitor::EventHits& hits() { return now_.hits[0]; }
    HitParties& parties() { return now_.parties[0]; }
    WatchUse whole() { return use_.between(before_, now_); }
    EventUse use() { return whole().events.at(0); }

    static constexpr std::uint64_t probe_ns = 550;  // mean of both
    OverheadUse use_{probe_costs()};
    OverheadReadings before_, now_;
};

TEST_F(AnOverheadUse, NothingHappened) {
    const WatchUse nothing = whole();
    EXPECT_EQ(nothing.elapsed_ns, 2'000U);
    EXPECT_EQ(nothing.own_cpu_ns, 0U);
    EXPECT_EQ(nothing.history_ns, 0U);
    EXPECT_EQ(nothing.times_ns, 0U);
    EXPECT_TRUE(nothing.exact) << "few hits cost little, whatever each costs";
    ASSERT_EQ(nothing.events.size(), 1U);
    EXPECT_EQ(nothing.events[0].probe_ns, 0U);
    EXPECT_TRUE(nothing.events[0].armed);
}

TEST_F(AnOverheadUse, AnEventWithoutMarkersWasNeverArmed) {
    hits().kinds.clear();
    EXPECT_FALSE(use().armed);
}

TEST_F(AnOverheadUse, OwnTimeCountsExceptWhileRecording) {
    before_.own_cpu_ns = 100;
    now_.own_cpu_ns = 400;
    before_.recordings.begun = now_.recordings.begun = 3;
    EXPECT_EQ(whole().own_cpu_ns, 300U);
    now_.recordings.now = true;
    EXPECT_EQ(whole().own_cpu_ns, 0U);
    now_.recordings.now = false;
    before_.recordings.now = true;
    EXPECT_EQ(whole().own_cpu_ns, 0U);
    before_.recordings.now = false;
    now_.recordings.begun = 4;
    EXPECT_EQ(whole().own_cpu_ns, 0U) << "it began and ended in between";
}

TEST_F(AnOverheadUse, HistoryAndTimesCostTheDifferenceUnlessTheyRestarted) {
    before_.history_cost_ns = 50;
    now_.history_cost_ns = 80;
    before_.times_cost_ns = 1'000;
    now_.times_cost_ns = 1'007;
    EXPECT_EQ(whole().history_ns, 30U);
    EXPECT_EQ(whole().times_ns, 7U);
    now_.history_cost_ns = 50;
    EXPECT_EQ(whole().history_ns, 0U);
    now_.history_cost_ns = 20;
    EXPECT_EQ(whole().history_ns, 0U);
    before_.times_cost_ns = 0;
    EXPECT_EQ(whole().times_ns, 0U) << "context switches since the boot are not its cost";
    before_.times_cost_ns = 2'000;
    EXPECT_EQ(whole().times_ns, 0U);
}

TEST_F(AnOverheadUse, HitsCostTheProbesAndTheProgram) {
    before_.hits[0].hits = 40;
    hits().hits = 50;
    before_.hits[0].stack_ns = 1'000;
    hits().stack_ns = 1'700;
    const EventUse one = use();
    EXPECT_EQ(one.hits, 10U);
    EXPECT_EQ(one.stack_ns, 700U);
    EXPECT_EQ(one.probe_ns, 10 * (probe_ns + guessed_ns));
    EXPECT_EQ(one.stage_ns, 0U);
    EXPECT_EQ(one.count_ns, 0U);
}

TEST_F(AnOverheadUse, AnEventThatIsNewHasAllOfItsHits) {
    before_.hits.clear();
    hits().hits = 5;
    EXPECT_EQ(use().hits, 5U);
}

TEST_F(AnOverheadUse, HitsOutOfScopeRunNoProgram) {
    hits().hits = 10;
    hits().passed = 4;
    EXPECT_EQ(use().probe_ns, 6 * (probe_ns + guessed_ns) + 4 * probe_ns);
    parties().users = {{{1000, 0}, 0, 2}};
    EXPECT_EQ(use().probe_ns, 6 * (probe_ns + guessed_ns)) << "that user pays for them";
    hits().passed = 40;
    EXPECT_EQ(use().probe_ns, 0U) << "not more than there are";
}

TEST_F(AnOverheadUse, PartiesShareTheCostByTheirSampledHits) {
    hits().hits = 10;
    hits().passed = 4;
    hits().stack_ns = 800;
    parties().users = {{{1000, 0}, 3, 1}, {{2000, 0}, 1, 3}};
    parties().processes = {{{1000, 7}, 2, 2}};
    const EventUse one = use();
    const std::uint64_t paired_ns = 6 * (probe_ns + guessed_ns) + 800, passed_ns = 4 * probe_ns;
    ASSERT_EQ(one.users.size(), 2U);
    EXPECT_EQ(one.users[0].who, (HitParty{1000, 0}));
    EXPECT_EQ(one.users[0].paired_ns, paired_ns * 3 / 4);
    EXPECT_EQ(one.users[0].passed_ns, passed_ns / 4);
    EXPECT_EQ(one.users[1].paired_ns, paired_ns / 4);
    EXPECT_EQ(one.users[1].passed_ns, passed_ns * 3 / 4);
    ASSERT_EQ(one.processes.size(), 1U);
    EXPECT_EQ(one.processes[0].who, (HitParty{1000, 7}));
    EXPECT_EQ(one.processes[0].paired_ns, paired_ns / 2);
    EXPECT_EQ(one.processes[0].passed_ns, passed_ns / 2);
}

TEST_F(AnOverheadUse, PartiesWithoutSampledHitsCostNothing) {
    hits().hits = 10;
    parties().users = {{{1000, 0}, 0, 0}};
    ASSERT_EQ(use().users.size(), 1U);
    EXPECT_EQ(use().users[0].paired_ns, 0U);
    EXPECT_EQ(use().users[0].passed_ns, 0U);
}

TEST_F(AnOverheadUse, StagesCostTheirOwnProbes) {
    hits().kinds = {ProbeKind::Stepped, ProbeKind::Return, ProbeKind::Return, ProbeKind::Simple};
    hits().hits = 100;
    before_.hits[0].stage_hits = 5;
    hits().stage_hits = 10;
    EXPECT_EQ(use().stage_ns, 5 * (10 + guessed_ns));
    hits().hits = 1;
    EXPECT_EQ(use().stage_ns, use().probe_ns) << "a part cannot exceed the whole";
    hits().kinds = {ProbeKind::Simple};
    hits().hits = 100;
    EXPECT_EQ(use().stage_ns, 5 * (100 + guessed_ns)) << "without stages' own kinds, the mean";
}

TEST_F(AnOverheadUse, CountingCostsTheProbesOfTheBegin) {
    hits().hits = 20;
    before_.hits[0].begin_hits = 1;
    hits().begin_hits = 11;
    EXPECT_EQ(use().count_ns, 10 * (100 + counting_ns));
    hits().kinds = {ProbeKind::Simple, ProbeKind::Stepped};
    EXPECT_EQ(use().count_ns, 10 * (1'000 + counting_ns));
    hits().kinds = {ProbeKind::Stepped};
    EXPECT_EQ(use().count_ns, 10 * (1'000 + counting_ns));
    hits().kinds = {ProbeKind::Scheduler, ProbeKind::Scheduler};
    EXPECT_EQ(use().count_ns, 0U) << "waits for a CPU cannot be counted alone";
}

TEST_F(AnOverheadUse, KnowsWhoHasRuns) {
    hits().seen.add(Party{1000});
    EXPECT_TRUE(use().seen.has_other_than(root_party));
    EXPECT_FALSE(use().seen.has_other_than(1000));
}

TEST_F(AnOverheadUse, ManyHitsOfAnUnmeasuredProgramAreNotExact) {
    hits().hits = 999;
    EXPECT_TRUE(whole().exact);
    EXPECT_EQ(use_.usual().ns, guessed_ns);
    hits().hits = 1'000;
    EXPECT_FALSE(whole().exact);
    EXPECT_FALSE(use_.usual().measured);
}

TEST_F(AnOverheadUse, AMeasuredProgramStaysMeasured) {
    constexpr std::uint32_t bucket = 3;
    hits().hits = 2'000;
    hits().costs[bucket] = 100;
    const WatchUse measured = whole();
    EXPECT_TRUE(measured.exact);
    EXPECT_TRUE(use_.usual().measured);
    const std::uint64_t program_ns = use_.usual().ns;
    EXPECT_NE(program_ns, guessed_ns);
    EXPECT_EQ(measured.events[0].probe_ns, 2'000 * (probe_ns + program_ns));
    before_.hits[0].costs[bucket] = 100;
    EXPECT_TRUE(whole().exact) << "no new measurement, so the last one counts";
    EXPECT_EQ(whole().events[0].probe_ns, 2'000 * (probe_ns + program_ns));
    use_.restart(1);
    EXPECT_FALSE(whole().exact);
    EXPECT_FALSE(use_.usual().measured);
}

TEST_F(AnOverheadUse, TheUsualCostIsThatOfAllEvents) {
    use_.restart(2);
    before_.hits.resize(2);
    now_.hits.resize(2);
    hits().costs[3] = 100;
    hits().hits = 3'000;
    now_.hits[1].hits = 1'000;
    EXPECT_FALSE(whole().exact) << "one of them is a guess";
    const std::uint64_t usual_ns = use_.usual().ns;
    now_.hits[1].hits = 0;
    EXPECT_TRUE(whole().exact);
    const std::uint64_t first_ns = use_.usual().ns;
    EXPECT_EQ(usual_ns, (3'000 * first_ns + 1'000 * guessed_ns) / 4'000);
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_use_test
