#include "core/clock.hpp"

#include <gtest/gtest.h>

namespace lagtrap::clock_test {
namespace {

TEST(Clock, TimesAreWrittenInUtcWithMicroseconds) {
    EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(format_utc(1'795'235'589'123'456'789), "2026-11-21T04:33:09.123456Z");
    EXPECT_EQ(format_utc(1'709'164'800'000'001'999), "2024-02-29T00:00:00.000001Z");
}

TEST(Clock, ASnapshotIsTakenBetweenOtherReadings) {
    const auto read = [](clockid_t clock) {
        timespec now{};
        EXPECT_EQ(::clock_gettime(clock, &now), 0);
        return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
    };
    const std::uint64_t monotonic = read(CLOCK_MONOTONIC), boottime = read(CLOCK_BOOTTIME);
    const ClockSnapshot taken = ClockSnapshot::take();
    EXPECT_LE(monotonic, taken.monotonic_ns);
    EXPECT_LE(taken.monotonic_ns, read(CLOCK_MONOTONIC));
    EXPECT_LE(boottime, taken.boottime_ns);
    EXPECT_LE(taken.boottime_ns, read(CLOCK_BOOTTIME));
    EXPECT_GT(taken.realtime_ns, 1'700'000'000'000'000'000U);
    EXPECT_LE(monotonic, monotonic_ns());
}

TEST(Clock, TimesBeforeAndAfterASnapshotAreConverted) {
    const ClockSnapshot taken{100, 200, 5'000};
    EXPECT_EQ(taken.to_realtime_ns(100), 5'000U);
    EXPECT_EQ(taken.to_realtime_ns(130), 5'030U);
    EXPECT_EQ(taken.to_realtime_ns(70), 4'970U);
}

TEST(Clock, AThreadsTimeGrowsWhileItWorks) {
    const auto before = thread_cpu_time();
    while (thread_cpu_time() == before) {
    }
    EXPECT_GT(thread_cpu_time(), before);
}

}  // namespace
}  // namespace lagtrap::clock_test
