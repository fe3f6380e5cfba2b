// The store in PostgreSQL 15 or newer. Several servers may share a database.
#pragma once

#include <memory>
#include <string>

#include "server/store/store.hpp"

namespace lagtrap::server {

// `address` is a URI of libpq. With several hosts and target_session_attrs=read-write it follows a
// failover.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres_store(const std::string& address);

}  // namespace lagtrap::server
