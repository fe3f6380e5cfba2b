// Base64 as RFC 4648 has it, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

[[nodiscard]] std::string base64(std::string_view bytes);
// Nothing for what is none.
[[nodiscard]] std::optional<std::string> read_base64(std::string_view text);

}  // namespace lagtrap::server
