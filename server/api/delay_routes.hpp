// Routes for delays, of one bundle or of all.
#pragma once

#include <optional>
#include <variant>

#include <boost/json.hpp>

#include "server/api/exchange.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/routes.hpp"
#include "server/store/bundle_store.hpp"

namespace lagtrap::server {

struct DelayQuestion {
    std::optional<std::uint32_t> number;
    RunOrder order = RunOrder::Newest;
    PageQuestion part;
};
[[nodiscard]] std::variant<DelayQuestion, Refusal> read_delay_question(const Route& route,
                                                                       std::uint32_t default_limit);

// The findings of ingest about the delay. Sets `quality` to the recording's quality, if the delay
// has it.
[[nodiscard]] json::object delay_json(const StoredDelay& stored, json::value& quality);
// Removes other processes from the result of delay_json().
void leave_out_neighbours(boost::json::object& delay);
// Removes notes about what lagtrapd stopped watching from a recording's quality, because they name
// events of the whole machine. Adds a note that there were some.
void leave_out_other_events(boost::json::value& quality);
// Also with its bundle, host, user and build.
[[nodiscard]] json::object placed_delay_json(const StoredDelay& stored);

[[nodiscard]] Reply list_all_delays(const DelayStore& store, const Route& route);
[[nodiscard]] Reply get_delay_summary(const DelayStore& store, const Route& route);

}  // namespace lagtrap::server
