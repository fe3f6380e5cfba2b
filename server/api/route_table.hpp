// Every address of the server, a row each: method, path, query, who may, where its work is done, what answers it.
#pragma once

#include <span>

#include "server/api/routes.hpp"

namespace lagtrap::server {

[[nodiscard]] std::span<const RouteRow> route_rows();
// Of all addresses that belong to the pages.
[[nodiscard]] const RouteRow& page_row();

}  // namespace lagtrap::server
