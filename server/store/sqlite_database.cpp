#include "server/store/sqlite_database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/files.hpp"
#include "server/store/migrations.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t group_limit = 256;
constexpr std::size_t removed_at_once = 20'000;
constexpr int backup_pages_at_once = 1000;
constexpr mode_t private_mode = 0600;
constexpr auto checkpoint_interval = std::chrono::seconds(1);

// Files of the first version have a version in user_version and no table of steps. Renames their
// table; the caller copies its rows after the migration.
Result<bool> put_first_version_aside(Connection& connection) {
    TRY_ASSIGN(const auto version, connection.number("PRAGMA user_version"));
    if (version.value_or(0) == 0) return false;
    TRY_ASSIGN(const auto bundles,
               connection.number("SELECT 1 FROM sqlite_schema WHERE name='bundle'"));
    if (*version > 1 || !bundles)
        return make_error(ErrorKind::Unsupported,
                          "the database is of a newer lagtrap-server, or of another program");
    TRY(connection.script("ALTER TABLE bundle RENAME TO old_bundle; PRAGMA user_version=0"));
    return true;
}

Status migrate(Connection& connection) {
    TRY_ASSIGN(const bool aside, put_first_version_aside(connection));
    TRY(apply_migrations(connection, sqlite_migrations()));
    if (!aside) return success();
    return connection.script(
        "INSERT INTO bundle(number, digest, bytes, received_ns, sender, session_id, host, event, "
        "process, started_ns,"
        " longest_delay_ns, delays, bad_reason) SELECT number, digest, bytes, received_ns, sender, "
        "session_id, host,"
        " event, process, started_ns, longest_delay_ns, delays, bad_reason FROM old_bundle; DROP "
        "TABLE old_bundle");
}

Status make_private_file(const std::filesystem::path& path) {
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, private_mode);
    if (made < 0) return system_error(path.string());
    ::close(made);
    return success();
}

// SQLite creates its log and index with the file's own mode. Uses paths, because closing a
// descriptor of the file would release SQLite's locks on it in this process.
Status keep_from_others(const std::filesystem::path& path) {
    if (const auto made = make_private_file(path); !made && made.error().system_errno != EEXIST)
        return made.error();
    // Older versions created files that everybody could read. Files of another user are left alone.
    for (const char* suffix : {"", "-wal", "-shm"}) {
        const std::string file = path.string() + suffix;
        struct stat facts {};
        if (::stat(file.c_str(), &facts) != 0 || (facts.st_mode & 0777U & ~private_mode) == 0)
            continue;
        if (::chmod(file.c_str(), private_mode) != 0 && errno != EPERM)
            return system_error("chmod " + file);
    }
    return success();
}

Status bring_up_to_date(Connection& connection) {
    TRY(connection.script("BEGIN EXCLUSIVE"));
    auto status = migrate(connection);
    if (status) status = connection.script("COMMIT");
    if (!status) static_cast<void>(connection.script("ROLLBACK"));
    return status;
}

}  // namespace

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& path,
                                                             std::uint64_t cache_bytes,
                                                             std::chrono::milliseconds rest_after) {
    std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, cache_bytes, rest_after));
    TRY(keep_from_others(path));
    TRY_ASSIGN(auto writer,
               SqliteConnection::open(path, SqliteConnection::Mode::Write, cache_bytes));
    if (const auto status = bring_up_to_date(*writer); !status)
        return status.error().within(path.string());
    database->writer_ = std::make_unique<SqliteWriter>(std::move(writer), rest_after);
    TRY_ASSIGN(database->checkpointer_,
               SqliteConnection::open(path, SqliteConnection::Mode::Write, cache_bytes));
    sqlite3_busy_timeout(database->checkpointer_->handle(), 100);
    database->write_thread_ = std::thread([raw = database.get()] { raw->write_loop(); });
    database->checkpoint_thread_ = std::thread([raw = database.get()] { raw->checkpoint_loop(); });
    return database;
}

SqliteDatabase::~SqliteDatabase() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    stop_.notify_all();
    if (write_thread_.joinable()) write_thread_.join();
    if (checkpoint_thread_.joinable()) checkpoint_thread_.join();
}

const Dialect& SqliteDatabase::dialect() const {
    static const Dialect dialect{
        " JOIN run_detail d ON d.id = r.id AND d.event = r.event AND d.begin_ns = r.begin_ns",
        "d.detail",
        "run_detail d CROSS JOIN run r ON r.event = d.event AND r.begin_ns = d.begin_ns AND r.id = "
        "d.id",
        "d.id",
        "",
        "",
        false};
    return dialect;
}

Status SqliteDatabase::read(const Task& task) {
    TRY_ASSIGN(auto reader, readers_.take());
    TRY(reader->script("BEGIN"));
    Status outcome = task(*reader);
    TRY(reader->script("ROLLBACK"));
    readers_.give_back(std::move(reader));
    return outcome;
}

Status SqliteDatabase::write(const Task& task) {
    Waiting waiting{&task};
    std::unique_lock lock(mutex_);
    if (stopping_) return make_error(ErrorKind::Busy, "the database is being closed");
    queue_.push_back(&waiting);
    work_.notify_one();
    done_.wait(lock, [&] { return waiting.outcome.has_value(); });
    return *waiting.outcome;
}

void SqliteDatabase::write_loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (work_.wait_for(lock, rest_after_, [&] { return stopping_ || !queue_.empty(); }) &&
            queue_.empty())
            return;
        const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), group_limit));
        const std::vector<Waiting*> group(queue_.begin(), queue_.begin() + count);
        queue_.erase(queue_.begin(), queue_.begin() + count);
        lock.unlock();
        if (!group.empty()) commit_group(group);
        writer_->release_memory_at_rest();
        lock.lock();
        // Notify under the lock: a waiting caller destroys its Waiting as soon as it sees the
        // outcome.
        done_.notify_all();
    }
}

void SqliteDatabase::commit_group(const std::vector<Waiting*>& group) {
    std::vector<const Task*> tasks;
    for (const Waiting* waiting : group) tasks.push_back(waiting->task);
    const std::vector<Status> outcomes = writer_->commit(tasks);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < group.size(); ++i) group[i]->outcome = outcomes[i];
}

void SqliteDatabase::checkpoint_loop() {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, checkpoint_interval, [&] { return stopping_; })) {
        lock.unlock();
        readers_.close_rested();
        // Restarting the log waits for readers, at most 0.1 s; without it, the log would grow under
        // steady load.
        sqlite3_wal_checkpoint_v2(checkpointer_->handle(), nullptr, SQLITE_CHECKPOINT_RESTART,
                                  nullptr, nullptr);
        lock.lock();
    }
}

Status SqliteDatabase::insert_runs(Connection& connection, const std::vector<RunRecord>& runs) {
    static const std::string run_sql =
        "INSERT INTO run(event, begin_ns, id, duration_ns, bin, host, account, build, process, "
        "start, delay, dirty,"
        " weight, unit) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)";
    static const std::string detail_sql =
        "INSERT INTO run_detail(id, event, begin_ns, detail) VALUES($1,$2,$3,$4)";
    for (const RunRecord& run : runs) {
        TRY(connection.execute(run_sql, {run.event, run.begin_ns, run.id, run.duration_ns, run.bin,
                                         run.host, run.user, run.build, run.process, run.start,
                                         run.delay, run.mark, run.weight, run.unit}));
        TRY(connection.execute(detail_sql,
                               {run.id, run.event, run.begin_ns, Value::bytes(run.detail)}));
    }
    return success();
}

Status SqliteDatabase::make_days(std::uint64_t, std::uint64_t) { return success(); }

Result<std::uint64_t> SqliteDatabase::remove_runs_before_hour(std::uint64_t hour) {
    std::uint64_t removed = 0;
    // In steps, so that uploads do not wait long.
    for (;;) {
        std::uint64_t step = 0;
        const Status written = write([&](Connection& connection) -> Status {
            const std::string oldest =
                "(SELECT id FROM run_detail WHERE id < $1 ORDER BY id LIMIT $2)";
            TRY(connection.execute(
                "DELETE FROM run WHERE (event, begin_ns, id) IN (SELECT event, begin_ns, id FROM "
                "run_detail WHERE id < $1 ORDER BY id LIMIT $2)",
                {first_run_id_of_hour(hour), removed_at_once}));
            TRY_ASSIGN(step, connection.execute("DELETE FROM run_detail WHERE id IN " + oldest,
                                                {first_run_id_of_hour(hour), removed_at_once}));
            return success();
        });
        if (!written) return written.error();
        removed += step;
        if (step < removed_at_once) return removed;
    }
}

std::uint64_t SqliteDatabase::memory_bytes() const {
    return static_cast<std::uint64_t>(sqlite3_memory_used());
}

Result<std::uint64_t> SqliteDatabase::run_bytes() {
    std::uint64_t bytes = 0;
    const Status looked = read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto pages, connection.number("PRAGMA page_count"));
        TRY_ASSIGN(const auto unused, connection.number("PRAGMA freelist_count"));
        TRY_ASSIGN(const auto page_bytes, connection.number("PRAGMA page_size"));
        bytes = static_cast<std::uint64_t>((pages.value_or(0) - unused.value_or(0)) *
                                           page_bytes.value_or(0));
        return success();
    });
    if (!looked) return looked.error();
    return bytes;
}

Status SqliteDatabase::backup(const std::filesystem::path& file) {
    if (std::filesystem::exists(file))
        return make_error(ErrorKind::Invalid,
                          file.string() + " is there already; a backup makes a new file");
    std::filesystem::path part = file;
    part += ".part";
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    TRY(make_private_file(part));
    TRY_ASSIGN(auto reader, readers_.take());
    {
        sqlite3* target = nullptr;
        const int opened = sqlite3_open_v2(part.c_str(), &target, SQLITE_OPEN_READWRITE, nullptr);
        sqlite3_backup* copy = opened == SQLITE_OK
                                   ? sqlite3_backup_init(target, "main", reader->handle(), "main")
                                   : nullptr;
        // One read transaction, so that concurrent commits do not restart the copy.
        auto status = copy == nullptr
                          ? Status(make_error(ErrorKind::System,
                                              part.string() + ": " + sqlite3_errmsg(target)))
                          : reader->script("BEGIN; SELECT count(*) FROM schema_migrations");
        int code = SQLITE_OK;
        while (status && code == SQLITE_OK) code = sqlite3_backup_step(copy, backup_pages_at_once);
        if (copy != nullptr) sqlite3_backup_finish(copy);
        if (status && code != SQLITE_DONE)
            status = make_error(ErrorKind::System, part.string() + ": " + sqlite3_errmsg(target));
        sqlite3_close(target);
        static_cast<void>(reader->script("ROLLBACK"));
        if (!status) return status;
    }
    TRY_ASSIGN(const auto written, open_file(part, O_RDONLY));
    if (::fsync(written.get()) != 0) return system_error(part.string());
    return rename_durably(part, file);
}

Result<std::vector<std::string>> SqliteDatabase::check_structure() {
    std::vector<std::string> complaints;
    const Status looked = read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto rows, connection.query("PRAGMA integrity_check(" +
                                                     std::to_string(complaints_limit) + ")"));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            if (rows->bytes(0) != "ok") complaints.push_back(rows->text(0));
        }
    });
    if (!looked) return looked.error();
    const Status looked_2 = read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto lonely,
                   connection.number(
                       "SELECT (SELECT count(*) FROM run) - (SELECT count(*) FROM run_detail)"));
        if (lonely.value_or(0) != 0)
            complaints.push_back("runs and their details differ in number");
        return success();
    });
    if (!looked_2) return looked_2.error();
    return complaints;
}

}  // namespace lagtrap::server
