// Writes groups of tasks to an SQLite file. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/store/database.hpp"
#include "server/store/sqlite_connection.hpp"

namespace lagtrap::server {

class SqliteWriter {
  public:
    using Task = Database::Task;

    // If nothing changed for `rest_after`, release_memory_at_rest() frees pages and statements.
    SqliteWriter(std::unique_ptr<SqliteConnection> connection, std::chrono::milliseconds rest_after)
        : connection_(std::move(connection)), rest_after_(rest_after) {}

    // Runs the tasks in this order, and commits those that succeed in one transaction. Returns the
    // outcome of each; of a task that fails nothing remains. May run tasks twice.
    [[nodiscard]] std::vector<Status> commit(const std::vector<const Task*>& tasks);

    // Call after each commit(), and from time to time without one. Polls for jobs come every two
    // seconds and change nothing; they do not count as activity.
    void release_memory_at_rest();

  private:
    [[nodiscard]] bool run_together(const std::vector<const Task*>& tasks);
    [[nodiscard]] std::vector<Status> run_apart(const std::vector<const Task*>& tasks);
    void end_transaction();

    std::unique_ptr<SqliteConnection> connection_;
    std::chrono::milliseconds rest_after_;
    struct {
        std::int64_t total = 0;
        std::chrono::steady_clock::time_point last_at{};
    } changes_;
};

}  // namespace lagtrap::server
