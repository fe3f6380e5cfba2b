// How much a sender may ask of the server.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/accounts/rate_limit.hpp"
#include "server/ingest/refusal.hpp"

namespace lagtrap::server {

// Limits per sender. A sender is a token, an account or, without either, an address.
struct SenderLimits {
    Rate requests{500, 2000};
    Rate upload_bytes{0, 0};               // no limit
    std::uint64_t daily_upload_bytes = 0;  // no limit
    std::uint32_t uploads_at_once = 512;   // of all senders together
};

// Refuses what is over a limit, and asks the sender to try again after `wait`.
[[nodiscard]] inline Refusal too_many(const char* what, std::chrono::milliseconds wait) {
    return {429, what, "try again later", std::chrono::ceil<std::chrono::seconds>(wait)};
}

}  // namespace lagtrap::server
