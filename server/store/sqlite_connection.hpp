// A connection to an SQLite file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/store/connection.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace lagtrap::server {

class SqliteConnection : public Connection {
  public:
    enum class Mode { Write, Read };

    // `cache_bytes` limits the page cache.
    [[nodiscard]] static Result<std::unique_ptr<SqliteConnection>> open(
        const std::filesystem::path& path, Mode mode, std::uint64_t cache_bytes);
    ~SqliteConnection() override;

    using Connection::execute;
    using Connection::query;
    [[nodiscard]] Result<std::unique_ptr<Rows>> query(const std::string& sql,
                                                      std::span<const Value> values) override;
    [[nodiscard]] Result<std::uint64_t> execute(const std::string& sql,
                                                std::span<const Value> values) override;
    [[nodiscard]] Status script(const std::string& sql) override;

    // Frees cached pages and unused prepared statements.
    void release_memory();

    [[nodiscard]] sqlite3* handle() const { return database_; }
    // The last error.
    [[nodiscard]] Error error(std::string_view doing) const;

  private:
    friend class SqliteRows;
    explicit SqliteConnection(sqlite3* database) : database_(database) {}
    // SQLite treats $N as a name and numbers names by first appearance. parameters[N - 1] is the
    // index of $N, or 0 if it does not occur.
    struct Prepared {
        sqlite3_stmt* statement = nullptr;
        std::vector<int> parameters{};
    };
    // A prepared statement with its parameters bound. Return it with give_back().
    [[nodiscard]] Result<Prepared> take(const std::string& sql, std::span<const Value> values);
    void give_back(const std::string& sql, Prepared prepared);
    void forget_statements();

    sqlite3* database_;
    std::unordered_map<std::string, std::vector<Prepared>> idle_;
};

}  // namespace lagtrap::server
