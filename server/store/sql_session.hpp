// What all stores share: the database, of either engine, and the names in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "server/store/connection.hpp"
#include "server/store/database.hpp"
#include "server/store/filter_sql.hpp"
#include "server/store/labels.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

// Any thread.
class SqlSession {
  public:
    explicit SqlSession(std::unique_ptr<Database> database)
        : database_(std::move(database)), labels_(*database_) {}

    [[nodiscard]] Database& database() { return *database_; }
    [[nodiscard]] Labels& labels() { return labels_; }
    [[nodiscard]] const Dialect& dialect() const { return database_->dialect(); }

    // As Database::read() and Database::write().
    [[nodiscard]] Status read(const Database::Task& task) { return database_->read(task); }
    [[nodiscard]] Status write(const Database::Task& task) { return database_->write(task); }
    // Runs the task with the names of the filter as numbers, limited to what is visible; skips it
    // if nothing can match.
    [[nodiscard]] Status read_filtered(
        const Filter& filter, const Visibility& visibility,
        const std::function<Status(Connection&, const NumberedFilter&)>& task);
    // Reads all rows of a SELECT by `read_row(const Rows&)`.
    template <typename ReadRow>
    [[nodiscard]] auto select_all(const std::string& sql, const Values& values, ReadRow read_row)
        -> Result<std::vector<decltype(read_row(std::declval<const Rows&>()))>>;
    // The first of them.
    template <typename ReadRow>
    [[nodiscard]] auto select_one(const std::string& sql, const Values& values, ReadRow read_row)
        -> Result<std::optional<decltype(read_row(std::declval<const Rows&>()))>>;
    // Runs one statement; returns how many rows it changed.
    [[nodiscard]] Result<std::uint64_t> change(const std::string& sql, const Values& values);
    [[nodiscard]] Status change_only(const std::string& sql, const Values& values);

  private:
    std::unique_ptr<Database> database_;
    Labels labels_;
};

template <typename ReadRow>
auto SqlSession::select_all(const std::string& sql, const Values& values, ReadRow read_row)
    -> Result<std::vector<decltype(read_row(std::declval<const Rows&>()))>> {
    std::vector<decltype(read_row(std::declval<const Rows&>()))> found;
    const Status looked = read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(const auto rows, connection.query(sql, values));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(read_row(*rows));
        }
    });
    if (!looked) return looked.error();
    return found;
}

template <typename ReadRow>
auto SqlSession::select_one(const std::string& sql, const Values& values, ReadRow read_row)
    -> Result<std::optional<decltype(read_row(std::declval<const Rows&>()))>> {
    TRY_ASSIGN(auto found, select_all(sql, values, read_row));
    if (found.empty()) return std::optional<decltype(read_row(std::declval<const Rows&>()))>();
    return std::optional(std::move(found.front()));
}

}  // namespace lagtrap::server
