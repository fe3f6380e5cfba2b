// The schema, brought up to date step by step. A step that has been applied is never changed: its SHA-256 is kept in
// the table schema_migrations and compared at every start.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

struct Migration {
    int number;
    const char* sql;
};

// Both lists have the same numbers; each number means the same tables and columns. Views are PostgreSQL's alone.
[[nodiscard]] const std::vector<Migration>& sqlite_migrations();
[[nodiscard]] const std::vector<Migration>& postgres_migrations();

// Inside a transaction that shuts others out. ErrorKind::Unsupported if the database has a step that is not in
// `migrations`, ErrorKind::Invalid if one was applied with another text.
[[nodiscard]] Status apply_migrations(Connection& connection, const std::vector<Migration>& migrations);

}  // namespace lagtrap::server
