// Base64 with padding (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

[[nodiscard]] std::string base64(std::string_view bytes);
// nullopt if it is not valid base64.
[[nodiscard]] std::optional<std::string> read_base64(std::string_view text);

}  // namespace lagtrap::server
