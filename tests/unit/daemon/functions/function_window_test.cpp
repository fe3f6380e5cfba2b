#include "daemon/functions/function_window.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::function_window_test {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t second_ns = 1'000'000'000;

calls::TracedCall ended_at(std::uint64_t at_ns) {
    calls::TracedCall call;
    call.begin_ns = at_ns - 10;
    call.end_ns = at_ns;
    return call;
}

calls::FunctionTotals counted(std::uint32_t function, std::uint64_t calls, std::uint64_t longest_ns,
                              std::vector<std::uint32_t> path) {
    return {function, calls, 0, calls * 10, longest_ns, std::move(path)};
}

// A call and a count in each second from the tenth on.
FunctionWindow filled(FunctionWindow window, std::uint64_t seconds) {
    for (std::uint64_t second = 10; second < 10 + seconds; ++second) {
        window.add({ended_at(second * second_ns + 5)});
        window.end_period((second + 1) * second_ns,
                          {counted(1, 1, second, {static_cast<std::uint32_t>(second)})});
    }
    return window;
}

TEST(FunctionWindowTest, TheLastSecondsAreKeptAndNoMore) {
    const FunctionWindow window = filled(FunctionWindow(3s, 10 * second_ns), 20);
    EXPECT_EQ(window.from_ns(), 27 * second_ns);
    const auto calls = window.calls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls.front().end_ns, 27 * second_ns + 5);
    const auto totals = window.sums().all();
    ASSERT_EQ(totals.size(), 1U);
    EXPECT_EQ(totals[0].calls, 3U);
    EXPECT_EQ(totals[0].own_ns, 30U);
    EXPECT_EQ(totals[0].longest_ns, 29U) << "of those that are kept";
    EXPECT_EQ(totals[0].path, std::vector<std::uint32_t>{29});
    EXPECT_EQ(window.dropped(), 0U);
}

TEST(FunctionWindowTest, AYoungOneKnowsWhatItHasSeen) {
    const FunctionWindow window = filled(FunctionWindow(30s, 10 * second_ns), 4);
    EXPECT_EQ(window.from_ns(), 10 * second_ns);
    EXPECT_EQ(window.calls().size(), 4U);
    EXPECT_EQ(window.sums().all()[0].calls, 4U);
}

TEST(FunctionWindowTest, CallsThatFindNoRoomAreCountedAsLongAsTheyWouldBeKept) {
    FunctionWindow window(2s, 10 * second_ns, {5, 100});
    std::vector<calls::TracedCall> many;
    for (std::uint64_t call = 0; call < 12; ++call)
        many.push_back(ended_at(10 * second_ns + call + 20));
    window.add(many);
    EXPECT_EQ(window.kept(), 5U);
    EXPECT_EQ(window.dropped(), 7U);
    EXPECT_EQ(window.calls().front().end_ns, 10 * second_ns + 27) << "the oldest went";
    window.end_period(11 * second_ns, {});
    EXPECT_EQ(window.dropped(), 7U);
    for (std::uint64_t second = 12; second < 15; ++second)
        window.end_period(second * second_ns, {});
    EXPECT_EQ(window.dropped(), 0U);
    EXPECT_EQ(window.kept(), 0U) << "they are too old";
}

TEST(FunctionWindowTest, CountsOfManyFunctionsTakeTheRoomOfOlderOnes) {
    FunctionWindow window(60s, 10 * second_ns, {5, 10});
    for (std::uint64_t second = 11; second < 20; ++second) {
        std::vector<calls::FunctionTotals> totals;
        for (std::uint32_t function = 0; function < 4; ++function)
            totals.push_back(counted(function, 1, 1, {}));
        window.end_period(second * second_ns, totals);
    }
    EXPECT_EQ(window.from_ns(), 17 * second_ns) << "two periods fit";
    for (const auto& one : window.sums().all()) EXPECT_EQ(one.calls, 2U);
}

}  // namespace
}  // namespace lagtrap::daemon::function_window_test
