// An SQLite file: one thread writes and commits tasks in groups, others read, and one makes
// checkpoints.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/store/database.hpp"
#include "server/store/sqlite_connection.hpp"
#include "server/store/sqlite_readers.hpp"
#include "server/store/sqlite_writer.hpp"

namespace lagtrap::server {

class SqliteDatabase : public Database {
  public:
    // Creates the file if it is missing, and brings its schema up to date. `cache_bytes` as for
    // open_store(). A reader idle for `rest_after`, and the writer if it changed nothing for that
    // time, free their pages and statements; these would fragment the heap and keep free memory
    // from the kernel.
    [[nodiscard]] static Result<std::unique_ptr<SqliteDatabase>> open(
        const std::filesystem::path& path, std::uint64_t cache_bytes,
        std::chrono::milliseconds rest_after = std::chrono::seconds(10));
    ~SqliteDatabase() override;

    [[nodiscard]] Status read(const Task& task) override;
    [[nodiscard]] Status write(const Task& task) override;
    [[nodiscard]] const Dialect& dialect() const override;
    [[nodiscard]] Status insert_runs(Connection& connection,
                                     const std::vector<RunRecord>& runs) override;
    [[nodiscard]] Status make_days(std::uint64_t first, std::uint64_t last) override;
    [[nodiscard]] Result<std::uint64_t> remove_runs_before_hour(std::uint64_t hour) override;
    [[nodiscard]] Result<std::uint64_t> run_bytes() override;
    [[nodiscard]] std::uint64_t memory_bytes() const override;
    [[nodiscard]] Status backup(const std::filesystem::path& file) override;
    [[nodiscard]] Result<std::vector<std::string>> check_structure() override;

  private:
    struct Waiting {
        const Task* task;
        std::optional<Status> outcome{};
    };

    SqliteDatabase(std::filesystem::path path, std::uint64_t cache_bytes,
                   std::chrono::milliseconds rest_after)
        : rest_after_(rest_after), readers_(std::move(path), cache_bytes, rest_after) {}
    void write_loop();
    void commit_group(const std::vector<Waiting*>& group);
    void checkpoint_loop();

    const std::chrono::milliseconds rest_after_;
    std::unique_ptr<SqliteWriter> writer_;  // used by the writing thread
    std::unique_ptr<SqliteConnection> checkpointer_;
    SqliteReaders readers_;

    std::mutex mutex_;              // guards the members below
    std::condition_variable work_;  // for the writing thread
    std::condition_variable stop_;  // for the checkpoint thread
    std::condition_variable done_;
    std::deque<Waiting*> queue_;
    bool stopping_ = false;
    std::thread write_thread_;
    std::thread checkpoint_thread_;
};

}  // namespace lagtrap::server
