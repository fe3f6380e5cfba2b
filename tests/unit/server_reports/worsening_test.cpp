#include "server/reports/worsening.hpp"

#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>

namespace lagtrap::server::reports::worsening_test {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t hour = 3'600'000'000'000;

std::vector<UnitShare> shares(std::size_t count, double mean, std::mt19937_64& engine) {
    std::normal_distribution<double> noise(0, 0.3);
    std::vector<UnitShare> units;
    for (std::size_t i = 0; i < count; ++i)
        units.push_back({1000, 1000 * mean * std::exp(noise(engine))});
    return units;
}

TEST(ShareTest, SeesWhatDiffersAndKeepsItsLevelWhereNothingDoes) {
    int found = 0, alarms = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mt19937_64 engine(seed);
        found += *share_test(shares(24, 0.01, engine), shares(24, 0.02, engine)) < 0.01 ? 1 : 0;
        alarms += *share_test(shares(24, 0.01, engine), shares(24, 0.01, engine)) < 0.05 ? 1 : 0;
    }
    EXPECT_GE(found, 198);
    EXPECT_LE(alarms, 20);
}

TEST(ShareTest, UnitsWithoutRunsSayNothing) {
    const std::vector<UnitShare> three(3, {100, 1}), empty(20, {0, 0});
    std::vector<UnitShare> padded = three;
    padded.insert(padded.end(), empty.begin(), empty.end());
    EXPECT_FALSE(share_test(padded, std::vector<UnitShare>(24, {100, 50})).has_value());
    EXPECT_EQ(share_test(std::vector<UnitShare>(5, {100, 1}), std::vector<UnitShare>(5, {100, 1})),
              1);
    EXPECT_LT(*share_test(std::vector<UnitShare>(8, {100, 0}), std::vector<UnitShare>(8, {100, 1})),
              0.01);
}

// Most hours have no delay, so most shares are equal.
TEST(ShareTest, TiesMakeADifferenceLessLikely) {
    std::vector<UnitShare> before(24, {100, 0}), now(24, {100, 0});
    for (std::size_t i = 0; i < 6; ++i) before[i].above = 50;
    for (std::size_t i = 0; i < 16; ++i) now[i].above = 50;
    EXPECT_NEAR(share_test(before, now).value(), 0.00431, 0.00001);
}

// An event of 300 runs an hour, 2 % of them delays.
class EventHistory {
  public:
    EventHistory(std::size_t hours, std::uint64_t seed) : engine_(seed) {
        history_.unit_ns = hour;
        history_.units.resize(hours);
        for (std::size_t i = 0; i < hours; ++i) history_.units[i].from_ns = i * hour;
        factors_.assign(hours, 1);
    }
    // From an hour on, p99 and delays are `factor` times what they were, for runs of `build`.
    EventHistory& change(std::size_t from, double factor, const std::string& build = "old") {
        for (std::size_t i = from; i < factors_.size(); ++i) {
            factors_[i] = factor;
            builds_[i] = build;
        }
        return *this;
    }
    History make() {
        std::normal_distribution<double> noise(0, 0.05);
        for (std::size_t i = 0; i < history_.units.size(); ++i) {
            HistoryUnit& unit = history_.units[i];
            unit.runs = 300;
            unit.p50_ns = 10e6 * std::exp(noise(engine_));
            unit.p99_ns = 100e6 * factors_[i] * std::exp(noise(engine_));
            unit.delays = std::poisson_distribution<int>(6 * factors_[i])(engine_);
            const auto build = builds_.find(i);
            unit.builds = {
                {build == builds_.end() ? "old" : build->second, unit.runs, unit.delays}};
        }
        return history_;
    }

  private:
    std::mt19937_64 engine_;
    History history_;
    std::vector<double> factors_;
    std::map<std::size_t, std::string> builds_;
};

std::optional<LastingChange> lasting_of(const History& history,
                                        const std::vector<BuildBegin>& begins = {}) {
    return lasting_change(history, find_steps(history, begins), begins);
}

TEST(LastingChange, TheLastFourHoursAreEnough) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        History history = EventHistory(48, seed).change(44, 4).make();
        history.units[10] = {10 * hour, 0, 0, 0, 0, {}};  // an hour without runs
        const auto change = lasting_of(history);
        right += change && change->step.from_ns == 44 * hour &&
                         change->step.after > 3 * change->step.before
                     ? 1
                     : 0;
    }
    EXPECT_GE(right, 97);
}

TEST(LastingChange, WhatBecameFasterHasChangedToo) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto change = lasting_of(EventHistory(48, seed).change(40, 0.25).make());
        right += change && change->step.from_ns == 40 * hour &&
                         change->step.before > 3 * change->step.after
                     ? 1
                     : 0;
    }
    EXPECT_GE(right, 19);
}

TEST(LastingChange, NamesTheBuildThatCameWithItAndItsFirstRun) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const History history =
            EventHistory(7 * 24, seed).change(60, 1, "older").change(100, 2, "new").make();
        const std::uint64_t first_ns = 100 * hour + hour / 4;
        const auto change = lasting_of(history, {{"older", 60 * hour}, {"new", first_ns}});
        right += change && change->build == "new" && change->from_first_run &&
                         change->step.from_ns == first_ns
                     ? 1
                     : 0;
    }
    EXPECT_GE(right, 97);
    const auto unknown = lasting_of(EventHistory(7 * 24, 1).change(100, 2, "new").make());
    ASSERT_TRUE(unknown);
    EXPECT_EQ(unknown->step.from_ns, 100 * hour);
    EXPECT_FALSE(unknown->from_first_run);
    EXPECT_EQ(lasting_of(EventHistory(7 * 24, 1).change(100, 2, "old").make())->build, "");
}

TEST(LastingChange, ABuildOfFewRunsMustHaveBegunWithTheChange) {
    History history = EventHistory(48, 1).change(30, 3).make();
    for (HistoryUnit& unit : history.units) {
        unit.delays = 6;  // as many as before
        const double runs = unit.from_ns < 30 * hour ? 0 : 100;
        unit.builds = {{"old", 300 - runs, 4}, {"new", runs, 2}};
    }
    EXPECT_EQ(lasting_of(history).value().build, "");
    const auto with = lasting_of(history, {{"new", 30 * hour + 5}}).value();
    EXPECT_EQ(with.build, "new");
    EXPECT_EQ(with.step.from_ns, 30 * hour + 5);
    EXPECT_EQ(lasting_of(history, {{"new", 26 * hour}}).value().build, "");
    // Which of two, nobody knows.
    EXPECT_EQ(lasting_of(history, {{"new", 30 * hour}, {"other", 31 * hour}}).value().build, "");
}

TEST(LastingChange, WhatWasUndoneDoesNotLast) {
    int spoken = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        spoken +=
            lasting_of(EventHistory(7 * 24, seed).change(80, 3).change(120, 1).make()) ? 1 : 0;
        spoken += lasting_of(EventHistory(7 * 24, seed + 1000).make()) ? 1 : 0;
    }
    EXPECT_LE(spoken, 1);
    // A partly undone change does.
    const auto change = lasting_of(EventHistory(7 * 24, 7).change(80, 4).change(140, 3.2).make());
    ASSERT_TRUE(change);
    EXPECT_EQ(change->step.from_ns, 80 * hour);
    EXPECT_FALSE(lasting_of({}));
}

TEST(LastingChange, OfDelaysAloneCountsDelaysByHour) {
    std::mt19937_64 engine(5);
    History history;
    history.unit_ns = hour;
    history.runs_recorded = false;
    for (std::size_t i = 0; i < 100; ++i) {
        HistoryUnit unit{
            i * hour,
            1,
            static_cast<double>(std::poisson_distribution<int>(i < 70 ? 0.5 : 4)(engine)),
            0,
            0,
            {}};
        unit.builds = {{i < 70 ? "old" : "new", unit.delays, unit.delays}};
        history.units.push_back(unit);
    }
    const auto change = lasting_of(history);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->step.figure, Figure::Delays);
    EXPECT_NEAR(static_cast<double>(change->step.from_ns / hour), 70, 2);
    EXPECT_EQ(change->build, "new");
}

// Twenty hours, of which the last ten have a tenth of p50, twice p99, and delays that were none.
History changed_in_three_ways(double delays_in_all) {
    History history;
    history.unit_ns = hour;
    for (std::size_t i = 0; i < 20; ++i) {
        const bool after = i >= 10;
        HistoryUnit unit{i * hour,
                         100,
                         after ? delays_in_all / 10 : 0,
                         after ? 1e6 : 10e6,
                         after ? 200e6 : 100e6,
                         {}};
        history.units.push_back(unit);
    }
    return history;
}

const Step shorter{Figure::P50, 10 * hour, 10e6, 1e6, 0};
const Step longer{Figure::P99, 10 * hour, 100e6, 200e6, 0};
const Step delayed{Figure::Delays, 10 * hour, 0, 0.005, 0};

TEST(LastingChange, OfSeveralIsOneForTheWorseThenTheLargest) {
    const History history = changed_in_three_ways(5);
    const auto figure_of = [&](const std::vector<Step>& steps) {
        return lasting_change(history, steps, {}).value().step.figure;
    };
    EXPECT_EQ(figure_of({shorter}), Figure::P50);
    EXPECT_EQ(figure_of({shorter, longer}), Figure::P99) << "two times worse, ten times better";
    EXPECT_EQ(figure_of({shorter, longer, delayed}), Figure::Delays) << "there were none before";
    const Step slower{Figure::P50, 10 * hour, 1e6, 10e6, 0};
    History other = history;
    for (HistoryUnit& unit : other.units) unit.p50_ns = unit.from_ns < 10 * hour ? 1e6 : 10e6;
    EXPECT_EQ(lasting_change(other, std::vector{slower, longer}, {}).value().step.figure,
              Figure::P50);
}

TEST(LastingChange, OfDelaysNeedsFiveOfThem) {
    EXPECT_TRUE(lasting_change(changed_in_three_ways(5), std::vector{delayed}, {}));
    EXPECT_FALSE(lasting_change(changed_in_three_ways(4), std::vector{delayed}, {}));
}

TEST(LastingChange, OfHoursWithoutRunsIsNone) {
    History history = changed_in_three_ways(5);
    for (HistoryUnit& unit : history.units) {
        if (unit.from_ns < 10 * hour) unit.runs = unit.delays = unit.p50_ns = unit.p99_ns = 0;
    }
    EXPECT_FALSE(lasting_change(history, std::vector{shorter, longer, delayed}, {}));
}

TEST(FalseDiscoveryShares, AreOfAllTests) {
    EXPECT_THAT(
        false_discovery_shares({0.01, 0.04}),
        testing::ElementsAre(testing::DoubleNear(0.02, 1e-9), testing::DoubleNear(0.04, 1e-9)));
    EXPECT_THAT(false_discovery_shares({}), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::reports::worsening_test
