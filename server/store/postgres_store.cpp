#include "server/store/postgres_store.hpp"

#include "server/store/postgres_database.hpp"
#include "server/store/sql_store.hpp"

namespace lagtrap::server {

Result<std::unique_ptr<Store>> open_postgres_store(const std::string& address) {
    TRY_ASSIGN(auto database, PostgresDatabase::open(address));
    return std::unique_ptr<Store>(std::make_unique<SqlStore>(std::move(database)));
}

}  // namespace lagtrap::server
