#include "server/sketch/sketch.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace lagtrap::server::sketch_test {
namespace {

std::vector<std::uint64_t> some_durations(unsigned seed, std::size_t count) {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> durations(16, 2);
    std::vector<std::uint64_t> values(count);
    for (auto& value : values) value = static_cast<std::uint64_t>(durations(random)) + 1;
    return values;
}

Sketch sketch_of(const std::vector<std::uint64_t>& values) {
    Sketch sketch;
    for (const auto value : values) sketch.add(value);
    return sketch;
}

TEST(Sketch, QuantilesAreWithinOnePercent) {
    auto values = some_durations(1, 20'000);
    const Sketch sketch = sketch_of(values);
    std::sort(values.begin(), values.end());
    for (const double share : {0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0}) {
        const auto exact = static_cast<double>(
            values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)]);
        EXPECT_NEAR(static_cast<double>(sketch.quantile_ns(share)), exact, exact * 0.0101 + 1)
            << share;
    }
}

TEST(Sketch, EveryDurationLiesInItsBin) {
    for (const std::uint64_t edge :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{49},
          std::uint64_t{50}, std::uint64_t{1'000'000}, std::uint64_t{3'600'000'000'000},
          static_cast<std::uint64_t>(INT64_MAX)}) {
        Sketch sketch;
        sketch.add(edge);
        const auto bins = sketch.bins();
        ASSERT_EQ(bins.size(), 1U);
        EXPECT_LE(edge, std::max<std::uint64_t>(bins[0].high_ns, 1) + bins[0].high_ns / 50) << edge;
        EXPECT_TRUE(edge > bins[0].low_ns || edge <= 1) << edge;
    }
}

TEST(Sketch, MergedIsWhatAllTogetherWouldBe) {
    const auto one = some_durations(2, 5000), other = some_durations(3, 4000);
    auto all = one;
    all.insert(all.end(), other.begin(), other.end());
    Sketch merged = sketch_of(one);
    merged.merge(sketch_of(other));
    EXPECT_EQ(merged, sketch_of(all));
    EXPECT_EQ(merged.count(), 9000U);
    merged.subtract(sketch_of(other));
    EXPECT_EQ(merged, sketch_of(one));
}

TEST(Sketch, SurvivesSerialising) {
    const Sketch sketch = sketch_of(some_durations(4, 3000));
    const std::string bytes = sketch.serialise();
    EXPECT_LT(bytes.size(), 2500U);
    Sketch read;
    ASSERT_TRUE(read.merge_serialised(bytes).ok());
    EXPECT_EQ(read, sketch);
    ASSERT_TRUE(read.merge_serialised(bytes).ok());
    EXPECT_EQ(read.count(), 6000U);
}

TEST(Sketch, RefusesDamagedBytesAndStaysAsItWas) {
    Sketch sketch;
    sketch.add(1000);
    const Sketch before = sketch;
    for (const std::string& bytes : {std::string("\x80"), std::string("\x01"),
                                     std::string("\xff\xff\x7f\x01"), std::string(12, '\xff')})
        EXPECT_FALSE(sketch.merge_serialised(bytes).ok());
    EXPECT_EQ(sketch, before);
}

TEST(Sketch, CountsAboveAThreshold) {
    Sketch sketch;
    sketch.add(10'000'000, 5);
    sketch.add(60'000'000, 3);
    EXPECT_EQ(sketch.count_above(50'000'000), 3U);
    EXPECT_EQ(sketch.count_above(60'000'000), 0U);
}

}  // namespace
}  // namespace lagtrap::server::sketch_test
