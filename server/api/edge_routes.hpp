// The route for which requests hold up which others.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/edge_store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply get_who_delays_whom(const EdgeStore& store, const Route& route);

}  // namespace lagtrap::server
