// Markers as the settings spell them, to be pasted there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::settings {

// <function name="app::Shop&lt;int&gt;::buy(int)" binary="/usr/bin/shop"/>. nullopt where the settings cannot say it:
// control characters, bytes that are no UTF-8, a name that is too long.
[[nodiscard]] std::optional<std::string> function_element(std::string_view name, std::string_view binary);
// <begin usdt="shop:buy" binary="/usr/bin/shop"/>; <end .../> where the probe's name says that it is one.
[[nodiscard]] std::optional<std::string> usdt_element(std::string_view provider, std::string_view name,
                                                      std::string_view binary);
// <begin tracepoint="syscalls:sys_enter_fsync"/>; <end .../> for ends of system calls.
[[nodiscard]] std::optional<std::string> tracepoint_element(std::string_view category, std::string_view name);

// <!-- text -->, whatever the text is.
[[nodiscard]] std::string xml_comment(std::string_view text);

}  // namespace lagtrap::settings
