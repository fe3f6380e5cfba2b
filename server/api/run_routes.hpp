// Routes for events and their runs.
#pragma once

#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply list_events(const EventStore& store, const Route& route);
[[nodiscard]] Reply get_choices(const ChoiceStore& store, const Route& route);
[[nodiscard]] Reply get_summary(const Evidence& evidence, const Route& route);
[[nodiscard]] Reply list_runs(const Evidence& evidence, const Route& route);
[[nodiscard]] Reply get_stage_stacks(const RunStore& store, const Route& route);
[[nodiscard]] Reply get_run(const RunStore& store, const Route& route);
[[nodiscard]] Reply set_dirty(const Evidence& evidence, const Route& route,
                              const Principal& principal, const Request& request);

}  // namespace lagtrap::server
