// Questions that take statistics: what differs, what causes delays, where a delay's time went.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply compare_runs(RunStore& store, const Request& request);
[[nodiscard]] Reply get_causes(Store& store, const Route& route);
[[nodiscard]] Reply get_profile(BundleStore& store, const Route& route);

}  // namespace lagtrap::server
