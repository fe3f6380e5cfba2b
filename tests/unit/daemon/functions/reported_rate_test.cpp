#include "daemon/functions/reported_rate.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::reported_rate_test {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t second_ns = 1'000'000'000;

calls::TracedCall ended_at(std::uint64_t at_ns) {
    calls::TracedCall call;
    call.end_ns = at_ns;
    return call;
}

TEST(ToldRateTest, NoMoreThanASecondsShareAtOnceAndItsShareASecond) {
    ReportedRate rate(0ns, 100 * ReportedRate::bytes_of_call);
    std::uint64_t taken = 0;
    for (std::uint64_t call = 0; call < 100'000; ++call)
        taken += rate.take(ended_at(second_ns + call * 100'000)) ? 1 : 0;
    EXPECT_GE(taken, 1000U);
    EXPECT_LE(taken, 1101U) << "in ten seconds";
}

TEST(ToldRateTest, TheMinimumFollowsWhatComesAndGoesBack) {
    ReportedRate rate(10us, 100 * ReportedRate::bytes_of_call);
    (void)rate.look(second_ns);
    std::uint64_t now_ns = second_ns;
    const auto come = [&](int calls) {
        for (int i = 0; i < calls; ++i) (void)rate.take(ended_at(now_ns));
        now_ns += second_ns / 10;
        return rate.look(now_ns);
    };
    EXPECT_EQ(come(1000), std::optional<std::chrono::nanoseconds>(20us));
    EXPECT_EQ(come(1000), std::optional<std::chrono::nanoseconds>(40us));
    EXPECT_EQ(come(8), std::nullopt) << "between a fourth and the whole";
    EXPECT_EQ(come(0), std::optional<std::chrono::nanoseconds>(20us));
    EXPECT_EQ(come(0), std::optional<std::chrono::nanoseconds>(10us));
    EXPECT_EQ(come(0), std::nullopt) << "not below what was wanted";
}

TEST(ReportedRateTest, LooksEveryTenthOfASecondAndStaysWithinItsLimits) {
    constexpr std::uint64_t look_ns = second_ns / 10;
    const auto changed = [&](std::chrono::nanoseconds wanted, int calls, std::uint64_t after_ns) {
        ReportedRate rate(wanted, 100 * ReportedRate::bytes_of_call);
        (void)rate.look(second_ns);
        for (int i = 0; i < calls; ++i) (void)rate.take(ended_at(second_ns));
        return rate.look(second_ns + after_ns);
    };
    EXPECT_EQ(changed(10us, 1000, look_ns - 1), std::nullopt);
    EXPECT_EQ(changed(10us, 1000, look_ns), 20us);
    EXPECT_EQ(changed(10us, 10, look_ns), std::nullopt) << "exactly what may be reported";
    EXPECT_EQ(changed(10us, 11, look_ns), 20us);
    EXPECT_EQ(changed(0ns, 11, look_ns), 1us) << "the first minimum";
    EXPECT_EQ(changed(6s, 11, look_ns), 10s) << "the longest";
    EXPECT_EQ(changed(10s, 11, look_ns), std::nullopt);
    EXPECT_EQ(changed(20s, 11, look_ns), std::nullopt) << "what was wanted may be longer";
}

TEST(ReportedRateTest, HalvesBelowAFourth) {
    ReportedRate rate(1us, 100 * ReportedRate::bytes_of_call);
    std::uint64_t now_ns = second_ns;
    (void)rate.look(now_ns);
    const auto come = [&](int calls) {
        for (int i = 0; i < calls; ++i) (void)rate.take(ended_at(now_ns));
        now_ns += second_ns / 5;
        return rate.look(now_ns);
    };
    EXPECT_EQ(come(1000), 2us);
    EXPECT_EQ(come(1000), 4us);
    EXPECT_EQ(come(5), std::nullopt) << "25 a second are exactly a fourth";
    EXPECT_EQ(come(4), 2us);
}

TEST(ReportedRateTest, SavesNoMoreThanASecondAndIgnoresCallsThatComeLate) {
    ReportedRate rate(0ns, 3 * ReportedRate::bytes_of_call);
    const auto takes = [&](std::uint64_t at_ns) {
        int taken = 0;
        while (rate.take(ended_at(at_ns))) ++taken;
        return taken;
    };
    EXPECT_EQ(takes(second_ns), 3);
    EXPECT_EQ(takes(second_ns + second_ns / 2), 1);
    EXPECT_EQ(takes(second_ns), 0) << "an earlier end";
    EXPECT_EQ(takes(10 * second_ns), 3) << "not 25";
}

}  // namespace
}  // namespace lagtrap::daemon::reported_rate_test
