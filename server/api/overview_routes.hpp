// Routes that show what is slow, what got worse, and since when.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// All events, ranked, each against the period before.
[[nodiscard]] Reply get_overview(const Evidence& evidence, const Route& route);
// One event: percentiles over time, its builds, changes of level.
[[nodiscard]] Reply get_trend(const ActivityStore& store, const Route& route);
// Where an event's lasting change happened, and which causes came with it.
[[nodiscard]] Reply get_change(const Evidence& evidence, const Route& route);
// One event's runs over time, split by host, build or unit.
[[nodiscard]] Reply get_split(const SplitStore& store, const Route& route);

}  // namespace lagtrap::server
