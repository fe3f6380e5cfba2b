// One connection to an SQLite file.
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

    [[nodiscard]] static Result<std::unique_ptr<SqliteConnection>> open(const std::filesystem::path& path, Mode mode);
    ~SqliteConnection() override;

    using Connection::execute;
    using Connection::query;
    [[nodiscard]] Result<std::unique_ptr<Rows>> query(const std::string& sql, std::span<const Value> values) override;
    [[nodiscard]] Result<std::uint64_t> execute(const std::string& sql, std::span<const Value> values) override;
    [[nodiscard]] Status script(const std::string& sql) override;

    [[nodiscard]] sqlite3* handle() const { return database_; }
    // What went wrong last.
    [[nodiscard]] Error error(std::string_view doing) const;

  private:
    friend class SqliteRows;
    explicit SqliteConnection(sqlite3* database) : database_(database) {}
    // A prepared statement with its parameters bound; give_back() it.
    [[nodiscard]] Result<sqlite3_stmt*> take(const std::string& sql, std::span<const Value> values);
    void give_back(const std::string& sql, sqlite3_stmt* statement);
    void forget_statements();

    sqlite3* database_;
    std::unordered_map<std::string, std::vector<sqlite3_stmt*>> idle_;
};

}  // namespace lagtrap::server
