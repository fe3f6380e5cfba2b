#include "daemon/events/event_totals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::event_totals_test {
namespace {

using testing::ElementsAre;

TEST(EventTotals, OpenRunsThatWereFreedCount) {
    EventStatus status;
    status.counters.abandoned = 1;
    status.counters.left = 2;
    status.counters.expired = 3;
    status.open.abandoned = 10;
    status.open.left = 20;
    status.open.expired = 30;
    add_open_runs(status, 0);
    EXPECT_EQ(status.counters.abandoned, 11U);
    EXPECT_EQ(status.counters.left, 22U);
    EXPECT_EQ(status.counters.expired, 33U);
    EXPECT_EQ(status.counters.delays, 0U);
}

std::uint64_t delays(std::uint64_t ended, std::uint64_t reported_open, std::uint64_t before,
                     std::uint64_t ended_after_report, std::uint64_t withdrawn) {
    EventStatus status;
    status.counters.delays = ended;
    status.counters.reported_delays = ended_after_report;
    status.counters.withdrawn = withdrawn;
    status.open.reported = reported_open;
    add_open_runs(status, before);
    return status.counters.delays;
}

TEST(EventTotals, ADelayCountsOnceWhetherItIsOpenOrEnded) {
    EXPECT_EQ(delays(5, 0, 0, 0, 0), 5U);
    EXPECT_EQ(delays(5, 3, 0, 0, 0), 8U) << "still open";
    EXPECT_EQ(delays(8, 3, 0, 3, 0), 8U) << "they have ended";
    EXPECT_EQ(delays(6, 3, 0, 1, 1), 7U) << "one is open, one was withdrawn";
    EXPECT_EQ(delays(5, 3, 2, 0, 0), 10U) << "two come from earlier settings";
    EXPECT_EQ(delays(5, 1, 0, 4, 0), 5U);
}

TEST(EventTotals, HitsAreThoseOfTheirMarkers) {
    EventCounters counters;
    for (auto& marker : counters.markers) marker.hits = 5;
    counters.markers[LAGTRAP_PLACE_BEGIN].hits = 20;
    counters.markers[LAGTRAP_PLACE_END].hits = 10;
    counters.out_of_scope = 3;
    counters.limited = 4;
    counters.stack_ns = 6;
    counters.costs[2] = 7;
    const auto hits = hits_of(counters, {ProbeKind::Simple, ProbeKind::Stepped});
    EXPECT_EQ(hits.hits, counters.hits());
    EXPECT_EQ(hits.begin_hits, 20U);
    EXPECT_EQ(hits.stage_hits, counters.hits() - 30);
    EXPECT_EQ(hits.passed, 7U);
    EXPECT_EQ(hits.stack_ns, 6U);
    EXPECT_EQ(hits.costs, counters.costs);
    EXPECT_THAT(hits.kinds, ElementsAre(ProbeKind::Simple, ProbeKind::Stepped));
    EXPECT_FALSE(hits.seen.has_other_than(root_party));
}

}  // namespace
}  // namespace lagtrap::daemon::event_totals_test
