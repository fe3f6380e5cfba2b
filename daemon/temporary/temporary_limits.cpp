#include "daemon/temporary/temporary_limits.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t min_share_ppm = 1000;  // the least that settings allow

}  // namespace

Status room_for_temporary_event(const std::vector<Party>& owners, Party party) {
    const auto own = static_cast<std::size_t>(std::count(owners.begin(), owners.end(), party));
    if (party != root_party && own >= max_temporary_events_of_party)
        return make_error(
            ErrorKind::Busy,
            fmt::format(
                "{} already has {} temporary events, the limit of a user; end one of them first",
                party_text(party), own));
    if (owners.size() >= max_temporary_events)
        return make_error(
            ErrorKind::Busy,
            fmt::format("{} temporary events already exist, the limit; wait until one ends",
                        owners.size()));
    return success();
}

std::uint64_t temporary_share_ppm(std::uint64_t limit_ppm, std::uint64_t used_ppm,
                                  std::uint64_t reserved_ppm) {
    const std::uint64_t taken_ppm = used_ppm + reserved_ppm;
    const std::uint64_t left_ppm = limit_ppm > taken_ppm ? limit_ppm - taken_ppm : 0;
    return std::max({left_ppm / 2, limit_ppm / 10, min_share_ppm});
}

}  // namespace lagtrap::daemon
