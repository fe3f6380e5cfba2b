#include "server/store/migrations.hpp"

#include <map>
#include <string>

#include "core/digest.hpp"

namespace lagtrap::server {
namespace {

Result<std::map<int, std::string>> applied_steps(Connection& connection) {
    std::map<int, std::string> applied;
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT number, sha256 FROM schema_migrations ORDER BY number"));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return applied;
        applied.emplace(static_cast<int>(rows->integer(0)), rows->text(1));
    }
}

}  // namespace

Status apply_migrations(Connection& connection, const std::vector<Migration>& migrations) {
    TRY(
        connection.script("CREATE TABLE IF NOT EXISTS schema_migrations("
                          "number BIGINT PRIMARY KEY, sha256 TEXT NOT NULL)"));
    TRY_ASSIGN(const auto applied, applied_steps(connection));
    const int known = migrations.back().number;
    if (!applied.empty() && applied.rbegin()->first > known) {
        return make_error(ErrorKind::Unsupported,
                          "the database has schema " + std::to_string(applied.rbegin()->first) +
                              ", this program knows " + std::to_string(known) +
                              "; use the newer lagtrap-server that made it");
    }
    for (const Migration& migration : migrations) {
        const std::string digest = sha256_of(migration.sql);
        const auto found = applied.find(migration.number);
        if (found == applied.end()) {
            TRY(connection.script(migration.sql));
            TRY(connection.execute("INSERT INTO schema_migrations(number, sha256) VALUES($1, $2)",
                                   {migration.number, digest}));
        } else if (found->second != digest && found->second != migration.former_sha256) {
            return make_error(ErrorKind::Invalid,
                              "step " + std::to_string(migration.number) +
                                  " of the database's schema is not the one this program has; was "
                                  "the database made by another program?");
        }
    }
    return success();
}

}  // namespace lagtrap::server
