#include "server/api/refused_body.hpp"

#include <algorithm>

namespace lagtrap::server {

BodyOfRefused body_of_refused(const RefusedRequest& request) {
    const bool untouched = request.header_came && !request.left_bytes && !request.body_read;
    const std::uint64_t left_bytes =
        request.left_bytes.value_or(untouched ? request.length_bytes : 0);
    // A sender that waits for "100 Continue" may or may not send the body after a refusal.
    if (untouched && request.asks_first && left_bytes > 0) return {true, 0};
    return {!request.header_came || request.chunked || left_bytes > drain_limit_bytes,
            std::min(left_bytes, drain_limit_bytes)};
}

}  // namespace lagtrap::server
