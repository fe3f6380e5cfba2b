// Writes markers as XML that can be pasted into the settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::settings {

// <function name="app::Shop&lt;int&gt;::buy(int)" binary="/usr/bin/shop"/>. nullopt if the settings
// cannot express it: control characters, invalid UTF-8, a name that is too long.
[[nodiscard]] std::optional<std::string> function_element(std::string_view name,
                                                          std::string_view binary);
// <begin usdt="shop:buy" binary="/usr/bin/shop"/>, or <end .../> if the probe's name suggests an
// end.
[[nodiscard]] std::optional<std::string> usdt_element(std::string_view provider,
                                                      std::string_view name,
                                                      std::string_view binary);
// <begin tracepoint="syscalls:sys_enter_fsync"/>, or <end .../> for the end of a system call.
[[nodiscard]] std::optional<std::string> tracepoint_element(std::string_view category,
                                                            std::string_view name);

// <!-- text -->, for any text.
[[nodiscard]] std::string xml_comment(std::string_view text);

}  // namespace lagtrap::settings
