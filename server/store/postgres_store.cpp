#include "server/store/postgres_store.hpp"

#include "server/store/postgres_database.hpp"

namespace lagtrap::server {

Result<std::unique_ptr<Store>> open_postgres_store(const std::string& address) {
    TRY_ASSIGN(auto database, PostgresDatabase::open(address));
    return std::make_unique<Store>(std::move(database));
}

}  // namespace lagtrap::server
