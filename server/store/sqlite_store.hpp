// The store in an SQLite file.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/store.hpp"

namespace lagtrap::server {

// Opens or creates the file; uses a write-ahead log and syncs every commit. An error if a newer
// version of the program created the file, or if it is not a database. `cache_bytes` as for
// open_store().
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(
    const std::filesystem::path& path, std::uint64_t cache_bytes = default_store_cache_bytes);

}  // namespace lagtrap::server
