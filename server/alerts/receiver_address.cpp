#include "server/alerts/receiver_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lagtrap::server {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

bool is_local(std::uint32_t ipv4) {
    const auto in = [ipv4](std::uint32_t network, unsigned bits) {
        return (ipv4 ^ network) >> (32 - bits) == 0;
    };
    constexpr std::uint32_t alibaba_metadata = 0x6464'64c8, oracle_metadata = 0xc000'00c0;
    return in(0x7f00'0000, 8) || in(0, 8) || in(0xa9fe'0000, 16) || ipv4 == alibaba_metadata ||
           ipv4 == oracle_metadata;
}

bool begins_with(const Bytes& bytes, const Bytes& beginning, std::size_t size) {
    return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size),
                      beginning.begin());
}

bool is_local(const Bytes& bytes) {
    // IPv4 within IPv6: mapped, translated (64:ff9b::/96), and ::a.b.c.d, which includes ::1 and
    // ::.
    static constexpr Bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static constexpr Bytes translated{0, 0x64, 0xff, 0x9b};
    static constexpr Bytes none{};
    if (begins_with(bytes, mapped, 12) || begins_with(bytes, translated, 12) ||
        begins_with(bytes, none, 12)) {
        std::uint32_t ipv4 = 0;
        std::memcpy(&ipv4, bytes.data() + 12, sizeof(ipv4));
        return is_local(ntohl(ipv4));
    }
    static constexpr Bytes amazon_metadata{0xfd, 0, 0x0e, 0xc2, 0, 0, 0,    0,
                                           0,    0, 0,    0,    0, 0, 0x02, 0x54};
    static constexpr Bytes google_metadata{0xfd, 0x20, 0, 0xce, 0, 0, 0,    0,
                                           0,    0,    0, 0,    0, 0, 0x02, 0x54};
    const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    return link_local || bytes == amazon_metadata || bytes == google_metadata;
}

}  // namespace

bool is_local_receiver(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &address, sizeof(ipv4));
        return is_local(ntohl(ipv4.sin_addr.s_addr));
    }
    if (address.sa_family != AF_INET6) return true;
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof(ipv6));
    Bytes bytes{};
    std::memcpy(bytes.data(), &ipv6.sin6_addr, bytes.size());
    return is_local(bytes);
}

std::string address_text(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    sockaddr_in ipv4{};
    sockaddr_in6 ipv6{};
    if (address.sa_family == AF_INET) {
        std::memcpy(&ipv4, &address, sizeof(ipv4));
        return ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (address.sa_family != AF_INET6) return {};
    std::memcpy(&ipv6, &address, sizeof(ipv6));
    return ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
}

}  // namespace lagtrap::server
