#include "server/reports/change_points.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

namespace lagtrap::server::reports::change_points_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Units = std::vector<LevelUnit>;

Units values_of(const std::vector<double>& values, double noise, std::mt19937_64& engine) {
    std::normal_distribution<double> away(0, noise);
    Units units;
    for (const double value : values)
        units.push_back(value > 0 ? LevelUnit{std::log(value) + away(engine), 1} : LevelUnit{});
    return units;
}

// Noise in which neighbours are alike.
std::vector<double> slow_noise(std::size_t count, double deviation, std::mt19937_64& engine) {
    constexpr double alike = 0.6;
    std::normal_distribution<double> away(0, deviation * std::sqrt(1 - alike * alike));
    std::vector<double> noise;
    double at = 0;
    for (std::size_t i = 0; i < count; ++i) noise.push_back(at = alike * at + away(engine));
    return noise;
}

Units counts_of(const std::vector<double>& shares, double runs, std::mt19937_64& engine,
                double deviation = 0.2) {
    const std::vector<double> noise = slow_noise(shares.size(), deviation, engine);
    Units units;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        std::poisson_distribution<int> counted(runs * shares[i] * std::exp(noise[i]));
        units.push_back({static_cast<double>(counted(engine)), runs});
    }
    return units;
}

std::vector<double> rhythm(std::size_t count, double low, double high) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(low +
                         (high - low) * (1 + std::sin(static_cast<double>(i) / 24 * 2 * M_PI)) / 2);
    return values;
}

ChangeOptions counts(std::vector<std::size_t> cycles = {}) {
    ChangeOptions options;
    options.kind = LevelKind::Count;
    options.cycles = std::move(cycles);
    options.min_change = 0.25;
    return options;
}

ChangeOptions durations() {
    ChangeOptions options;
    options.cycles = {24, 168};
    options.min_change = 0.1;
    return options;
}

TEST(ChangePoints, FindsWhereTheLevelChanged) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> values(40, 10.0);
        values.insert(values.end(), 30, 12.0);
        values.insert(values.end(), 40, 9.0);
        const auto changes = find_change_points(values_of(values, 0.02, engine));
        right += changes.size() == 2 && changes[0].place == 40 && changes[1].place == 70 ? 1 : 0;
        if (changes.size() != 2) continue;
        EXPECT_NEAR(std::exp(changes[0].after - changes[0].before), 1.2, 0.03);
        EXPECT_NEAR(std::exp(changes[1].after - changes[1].before), 0.75, 0.03);
    }
    EXPECT_GE(right, 48);
}

TEST(ChangePoints, IsSilentAboutNoiseAndSmallChanges) {
    int spoken = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        spoken +=
            find_change_points(values_of(std::vector<double>(100, 10.0), 0.02, engine)).empty() ? 0
                                                                                                : 1;
        std::vector<double> values(40, 10.0);
        values.insert(values.end(), 40, 10.2);
        spoken += find_change_points(values_of(values, 0.02, engine)).empty() ? 0 : 1;
        spoken +=
            find_change_points(counts_of(std::vector<double>(360, 0.02), 300, engine), counts())
                    .empty()
                ? 0
                : 1;
        spoken +=
            find_change_points(counts_of(std::vector<double>(360, 0.001), 300, engine), counts())
                    .empty()
                ? 0
                : 1;
    }
    EXPECT_LE(spoken, 6);
    EXPECT_THAT(find_change_points({}), IsEmpty());
    EXPECT_THAT(find_change_points(Units(5, {1, 1})), IsEmpty());
    EXPECT_THAT(find_change_points(Units(100)), IsEmpty());
}

TEST(ChangePoints, CountsOfFewSayWhenThereAreMore) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> shares(120, 0.018);
        shares.insert(shares.end(), 30, 0.036);
        const auto changes = find_change_points(counts_of(shares, 340, engine), counts());
        right += changes.size() == 1 && changes[0].place >= 115 && changes[0].place <= 125 ? 1 : 0;
    }
    EXPECT_GE(right, 85);
    std::mt19937_64 engine(1);
    std::vector<double> shares(100, 0);
    shares.insert(shares.end(), 20, 0.05);
    const auto changes = find_change_points(counts_of(shares, 100, engine), counts());
    ASSERT_THAT(changes, SizeIs(1));
    EXPECT_EQ(changes[0].before, 0);
}

TEST(ChangePoints, ALikelyPlaceNeedsLessEvidence) {
    int found = 0, found_alone = 0, exact = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> shares(120, 0.018);
        shares.insert(shares.end(), 24, 0.028);
        const Units units = counts_of(shares, 340, engine);
        found_alone += find_change_points(units, counts()).empty() ? 0 : 1;
        ChangeOptions options = counts();
        options.likely = {{40, false}, {120, false}};
        const auto changes = find_change_points(units, options);
        found += changes.empty() ? 0 : 1;
        exact += !changes.empty() && changes.back().place == 120 ? 1 : 0;
    }
    EXPECT_GT(found, found_alone);
    EXPECT_GE(exact, found - 2);
}

// Something else has confirmed the change, and its time.
TEST(ChangePoints, AConfirmedPlaceNeedsOnlyALevelThatAgrees) {
    int likely = 0, confirmed = 0, wrong = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> shares(160, 0.018);
        shares.insert(shares.end(), 24, 0.026);
        const Units units = counts_of(shares, 340, engine);
        ChangeOptions options = counts({24, 168});
        options.likely = {{160, false}};
        likely += find_change_points(units, options).empty() ? 0 : 1;
        options.likely = {{160, true}};
        const auto changes = find_change_points(units, options);
        confirmed += changes.size() == 1 && changes[0].place == 160 ? 1 : 0;
        const Units steady = counts_of(std::vector<double>(184, 0.018), 340, engine);
        wrong += find_change_points(steady, options).empty() ? 0 : 1;
    }
    EXPECT_GE(confirmed, 80);
    EXPECT_LT(likely, confirmed - 20);
    EXPECT_LE(wrong, 5);
}

TEST(ChangePoints, AConfirmedPlaceIsNoMatterOfTheWeek) {
    std::mt19937_64 engine(4);
    std::vector<double> shares(9 * 24, 0.01);
    for (std::size_t i = 24; i < 48; ++i) shares[i] = shares[i + 168] = 0.02;
    const Units units = counts_of(shares, 1000, engine, 0.05);
    ChangeOptions options = counts({24, 168});
    options.likely = {{192, false}};
    const auto at_192 = [](const ChangePoint& change) { return change.place == 192; };
    auto changes = find_change_points(units, options);
    EXPECT_TRUE(std::none_of(changes.begin(), changes.end(), at_192));
    options.likely = {{192, true}};
    changes = find_change_points(units, options);
    EXPECT_TRUE(std::any_of(changes.begin(), changes.end(), at_192));
}

TEST(ChangePoints, ABurstOfOneHourIsNone) {
    std::mt19937_64 engine(3);
    Units units = counts_of(std::vector<double>(72, 0.01), 300, engine);
    units.back().sum = 200;
    EXPECT_THAT(find_change_points(units, counts()), IsEmpty());
}

TEST(ChangePoints, ADailyRhythmIsRemovedIfFourDaysAreKnown) {
    int spoken = 0, right = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 engine(seed);
        auto values = rhythm(7 * 24, 100, 160);
        spoken += find_change_points(values_of(values, 0.05, engine), durations()).size() > 0;
        for (std::size_t i = 101; i < values.size(); ++i) values[i] *= 1.3;
        const auto changes = find_change_points(values_of(values, 0.05, engine), durations());
        right += changes.size() == 1 && changes[0].place >= 100 && changes[0].place <= 102 ? 1 : 0;
        auto shares = rhythm(7 * 24, 0.01, 0.03);
        spoken += find_change_points(counts_of(shares, 340, engine), counts({24, 168})).size() > 0;
        for (std::size_t i = 101; i < shares.size(); ++i) shares[i] *= 2;
        const auto more = find_change_points(counts_of(shares, 340, engine), counts({24, 168}));
        right += more.size() == 1 && more[0].place >= 97 && more[0].place <= 105 ? 1 : 0;
    }
    EXPECT_LE(spoken, 1);
    EXPECT_GE(right, 95);
}

TEST(ChangePoints, WorkdaysAreNoChange) {
    int spoken = 0, right = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 engine(seed);
        std::vector<double> values;
        // ends on a Saturday
        for (std::size_t i = 0; i < 15 * 24; ++i) values.push_back(i / 24 % 7 < 2 ? 100 : 140);
        // or on a Friday
        values.resize(13 * 24);
        const auto spoken_of = find_change_points(values_of(values, 0.05, engine), durations());
        spoken += !spoken_of.empty() && spoken_of.back().place > 8 * 24 ? 1 : 0;
        for (std::size_t i = 11 * 24; i < values.size(); ++i) values[i] *= 1.5;
        const auto changes = find_change_points(values_of(values, 0.05, engine), durations());
        right += !changes.empty() && changes.back().place == 11 * 24 ? 1 : 0;
    }
    EXPECT_LE(spoken, 1);
    EXPECT_GE(right, 48);
}

}  // namespace
}  // namespace lagtrap::server::reports::change_points_test
