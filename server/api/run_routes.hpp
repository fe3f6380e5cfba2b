// Routes for events and their runs.
#pragma once

#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply list_events(RunStore& store, const Route& route);
[[nodiscard]] Reply get_choices(RunStore& store, const Route& route);
[[nodiscard]] Reply get_summary(RunStore& store, const Route& route);
[[nodiscard]] Reply list_runs(RunStore& store, const Route& route);
[[nodiscard]] Reply get_stage_stacks(RunStore& store, const Route& route);
[[nodiscard]] Reply get_run(RunStore& store, const Route& route);
[[nodiscard]] Reply set_dirty(RunStore& store, const Route& route, const Principal& principal, const Request& request);

}  // namespace lagtrap::server
