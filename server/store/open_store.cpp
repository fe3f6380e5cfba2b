#include "server/store/postgres_store.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_address.hpp"

namespace lagtrap::server {

Result<std::unique_ptr<Store>> open_store(const std::string& where, std::uint64_t cache_bytes) {
    return is_postgres_address(where) ? open_postgres_store(where)
                                      : open_sqlite_store(where, cache_bytes);
}

}  // namespace lagtrap::server
