// server/api/openapi.yaml, embedded by the build.
#pragma once

#include <string_view>

namespace lagtrap::server {

[[nodiscard]] std::string_view api_description_text();

}  // namespace lagtrap::server
