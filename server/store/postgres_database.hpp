// PostgreSQL through a pool of connections, which are replaced when they break.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "server/store/database.hpp"
#include "server/store/postgres_connection.hpp"

namespace lagtrap::server {

class PostgresDatabase : public Database {
  public:
    // Brings the schema up to date; several servers may do so at once.
    [[nodiscard]] static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& address);

    [[nodiscard]] Status read(const Task& task) override;
    [[nodiscard]] Status write(const Task& task) override;
    [[nodiscard]] const Dialect& dialect() const override;
    [[nodiscard]] Status insert_runs(Connection& connection,
                                     const std::vector<RunRecord>& runs) override;
    [[nodiscard]] Status make_days(std::uint64_t first, std::uint64_t last) override;
    [[nodiscard]] Result<std::uint64_t> remove_runs_before_hour(std::uint64_t hour) override;
    [[nodiscard]] Result<std::uint64_t> run_bytes() override;
    [[nodiscard]] std::uint64_t memory_bytes() const override { return 0; }
    [[nodiscard]] Status backup(const std::filesystem::path& file) override;
    [[nodiscard]] Result<std::vector<std::string>> check_structure() override;

  private:
    enum class Commit { Yes, No };
    using Handle = std::unique_ptr<PostgresConnection>;

    explicit PostgresDatabase(std::string address) : address_(std::move(address)) {}
    // Waits for a connection of the pool. Replaces a broken one, retrying for a few seconds.
    [[nodiscard]] Result<Handle> take();
    void give_back(Handle connection);
    [[nodiscard]] Result<Handle> connect() const;
    [[nodiscard]] Status transaction(const Task& task, const char* begin, Commit commit);
    [[nodiscard]] Status make_day(std::uint64_t day);
    [[nodiscard]] Result<std::vector<std::uint64_t>> days();
    [[nodiscard]] static Result<std::uint64_t> unused_bytes_of_oldest_day(Connection& connection);

    std::string address_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable returned_;
    std::vector<Handle> idle_;
    unsigned in_use_ = 0;
    std::set<std::uint64_t> made_days_;
};

}  // namespace lagtrap::server
