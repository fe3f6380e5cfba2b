// Routes for objects that machines report while their programs run.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/api/watch_summaries.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply list_object_watches(const ObjectStore& store, const Route& route);
[[nodiscard]] Reply get_object_parts(const ObjectStore& store, const Route& route);
// The summary of all objects so far.
[[nodiscard]] Reply get_object_watch(const ObjectStore& store, WatchSummaries& summaries,
                                     const Route& route);

}  // namespace lagtrap::server
