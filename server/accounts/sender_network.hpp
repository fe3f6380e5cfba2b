// Internet addresses as rate limits and proxy settings see them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// The network that counts as one sender: an IPv4 address itself, or the /64 of an IPv6 address,
// because one machine can use any address in it. A text that is not an address is returned
// unchanged.
[[nodiscard]] std::string network_of_sender(const std::string& address);

// The last element of a header's lists (one list per line), added by the nearest proxy. Empty if
// there is none.
[[nodiscard]] std::string_view last_element(const std::vector<std::string_view>& values);

// Whether this header is one that proxies add about the original client: Via, Forwarded,
// X-Forwarded-..., X-Real-IP.
[[nodiscard]] bool is_forwarding_field(std::string_view name);

// Networks whose proxies may name the original client. Any thread.
class TrustedProxies {
  public:
    // Each is "10.0.0.5", "10.0.0.0/8", "2001:db8::1" or "2001:db8::/32". Errors: Invalid, naming
    // the text.
    [[nodiscard]] static Result<TrustedProxies> parse(const std::vector<std::string>& networks);

    [[nodiscard]] bool empty() const { return networks_.empty(); }
    [[nodiscard]] bool contains(const std::string& address) const;

    // The original client, by the values of X-Forwarded-For in the order received. Each proxy
    // appends the address that called it, and a client can forge everything before that. So the
    // client is the last address that is not a trusted proxy; if all are trusted, the last one (a
    // client on a proxy's own machine). nullopt if there are none.
    [[nodiscard]] std::optional<std::string> sender_of(
        const std::vector<std::string_view>& values) const;

  private:
    struct Network {
        std::array<std::uint8_t, 16> bytes{};  // IPv4 as ::ffff:a.b.c.d
        unsigned bits = 128;
    };
    std::vector<Network> networks_;
};

}  // namespace lagtrap::server
