// Turns headers of HTTP into requests, and replies into headers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/message.hpp>

#include "server/api/exchange.hpp"
#include "server/api/http_server.hpp"

namespace lagtrap::server {

// Without a body. `length_bytes`: of the body, if the header has it. What a proxy says about the
// client counts only as `options` allow.
[[nodiscard]] Request request_of(const boost::beast::http::request_header<>& message, bool chunked,
                                 std::optional<std::uint64_t> length_bytes,
                                 const boost::asio::ip::address& peer, bool is_tls,
                                 const HttpOptions& options);

// The value of Keep-Alive. Announces a second less than the real timeout, so that a client that
// relies on it never sends while the connection closes.
[[nodiscard]] std::string promised_idle_time(std::chrono::milliseconds idle_limit);

// Sets all fields but those about the body. `idle_limit`: for how long the connection may be idle
// afterwards; nullopt if it ends.
template <typename Body>
void set_fields(boost::beast::http::response<Body>& response, const Reply& reply, bool is_tls,
                std::optional<std::chrono::milliseconds> idle_limit) {
    namespace http = boost::beast::http;
    response.set(http::field::server, "lagtrap-server/" LAGTRAP_VERSION);
    if (reply.status != 204 && reply.status != 304)
        response.set(http::field::content_type, reply.content_type);
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set(http::field::cache_control, "no-store");
    if (is_tls) response.set("Strict-Transport-Security", "max-age=31536000");
    // Set-Cookie may repeat; for all other headers the last one wins.
    for (const auto& [name, value] : reply.headers) {
        if (name == "Set-Cookie") {
            response.insert(name, value);
        } else {
            response.set(name, value);
        }
    }
    response.keep_alive(idle_limit.has_value());
    if (idle_limit) response.set(http::field::keep_alive, promised_idle_time(*idle_limit));
}

}  // namespace lagtrap::server
