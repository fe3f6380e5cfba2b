#include "cli/status/histogram.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::cli::histogram_test {
namespace {

TEST(Histogram, PercentileLiesWithinItsBucket) {
    const std::vector<HistogramBucket> histogram{{0, 100, 50}, {100, 200, 0}, {200, 400, 50}};
    EXPECT_EQ(percentile_ns(histogram, 0.25), 50U);
    EXPECT_EQ(percentile_ns(histogram, 0.5), 100U);
    EXPECT_EQ(percentile_ns(histogram, 0.75), 300U);
    EXPECT_EQ(percentile_ns(histogram, 1.0), 400U);
    EXPECT_EQ(percentile_ns({}, 0.5), 0U);
    EXPECT_EQ(percentile_ns({{5, 1, 10}}, 0.5), 0U);
}

TEST(Histogram, SkipsWhatIsNoBucket) {
    const boost::json::object event{
        {"histogram",
         {{{"from_ns", 32}, {"to_ns", 64}, {"count", 3}}, 7, {{"from_ns", "many"}, {"to_ns", 8}}}}};
    const std::vector<HistogramBucket> histogram = histogram_of(event);
    ASSERT_EQ(histogram.size(), 2U);
    EXPECT_EQ(histogram[0].from_ns, 32U);
    EXPECT_EQ(histogram[0].to_ns, 64U);
    EXPECT_EQ(histogram[0].count, 3U);
    EXPECT_EQ(histogram[1].from_ns, 0U);
    EXPECT_EQ(histogram[1].to_ns, 8U);
    EXPECT_EQ(histogram[1].count, 0U);
    EXPECT_TRUE(histogram_of({}).empty());
    EXPECT_TRUE(histogram_of({{"histogram", "none"}}).empty());
}

}  // namespace
}  // namespace lagtrap::cli::histogram_test
