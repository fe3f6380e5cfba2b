#include <gtest/gtest.h>

#include "bpf/event_monitor.h"

namespace {

TEST(Histogram, EveryDurationLiesInItsBucket) {
    for (std::uint64_t duration_ns = 0; duration_ns < (1ULL << 39);
         duration_ns += 1 + duration_ns / 7) {
        const std::uint32_t bucket = lagtrap_histogram_bucket(duration_ns);
        ASSERT_GE(duration_ns, lagtrap_histogram_bucket_start_ns(bucket)) << duration_ns;
        ASSERT_LT(duration_ns, lagtrap_histogram_bucket_start_ns(bucket + 1)) << duration_ns;
    }
}

TEST(Histogram, BoundsAreAtMostAQuarterApart) {
    for (std::uint32_t bucket = 8; bucket + 1 < LAGTRAP_HISTOGRAM_BUCKETS; ++bucket) {
        const auto from = static_cast<double>(lagtrap_histogram_bucket_start_ns(bucket));
        const auto to = static_cast<double>(lagtrap_histogram_bucket_start_ns(bucket + 1));
        ASSERT_GT(to, from);
        ASSERT_LE(to / from, 1.25);
    }
}

TEST(Histogram, TheLongestDurationsShareTheLastBucket) {
    EXPECT_EQ(lagtrap_histogram_bucket(~0ULL), LAGTRAP_HISTOGRAM_BUCKETS - 1U);
    EXPECT_EQ(lagtrap_histogram_bucket(1ULL << 41), LAGTRAP_HISTOGRAM_BUCKETS - 1U);
}

}  // namespace
