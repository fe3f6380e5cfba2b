// Brings the schema up to date step by step. A step that has been applied must never change: its
// SHA-256 is stored in the table schema_migrations and compared at every start.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

struct Migration {
    int number = 0;
    std::string sql;
    // Of a former text with the same meaning, which older databases have; empty if there is none.
    std::string former_sha256;
};

[[nodiscard]] const std::vector<Migration>& sqlite_migrations();
[[nodiscard]] const std::vector<Migration>& postgres_migrations();

// Call inside an exclusive transaction. ErrorKind::Unsupported if the database has a step that
// `migrations` does not have, Invalid if a step was applied with a different text.
[[nodiscard]] Status apply_migrations(Connection& connection,
                                      const std::vector<Migration>& migrations);

}  // namespace lagtrap::server
