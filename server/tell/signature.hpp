// Signatures of webhooks, as the specification "Standard Webhooks" has them: libraries of many languages check them.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

// "whsec_" and 256 random bits in Base64.
[[nodiscard]] std::string make_webhook_secret();
// Whether a secret is one: "whsec_" and 24 to 64 bytes in Base64.
[[nodiscard]] Status check_webhook_secret(const std::string& secret);
// "v1," and the Base64 of the HMAC-SHA256 over "ID.SECONDS.BODY". `secret` has been checked.
[[nodiscard]] std::string webhook_signature(const std::string& secret, const std::string& id, std::uint64_t realtime_s,
                                            const std::string& body);

}  // namespace lagtrap::server
