// Cookies that need no entry in a map.
#include "daemon/events/marker_cookies.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::marker_cookies_test {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t marker = 7;

std::vector<std::uint64_t> cookies_of(const ProbePlaces& places) {
    MarkerCookies cookies;
    return cookies.take({}, {}, marker, places).value();
}

TEST(MarkerCookies, EachAddressHasTheMarkersNumber) {
    ProbePlaces places;
    places.offsets = {0x10, 0x20};
    EXPECT_THAT(cookies_of(places), ElementsAre(marker, marker));
    places.return_probe = true;
    const std::uint64_t returned = marker | std::uint64_t{LAGTRAP_EXIT_RETURNED}
                                                << LAGTRAP_COOKIE_EXIT_SHIFT;
    EXPECT_THAT(cookies_of(places), ElementsAre(returned, returned));
}

TEST(MarkerCookies, EachExitHasItsOwn) {
    ProbePlaces places;
    places.offsets = {0x10, 0x20};
    places.exits.resize(2);
    places.exits[1].of_others_too = true;
    EXPECT_THAT(cookies_of(places), ElementsAre(marker, marker | LAGTRAP_COOKIE_EXIT_SHARED));
}

TEST(MarkerCookies, AnEntryThatCannotBeMadeIsAnError) {
    ProbePlaces places;
    places.offsets = {0x10};
    places.arguments.resize(1);
    MarkerCookies cookies;
    const auto made = cookies.take({}, {}, marker, places);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("register arguments"));
}

}  // namespace
}  // namespace lagtrap::daemon::marker_cookies_test
