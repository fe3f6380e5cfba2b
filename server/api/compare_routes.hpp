// Routes that compare two sets of an event's runs, each given by a filter.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply compare_sets(const Evidence& evidence, const Route& route);
// The mean of B's recorded delays beside the mean of A's.
[[nodiscard]] Reply get_set_flame(const Evidence& evidence, const Route& route);

}  // namespace lagtrap::server
