// The store in one SQLite file.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/store.hpp"

namespace lagtrap::server {

// Opens or makes the file: write-ahead log, every commit synced. An error if a newer version of the
// program made it, or if it is no database.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path);

}  // namespace lagtrap::server
