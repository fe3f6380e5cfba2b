// Routes for names of builds.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

inline constexpr std::size_t build_id_limit_bytes = 256;

[[nodiscard]] Reply list_build_labels(const BuildStore& store);
[[nodiscard]] Reply label_build(const BuildStore& store, Audit& audit, const Route& route,
                                const Principal& principal, const Request& request);

}  // namespace lagtrap::server
