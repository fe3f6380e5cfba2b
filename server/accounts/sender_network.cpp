#include "server/accounts/sender_network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

using Bytes = std::array<std::uint8_t, 16>;
constexpr unsigned bits_before_ipv4 = 96;
constexpr unsigned sender_bits = 64;

struct Parsed {
    Bytes bytes{};
    bool ipv4 = false;
};

std::optional<Parsed> parse_address(std::string_view text) {
    Parsed parsed;
    const std::string terminated(text.substr(0, INET6_ADDRSTRLEN));
    if (::inet_pton(AF_INET6, terminated.c_str(), parsed.bytes.data()) == 1) {
        static constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0,    0,
                                                             0, 0, 0, 0, 0xff, 0xff};
        parsed.ipv4 = std::equal(mapped.begin(), mapped.end(), parsed.bytes.begin());
        return parsed;
    }
    parsed.bytes = {};
    parsed.bytes[10] = parsed.bytes[11] = 0xff;
    parsed.ipv4 = true;
    if (::inet_pton(AF_INET, terminated.c_str(), parsed.bytes.data() + 12) != 1)
        return std::nullopt;
    return parsed;
}

bool same_network(const Bytes& one, const Bytes& other, unsigned bits) {
    const unsigned whole = bits / 8, rest = bits % 8;
    if (!std::equal(one.begin(), one.begin() + whole, other.begin())) return false;
    const auto mask = static_cast<std::uint8_t>(0xff00U >> rest);
    return rest == 0 || (one[whole] & mask) == (other[whole] & mask);
}

// The last element of all lists that satisfies `wanted`.
template <typename Wanted>
std::string_view last_element_if(const std::vector<std::string_view>& values,
                                 const Wanted& wanted) {
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
        std::string_view left = *value;
        for (std::size_t comma = 0; comma != std::string_view::npos; left = left.substr(0, comma)) {
            comma = left.rfind(',');
            const auto element =
                trimmed(comma == std::string_view::npos ? left : left.substr(comma + 1));
            if (!element.empty() && wanted(element)) return element;
        }
    }
    return {};
}

}  // namespace

std::string_view last_element(const std::vector<std::string_view>& values) {
    return last_element_if(values, [](std::string_view) { return true; });
}

bool is_forwarding_field(std::string_view name) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    const auto is = [&](std::string_view lower) { return std::ranges::equal(name, lower, same); };
    static constexpr std::string_view prefix = "x-forwarded-";
    return is("via") || is("forwarded") || is("x-real-ip") ||
           std::ranges::equal(name.substr(0, prefix.size()), prefix, same);
}

std::string network_of_sender(const std::string& address) {
    const auto parsed = parse_address(address);
    if (!parsed) return address;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (parsed->ipv4)
        return ::inet_ntop(AF_INET, parsed->bytes.data() + 12, text.data(), text.size());
    Bytes network = parsed->bytes;
    std::fill(network.begin() + sender_bits / 8, network.end(), std::uint8_t{0});
    return std::string(::inet_ntop(AF_INET6, network.data(), text.data(), text.size())) + "/64";
}

Result<TrustedProxies> TrustedProxies::parse(const std::vector<std::string>& networks) {
    TrustedProxies proxies;
    for (const std::string& text : networks) {
        const std::size_t slash = text.find('/');
        const auto address = parse_address(std::string_view(text).substr(0, slash));
        unsigned bits = 128;
        bool valid = address.has_value();
        if (valid && slash != std::string::npos) {
            const auto read =
                std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
            valid = read.ec == std::errc{} && read.ptr == text.data() + text.size() &&
                    bits <= (address->ipv4 ? 32 : 128);
            if (address->ipv4) bits += bits_before_ipv4;
        }
        if (!valid)
            return make_error(ErrorKind::Invalid,
                              "\"" + printable(text) +
                                  "\" is not a proxy's address; expected one such as 10.0.0.5, "
                                  "10.0.0.0/8 or 2001:db8::/32");
        proxies.networks_.push_back({address->bytes, bits});
    }
    return proxies;
}

bool TrustedProxies::contains(const std::string& address) const {
    const auto parsed = parse_address(address);
    if (!parsed) return false;
    return std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
        return same_network(network.bytes, parsed->bytes, network.bits);
    });
}

std::optional<std::string> TrustedProxies::sender_of(
    const std::vector<std::string_view>& values) const {
    auto sender = last_element_if(
        values, [this](std::string_view element) { return !contains(std::string(element)); });
    // Every element is a trusted proxy, so the client runs on a proxy's machine. Use the last
    // element: only the nearest proxy can have added it.
    if (sender.empty()) sender = last_element(values);
    return sender.empty() ? std::nullopt : std::optional(std::string(sender));
}

}  // namespace lagtrap::server
