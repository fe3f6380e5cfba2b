#include "settings/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lagtrap::settings {
namespace {

constexpr std::size_t address_bytes_limit = 2000;
constexpr std::string_view host_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

// Checks "HOST", "HOST:PORT", "[IPv6]:PORT". Returns what is wrong; empty if nothing is.
std::string authority_problem(std::string_view authority) {
    if (authority.find('@') != std::string_view::npos)
        return "do not put user names and passwords here: every bundle contains a copy of this "
               "file";
    std::string_view host = authority.substr(0, authority.rfind(':'));
    std::string_view port = authority.substr(host.size());
    if (authority.starts_with('[')) {
        const std::size_t bracket = authority.find(']');
        if (bracket == std::string_view::npos) return "the IPv6 address has no closing bracket";
        host = authority.substr(1, bracket - 1);
        port = authority.substr(bracket + 1);
        if (host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos)
            return "the brackets contain no IPv6 address";
    } else if (host.find_first_not_of(host_characters) != std::string_view::npos) {
        return "the host has characters that are not allowed in a host name";
    }
    if (host.empty()) return "it has no host";
    if (port.empty()) return {};
    std::uint32_t number = 0;
    const char* end = port.data() + port.size();
    const auto [rest, failure] = std::from_chars(port.data() + 1, end, number);
    const bool whole = port.front() == ':' && failure == std::errc{} && rest == end;
    return whole && number >= 1 && number <= 65535 ? ""
                                                   : "the port must be a number from 1 to 65535";
}

std::string_view authority_of(std::string_view url) {
    url.remove_prefix(std::min(url.size(), url.find("://") + 3));
    return url.substr(0, url.find('/'));
}

}  // namespace

std::string url_problem(std::string_view text, std::initializer_list<std::string_view> schemes) {
    const std::size_t colon = text.find("://");
    if (colon == std::string_view::npos ||
        std::find(schemes.begin(), schemes.end(), text.substr(0, colon)) == schemes.end())
        return fmt::format("it must begin with one of {}://", fmt::join(schemes, "://, "));
    if (text.size() > address_bytes_limit) return fmt::format("it has {} bytes", text.size());
    const bool has_control_character = std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (has_control_character || text.find_first_of(" \"<>\\^`{|}?#") != std::string_view::npos)
        return "it contains a character that is not allowed in an address";
    return authority_problem(authority_of(text));
}

std::string host_of_url(std::string_view url) {
    const std::string_view authority = authority_of(url);
    if (authority.starts_with('['))
        return std::string(authority.substr(1, authority.find(']') - 1));
    return std::string(authority.substr(0, authority.rfind(':')));
}

bool is_loopback(std::string_view host) {
    if (host == "localhost" || host == "::1") return true;
    // Only if all four parts are numbers: "127.example.com" is not a loopback address.
    const bool numbers = host.find_first_not_of("0123456789.") == std::string_view::npos;
    return numbers && host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3;
}

}  // namespace lagtrap::settings
