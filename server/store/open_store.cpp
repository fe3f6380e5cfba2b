#include "server/store/postgres_store.hpp"
#include "server/store/sqlite_store.hpp"

namespace lagtrap::server {

Result<std::unique_ptr<Store>> open_store(const std::string& where, std::uint64_t cache_bytes) {
    if (where.starts_with("postgresql://") || where.starts_with("postgres://"))
        return open_postgres_store(where);
    return open_sqlite_store(where, cache_bytes);
}

}  // namespace lagtrap::server
