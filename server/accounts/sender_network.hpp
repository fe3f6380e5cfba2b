// Internet addresses as limits and trust see them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// The part of an address that one sender holds: an IPv4 address, or the /64 of an IPv6 address, of which a single
// machine may use any number. A text that is no address stands for itself.
[[nodiscard]] std::string network_of_sender(const std::string& address);

// The last element of a header field's lists, given line by line: what the nearest proxy has added. Empty if there is none.
[[nodiscard]] std::string_view last_element(const std::vector<std::string_view>& values);

// Whether a header field of this name is one by which proxies say for whom they ask: Via, Forwarded, X-Forwarded-...,
// X-Real-IP.
[[nodiscard]] bool is_forwarding_field(std::string_view name);

// Networks whose proxies are believed. Any thread.
class TrustedProxies {
  public:
    // Each "10.0.0.5", "10.0.0.0/8", "2001:db8::1" or "2001:db8::/32". Errors: Invalid, naming the text.
    [[nodiscard]] static Result<TrustedProxies> parse(const std::vector<std::string>& networks);

    [[nodiscard]] bool empty() const { return networks_.empty(); }
    [[nodiscard]] bool contains(const std::string& address) const;

    // Whom a proxy speaks for, by the values of X-Forwarded-For in the order in which they were received: each proxy adds
    // the address it was called from at the end, and what stands before may be the caller's invention. So it is the
    // last address that is not a trusted proxy's itself; where all are, the last one: a client on a proxy's own machine.
    // Nothing if there is none.
    [[nodiscard]] std::optional<std::string> sender_of(const std::vector<std::string_view>& values) const;

  private:
    struct Network {
        std::array<std::uint8_t, 16> bytes{};  // IPv4 as ::ffff:a.b.c.d
        unsigned bits = 128;
    };
    std::vector<Network> networks_;
};

}  // namespace lagtrap::server
