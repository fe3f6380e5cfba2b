// Exports of runs and delays as streamed files: CSV, or one JSON object per line.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// The store must outlive the reply.
[[nodiscard]] Reply export_runs(const RunStore& store, const Route& route);
[[nodiscard]] Reply export_delays(const DelayStore& store, const Route& route);

}  // namespace lagtrap::server
