#include "daemon/events/marker_cookies.hpp"

#include "daemon/probes/exit_cookies.hpp"

namespace lagtrap::daemon {

Result<std::vector<std::uint64_t>> MarkerCookies::take(const Maps& maps, SiteOwner owner,
                                                       std::uint32_t marker_id,
                                                       const ProbePlaces& places) {
    const std::uint64_t returned =
        places.return_probe ? std::uint64_t{LAGTRAP_EXIT_RETURNED} << LAGTRAP_COOKIE_EXIT_SHIFT : 0;
    std::vector<std::uint64_t> cookies(places.offsets.size(), marker_id | returned);
    for (std::size_t i = 0; i < places.arguments.size(); ++i) {
        TRY_ASSIGN(const std::uint64_t site,
                   arguments_.take(maps.arguments, owner, places.arguments[i]));
        cookies[i] |= site << LAGTRAP_COOKIE_SITE_SHIFT;
    }
    for (std::size_t i = 0; i < places.exits.size(); ++i) {
        const binaries::FunctionExit& exit = places.exits[i];
        std::uint64_t number = 0;
        if (exit.by_target) {
            TRY_ASSIGN(number, exits_.take(maps.exits, owner, exit_site_of(exit)));
        }
        cookies[i] |= exit_cookie_of(exit, number);
    }
    return cookies;
}

void MarkerCookies::give_back(SiteOwner owner) {
    arguments_.give_back(owner);
    exits_.give_back(owner);
}

void MarkerCookies::give_back_all(std::uint32_t event) {
    arguments_.give_back_all(event);
    exits_.give_back_all(event);
}

}  // namespace lagtrap::daemon
