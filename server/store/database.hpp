// A database, and the differences between the engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

// Most complaints that check() lists.
inline constexpr std::size_t complaints_limit = 20;

// Values of the column `dirty`.
enum class RunMark : std::uint8_t {
    None = 0,
    Dirty = 1,    // hidden: its duration says nothing about the program
    Outlier = 2,  // its duration clearly differs from the others'; not hidden
};

// A run as a row; names are numbers of the table `label`.
struct RunRecord {
    std::uint64_t id = 0;
    std::uint32_t event = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint16_t bin = 0;
    std::uint32_t host = 0, user = 0, build = 0, process = 0, unit = 0;
    std::uint8_t start = 0;
    bool delay = false;
    RunMark mark = RunMark::None;
    std::uint32_t weight = 1;
    std::string detail;  // run_detail.hpp
};

// The upper bits of a run's id are the hour of its begin. So rows are in order of time, PostgreSQL
// puts them into the day's partition, and the id alone finds a run.
inline constexpr std::uint64_t hour_ns = 3600ULL * 1'000'000'000ULL;
inline constexpr std::uint64_t day_ns = 24 * hour_ns;
inline constexpr unsigned run_number_bits = 43;
// in the year 2089
inline constexpr std::uint64_t last_hour = (1ULL << (63 - run_number_bits)) - 1;
[[nodiscard]] constexpr std::uint64_t first_run_id_of_hour(std::uint64_t hour_number) {
    return hour_number > last_hour ? INT64_MAX : hour_number << run_number_bits;
}

// SQL that differs between the engines.
struct Dialect {
    const char* detail_join;  // joins `run r` with its detail
    const char* detail_column;
    const char* runs_by_time;  // `run r` in an order of time instead of events
    const char* time_id;       // the id to restrict there
    const char* lock_rows;     // ends a SELECT of rows to be changed
    const char* skip_locked;   // the same, but skips rows that others have locked
    bool groups_well;          // GROUP BY over many rows is fast; otherwise read rows one by one
};

// Any thread.
class Database {
  public:
    using Task = std::function<Status(Connection&)>;

    Database() = default;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    virtual ~Database() = default;

    // Runs a task that changes nothing, on a consistent view of the database.
    [[nodiscard]] virtual Status read(const Task& task) = 0;
    // Runs a task in its own transaction. On an error nothing of it remains; on success it is on
    // disk. May repeat the task after a deadlock, or after a failure before the commit.
    [[nodiscard]] virtual Status write(const Task& task) = 0;

    [[nodiscard]] virtual const Dialect& dialect() const = 0;
    // Call inside write(), after make_days() for the days of these runs.
    [[nodiscard]] virtual Status insert_runs(Connection& connection,
                                             const std::vector<RunRecord>& runs) = 0;
    // Prepares for runs of the days (since 1970) from `first` to `last`.
    [[nodiscard]] virtual Status make_days(std::uint64_t first, std::uint64_t last) = 0;
    // Removes the runs of hours before `hour`; returns how many.
    [[nodiscard]] virtual Result<std::uint64_t> remove_runs_before_hour(std::uint64_t hour) = 0;
    // Size of the runs on disk, with indices and without space that removed runs left free.
    [[nodiscard]] virtual Result<std::uint64_t> run_bytes() = 0;
    // Memory of the engine in this process, including caches; 0 if it is a separate process.
    [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
    [[nodiscard]] virtual Status backup(const std::filesystem::path& file) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> check_structure() = 0;
};

}  // namespace lagtrap::server
