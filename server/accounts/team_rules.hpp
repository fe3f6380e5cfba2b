// Validation of teams.
#pragma once

#include "core/result.hpp"
#include "server/store/account_store.hpp"
#include "server/store/team_store.hpp"

namespace lagtrap::server {

// Checks the name, patterns and groups: their number, length and letters.
[[nodiscard]] Status check_team(const Team& team);

}  // namespace lagtrap::server
