// Names of events and stages for the settings, made from names of functions.
#pragma once

#include <cstddef>
#include <string>

namespace lagtrap::cli {

inline constexpr std::size_t event_name_bytes = 63;  // the longest that the settings allow

// "shop::(anonymous namespace)::buy" for "shop::(anonymous namespace)::buy(int)".
[[nodiscard]] std::string without_parameters(const std::string& function);
// A name for the settings, from a function: "buy" for "app::Shop::buy(int)".
[[nodiscard]] std::string setting_name(std::string function);
// An event name for the settings, from a program and a function or other subject: "shop-buy" for
// /usr/bin/shop and "app::Shop::buy(int)".
[[nodiscard]] std::string event_name(const std::string& program, std::string function);

}  // namespace lagtrap::cli
