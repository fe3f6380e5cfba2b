// The store in one SQLite file.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/store.hpp"

namespace lagtrap::server {

// Opens or makes the file: write-ahead log, every commit synced. An error if a newer version of the
// program made it, or if it is no database. `cache_bytes` as for open_store().
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path,
                                                               std::uint64_t cache_bytes = default_store_cache_bytes);

}  // namespace lagtrap::server
