// Runs, stacks and stages in the form of openapi.yaml.
#pragma once

#include <boost/json.hpp>

#include "server/store/run_store.hpp"

namespace lagtrap::server {

// "cold", "warm" or "unknown".
[[nodiscard]] const char* start_name(trace::StartKind start);
[[nodiscard]] boost::json::object run_json(const StoredRun& run);
// Innermost frame first, at most 1024.
[[nodiscard]] boost::json::array stack_json(const trace::RunStack& stack);

}  // namespace lagtrap::server
