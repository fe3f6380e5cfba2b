// Routes for teams: who sees which events and units.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

struct TeamParts {
    TeamStore store;
    Audit& audit;
    const Principal& principal;
};

[[nodiscard]] Reply list_teams(const TeamStore& store);
[[nodiscard]] Reply set_team(const TeamParts& parts, const Route& route, const Request& request);
[[nodiscard]] Reply delete_team(const TeamParts& parts, const Route& route, const Request& request);
[[nodiscard]] Reply join_team(const TeamParts& parts, const Route& route, const Request& request);
[[nodiscard]] Reply leave_team(const TeamParts& parts, const Route& route, const Request& request);

}  // namespace lagtrap::server
