#include "daemon/events/marker_places.hpp"

#include <gtest/gtest.h>

#include "core/text.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::daemon {

[[gnu::noinline]] int overloaded(int value) { return value + 1; }
[[gnu::noinline]] int further_place(int value) { return value + 3; }
[[gnu::noinline]] int overloaded(double value) { return static_cast<int>(value) + 2; }

namespace {

settings::Marker function(const std::string& name,
                          settings::FunctionSide side = settings::FunctionSide::Entry) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Function;
    marker.binary = "/proc/self/exe";
    marker.name = name;
    marker.side = side;
    return marker;
}

// The plan of an event of this program with these begin and end markers.
Result<EventPlan> plan_of(const settings::Marker& begin, const settings::Marker& end) {
    settings::Event event;
    event.begin = begin;
    event.end = end;
    EventPlanner planner([](const std::string& path) { return WatchedFile::open(path); });
    return planner.plan(event, {});
}

TEST(SolePlace, IsTheEntryOfAFunction) {
    EXPECT_EQ(further_place(1), 4);
    const auto plan = plan_of(function("lagtrap::daemon::sole_place_of"),
                              function("lagtrap::daemon::further_place"));
    ASSERT_TRUE(plan) << plan.error().message;
    MarkerPlaces places;
    places.note(3, *plan);
    const auto begin = places.find(3, LAGTRAP_ROLE_BEGIN, 0),
               end = places.find(3, LAGTRAP_ROLE_END, 0);
    ASSERT_TRUE(begin);
    ASSERT_TRUE(end);
    EXPECT_GT(begin->offset, 0U);
    EXPECT_EQ(begin->binary, "/proc/self/exe");
    EXPECT_EQ(begin->build_id.size(), 20U);
    EXPECT_NE(begin->offset, end->offset);
    EXPECT_FALSE(places.find(3, LAGTRAP_ROLE_STAGE, 0));
    EXPECT_FALSE(places.find(2, LAGTRAP_ROLE_BEGIN, 0));
}

TEST(SolePlace, IsNoneOfSeveralNorOfTheKernels) {
    EXPECT_EQ(overloaded(1) + overloaded(1.0), 5);
    const auto plan =
        plan_of(function("lagtrap::daemon::overloaded"),
                function("lagtrap::daemon::sole_place_of", settings::FunctionSide::Return));
    ASSERT_TRUE(plan) << plan.error().message;
    MarkerPlaces places;
    places.note(0, *plan);
    EXPECT_FALSE(places.find(0, LAGTRAP_ROLE_BEGIN, 0));
    EXPECT_FALSE(places.find(0, LAGTRAP_ROLE_END, 0));
    MarkerPlan tracepoint;
    tracepoint.marker.kind = settings::MarkerKind::Tracepoint;
    EXPECT_FALSE(sole_place_of(tracepoint));
}

TEST(SolePlace, IsThatOfTheLastAttachment) {
    const auto one = plan_of(function("lagtrap::daemon::sole_place_of"),
                             function("lagtrap::daemon::further_place"));
    const auto other = plan_of(function("lagtrap::daemon::overloaded"),
                               function("lagtrap::daemon::further_place"));
    ASSERT_TRUE(one && other);
    MarkerPlaces places;
    places.note(0, *one);
    places.note(0, *other);
    EXPECT_FALSE(places.find(0, LAGTRAP_ROLE_BEGIN, 0));
    EXPECT_TRUE(places.find(0, LAGTRAP_ROLE_END, 0));
}

TEST(EventPlanner, NamesTheFileThatFailed) {
    settings::Event event;
    event.begin = event.end = function("main");
    event.end.binary = "/nonexistent";
    EventPlanner planner([](const std::string& path) { return WatchedFile::open(path); });
    const auto plan = planner.plan(event, {});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(planner.last_file(), "/nonexistent");
}

}  // namespace
}  // namespace lagtrap::daemon
