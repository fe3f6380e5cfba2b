#include "daemon/marker_places.hpp"

#include <gtest/gtest.h>

#include "trace/modules.hpp"

namespace lagtrap::daemon {

[[gnu::noinline]] int overloaded(int value) { return value + 1; }
[[gnu::noinline]] int overloaded(double value) { return static_cast<int>(value) + 2; }

namespace {

settings::Marker function(const std::string& name) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Function;
    marker.binary = "/proc/self/exe";
    marker.name = name;
    return marker;
}

TEST(SolePlace, IsTheEntryOfAFunction) {
    const auto place = sole_place_of(function("lagtrap::daemon::sole_place_of"));
    ASSERT_TRUE(place);
    EXPECT_GT(place->offset, 0U);
    EXPECT_EQ(place->binary, "/proc/self/exe");
    EXPECT_EQ(place->build_id.size(), 20U);
    EXPECT_NE(place->offset, sole_place_of(function("lagtrap::trace::to_hexadecimal"))->offset);
}

TEST(SolePlace, IsNoneOfSeveralNorOfNone) {
    EXPECT_FALSE(sole_place_of(function("there_is_no_such_function")));
    EXPECT_EQ(overloaded(1) + overloaded(1.0), 5);
    EXPECT_FALSE(sole_place_of(function("lagtrap::daemon::overloaded")));
    settings::Marker at_return = function("lagtrap::daemon::sole_place_of");
    at_return.side = settings::FunctionSide::Return;
    EXPECT_FALSE(sole_place_of(at_return));
    settings::Marker tracepoint = function("x");
    tracepoint.kind = settings::MarkerKind::Tracepoint;
    EXPECT_FALSE(sole_place_of(tracepoint));
    settings::Marker gone = function("main");
    gone.binary = "/nonexistent";
    EXPECT_FALSE(sole_place_of(gone));
}

}  // namespace
}  // namespace lagtrap::daemon
