// A database and what differs between the engines.
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

// Of what is wrong with a database so much is told.
inline constexpr std::size_t complaints_limit = 20;

// As the column `dirty` has it.
enum class RunMark : std::uint8_t {
    None = 0,
    Dirty = 1,    // hidden: its duration does not speak of the program
    Outlier = 2,  // its duration differs plainly from the others'; shown
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

// A run's id has the hour of its begin in its upper bits, so that rows lie in order of time, and in PostgreSQL in the
// day's partition, and a run is found by its id alone.
inline constexpr std::uint64_t hour_ns = 3600ULL * 1'000'000'000ULL;
inline constexpr std::uint64_t day_ns = 24 * hour_ns;
inline constexpr unsigned run_number_bits = 43;
inline constexpr std::uint64_t last_hour = (1ULL << (63 - run_number_bits)) - 1;  // in the year 2089
[[nodiscard]] constexpr std::uint64_t first_run_id_of_hour(std::uint64_t hour_number) {
    return hour_number > last_hour ? INT64_MAX : hour_number << run_number_bits;
}

// Pieces of SQL that the engines want differently.
struct Dialect {
    const char* detail_join;  // what joins `run r` with its detail
    const char* detail_column;
    const char* runs_by_time;  // `run r`, to be walked in order of time rather than of events
    const char* time_id;       // the id to bound there
    const char* lock_rows;     // ends a SELECT of rows that will be changed
    const char* skip_locked;   // the same, leaving out what others hold
    bool groups_well;          // GROUP BY over many rows is fast; else rows are to be read one by one
    bool chooses_well;         // finds by itself whether to sort or to walk an index
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
    // Runs a task in a transaction of its own: if it fails, nothing of it stays; if this returns without an error, it
    // is on disk. May run the task again after a deadlock, or after a failure before the commit.
    [[nodiscard]] virtual Status write(const Task& task) = 0;

    [[nodiscard]] virtual const Dialect& dialect() const = 0;
    // Inside write(), before runs of these hours are inserted.
    [[nodiscard]] virtual Status insert_runs(Connection& connection, const std::vector<RunRecord>& runs) = 0;
    // Makes room for runs of the days (since 1970) from `first` to `last`.
    [[nodiscard]] virtual Status make_days(std::uint64_t first, std::uint64_t last) = 0;
    // Removes the runs of hours before `hour`; how many.
    [[nodiscard]] virtual Result<std::uint64_t> remove_runs_before_hour(std::uint64_t hour) = 0;
    // What they take on disk, with indices; what removed runs have left free does not count.
    [[nodiscard]] virtual Result<std::uint64_t> run_bytes() = 0;
    // What the engine holds in this process, its caches included; 0 where it is a process of its own.
    [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
    [[nodiscard]] virtual Status backup(const std::filesystem::path& file) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> check_structure() = 0;
};

}  // namespace lagtrap::server
