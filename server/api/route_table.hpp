// The routing table, one row per address: method, path, query, required right, threads, handler.
#pragma once

#include <span>

#include "server/api/routes.hpp"

namespace lagtrap::server {

[[nodiscard]] std::span<const RouteRow> route_rows();
// For all addresses of pages.
[[nodiscard]] const RouteRow& page_row();

}  // namespace lagtrap::server
