#include "daemon/events/event_counters.hpp"

#include <array>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>

namespace lagtrap::daemon::event_counters_test {
namespace {

using Field = std::uint64_t EventCounters::*;

constexpr std::array sums{
    &EventCounters::delays,       &EventCounters::reported_delays, &EventCounters::abandoned,
    &EventCounters::left,         &EventCounters::failed,          &EventCounters::cancelled,
    &EventCounters::lost,         &EventCounters::expired,         &EventCounters::unended_late,
    &EventCounters::withdrawn,    &EventCounters::too_deep,        &EventCounters::records_lost,
    &EventCounters::out_of_scope, &EventCounters::limited,         &EventCounters::unrecorded,
    &EventCounters::counted,      &EventCounters::texts_lost,      &EventCounters::timed_ns,
    &EventCounters::on_cpu_ns,    &EventCounters::runnable_ns,     &EventCounters::handed_over_ns,
    &EventCounters::untimed,      &EventCounters::stack_ns};

// Each number differs from all others, and grows with `factor`.
EventCounters numbered(std::uint64_t factor) {
    EventCounters counters;
    std::uint64_t number = 0;
    for (const Field field : sums) counters.*field = factor * ++number;
    for (std::uint64_t& part : counters.delays_mostly) part = factor * ++number;
    for (std::uint64_t& bucket : counters.histogram) bucket = factor * ++number;
    for (std::uint64_t& bucket : counters.costs) bucket = factor * ++number;
    for (lagtrap_marker_count& marker : counters.markers) {
        marker.hits = factor * ++number;
        marker.unmatched = factor * ++number;
        marker.last_ns = factor * ++number;
    }
    counters.max_ns = factor * ++number;
    return counters;
}

TEST(EventCounters, AddEachToItsOwnAndKeepTheLatestAndTheLongest) {
    for (const auto& [one, other] : {std::pair(2U, 5U), std::pair(5U, 2U)}) {
        EventCounters counters = numbered(one);
        counters.add(numbered(other));
        const EventCounters all = numbered(7), larger = numbered(5);
        for (const Field field : sums) EXPECT_EQ(counters.*field, all.*field) << (all.*field) / 7;
        EXPECT_EQ(counters.delays_mostly, all.delays_mostly);
        EXPECT_EQ(counters.histogram, all.histogram);
        EXPECT_EQ(counters.costs, all.costs);
        for (std::size_t place = 0; place < all.markers.size(); ++place) {
            EXPECT_EQ(counters.markers[place].hits, all.markers[place].hits);
            EXPECT_EQ(counters.markers[place].unmatched, all.markers[place].unmatched);
            EXPECT_EQ(counters.markers[place].last_ns, larger.markers[place].last_ns);
        }
        EXPECT_EQ(counters.max_ns, larger.max_ns);
    }
}

TEST(EventCounters, CountRunsHitsAndUnmatchedStages) {
    EventCounters counters;
    counters.histogram.front() = 1;
    counters.histogram.back() = 20;
    counters.markers[LAGTRAP_PLACE_BEGIN] = {100, 1'000, 0};
    counters.markers[LAGTRAP_PLACE_END] = {200, 2'000, 0};
    counters.markers[LAGTRAP_PLACE_STAGE] = {300, 4'000, 0};
    counters.markers.back() = {400, 8'000, 0};
    EXPECT_EQ(counters.runs(), 21U);
    EXPECT_EQ(counters.hits(), 1'000U);
    EXPECT_EQ(counters.unmatched_stages(), 12'000U);
    EXPECT_EQ(counters.begins().hits, 100U);
    EXPECT_EQ(counters.ends().hits, 200U);
}

TEST(EventCounters, KeepWhoWasSeenWhileThereIsRoom) {
    EventCounters counters, others;
    constexpr std::size_t room = std::size(lagtrap_seen_parties{}.parties);
    for (std::size_t i = 0; i + 1 < room; ++i)
        counters.seen.parties[i] = 10 + static_cast<std::uint32_t>(i);
    others.seen.parties[0] = 10;
    others.seen.parties[1] = 99;
    counters.add(others);
    EXPECT_EQ(counters.seen.parties[room - 1], 99U) << "a party that is known takes no room";
    EXPECT_EQ(counters.seen.more, 0U);
    counters.add(others);
    EXPECT_EQ(counters.seen.more, 0U);
    others.seen.parties[1] = 100;
    counters.add(others);
    EXPECT_NE(counters.seen.more, 0U);
    EXPECT_EQ(counters.seen.parties[room - 1], 99U);
    EventCounters none;
    none.add(counters);
    EXPECT_NE(none.seen.more, 0U) << "others were seen before";
}

TEST(RunCounters, AddEachToItsOwn) {
    RunCounters counters{.reported = 1, .sampled_away = 2, .ring_full = 3, .stacks_lost = 4};
    counters.add({.reported = 10, .sampled_away = 20, .ring_full = 30, .stacks_lost = 40});
    EXPECT_EQ(counters.reported, 11U);
    EXPECT_EQ(counters.sampled_away, 22U);
    EXPECT_EQ(counters.ring_full, 33U);
    EXPECT_EQ(counters.stacks_lost, 44U);
}

}  // namespace
}  // namespace lagtrap::daemon::event_counters_test
