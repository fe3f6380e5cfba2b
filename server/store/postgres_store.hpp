// The store in PostgreSQL 15 or newer; any number of servers may use one database.
#pragma once

#include <memory>
#include <string>

#include "server/store/store.hpp"

namespace lagtrap::server {

// `address`: a URI of libpq; with several hosts and target_session_attrs=read-write it follows a fail-over.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres_store(const std::string& address);

}  // namespace lagtrap::server
