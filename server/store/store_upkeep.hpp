// Keeps the store small and sound: retention, regular maintenance, backup and checks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;

struct StoreSize {
    std::uint64_t runs = 0;          // records, as counted on arrival
    std::uint64_t lost = 0;          // runs that batches of the last 30 days reported as lost
    std::uint64_t bytes = 0;         // on disk, with indices, without free space
    std::uint64_t memory_bytes = 0;  // of the database engine in this process, mostly page caches
};

struct RemovedRuns {
    std::uint64_t runs = 0;
    // everything that began earlier is gone; 0: nothing was removed
    std::uint64_t before_realtime_ns = 0;
};

// The rules of Store apply.
class StoreUpkeep {
  public:
    explicit StoreUpkeep(SqlSession& session) : session_(&session) {}

    // Removes runs that began earlier, in whole hours: up to an hour more may remain.
    [[nodiscard]] Result<RemovedRuns> remove_runs_before(std::uint64_t realtime_ns) const;
    // Removes the oldest runs, at least an hour of them, until all runs take at most `bytes`; the
    // newest hour stays.
    [[nodiscard]] Result<RemovedRuns> shrink_runs(std::uint64_t bytes) const;
    [[nodiscard]] Result<StoreSize> size() const;
    // Call every few minutes. Creates partitions ahead of time; removes expired sessions, quotas
    // from before yesterday, old digests of batches and old audit entries; links delays and runs
    // that arrived at the same time.
    [[nodiscard]] Status maintain(std::uint64_t now_realtime_ns) const;
    // Makes a consistent copy in a new file while the server runs. ErrorKind::Unsupported for
    // PostgreSQL, which has pg_dump.
    [[nodiscard]] Status backup(const std::filesystem::path& file) const;
    // Checks the structure of the store, and the sums of roll-ups against the runs. Reads
    // everything. Returns complaints; empty if there are none.
    [[nodiscard]] Result<std::vector<std::string>> check() const;

  private:
    [[nodiscard]] Result<RemovedRuns> remove_before_hour(std::uint64_t hour) const;
    [[nodiscard]] Result<RemovedRuns> remove_surplus_runs(std::uint64_t bytes) const;
    [[nodiscard]] Result<std::optional<std::uint64_t>> oldest_hour() const;
    [[nodiscard]] static Status sum_up_day(Connection& connection, std::uint64_t day);

    SqlSession* session_;
};

}  // namespace lagtrap::server
