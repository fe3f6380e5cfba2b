// Routes for causes of delays: the search for a filter, and the known causes.
#pragma once

#include <boost/json.hpp>

#include "server/accounts/audit.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Most known causes read for one event.
inline constexpr std::uint32_t known_causes_limit = 10'000;

[[nodiscard]] Reply get_causes(const Evidence& evidence, const Route& route);
[[nodiscard]] Reply list_causes(const CauseStore& store, const Route& route);
[[nodiscard]] Reply get_cause(const Evidence& evidence, const Route& route);
// Its delays against the event's others.
[[nodiscard]] Reply get_cause_flame(const Evidence& evidence, const Route& route);
[[nodiscard]] Reply change_cause(const Evidence& evidence, Audit& audit, const Route& route,
                                 const Principal& principal, const Request& request);

// In Prometheus' text format.
[[nodiscard]] std::string cause_metrics(const std::vector<CauseTotal>& totals);
inline constexpr std::uint32_t cause_metrics_limit = 1000;

[[nodiscard]] boost::json::object cause_record_json(const CauseRecord& cause);

}  // namespace lagtrap::server
