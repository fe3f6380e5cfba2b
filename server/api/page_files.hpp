// The pages, which are embedded in the program, and the description of the API.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

// 304 where the browser has the file already; compressed as it takes it.
[[nodiscard]] Reply page_file(const Route& route, const Request& request);
// openapi.yaml.
[[nodiscard]] Reply api_description();

}  // namespace lagtrap::server
