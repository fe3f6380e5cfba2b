#include "server/store/postgres_database.hpp"

#include <endian.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "server/store/migrations.hpp"
#include "server/store/rollup.hpp"

namespace lagtrap::server {
namespace {

constexpr unsigned pool_limit = 12;
constexpr int attempts_limit = 6;
constexpr auto reconnect_for = std::chrono::seconds(5);
constexpr auto reconnect_pause = std::chrono::milliseconds(100);
// Keys of advisory locks; the numbers are arbitrary.
constexpr const char* migration_lock = "SELECT pg_advisory_xact_lock(7810776)";
constexpr const char* partition_lock = "SELECT pg_advisory_xact_lock(7810777)";
constexpr int columns_of_run = 15;
constexpr std::uint64_t removed_at_once = 100'000;
constexpr std::uint64_t measured_rows = 200;
constexpr std::uint64_t row_overhead_bytes = 8;  // its item pointer, and alignment

// COPY's binary format: a header, then for each row the number of fields, and for each field its
// length and bytes.
class CopyData {
  public:
    explicit CopyData(std::size_t rows) {
        data_.reserve(rows * 220 + 32);
        data_.append("PGCOPY\n\377\r\n\0", 11);
        put<std::uint32_t>(0);
        put<std::uint32_t>(0);
    }
    void begin_row(int fields) { put(static_cast<std::uint16_t>(fields)); }
    void bigint(std::uint64_t value) { field(value); }
    void integer(std::uint32_t value) { field(value); }
    void smallint(std::uint16_t value) { field(value); }
    void bytes(std::string_view value) {
        put(static_cast<std::uint32_t>(value.size()));
        data_ += value;
    }
    [[nodiscard]] std::string_view finish() {
        put<std::uint16_t>(0xffff);
        return data_;
    }

  private:
    template <typename Integer>
    void put(Integer value) {
        for (unsigned shift = sizeof(Integer) * 8; shift > 0; shift -= 8)
            data_ += static_cast<char>(value >> (shift - 8));
    }
    template <typename Integer>
    void field(Integer value) {
        put(static_cast<std::uint32_t>(sizeof(Integer)));
        put(value);
    }

    std::string data_;
};

}  // namespace

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& address) {
    std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(address));
    const Status written = database->write([](Connection& connection) -> Status {
        TRY(connection.script("SET LOCAL statement_timeout=0; SET LOCAL lock_timeout=0"));
        TRY(connection.script(migration_lock));
        return apply_migrations(connection, postgres_migrations());
    });
    if (!written) return written.error();
    return database;
}

const Dialect& PostgresDatabase::dialect() const {
    static const Dialect dialect{
        "", "r.detail", "run r", "r.id", " FOR UPDATE", " FOR UPDATE SKIP LOCKED", true};
    return dialect;
}

Result<PostgresDatabase::Handle> PostgresDatabase::connect() const {
    const auto deadline = std::chrono::steady_clock::now() + reconnect_for;
    for (;;) {
        auto made = PostgresConnection::open(address_);
        if (made || std::chrono::steady_clock::now() >= deadline) return made;
        std::this_thread::sleep_for(reconnect_pause);
    }
}

Result<PostgresDatabase::Handle> PostgresDatabase::take() {
    {
        std::unique_lock lock(mutex_);
        returned_.wait(lock, [&] { return in_use_ < pool_limit; });
        ++in_use_;
        if (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
    }
    auto made = connect();
    if (!made) give_back(nullptr);
    return made;
}

void PostgresDatabase::give_back(Handle connection) {
    {
        const std::lock_guard lock(mutex_);
        --in_use_;
        if (connection && !connection->broken()) idle_.push_back(std::move(connection));
    }
    returned_.notify_one();
}

Status PostgresDatabase::transaction(const Task& task, const char* begin, Commit commit) {
    for (int attempt = 1;; ++attempt) {
        TRY_ASSIGN(Handle connection, take());
        auto outcome = connection->script(begin);
        if (outcome) outcome = task(*connection);
        const bool before_commit = !outcome;
        const bool repeat = before_commit && connection->worth_repeating();
        if (outcome && commit == Commit::Yes) {
            outcome = connection->script("COMMIT");
        } else if (!connection->broken()) {
            static_cast<void>(connection->script("ROLLBACK"));
        }
        // A restart of the server breaks idle connections without notice, so the first use may
        // fail.
        give_back(std::move(connection));
        if (outcome || !repeat || attempt == attempts_limit) return outcome;
    }
}

Status PostgresDatabase::read(const Task& task) {
    return transaction(task, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", Commit::No);
}

Status PostgresDatabase::write(const Task& task) { return transaction(task, "BEGIN", Commit::Yes); }

Status PostgresDatabase::insert_runs(Connection& connection, const std::vector<RunRecord>& runs) {
    CopyData data(runs.size());
    for (const RunRecord& run : runs) {
        data.begin_row(columns_of_run);
        data.bigint(run.id);
        data.bigint(run.begin_ns);
        data.bigint(run.duration_ns);
        data.integer(run.event);
        data.integer(run.host);
        data.integer(run.user);
        data.integer(run.build);
        data.integer(run.process);
        data.integer(run.weight);
        data.integer(run.unit);
        data.smallint(run.bin);
        data.smallint(run.start);
        data.smallint(run.delay ? 1 : 0);
        data.smallint(static_cast<std::int16_t>(run.mark));
        data.bytes(run.detail);
    }
    return static_cast<PostgresConnection&>(connection)
        .copy_in(
            "COPY run(id, begin_ns, duration_ns, event, host, account, build, process, weight, "
            "unit, bin, start, delay,"
            " dirty, detail) FROM STDIN (FORMAT binary)",
            data.finish());
}

Status PostgresDatabase::make_day(std::uint64_t day) {
    const std::string name = "run_day_" + std::to_string(day);
    const std::string sql = "CREATE TABLE IF NOT EXISTS " + name +
                            " PARTITION OF run FOR VALUES FROM (" +
                            std::to_string(first_run_id_of_hour(day * hours_a_day)) + ") TO (" +
                            std::to_string(first_run_id_of_hour((day + 1) * hours_a_day)) + ")";
    return write([&](Connection& connection) -> Status {
        TRY(connection.script(partition_lock));
        TRY_ASSIGN(const auto there,
                   connection.number("SELECT 1 FROM pg_class WHERE oid = to_regclass($1)", {name}));
        return there ? success() : connection.script(sql);
    });
}

Status PostgresDatabase::make_days(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t day = first; day <= last; ++day) {
        {
            const std::lock_guard lock(mutex_);
            if (made_days_.contains(day)) continue;
        }
        TRY(make_day(day));
        const std::lock_guard lock(mutex_);
        made_days_.insert(day);
    }
    return success();
}

Result<std::vector<std::uint64_t>> PostgresDatabase::days() {
    std::vector<std::uint64_t> found;
    const Status looked = read([&](Connection& connection) -> Status {
        found.clear();
        TRY_ASSIGN(
            const auto rows,
            connection.query(
                "SELECT CAST(substr(c.relname, 9) AS BIGINT) FROM pg_inherits i JOIN pg_class c ON "
                "c.oid = i.inhrelid WHERE i.inhparent = 'run'::regclass ORDER BY 1"));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            found.push_back(rows->natural(0));
        }
    });
    if (!looked) return looked.error();
    return found;
}

Result<std::uint64_t> PostgresDatabase::remove_runs_before_hour(std::uint64_t hour) {
    TRY_ASSIGN(const auto all, days());
    std::uint64_t removed = 0;
    for (const std::uint64_t day : all) {
        if ((day + 1) * hours_a_day > hour) break;
        const std::string name = "run_day_" + std::to_string(day);
        const Status written = write([&](Connection& connection) -> Status {
            TRY(connection.script("SET LOCAL statement_timeout=0"));
            TRY(connection.script(partition_lock));
            TRY_ASSIGN(
                const auto there,
                connection.number("SELECT 1 FROM pg_class WHERE oid = to_regclass($1)", {name}));
            if (!there) return success();
            TRY_ASSIGN(const auto count, connection.number("SELECT count(*) FROM " + name));
            TRY(connection.script("DROP TABLE " + name));
            removed += static_cast<std::uint64_t>(count.value_or(0));
            return success();
        });
        if (!written) return written.error();
        const std::lock_guard lock(mutex_);
        made_days_.erase(day);
    }
    for (std::uint64_t step = removed_at_once; step == removed_at_once;) {
        const Status written_2 = write([&](Connection& connection) -> Status {
            TRY_ASSIGN(step, connection.execute("DELETE FROM run WHERE id IN (SELECT id FROM run "
                                                "WHERE id < $1 ORDER BY id LIMIT $2)",
                                                {first_run_id_of_hour(hour), removed_at_once}));
            return success();
        });
        if (!written_2) return written_2.error();
        removed += step;
    }
    return removed;
}

// If the first hours of a day have been removed, its table keeps its size until the whole day is
// removed, and only runs of that day can use the free space. Only the oldest day can be in that
// state.
Result<std::uint64_t> PostgresDatabase::unused_bytes_of_oldest_day(Connection& connection) {
    TRY_ASSIGN(const auto day,
               connection.number("SELECT min(bucket) FROM rollup WHERE level = $1 AND records > 0",
                                 {RollupLevel::Day}));
    if (!day) return 0;
    const std::string name = "run_day_" + std::to_string(*day);
    TRY_ASSIGN(const auto there,
               connection.number("SELECT 1 FROM pg_class WHERE oid = to_regclass($1)", {name}));
    if (!there) return 0;
    TRY_ASSIGN(
        const auto rows,
        connection.query("SELECT (SELECT CAST(sum(records) AS BIGINT) FROM rollup WHERE level = $1 "
                         "AND bucket = $2),"
                         " (SELECT CAST(avg(pg_column_size(r.*)) AS BIGINT) FROM (SELECT * FROM " +
                             name + " ORDER BY id DESC LIMIT $3) r), pg_relation_size('" + name +
                             "'), pg_total_relation_size('" + name + "')",
                         {RollupLevel::Day, *day, measured_rows}));
    TRY(rows->next());
    const std::uint64_t used = rows->natural(0) * (rows->natural(1) + row_overhead_bytes);
    const std::uint64_t table = rows->natural(2), with_indices = rows->natural(3);
    if (used >= table) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(with_indices) *
                                      static_cast<double>(table - used) /
                                      static_cast<double>(table));
}

Result<std::uint64_t> PostgresDatabase::run_bytes() {
    std::uint64_t bytes = 0;
    const Status looked = read([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto found,
            connection.number("SELECT CAST(coalesce(sum(pg_total_relation_size(inhrelid)), 0) AS "
                              "BIGINT) FROM pg_inherits WHERE inhparent = 'run'::regclass"));
        TRY_ASSIGN(const std::uint64_t unused, unused_bytes_of_oldest_day(connection));
        bytes = static_cast<std::uint64_t>(found.value_or(0));
        bytes -= std::min(bytes, unused);
        return success();
    });
    if (!looked) return looked.error();
    return bytes;
}

Status PostgresDatabase::backup(const std::filesystem::path&) {
    return make_error(ErrorKind::Unsupported,
                      "a PostgreSQL database is backed up by pg_dump or pg_basebackup");
}

Result<std::vector<std::string>> PostgresDatabase::check_structure() {
    std::vector<std::string> complaints;
    const Status looked = read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto invalid,
                   connection.number("SELECT count(*) FROM pg_index WHERE NOT indisvalid"));
        if (invalid.value_or(0) != 0)
            complaints.push_back(std::to_string(*invalid) + " indices are not valid");
        return success();
    });
    if (!looked) return looked.error();
    return complaints;
}

}  // namespace lagtrap::server
