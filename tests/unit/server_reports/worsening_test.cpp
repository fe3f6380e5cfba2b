#include "server/reports/worsening.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

namespace lagtrap::server::reports::worsening_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t hour = 3'600'000'000'000;

std::vector<UnitShare> shares(std::size_t count, double mean, std::mt19937_64& engine) {
    std::normal_distribution<double> noise(0, 0.3);
    std::vector<UnitShare> units;
    for (std::size_t i = 0; i < count; ++i) units.push_back({1000, 1000 * mean * std::exp(noise(engine))});
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
    EXPECT_EQ(share_test(std::vector<UnitShare>(5, {100, 1}), std::vector<UnitShare>(5, {100, 1})), 1);
    EXPECT_LT(*share_test(std::vector<UnitShare>(8, {100, 0}), std::vector<UnitShare>(8, {100, 1})), 0.01);
}

std::vector<SeriesUnit> series_of(const std::vector<double>& values_ms, std::mt19937_64& engine) {
    std::normal_distribution<double> noise(0, 0.05);
    std::vector<SeriesUnit> series;
    for (std::size_t i = 0; i < values_ms.size(); ++i)
        series.push_back({i * hour, values_ms[i] * 1e6 * std::exp(noise(engine))});
    return series;
}

TEST(LevelChanges, TheLastFourHoursAreEnough) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> values(44, 100.0);
        values.insert(values.end(), 4, 400.0);
        values[10] = 0;  // an hour without runs
        auto series = series_of(values, engine);
        const auto changes = level_changes(series, 24);
        right += changes.size() == 1 && changes[0].from_ns == 44 * hour && changes[0].after > 3 * changes[0].before;
    }
    EXPECT_GE(right, 97);
}

TEST(LevelChanges, WhatBecameFasterHasChangedToo) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> values(48, 200.0);
        for (std::size_t i = 40; i < 48; ++i) values[i] = 50;
        const auto changes = level_changes(series_of(values, engine), 24);
        right += changes.size() == 1 && changes[0].from_ns == 40 * hour && changes[0].before > 3 * changes[0].after;
    }
    EXPECT_GE(right, 19);
}

TEST(LevelChanges, WhatComesRoundEveryDayIsNone) {
    int spoken = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> values;
        for (std::size_t i = 0; i < 48; ++i) values.push_back(i % 24 >= 9 && i % 24 < 18 ? 200.0 : 100.0);
        // The first day has nothing to compare with: what it shows may be its first rise.
        for (const LevelChange& change : level_changes(series_of(values, engine), 24))
            spoken += change.from_ns >= 24 * hour ? 1 : 0;
    }
    EXPECT_LE(spoken, 1);
    std::mt19937_64 engine(1);
    EXPECT_THAT(level_changes(series_of(std::vector<double>(48, 0), engine), 24), IsEmpty());
    EXPECT_THAT(level_changes({}, 24), IsEmpty());
}

TEST(FalseDiscoveryShares, AreOfAllTests) {
    EXPECT_THAT(false_discovery_shares({0.01, 0.04}),
                testing::ElementsAre(testing::DoubleNear(0.02, 1e-9), testing::DoubleNear(0.04, 1e-9)));
    EXPECT_THAT(false_discovery_shares({}), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::reports::worsening_test
