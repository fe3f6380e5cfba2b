// Brings the schema up to date step by step. A step that has been applied must never change: its
// SHA-256 is stored in the table schema_migrations and compared at every start.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

struct Migration {
    int number;
    const char* sql;
};

// Both lists have the same numbers, and each number stands for the same tables and columns. Only
// PostgreSQL has views.
[[nodiscard]] const std::vector<Migration>& sqlite_migrations();
[[nodiscard]] const std::vector<Migration>& postgres_migrations();

// Call inside an exclusive transaction. ErrorKind::Unsupported if the database has a step that
// `migrations` does not have, Invalid if a step was applied with a different text.
[[nodiscard]] Status apply_migrations(Connection& connection,
                                      const std::vector<Migration>& migrations);

}  // namespace lagtrap::server
