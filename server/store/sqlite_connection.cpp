#include "server/store/sqlite_connection.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace lagtrap::server {
namespace {

constexpr int busy_timeout_ms = 5000;
constexpr std::size_t idle_statements_limit = 300;

// synchronous=FULL, because NORMAL with a write-ahead log can lose acknowledged uploads in a power
// failure. A separate thread makes checkpoints, so that no commit waits for one.
constexpr const char* write_settings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
    "PRAGMA journal_size_limit=67108864; PRAGMA temp_store=MEMORY;";
constexpr const char* read_settings =
    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=8589934592;";

bool bind(sqlite3_stmt* statement, int index, const Value& value) {
    const std::string_view text = value.text();
    const auto size = static_cast<sqlite3_uint64>(text.size());
    // SQLITE_TRANSIENT casts an integer to a function pointer.
    static const auto copy = reinterpret_cast<sqlite3_destructor_type>(-1);
    const char* data = text.data() == nullptr ? "" : text.data();
    switch (value.kind()) {
        case Value::Kind::Null: return sqlite3_bind_null(statement, index) == SQLITE_OK;
        case Value::Kind::Integer:
            return sqlite3_bind_int64(statement, index, value.integer()) == SQLITE_OK;
        case Value::Kind::Text:
            return sqlite3_bind_text64(statement, index, data, size, copy, SQLITE_UTF8) ==
                   SQLITE_OK;
        case Value::Kind::Bytes:
            return sqlite3_bind_blob64(statement, index, data, size, copy) == SQLITE_OK;
    }
    return false;
}

}  // namespace

class SqliteRows : public Rows {
  public:
    SqliteRows(SqliteConnection& connection, std::string sql, SqliteConnection::Prepared prepared)
        : connection_(connection),
          sql_(std::move(sql)),
          prepared_(std::move(prepared)),
          statement_(prepared_.statement) {}
    ~SqliteRows() override { connection_.give_back(sql_, std::move(prepared_)); }

    Result<bool> next() override {
        const int code = sqlite3_step(statement_);
        if (code == SQLITE_ROW) return true;
        if (code == SQLITE_DONE) return false;
        return connection_.error("reading");
    }
    std::int64_t integer(int column) const override {
        return sqlite3_column_int64(statement_, column);
    }
    std::string_view bytes(int column) const override {
        const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
        if (data == nullptr) return {};
        return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
    }
    bool is_null(int column) const override {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL;
    }

  private:
    SqliteConnection& connection_;
    std::string sql_;
    SqliteConnection::Prepared prepared_;
    sqlite3_stmt* statement_;
};

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::filesystem::path& path,
                                                                 Mode mode,
                                                                 std::uint64_t cache_bytes) {
    sqlite3* opened = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      (mode == Mode::Write ? SQLITE_OPEN_CREATE : 0);
    const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
    std::unique_ptr<SqliteConnection> connection(new SqliteConnection(opened));
    if (code != SQLITE_OK) return connection->error(path.string());
    sqlite3_busy_timeout(opened, busy_timeout_ms);
    // A negative cache_size is in KiB.
    const std::string settings =
        (mode == Mode::Write ? write_settings : read_settings) +
        ("PRAGMA cache_size=-" + std::to_string(std::max<std::uint64_t>(cache_bytes / 1024, 1)));
    if (const auto status = connection->script(settings); !status)
        return status.error().within(path.string());
    return connection;
}

SqliteConnection::~SqliteConnection() {
    forget_statements();
    sqlite3_close(database_);
}

void SqliteConnection::forget_statements() {
    for (auto& [sql, statements] : idle_)
        for (const Prepared& one : statements) sqlite3_finalize(one.statement);
    idle_.clear();
}

void SqliteConnection::release_memory() {
    forget_statements();
    sqlite3_db_release_memory(database_);
}

Error SqliteConnection::error(std::string_view doing) const {
    Error error = make_error(ErrorKind::System,
                             "database: " + std::string(doing) + ": " + sqlite3_errmsg(database_));
    const int code = sqlite3_errcode(database_) & 0xff;
    if (code == SQLITE_FULL) error.system_errno = ENOSPC;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) error.kind = ErrorKind::Busy;
    return error;
}

Result<SqliteConnection::Prepared> SqliteConnection::take(const std::string& sql,
                                                          std::span<const Value> values) {
    Prepared prepared;
    if (const auto found = idle_.find(sql); found != idle_.end() && !found->second.empty()) {
        prepared = std::move(found->second.back());
        found->second.pop_back();
    } else {
        if (sqlite3_prepare_v2(database_, sql.c_str(), static_cast<int>(sql.size()),
                               &prepared.statement, nullptr) != SQLITE_OK)
            return error("preparing");
        for (std::size_t i = 1; i <= values.size(); ++i)
            prepared.parameters.push_back(
                sqlite3_bind_parameter_index(prepared.statement, parameter_name(i).c_str()));
    }
    for (std::size_t i = 0; i < values.size() && i < prepared.parameters.size(); ++i) {
        const int index = prepared.parameters[i];
        if (index > 0 && !bind(prepared.statement, index, values[i])) {
            const Error failed = error("binding");
            give_back(sql, std::move(prepared));
            return failed;
        }
    }
    return prepared;
}

void SqliteConnection::give_back(const std::string& sql, Prepared prepared) {
    // A statement without parameters may contain numbers and never be used again, so it is not
    // kept.
    if (prepared.parameters.empty()) {
        sqlite3_finalize(prepared.statement);
        return;
    }
    sqlite3_reset(prepared.statement);
    sqlite3_clear_bindings(prepared.statement);
    if (idle_.size() >= idle_statements_limit) forget_statements();
    idle_[sql].push_back(std::move(prepared));
}

Result<std::unique_ptr<Rows>> SqliteConnection::query(const std::string& sql,
                                                      std::span<const Value> values) {
    TRY_ASSIGN(Prepared prepared, take(sql, values));
    return std::unique_ptr<Rows>(std::make_unique<SqliteRows>(*this, sql, std::move(prepared)));
}

Result<std::uint64_t> SqliteConnection::execute(const std::string& sql,
                                                std::span<const Value> values) {
    TRY_ASSIGN(Prepared prepared, take(sql, values));
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(prepared.statement);
    const bool changes = sqlite3_stmt_readonly(prepared.statement) == 0;
    Result<std::uint64_t> outcome = std::uint64_t{0};
    if (code != SQLITE_DONE) {
        outcome = error("running");
    } else if (changes) {
        outcome = static_cast<std::uint64_t>(sqlite3_changes64(database_));
    }
    give_back(sql, std::move(prepared));
    return outcome;
}

Status SqliteConnection::script(const std::string& sql) {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return error("running");
    return success();
}

}  // namespace lagtrap::server
