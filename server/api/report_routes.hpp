// Routes with statistics: what differs, what causes delays, where a delay's time went.
#pragma once

#include <boost/json.hpp>

#include "analysis/flame.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/reports/compare.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply compare_listed_runs(const RunStore& store, const Request& request);
[[nodiscard]] Reply get_time_shift(const RunStore& store, const Route& route);
[[nodiscard]] Reply get_profile(const Evidence& evidence, const Route& route);

// Runs and their stages, converted for comparisons.
[[nodiscard]] std::vector<reports::ComparedRun> compared(const std::vector<StoredRun>& runs);
[[nodiscard]] boost::json::object difference_json(const reports::Difference& difference);
[[nodiscard]] boost::json::object flame_json(const analysis::Flame& flame);

// The part of the time that the parameter "state" asks for; all of it without one.
[[nodiscard]] std::variant<analysis::FlameTime, Refusal> read_flame_time(const Route& route);

}  // namespace lagtrap::server
