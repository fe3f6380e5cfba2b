// Webhook signatures by the specification "Standard Webhooks", which libraries of many languages
// can verify.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

// "whsec_" and 256 random bits in base64.
[[nodiscard]] std::string make_webhook_secret();
// Whether a secret is valid: "whsec_" and 24 to 64 bytes in base64.
[[nodiscard]] Status check_webhook_secret(const std::string& secret);
// "v1," and the base64 of the HMAC-SHA256 of "ID.SECONDS.BODY". `secret` must be valid.
[[nodiscard]] std::string webhook_signature(const std::string& secret, const std::string& id,
                                            std::uint64_t realtime_s, const std::string& body);

}  // namespace lagtrap::server
