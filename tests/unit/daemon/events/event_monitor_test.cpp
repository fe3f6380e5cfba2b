// Runs of a library that this process calls, as programs in this kernel count them.
#include "daemon/events/event_monitor.hpp"

#include <chrono>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "daemon/events/group_scopes.hpp"
#include "tests/unit/daemon/watched_library_fixture.hpp"

namespace lagtrap::daemon::event_monitor_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AnEventMonitor : public WatchedLibrary {};

TEST_F(AnEventMonitor, CountsEveryKindOfMarker) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_stage", "marked_end"});
    library.call_all({"marked_begin", "marked_failed", "marked_end", "marked_begin"});
    const EventStatus status = this->status();
    EXPECT_TRUE(status.armed);
    EXPECT_FALSE(status.arming);
    EXPECT_FALSE(status.disabled);
    EXPECT_FALSE(status.counted);
    EXPECT_FALSE(status.stacks_disabled);
    EXPECT_FALSE(status.stages_disabled);
    EXPECT_EQ(status.problem, "");
    EXPECT_EQ(status.name, "query");
    EXPECT_EQ(status.threshold_ns, 3'600'000'000'000U);
    EXPECT_TRUE(status.records_runs);
    EXPECT_FALSE(status.by_goroutine);
    EXPECT_FALSE(status.groups);
    EXPECT_THAT(status.pairing, IsEmpty());
    EXPECT_EQ(status.open.open, 1U);
    EXPECT_EQ(status.counters.runs(), 1U);
    EXPECT_EQ(status.counters.failed, 1U);
    EXPECT_EQ(status.counters.delays, 0U);
    EXPECT_EQ(status.counters.begins().hits, 3U);
    EXPECT_EQ(status.counters.ends().hits, 3U);
    EXPECT_EQ(status.counters.ends().unmatched, 1U);
    EXPECT_EQ(status.counters.markers[LAGTRAP_PLACE_STAGE].hits, 1U);
    EXPECT_EQ(status.counters.unmatched_stages(), 0U);
    EXPECT_EQ(status.runs.reported, 2U);
    EXPECT_EQ(status.runs.sampled_away, 0U);
    EXPECT_EQ(monitor_->all_counters().at("query").failed, 1U);
    EXPECT_EQ(monitor_->all_totals().at("query").runs.reported, 2U);
    const auto hits = monitor_->hits();
    ASSERT_THAT(hits, SizeIs(1));
    EXPECT_EQ(hits[0].hits, 7U);
    EXPECT_EQ(hits[0].begin_hits, 3U);
    EXPECT_EQ(hits[0].stage_hits, 1U);
    EXPECT_EQ(hits[0].passed, 0U);
    EXPECT_THAT(hits[0].kinds, SizeIs(4));
    const Party seen = status.counters.seen.parties[0] - 1;
    EXPECT_FALSE(monitor_->seen_parties().has_other_than(seen));
    EXPECT_TRUE(monitor_->seen_parties().has_other_than(seen + 1));
    EXPECT_EQ(monitor_->progress().done, 1U);
    EXPECT_EQ(monitor_->progress().of, 1U);
    ASSERT_THAT(monitor_->watched_files(), SizeIs(1));
    EXPECT_EQ(monitor_->watched_files()[0].path, path_);
    EXPECT_THAT(monitor_->program_fds(), SizeIs(2)) << "only those for functions are loaded";
    EXPECT_TRUE(monitor_->copies_are_armed());
    EXPECT_EQ(monitor_->times_cost_ns(), 0U);
    EXPECT_THAT(told(), IsEmpty()) << "the first round tells nobody of each event";
    monitor_->detach();
    library.call("marked_begin");
    EXPECT_EQ(this->status().counters.begins().hits, 3U) << "detached";
}

TEST_F(AnEventMonitor, CountsCallsOfAFunctionAndRunsByKey) {
    settings::Event call = query_in(path_);
    call.name = "call";
    call.end = call.begin;
    call.end.side = settings::FunctionSide::Return;
    call.stages.clear();
    call.other_ends.clear();
    call.record = settings::RecordMode::Delays;
    settings::Event request = call;
    request.name = "request";
    request.key = settings::KeyKind::Argument;
    for (settings::Marker* marker : {&request.begin, &request.end}) {
        *marker = settings::Marker();
        marker->kind = settings::MarkerKind::Library;
        marker->binary = path_;
        marker->provider = "lagtrap";
        marker->key = settings::ArgumentRef{0, {}, {}};
    }
    request.begin.name = "request__begin";
    request.end.name = "request__end";
    watch({call, request});
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_begin"});
    for (const unsigned long key : {5UL, 6UL, 7UL}) library.call("marked_request_begins", key);
    library.call("marked_request_ends", 6);
    library.call("marked_request_ends", 5);
    EXPECT_EQ(status(0).counters.runs(), 2U);
    EXPECT_EQ(status(0).open.open, 0U);
    EXPECT_FALSE(status(0).records_runs);
    EXPECT_EQ(status(1).counters.runs(), 2U);
    EXPECT_EQ(status(1).counters.ends().unmatched, 0U);
    EXPECT_EQ(status(1).open.open, 1U);
    const auto open = monitor_->breaches().open_runs();
    ASSERT_THAT(open.runs, SizeIs(1));
    EXPECT_EQ(open.runs[0].event, 1U);
    EXPECT_EQ(open.runs[0].key, 7U);
    EXPECT_EQ(monitor_->hits().at(1).hits, 5U);
}

TEST_F(AnEventMonitor, LimitsOneProcess) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    library.call("marked_begin");
    const auto open = monitor_->breaches().open_runs();
    ASSERT_THAT(open.runs, SizeIs(1));
    const HitParty who{status().counters.seen.parties[0] - 1, open.runs[0].begin_pid};
    ASSERT_TRUE(monitor_->limit(0, who, true));
    EXPECT_EQ(status().open.open, 0U);
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 0U);
    EXPECT_EQ(status().counters.limited, 2U);
    EXPECT_EQ(monitor_->hits().at(0).passed, 2U);
    ASSERT_TRUE(monitor_->limit(0, who, false));
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 1U);
    ASSERT_TRUE(monitor_->limit(0, who, true));
    monitor_->disable(0, "too expensive", false);
    monitor_->enable(0, true);
    await_told("armed 0");
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 2U) << "disabling ends limits";
    EXPECT_EQ(status().counters.limited, 2U);
}

TEST_F(AnEventMonitor, ReportsDelaysThatMayBeRecorded) {
    settings::Event event = query_in(path_);
    event.breach = settings::BreachMode::End;
    watch({event, event});
    const LoadedLibrary library(path_);
    const auto run = [&] { library.call_all({"marked_begin", "marked_end"}); };
    run();
    EXPECT_EQ(status(0).counters.delays, 0U);
    ASSERT_TRUE(monitor_->set_threshold(0, 1ns));
    ASSERT_TRUE(monitor_->set_threshold(1, 1ns));
    EXPECT_EQ(status(0).threshold_ns, 1U);
    run();
    EXPECT_EQ(status(0).counters.delays, 1U);
    monitor_->set_events_without_recordings({0, 1});
    monitor_->breaches().want_breach(true);
    run();
    monitor_->set_events_without_recordings({0});
    run();
    await_told("breach 1");
    EXPECT_EQ(status(0).counters.unrecorded, 0U);
    const Party party = status(0).counters.seen.parties[0] - 1;
    monitor_->set_parties_without_recordings({party});
    monitor_->set_events_without_recordings({});
    monitor_->breaches().want_breach(true);
    run();
    EXPECT_EQ(status(0).counters.unrecorded, 1U);
    monitor_->set_parties_without_recordings({});
    monitor_->set_events_without_recordings({1});
    run();
    await_told("breach 0");
    EXPECT_THAT(told(), ElementsAre("breach 1", "breach 0"));
    EXPECT_EQ(status(1).counters.delays, 5U);
}

TEST_F(AnEventMonitor, TakesOverCountersAndOpenRuns) {
    settings::Event other = query_in(path_);
    other.name = "other";
    watch({other, query_in(path_)});
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_failed", "marked_begin", "marked_stage"});
    settings::Event changed = other;
    changed.nesting = settings::Nesting::Restart;
    options_.takes_over = true;
    auto next = monitor_of({query_in(path_), changed});
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->status().at(0).armed);
    const std::uint64_t before_ns = monotonic_ns();
    EXPECT_GE(next->take_over(*monitor_), before_ns);
    library.call_all({"marked_end", "marked_begin", "marked_end"});
    const EventStatus taken = next->status().at(0);
    EXPECT_EQ(taken.counters.runs(), 2U);
    EXPECT_EQ(taken.counters.failed, 1U);
    EXPECT_EQ(taken.counters.abandoned, 0U);
    EXPECT_EQ(taken.counters.begins().hits, 3U);
    EXPECT_EQ(taken.runs.reported, 3U);
    const EventStatus not_taken = next->status().at(1);
    EXPECT_EQ(not_taken.counters.runs(), 1U);
    EXPECT_EQ(not_taken.counters.failed, 1U);
    EXPECT_EQ(not_taken.counters.abandoned, 1U) << "its runs are different now";
    EXPECT_EQ(monitor_->status().at(1).counters.runs(), 0U) << "hits do not count there any more";
    monitor_ = std::move(next);
}

TEST_F(AnEventMonitor, ContinuesDelaysThatWereReportedBefore) {
    settings::Event event = query_in(path_);
    event.threshold = 1ns;
    watch({event});
    const LoadedLibrary library(path_);
    monitor_->breaches().want_breach(true);
    library.call("marked_begin");
    monitor_->breaches().look_soon();
    await_told("breach 0");
    EXPECT_EQ(status().counters.delays, 1U);
    options_.takes_over = true;
    auto next = monitor_of({event});
    ASSERT_TRUE(next);
    (void)next->take_over(*monitor_);
    monitor_ = std::move(next);
    EXPECT_EQ(status().counters.delays, 1U);
    library.call("marked_end");
    EXPECT_EQ(status().counters.delays, 1U) << "it is the same delay";
    EXPECT_EQ(status().counters.runs(), 1U);
}

TEST_F(AnEventMonitor, HoldsHitsUntilItTakesOver) {
    options_.takes_over = true;
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_TRUE(status().armed);
    EXPECT_EQ(status().counters.runs(), 0U);
    EXPECT_EQ(status().open.open, 0U);
    EXPECT_EQ(status().counters.begins().hits, 1U);
}

TEST_F(AnEventMonitor, RefusesMoreEventsThanThereIsRoomFor) {
    const auto refused =
        EventMonitor::create(plain_settings(std::vector<settings::Event>(LAGTRAP_MAX_EVENTS + 1)),
                             *store_, *threads_, options_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(refused.error().message,
              "more than " + std::to_string(LAGTRAP_MAX_EVENTS) + " events");
}

TEST_F(AnEventMonitor, SaysThatControlGroupsAreFollowed) {
    options_.names = &names_;
    settings::Event event = query_in(path_);
    event.scope.groups.unit = "nobody-has-this.service";
    watch({event});
    const EventStatus status = this->status();
    ASSERT_TRUE(status.groups);
    EXPECT_EQ(status.groups->problem.empty(), find_group_hierarchy().ok())
        << status.groups->problem;
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(this->status().counters.runs(), 0U);
    EXPECT_EQ(this->status().counters.out_of_scope, 2U);
}

TEST_F(AnEventMonitor, ChangesAThresholdWhileItWatches) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.delays, 0U);
    ASSERT_TRUE(monitor_->set_threshold(0, 1ns));
    EXPECT_EQ(status().threshold_ns, 1U);
    EXPECT_EQ(monitor_->thresholds()->of_ns(0), 1U);
    library.call_all({"marked_begin", "marked_end"});
    await("the delay", [this] { return status().counters.delays == 1; });
    ASSERT_TRUE(monitor_->set_threshold(0, 1h));
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 3U);
    EXPECT_EQ(status().counters.delays, 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::event_monitor_test
