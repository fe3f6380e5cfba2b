// The distribution of an event's durations in the form of openapi.yaml.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json.hpp>

#include "server/store/event_store.hpp"
#include "server/store/run_store.hpp"
#include "server/store/summary_store.hpp"

namespace lagtrap::server {

// `threshold_ns` is that of the last run.
[[nodiscard]] boost::json::object summary_json(const Summary& summary,
                                               std::optional<std::uint64_t> threshold_ns);

[[nodiscard]] boost::json::object losses_json(const Losses& losses);

}  // namespace lagtrap::server
