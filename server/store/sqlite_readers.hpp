// Connections that read an SQLite file. Those not in use stay open for a while. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "server/store/sqlite_connection.hpp"

namespace lagtrap::server {

class SqliteReaders {
  public:
    // Each connection gets a part of `cache_bytes` for its page cache.
    SqliteReaders(std::filesystem::path path, std::uint64_t cache_bytes,
                  std::chrono::milliseconds rest_after)
        : path_(std::move(path)), cache_bytes_(cache_bytes), rest_after_(rest_after) {}

    // The connection used last, or a new one.
    [[nodiscard]] Result<std::unique_ptr<SqliteConnection>> take();
    // Must not be in a transaction. Closes the connection if enough others are idle.
    void give_back(std::unique_ptr<SqliteConnection> reader);
    // Closes connections that have been idle for `rest_after`.
    void close_rested();

  private:
    struct IdleReader {
        std::unique_ptr<SqliteConnection> connection;
        std::chrono::steady_clock::time_point since;
    };
    [[nodiscard]] std::vector<IdleReader> take_rested();

    const std::filesystem::path path_;
    const std::uint64_t cache_bytes_;
    const std::chrono::milliseconds rest_after_;
    std::mutex mutex_;              // guards the member below
    std::vector<IdleReader> idle_;  // in the order in which they became idle
};

}  // namespace lagtrap::server
