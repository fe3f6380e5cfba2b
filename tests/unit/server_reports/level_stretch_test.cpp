#include "server/reports/level_stretch.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

namespace lagtrap::server::reports::level_stretch_test {
namespace {

using Units = std::vector<LevelUnit>;

// 1.8 % of 240 runs in each unit, with more noise than that of counting.
Units noisy_units(std::size_t count, std::mt19937_64& engine) {
    std::normal_distribution<double> away(0, 0.2);
    Units units;
    for (std::size_t i = 0; i < count; ++i) {
        std::poisson_distribution<int> counted(240 * 0.018 * std::exp(away(engine)));
        units.push_back({static_cast<double>(counted(engine)), 240});
    }
    return units;
}

TEST(GroupOfUnits, DiffersFromOthersOnlyBeyondTheirNoise) {
    constexpr double runs = 4000;
    int found = 0, wrong = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 engine(seed);
        const Units others = noisy_units(120, engine);
        std::poisson_distribution<int> alike(runs * 0.018), more(runs * 0.05);
        wrong += p_of_group(others, 96, {static_cast<double>(alike(engine)), runs}) < 5e-4 ? 1 : 0;
        found += p_of_group(others, 96, {static_cast<double>(more(engine)), runs}) < 5e-4 ? 1 : 0;
    }
    EXPECT_GE(found, 95);
    EXPECT_LE(wrong, 1);
}

TEST(GroupOfUnits, IsComparedOnlyWithTheUnitsFromThePlaceOn) {
    Units others(40, {10, 100});
    others.resize(60, {40, 100});
    EXPECT_GT(p_of_group(others, 40, {200, 500}), 0.5);
    EXPECT_LT(p_of_group(others, 40, {50, 500}), 5e-4);
}

TEST(GroupOfUnits, WithNothingToCompareSaysNothing) {
    EXPECT_EQ(p_of_group({}, 0, {10, 100}), 1);
    EXPECT_EQ(p_of_group(Units(9, {1, 100}), 7, {90, 100}), 1);
    EXPECT_EQ(p_of_group(Units(9, {1, 100}), 2, {0, 0}), 1);
}

}  // namespace
}  // namespace lagtrap::server::reports::level_stretch_test
