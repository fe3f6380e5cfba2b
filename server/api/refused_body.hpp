// What to do with the body of a request that is refused. If a server closes while the client still
// sends, the client may not see the reply; so the server reads the rest, within limits.
#pragma once

#include <cstdint>
#include <optional>

namespace lagtrap::server {

// How much of a refused body is read.
inline constexpr std::uint64_t drain_limit_bytes = 64ULL << 20;

struct RefusedRequest {
    bool header_came = true;  // completely
    bool chunked = false;
    bool asks_first = false;         // waits for "100 Continue" before it sends the body
    bool body_read = false;          // nothing of the body is still to come
    std::uint64_t length_bytes = 0;  // Content-Length; 0 if there is none
    // of the body that is still to come; nullopt: as the header says
    std::optional<std::uint64_t> left_bytes{};
};

struct BodyOfRefused {
    bool must_close = false;        // after the reply, because no other request can follow
    std::uint64_t drain_bytes = 0;  // to read and discard after the reply
};

[[nodiscard]] BodyOfRefused body_of_refused(const RefusedRequest& request);

}  // namespace lagtrap::server
