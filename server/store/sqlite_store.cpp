#include "server/store/sqlite_store.hpp"

#include "server/store/sqlite_database.hpp"

namespace lagtrap::server {

Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path,
                                                 std::uint64_t cache_bytes) {
    TRY_ASSIGN(auto database, SqliteDatabase::open(path, cache_bytes));
    return std::make_unique<Store>(std::move(database));
}

}  // namespace lagtrap::server
