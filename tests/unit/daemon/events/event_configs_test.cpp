#include "daemon/events/event_configs.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::event_configs_test {
namespace {

using namespace std::chrono_literals;
using settings::Event;
using settings::MarkerKind;
using testing::ElementsAre;

// Between two USDT probes of a program.
Event probes() {
    Event event;
    event.threshold = 50ms;
    event.begin.kind = event.end.kind = MarkerKind::Usdt;
    event.begin.binary = event.end.binary = "/usr/bin/app";
    event.begin.name = "begin";
    event.end.name = "end";
    return event;
}
Event call() {
    Event event = probes();
    event.begin.kind = event.end.kind = MarkerKind::Function;
    event.end.name = "begin";
    event.end.side = settings::FunctionSide::Return;
    return event;
}

std::uint32_t flags_of(const Event& event) { return event_config(event, false).flags; }

TEST(EventConfigs, EachPropertySetsItsFlag) {
    const std::uint32_t usual = flags_of(probes());
    const auto added = [&](const std::function<void(Event&)>& change) {
        Event event = probes();
        change(event);
        return flags_of(event) ^ usual;
    };
    EXPECT_EQ(added([](Event&) {}), 0U);
    EXPECT_EQ(added([](Event& event) { event.key_scope = settings::KeyScope::Machine; }),
              LAGTRAP_EVENT_KEY_MACHINE);
    EXPECT_EQ(added([](Event& event) { event.trace_id.emplace(); }), LAGTRAP_EVENT_TRACE_TEXT);
    EXPECT_EQ(added([](Event& event) { event.scope.pid = 7; }), LAGTRAP_EVENT_SCOPE_PID);
    EXPECT_EQ(added([](Event& event) {
                  event.scope.pid = 7;
                  event.scope.descendants = true;
              }),
              LAGTRAP_EVENT_SCOPE_PID | LAGTRAP_EVENT_SCOPE_DESCENDANTS);
    EXPECT_EQ(added([](Event& event) { event.scope.uid = 7; }), LAGTRAP_EVENT_SCOPE_UID);
    EXPECT_EQ(added([](Event& event) { event.record = settings::RecordMode::Runs; }),
              LAGTRAP_EVENT_RECORD_RUNS);
    EXPECT_EQ(added([](Event& event) {
                  event.record = settings::RecordMode::Runs;
                  event.stacks = settings::StackMode::Markers;
              }),
              LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_STACKS);
    EXPECT_EQ(added([](Event& event) { event.stacks = settings::StackMode::Markers; }), 0U);
    EXPECT_EQ(usual & LAGTRAP_EVENT_TIMES, 0U);
    EXPECT_EQ(event_config(probes(), true).flags, usual | LAGTRAP_EVENT_TIMES);
    EXPECT_EQ(usual & LAGTRAP_EVENT_MATCH_STACK, 0U);
    EXPECT_EQ(flags_of(call()) & LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_EVENT_MATCH_STACK);
    EXPECT_EQ(usual & LAGTRAP_EVENT_STACK_ORDER, LAGTRAP_EVENT_STACK_ORDER);
    Event keyed = probes();
    keyed.key = settings::KeyKind::Argument;
    EXPECT_EQ(flags_of(keyed) & LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_EVENT_KEY_ARGUMENT);
    EXPECT_EQ(flags_of(keyed) & LAGTRAP_EVENT_STACK_ORDER, 0U);
    EXPECT_EQ(usual & LAGTRAP_EVENT_KEY_ARGUMENT, 0U);
}

TEST(EventConfigs, ScopesHaveTheirNumbers) {
    Event event = probes();
    event.scope.pid = 7;
    event.scope.uid = 1000;
    const auto config = event_config(event, false);
    EXPECT_EQ(config.scope_pid, 7U);
    EXPECT_EQ(config.scope_uid, 1000U);
}

TEST(EventConfigs, NestingIsPassedOn) {
    Event event = probes();
    for (const auto& [nesting, expected] : std::vector<std::pair<settings::Nesting, std::uint32_t>>{
             {settings::Nesting::Each, LAGTRAP_NESTING_EACH},
             {settings::Nesting::Outermost, LAGTRAP_NESTING_OUTERMOST},
             {settings::Nesting::Restart, LAGTRAP_NESTING_RESTART}}) {
        event.nesting = nesting;
        EXPECT_EQ(event_config(event, false).nesting, expected);
    }
}

TEST(EventConfigs, RunsAreCheckedAtTheDeadlineUnlessDelaysAreNoticedAtTheEnd) {
    Event event = probes();
    EXPECT_EQ(event_config(event, false).threshold_ns, 50'000'000U);
    EXPECT_EQ(event_config(event, false).look_after_ns, 50'000'000U);
    event.breach = settings::BreachMode::End;
    EXPECT_EQ(event_config(event, false).threshold_ns, 50'000'000U);
    EXPECT_EQ(event_config(event, false).look_after_ns, LAGTRAP_NEVER_NS);
    using settings::BreachMode;
    EXPECT_EQ(look_after_ns(BreachMode::Deadline, 50, 10), 10U);
    EXPECT_EQ(look_after_ns(BreachMode::Deadline, 50, 60), 50U);
    EXPECT_EQ(look_after_ns(BreachMode::End, 50, 60), 60U);
}

TEST(EventConfigs, RunsPerSecondAreATimeBetweenThem) {
    EXPECT_EQ(run_interval_ns(2'000), 500'000U);
    EXPECT_EQ(run_interval_ns(1), 1'000'000'000U);
    EXPECT_EQ(run_interval_ns(0), 1'000'000'000U);
}

TEST(EventConfigs, AMarkerHasTheValuesOfItsPlan) {
    MarkerPlan plan;
    plan.role = LAGTRAP_ROLE_STAGE;
    plan.stage = 3;
    plan.key = {1, 2};
    plan.second_key = {3, 4};
    plan.begin_time = {5, 6};
    plan.trace = {7, 8};
    plan.places.goid_offset = 152;
    plan.places.frame_offset = 112;
    const auto config = marker_config(9, probes(), plan);
    EXPECT_EQ(config.event, 9U);
    EXPECT_EQ(config.role, LAGTRAP_ROLE_STAGE);
    EXPECT_EQ(config.stage, 3U);
    EXPECT_EQ(config.key_argument, 1U);
    EXPECT_EQ(config.key_bytes, 2U);
    EXPECT_EQ(config.second_key_argument, 3U);
    EXPECT_EQ(config.second_key_bytes, 4U);
    EXPECT_EQ(config.begin_time_argument, 5U);
    EXPECT_EQ(config.begin_time_bytes, 6U);
    EXPECT_EQ(config.trace_argument, 7U);
    EXPECT_EQ(config.goid_offset, 152U);
    EXPECT_EQ(config.go_frame_offset, 112U);
}

TEST(EventConfigs, EndsHaveAMeaning) {
    Event event = probes();
    event.other_ends = {{{}, settings::EndMeaning::Failed}, {{}, settings::EndMeaning::Cancelled}};
    MarkerPlan end;
    end.role = LAGTRAP_ROLE_END;
    const auto meaning = [&](std::uint16_t stage) {
        end.stage = stage;
        return marker_config(0, event, end).stage;
    };
    EXPECT_EQ(meaning(0), LAGTRAP_END_DONE);
    EXPECT_EQ(meaning(1), LAGTRAP_END_FAILED);
    EXPECT_EQ(meaning(2), LAGTRAP_END_CANCELLED);
}

TEST(EventConfigs, ThePlanReplacesWhatAnEarlierOneSet) {
    lagtrap_event_config config{};
    config.flags = LAGTRAP_EVENT_KEY_MACHINE;
    EventPlan plan;
    plan.by_goroutine = true;
    plan.scope.emplace();
    plan.scope->inode = 77;
    plan.scope->device = 8U << 20 | 3U;
    configure_for_plan(config, plan, false);
    EXPECT_EQ(config.flags, LAGTRAP_EVENT_KEY_MACHINE | LAGTRAP_EVENT_KEY_GOROUTINE |
                                LAGTRAP_EVENT_SCOPE_PROGRAM | LAGTRAP_EVENT_WITHOUT_STAGES);
    EXPECT_EQ(config.scope_inode, 77U);
    EXPECT_EQ(config.scope_device, 8U << 20 | 3U);
    configure_for_plan(config, {}, true);
    EXPECT_EQ(config.flags, std::uint32_t{LAGTRAP_EVENT_KEY_MACHINE});
}

TEST(EventConfigs, HitsThatCountEndEveryPause) {
    lagtrap_event_config config{};
    config.flags = LAGTRAP_EVENT_OFF | LAGTRAP_EVENT_COUNTED | LAGTRAP_EVENT_TIMES;
    let_hits_count(config, true);
    EXPECT_EQ(config.flags, std::uint32_t{LAGTRAP_EVENT_TIMES});
    config.flags |= LAGTRAP_EVENT_COUNTED;
    let_hits_count(config, false);
    EXPECT_EQ(config.flags, LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_OFF);
}

TEST(EventConfigs, MarkersAreNumberedEventByEvent) {
    std::vector<Event> events{probes(), probes()};
    events[0].stages.resize(2);
    events[0].other_ends.resize(1);
    const auto markers = markers_of(events);
    EXPECT_THAT(markers,
                ElementsAre(&events[0].end, &events[0].stages[0].marker,
                            &events[0].stages[1].marker, &events[0].begin,
                            &events[0].other_ends[0].marker, &events[1].end, &events[1].begin));
    const auto number = [&](std::uint32_t event, lagtrap_marker_role role, std::uint16_t stage) {
        MarkerPlan plan;
        plan.role = role;
        plan.stage = stage;
        return marker_number_of(events, event, plan);
    };
    EXPECT_EQ(number(0, LAGTRAP_ROLE_END, 0), 0U);
    EXPECT_EQ(number(0, LAGTRAP_ROLE_STAGE, 0), 1U);
    EXPECT_EQ(number(0, LAGTRAP_ROLE_STAGE, 1), 2U);
    EXPECT_EQ(number(0, LAGTRAP_ROLE_BEGIN, 0), 3U);
    EXPECT_EQ(number(0, LAGTRAP_ROLE_END, 1), 4U);
    EXPECT_EQ(number(1, LAGTRAP_ROLE_END, 0), 5U);
    EXPECT_EQ(number(1, LAGTRAP_ROLE_BEGIN, 0), 6U);
}

TEST(EventConfigs, WaitsForACpuAreListedFromOne) {
    std::vector<Event> events(20);
    events[1].begin.kind = MarkerKind::RunQueue;
    EXPECT_THAT(run_queue_events(events), ElementsAre(2, 0, 0, 0, 0, 0, 0, 0));
    for (Event& event : events) event.begin.kind = MarkerKind::RunQueue;
    EXPECT_THAT(run_queue_events(events), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

// The needs of one event, as words.
std::string needs_of(const std::function<void(Event&)>& change, bool times = false) {
    Event event;
    event.begin.kind = event.end.kind = MarkerKind::RunQueue;
    change(event);
    const MonitorNeeds needs = monitor_needs({event}, times);
    std::string words;
    for (const auto& [needed, word] :
         std::vector<std::pair<bool, const char*>>{{needs.functions, "functions "},
                                                   {needs.sites, "sites "},
                                                   {needs.arguments, "arguments "},
                                                   {needs.tracepoints, "tracepoints "},
                                                   {needs.run_queue, "run_queue "},
                                                   {needs.times, "times "},
                                                   {needs.runs, "runs "},
                                                   {needs.stacks, "stacks "},
                                                   {needs.argument_map, "argument_map "},
                                                   {needs.groups, "groups "},
                                                   {needs.exits, "exits "}})
        if (needed) words += word;
    return words;
}

TEST(EventConfigs, OnlyWhatIsNeededIsLoaded) {
    EXPECT_EQ(needs_of([](Event&) {}), "run_queue ");
    const auto of_kind = [](MarkerKind kind) {
        return needs_of([&](Event& event) { event.begin.kind = event.end.kind = kind; });
    };
    EXPECT_EQ(of_kind(MarkerKind::Function), "functions ");
    EXPECT_EQ(of_kind(MarkerKind::Usdt), "sites ");
    EXPECT_EQ(of_kind(MarkerKind::Library), "sites ");
    EXPECT_EQ(of_kind(MarkerKind::Tracepoint), "tracepoints ");
    EXPECT_EQ(needs_of([](Event& event) { event.begin.kind = MarkerKind::Usdt; }),
              "sites run_queue ");
    EXPECT_EQ(needs_of([](Event& event) { event.end.kind = MarkerKind::Usdt; }),
              "sites run_queue ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.stages.emplace_back().marker.kind = MarkerKind::Tracepoint;
              }),
              "tracepoints run_queue ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.other_ends.emplace_back().marker.kind = MarkerKind::Function;
              }),
              "functions run_queue ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.end.kind = MarkerKind::Function;
                  event.end.side = settings::FunctionSide::Return;
              }),
              "functions run_queue exits ");
    EXPECT_EQ(needs_of([](Event& event) { event.end.side = settings::FunctionSide::Return; }),
              "run_queue ");
}

TEST(EventConfigs, ArgumentsNeedTheirProgramsAndMap) {
    EXPECT_EQ(needs_of([](Event& event) { event.key = settings::KeyKind::Argument; }),
              "run_queue argument_map ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.begin.kind = event.end.kind = MarkerKind::Usdt;
                  event.begin_time.emplace();
              }),
              "sites arguments argument_map ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.begin.kind = event.end.kind = MarkerKind::Usdt;
                  event.trace_id.emplace();
              }),
              "sites arguments argument_map ");
    EXPECT_FALSE(wants_arguments(probes()));
}

TEST(EventConfigs, RunsStacksTimesAndGroupsAreNeededIfAnEventWantsThem) {
    EXPECT_EQ(needs_of([](Event& event) { event.record = settings::RecordMode::Runs; }),
              "run_queue runs ");
    EXPECT_EQ(needs_of([](Event& event) {
                  event.record = settings::RecordMode::Runs;
                  event.stacks = settings::StackMode::Markers;
              }),
              "run_queue runs stacks ");
    EXPECT_EQ(needs_of([](Event& event) { event.stacks = settings::StackMode::Markers; }),
              "run_queue ");
    const auto probes_of = [](Event& event) { event = probes(); };
    EXPECT_EQ(needs_of(probes_of, true), "sites times ");
    EXPECT_EQ(needs_of(probes_of, false), "sites ");
    const MonitorNeeds both = monitor_needs({call(), probes()}, false);
    EXPECT_TRUE(both.functions && both.sites) << "of any event";
    EXPECT_FALSE(monitor_needs({}, true).times);
}

}  // namespace
}  // namespace lagtrap::daemon::event_configs_test
