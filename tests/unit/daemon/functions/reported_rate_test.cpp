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

}  // namespace
}  // namespace lagtrap::daemon::reported_rate_test
