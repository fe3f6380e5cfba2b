// User names for display.
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap::cli {

// "joe (1001)", or "1001" if this machine has no such user.
[[nodiscard]] std::string user_text(std::uint32_t uid);

}  // namespace lagtrap::cli
