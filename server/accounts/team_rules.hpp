// What teams may be like.
#pragma once

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

// Name, patterns and groups: how many, how long, and of which letters.
[[nodiscard]] Status check_team(const Team& team);

}  // namespace lagtrap::server
