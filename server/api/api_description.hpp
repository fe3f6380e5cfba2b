// server/api/openapi.yaml, as the build embeds it.
#pragma once

#include <string_view>

namespace lagtrap::server {

[[nodiscard]] std::string_view api_description_text();

}  // namespace lagtrap::server
