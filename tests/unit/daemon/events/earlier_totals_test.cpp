#include "daemon/events/earlier_totals.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::earlier_totals_test {
namespace {

EventTotals totals(std::uint64_t abandoned, std::uint64_t delays, std::uint64_t reported_runs) {
    EventTotals totals;
    totals.counters.abandoned = abandoned;
    totals.counters.delays = delays;
    totals.runs.reported = reported_runs;
    return totals;
}

std::vector<settings::Event> events(const std::vector<std::string>& names) {
    std::vector<settings::Event> events;
    for (const std::string& name : names) events.emplace_back().name = name;
    return events;
}

TEST(EarlierTotals, AreZeroForNewEvents) {
    const EarlierTotals none;
    EXPECT_EQ(none.of("query").counters.delays, 0U);
    EXPECT_EQ(none.reported_before(0), 0U);
    const EarlierTotals earlier({{"query", totals(1, 10, 3)}});
    EXPECT_EQ(earlier.of("query").counters.delays, 10U);
    EXPECT_EQ(earlier.of("query").runs.reported, 3U);
    EXPECT_EQ(earlier.of("other").counters.delays, 0U);
    EXPECT_EQ(earlier.of("other").runs.reported, 0U);
}

TEST(EarlierTotals, RunsThatContinueElsewhereAreCountedThere) {
    EarlierTotals earlier({{"gone", totals(0, 5, 0)}, {"query", totals(1, 10, 0)}});
    earlier.take_out_open_runs(
        {{0, {.taken = 0, .reported = 9, .left = 4}}, {1, {.taken = 7, .reported = 4, .left = 2}}},
        events({"gone", "query"}), {{1, 0}});
    EXPECT_EQ(earlier.of("query").counters.abandoned, 3U);
    EXPECT_EQ(earlier.of("query").counters.delays, 6U);
    EXPECT_EQ(earlier.reported_before(0), 4U) << "its number is new";
    EXPECT_EQ(earlier.of("gone").counters.abandoned, 4U);
    EXPECT_EQ(earlier.of("gone").counters.delays, 0U);
    EXPECT_EQ(earlier.reported_before(1), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::earlier_totals_test
