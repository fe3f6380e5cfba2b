// The search over everything that has a name.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/evidence.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply search_everything(const Evidence& evidence, const Route& route);

}  // namespace lagtrap::server
