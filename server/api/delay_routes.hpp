// Answers about delays, of one bundle or of all.
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
[[nodiscard]] std::variant<DelayQuestion, Refusal> read_delay_question(const Route& route, std::uint32_t default_limit);

// What ingest found of the delay; `quality` becomes what it found of its recording, if that is there.
[[nodiscard]] json::object delay_json(const StoredDelay& stored, json::value& quality);
// Takes the other processes out of what delay_json() gave.
void leave_out_neighbours(boost::json::object& delay);
// Takes the notes about what lagtrapd stopped watching out of a recording's quality: they name events of the whole machine.
// A note says that there were any.
void leave_out_other_events(boost::json::value& quality);
// With bundle, host, user and build.
[[nodiscard]] json::object placed_delay_json(const StoredDelay& stored);

[[nodiscard]] Reply list_all_delays(BundleStore& store, const Route& route);
[[nodiscard]] Reply get_delay_summary(BundleStore& store, const Route& route);

}  // namespace lagtrap::server
