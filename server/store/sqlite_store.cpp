#include "server/store/sqlite_store.hpp"

#include <sqlite3.h>

#include <mutex>
#include <string_view>

#include "server/store/unfinished_store.hpp"

namespace lagtrap::server {
namespace {

constexpr int schema_version = 1;
constexpr int busy_timeout_ms = 5000;

// synchronous=FULL: with a write-ahead log NORMAL may lose acknowledged bundles at a power failure.
constexpr const char* connection_settings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
    "PRAGMA journal_size_limit=67108864;";

constexpr const char* schema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE bundle("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  digest TEXT NOT NULL UNIQUE,"
    "  bytes INTEGER NOT NULL,"
    "  received_ns INTEGER NOT NULL,"
    "  sender TEXT NOT NULL,"
    "  session_id TEXT NOT NULL,"
    "  host TEXT NOT NULL,"
    "  event TEXT NOT NULL,"
    "  process TEXT NOT NULL,"
    "  started_ns INTEGER NOT NULL,"
    "  longest_delay_ns INTEGER NOT NULL,"
    "  delays INTEGER NOT NULL,"
    "  bad_reason TEXT NOT NULL"
    ") STRICT;"
    "PRAGMA user_version=1;"
    "COMMIT;";

constexpr const char* columns =
    "number, digest, bytes, received_ns, sender, session_id, host, event, process, started_ns, longest_delay_ns,"
    " delays, bad_reason";

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

Error sqlite_error(sqlite3* database, std::string_view doing) {
    Error error = make_error(ErrorKind::System, "database: " + std::string(doing) + ": " + sqlite3_errmsg(database));
    if (sqlite3_errcode(database) == SQLITE_FULL) error.system_errno = ENOSPC;
    return error;
}

// A prepared statement and its parameters, for one use.
class Statement {
  public:
    Statement(sqlite3* database, const std::string& sql) : database_(database) {
        sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    Statement& bind(std::int64_t value) {
        if (statement_ != nullptr) sqlite3_bind_int64(statement_, ++bound_, value);
        return *this;
    }
    Statement& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
    // `text` must live until the last step.
    Statement& bind(const std::string& text) {
        if (statement_ != nullptr)
            sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
        return *this;
    }
    // Whether there is a row.
    Result<bool> step() {
        if (statement_ == nullptr) return sqlite_error(database_, "preparing");
        const int code = sqlite3_step(statement_);
        if (code == SQLITE_ROW) return true;
        if (code == SQLITE_DONE) return false;
        return sqlite_error(database_, "running");
    }
    [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    [[nodiscard]] std::uint64_t natural(int column) const { return static_cast<std::uint64_t>(integer(column)); }
    [[nodiscard]] std::string text(int column) const {
        const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        return data == nullptr ? std::string()
                               : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
    }

  private:
    sqlite3* database_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
};

BundleRow read_row(const Statement& statement) {
    BundleRow row;
    row.number = statement.integer(0);
    row.digest = statement.text(1);
    row.bytes = statement.natural(2);
    row.received_realtime_ns = statement.natural(3);
    row.sender = statement.text(4);
    row.facts.session_id = statement.text(5);
    row.facts.host = statement.text(6);
    row.facts.event = statement.text(7);
    row.facts.process = statement.text(8);
    row.facts.started_realtime_ns = statement.natural(9);
    row.facts.longest_delay_ns = statement.natural(10);
    row.facts.delays = static_cast<std::uint32_t>(statement.integer(11));
    row.bad_reason = statement.text(12);
    return row;
}

class SqliteStore : public UnfinishedStore {
  public:
    explicit SqliteStore(Database database) : database_(std::move(database)) {}

    Result<AddOutcome> add(const BundleRow& row) override {
        const std::lock_guard lock(mutex_);
        Statement insert(database_.get(),
                         "INSERT INTO bundle(digest, bytes, received_ns, sender, session_id, host, event, process,"
                         " started_ns, longest_delay_ns, delays, bad_reason)"
                         " VALUES(?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(digest) DO NOTHING");
        insert.bind(row.digest).bind(row.bytes).bind(row.received_realtime_ns).bind(row.sender);
        insert.bind(row.facts.session_id).bind(row.facts.host).bind(row.facts.event).bind(row.facts.process);
        insert.bind(row.facts.started_realtime_ns).bind(row.facts.longest_delay_ns);
        insert.bind(static_cast<std::uint64_t>(row.facts.delays)).bind(row.bad_reason);
        TRY(insert.step());
        return sqlite3_changes(database_.get()) > 0 ? AddOutcome::New : AddOutcome::Already;
    }

    Result<std::optional<BundleRow>> find(const std::string& digest) override {
        const std::lock_guard lock(mutex_);
        Statement select(database_.get(), std::string("SELECT ") + columns + " FROM bundle WHERE digest=?");
        select.bind(digest);
        TRY_ASSIGN(const bool found, select.step());
        return found ? std::optional(read_row(select)) : std::nullopt;
    }

    Result<std::vector<BundleRow>> list(std::uint32_t limit, std::optional<std::int64_t> before) override {
        const std::lock_guard lock(mutex_);
        Statement select(database_.get(),
                         std::string("SELECT ") + columns + " FROM bundle WHERE number<? ORDER BY number DESC LIMIT ?");
        select.bind(before.value_or(INT64_MAX)).bind(static_cast<std::uint64_t>(limit));
        return rows(select);
    }

    Result<std::vector<BundleRow>> oldest(std::uint32_t limit) override {
        const std::lock_guard lock(mutex_);
        Statement select(database_.get(), std::string("SELECT ") + columns + " FROM bundle ORDER BY number LIMIT ?");
        select.bind(static_cast<std::uint64_t>(limit));
        return rows(select);
    }

    Result<std::vector<std::string>> digests() override {
        const std::lock_guard lock(mutex_);
        Statement select(database_.get(), "SELECT digest FROM bundle");
        std::vector<std::string> found;
        for (;;) {
            TRY_ASSIGN(const bool more, select.step());
            if (!more) return found;
            found.push_back(select.text(0));
        }
    }

    Status remove(const std::string& digest) override {
        const std::lock_guard lock(mutex_);
        Statement erase(database_.get(), "DELETE FROM bundle WHERE digest=?");
        erase.bind(digest);
        TRY(erase.step());
        return success();
    }

    Result<Totals> totals() override {
        const std::lock_guard lock(mutex_);
        Statement select(database_.get(),
                         "SELECT count(*), coalesce(sum(bytes),0), coalesce(sum(bad_reason<>''),0),"
                         " coalesce(sum(delays),0) FROM bundle");
        TRY(select.step());
        return Totals{select.natural(0), select.natural(1), select.natural(2), select.natural(3)};
    }

  private:
    static Result<std::vector<BundleRow>> rows(Statement& select) {
        std::vector<BundleRow> found;
        for (;;) {
            TRY_ASSIGN(const bool more, select.step());
            if (!more) return found;
            found.push_back(read_row(select));
        }
    }

    std::mutex mutex_;
    Database database_;
};

Status execute(sqlite3* database, const char* sql, std::string_view doing) {
    if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return sqlite_error(database, doing);
    return success();
}

Status bring_up_to_date(sqlite3* database) {
    Statement version(database, "PRAGMA user_version");
    TRY(version.step());
    const std::int64_t found = version.integer(0);
    if (found > schema_version) {
        return make_error(ErrorKind::Unsupported, "the database has version " + std::to_string(found) +
                                                      ", this program knows " + std::to_string(schema_version) +
                                                      "; use the newer lagtrap-server that made it");
    }
    if (found == schema_version) return success();
    return execute(database, schema, "making the tables");
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(opened);
    if (code != SQLITE_OK) return sqlite_error(opened, path.string());
    sqlite3_busy_timeout(opened, busy_timeout_ms);
    TRY(execute(opened, connection_settings, path.string()));
    if (auto status = bring_up_to_date(opened); !status) return status.error().within(path.string());
    return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(database)));
}

}  // namespace lagtrap::server
