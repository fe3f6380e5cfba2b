// Reads what a person decides about a known cause.
#pragma once

#include <variant>

#include "server/api/json_reply.hpp"
#include "server/store/cause_store.hpp"

namespace lagtrap::server {

// From the body of a request with members of openapi.yaml, each of them optional; ignores others.
// Does not set who changes the cause, nor when.
[[nodiscard]] std::variant<CauseChange, Refusal> read_cause_change(const json::object& body);

}  // namespace lagtrap::server
