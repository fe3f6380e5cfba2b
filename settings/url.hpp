// Checks and takes apart the URLs of settings.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lagtrap::settings {

// What is wrong with a URL that must have one of these schemes, as a hint; empty if nothing is.
[[nodiscard]] std::string url_problem(std::string_view text,
                                      std::initializer_list<std::string_view> schemes);

// The host of a URL without a problem, without the brackets of IPv6.
[[nodiscard]] std::string host_of_url(std::string_view url);
// True for localhost, 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace lagtrap::settings
