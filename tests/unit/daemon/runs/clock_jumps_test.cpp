#include "daemon/runs/clock_jumps.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon::clock_jumps_test {
namespace {

constexpr std::uint64_t s = 1'000'000'000;

// The clocks at `monotonic` after sleeping for `slept`, with the wall clock set forward by
// `stepped`.
ClockSnapshot clocks(std::uint64_t monotonic, std::uint64_t slept = 0, std::int64_t stepped = 0) {
    return {monotonic, monotonic + slept,
            static_cast<std::uint64_t>(static_cast<std::int64_t>(1000 * s + monotonic + slept) +
                                       stepped)};
}

TEST(ClockJumps, SeesNoneWhereTheClocksGoOn) {
    ClockJumps jumps;
    for (std::uint64_t i = 1; i < 100; ++i) jumps.note(clocks(i * s, 5 * s));
    EXPECT_EQ(jumps.reasons(0, 1000 * s), 0U);
    EXPECT_EQ(jumps.to_realtime_ns(50 * s), 1055 * s);
}

TEST(ClockJumps, TellsSleepFromSteps) {
    ClockJumps jumps;
    jumps.note(clocks(10 * s));
    jumps.note(clocks(11 * s, 3600 * s));
    EXPECT_EQ(jumps.reasons(5 * s, 20 * s), trace::DirtySuspended);
    jumps.note(clocks(20 * s, 3600 * s));
    jumps.note(clocks(21 * s, 3600 * s, -7200 * static_cast<std::int64_t>(s)));
    EXPECT_EQ(jumps.reasons(20 * s, 22 * s), trace::DirtyClockStepped);
    EXPECT_EQ(jumps.reasons(5 * s, 22 * s), trace::DirtySuspended | trace::DirtyClockStepped);
}

TEST(ClockJumps, AreOfTheRunsThatWereOpenAlone) {
    ClockJumps jumps;
    jumps.note(clocks(10 * s));
    jumps.note(clocks(11 * s, 1 * s));
    EXPECT_EQ(jumps.reasons(1 * s, 9 * s), 0U);
    EXPECT_EQ(jumps.reasons(12 * s, 13 * s), 0U);
    EXPECT_NE(jumps.reasons(9 * s, 12 * s), 0U);
    EXPECT_NE(jumps.reasons(10'500'000'000, 10'600'000'000), 0U) << "it may have been then";
}

TEST(ClockJumps, TheWallClockIsTheOneOfThatTime) {
    ClockJumps jumps;
    jumps.note(clocks(10 * s));
    jumps.note(clocks(20 * s, 0, 500 * static_cast<std::int64_t>(s)));
    EXPECT_EQ(jumps.to_realtime_ns(9 * s), 1009 * s);
    EXPECT_EQ(jumps.to_realtime_ns(21 * s), 1521 * s);
}

TEST(ClockJumps, TheRealClocksAgree) {
    ClockJumps jumps;
    for (int i = 0; i < 1000; ++i) jumps.note(steady_snapshot());
    EXPECT_EQ(jumps.reasons(0, ~0ULL), 0U);
}

TEST(ClockJumps, CountFromTwentyMillisecondsInBothDirections) {
    constexpr std::int64_t least = 20'000'000;
    for (const std::int64_t step : {least, -least, least - 1, 1 - least}) {
        ClockJumps jumps;
        jumps.note(clocks(10 * s, 1 * s));
        jumps.note(clocks(11 * s, 1 * s, step));
        EXPECT_EQ(jumps.reasons(10 * s, 11 * s),
                  std::abs(step) == least ? trace::DirtyClockStepped : 0U)
            << step;
    }
    for (const std::uint64_t slept : {20'000'000U, 19'999'999U}) {
        ClockJumps jumps;
        jumps.note(clocks(10 * s));
        jumps.note(clocks(11 * s, slept));
        EXPECT_EQ(jumps.reasons(10 * s, 11 * s), slept == 20'000'000 ? trace::DirtySuspended : 0U)
            << slept;
    }
}

TEST(ClockJumps, TouchRunsThatEndWithThem) {
    ClockJumps jumps;
    jumps.note(clocks(10 * s));
    jumps.note(clocks(11 * s, 1 * s));
    EXPECT_NE(jumps.reasons(1 * s, 10 * s), 0U);
    EXPECT_EQ(jumps.reasons(1 * s, 10 * s - 1), 0U);
    EXPECT_NE(jumps.reasons(11 * s, 12 * s), 0U);
    EXPECT_EQ(jumps.reasons(11 * s + 1, 12 * s), 0U);
}

TEST(ClockJumps, KeepsTheLastSixtyFour) {
    ClockJumps jumps;
    for (std::uint64_t i = 1; i <= 66; ++i) jumps.note(clocks(i * 10 * s, i * s));
    EXPECT_EQ(jumps.reasons(0, 20 * s - 1), 0U) << "the first of 65 is forgotten";
    EXPECT_NE(jumps.reasons(0, 20 * s), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::clock_jumps_test
